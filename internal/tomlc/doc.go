// Package tomlc reads the TOML of settings files as values and as statements
// with the spans of bytes they stand in, so that single ones can be taken out
// and put in while every other byte stays.
package tomlc
