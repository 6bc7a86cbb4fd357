//go:build race

package audit

// raced: a killed writer costs five times as much with the race detector.
const raced = true
