// Package writeback says when a text would put our own marks where what they
// hide stands. An agent that read a file with a masked value, and writes the
// file back as it read it, would leave the mark in the value's place and the
// value nowhere.
//
// A [Change] is judged by counting: a mark may stand in a file again as often
// as it stood there, and anew where the file holds the same mark as a text of
// its own and hides nothing behind it, as documentation and tests do.
package writeback

import (
	"bytes"
	"strings"

	"github.com/reeve-gate/reeve/internal/personal"
	"github.com/reeve-gate/reeve/internal/redact/mark"
)

// Change is a text that would be put into a file.
type Change struct {
	New   string
	Old   string // what it replaces there, as the writer has it
	Whole bool   // New replaces all that the file holds
}

// Suspect reports whether JSON arguments may hold a mark. Nearly none do.
func Suspect(args []byte) bool {
	return bytes.Contains(args, []byte("REDACTED")) || bytes.Contains(args, []byte(`\u`))
}

// In reports whether a mark stands in s.
func In(s string) bool { return mark.In(s) || strings.Contains(s, personal.Mark) }

// Lost is the first mark that the change would put where the file has none of
// it, or has it in place of what is hidden; "" = none. held is what the file
// holds, and shown the same as readers are given it.
func Lost(c Change, held, shown string) string {
	was := marks(c.Old)
	if c.Whole {
		was = marks(held)
	}
	there, seen := marks(held), marks(shown)
	for _, m := range order(c.New) {
		n := strings.Count(c.New, m)
		if n <= was[m] || there[m] > 0 && seen[m] <= there[m] {
			continue
		}
		return m
	}
	return ""
}

// marks counts the marks in s.
func marks(s string) map[string]int {
	n := map[string]int{}
	for _, m := range order(s) {
		n[m] = strings.Count(s, m)
	}
	return n
}

// order lists the different marks in s as they come.
func order(s string) (all []string) {
	seen := map[string]bool{}
	for i := strings.IndexByte(s, '['); i >= 0 && i < len(s); {
		n, _ := mark.At(s[i:])
		if n == 0 && strings.HasPrefix(s[i:], personal.Mark) {
			n = len(personal.Mark)
		}
		if m := s[i : i+n]; n > 0 && !seen[m] {
			seen[m], all = true, append(all, m)
		}
		i += max(n, 1)
		next := strings.IndexByte(s[i:], '[')
		if next < 0 {
			break
		}
		i += next
	}
	return all
}
