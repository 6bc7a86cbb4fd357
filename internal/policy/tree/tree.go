// Package tree reads a policy file, TOML or JSON, into one small tree in which
// every key and value knows its line and column.
//
// Only what a policy can say is representable: strings, booleans, lists and
// tables. Everything else a file may hold (numbers, dates, null) is kept as
// [Other], so that the reader of the tree can refuse it at its place. Both
// syntaxes are read strictly: duplicate keys, bad UTF-8 and anything after
// the document are errors, and every error is an [Error] with a position.
package tree

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds on one file.
const (
	MaxBytes = 1 << 20
	MaxDepth = 32
)

// Kind is what a value is.
type Kind uint8

const (
	Other Kind = iota // a number, a date, null: no policy key takes one
	String
	Bool
	List
	Table
)

var kindNames = [...]string{"a number, a date or null", "a string", "true or false", "a list", "a table"}

func (k Kind) String() string { return kindNames[k] }

// Pos is a place in a file, counted from 1; columns count bytes.
type Pos struct{ Line, Col int }

// Node is one value.
type Node struct {
	Pos
	Kind Kind
	Str  string
	Bool bool
	List []*Node
	Keys []Key // in the order of the file; no name twice
}

// Key is one entry of a table.
type Key struct {
	Pos
	Name  string
	Value *Node
}

// Find returns the value under name, or nil.
func (n *Node) Find(name string) *Node {
	for _, k := range n.Keys {
		if k.Name == name {
			return k.Value
		}
	}
	return nil
}

// Error is a fault in a file at a place.
type Error struct {
	File string
	Pos
	Msg string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// Read parses src. file names it in errors; a name ending in .json, or a text
// whose first character is an opening brace, is JSON, everything else TOML.
func Read(file string, src []byte) (*Node, error) {
	if len(src) > MaxBytes {
		return nil, &Error{file, Pos{1, 1}, fmt.Sprintf("the file is longer than %d bytes", MaxBytes)}
	}
	if at := firstBadByte(src); at >= 0 {
		return nil, &Error{file, place(src, at), "a byte that is not UTF-8 text, or a control character"}
	}
	if at := tooDeep(src); at >= 0 {
		return nil, &Error{file, place(src, at), fmt.Sprintf("brackets are nested more than %d deep", MaxDepth)}
	}
	var root *Node
	var err error
	if strings.HasSuffix(file, ".json") || bytes.HasPrefix(bytes.TrimLeft(src, " \t\r\n"), []byte("{")) {
		root, err = readJSON(src)
	} else {
		root, err = readTOML(src)
	}
	var at *Error
	switch {
	case err == nil:
		return root, nil
	case errors.As(err, &at):
		at.File = file
		return nil, at
	}
	return nil, &Error{file, Pos{1, 1}, err.Error()}
}

// firstBadByte finds the first byte that is not part of UTF-8 text or is a
// control character other than tab and line ends; -1 where there is none.
func firstBadByte(src []byte) int {
	for i := 0; i < len(src); {
		c := src[i]
		if c < utf8.RuneSelf {
			if c < 0x20 && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// tooDeep bounds the recursion of the parsers below before they start: it
// counts brackets that stand open at once, outside of quotes on one line.
func tooDeep(src []byte) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '\n':
			quote = 0
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return i
			}
		case c == ']' || c == '}':
			depth = max(depth-1, 0)
		}
	}
	return -1
}

// place turns a byte offset into a position.
func place(src []byte, offset int) Pos {
	offset = min(max(offset, 0), len(src))
	before := src[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	return Pos{line, offset - bytes.LastIndexByte(before, '\n')}
}

// Quote writes s as a basic string of TOML 1.0.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
