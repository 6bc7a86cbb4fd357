// Package jsonc reads the JSON of settings files, which may hold comments and
// trailing commas, and changes it without parsing and printing it again: every
// byte that is not changed stays, with its comments, order, indentation and
// line ends.
//
// [Read] gives the values with the spans of bytes they stand in; [Style] lays
// new values out as the text around them is; [Splice] puts spans in. [Set] and
// [Delete] change one member of an object inside a text.
package jsonc
