package view

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name is a path as one line can show it: with quotation marks where a
// character in it is not plain.
func Name(p string) string {
	plain := utf8.ValidString(p) && !strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) || r == '"' || r == '\\' })
	if plain && strings.TrimSpace(p) == p {
		return p
	}
	return strconv.Quote(p)
}

// Line says in one line what a change does.
func (c Change) Line() string {
	s := fmt.Sprintf("%-8s %s", c.Kind, Name(c.Path))
	switch {
	case c.Kind == Mode:
		s += fmt.Sprintf(" (%04o, was %04o)", perm(c.Is), perm(c.Was))
	case c.Kind == Deleted:
		s += " (" + sort(c.Was) + ")"
	case c.Is&fs.ModeSymlink != 0:
		s += " -> " + Name(c.Link)
	default:
		s += fmt.Sprintf(" (%s, %04o)", sort(c.Is), perm(c.Is))
	}
	if c.Kind == Modified && c.Was.Type() != c.Is.Type() {
		s += ", was a " + sort(c.Was)
	}
	if c.Held != "" {
		s += ": held back, it " + c.Held
	}
	return s
}

func sort(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m.IsRegular():
		return "file"
	}
	return "special file"
}
