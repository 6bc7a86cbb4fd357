// Package late holds regular expressions and sets of words that are made at
// their first use: what is made at the start of the program is paid by every
// command and every hook, which need little of it.
package late

import (
	"regexp"
	"strings"
	"sync"
)

// Regexp is an expression in the syntax of package regexp. It is safe for
// concurrent use.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns the expression expr. Its first use panics where it is none.
func New(expr string) Regexp {
	return Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

// MatchString is [regexp.Regexp.MatchString].
func (r Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindString is [regexp.Regexp.FindString].
func (r Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringIndex is [regexp.Regexp.FindStringIndex].
func (r Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindStringSubmatch is [regexp.Regexp.FindStringSubmatch].
func (r Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindAllString is [regexp.Regexp.FindAllString].
func (r Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

// ReplaceAllString is [regexp.Regexp.ReplaceAllString].
func (r Regexp) ReplaceAllString(s, by string) string { return r.compiled().ReplaceAllString(s, by) }

// Words is a set of words. It is safe for concurrent use.
type Words struct{ read func() map[string]bool }

// NewWords returns the set of the words in the lists, which are read at its
// first use.
func NewWords(lists ...string) Words {
	return Words{sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, list := range lists {
			for _, w := range strings.Fields(list) {
				set[w] = true
			}
		}
		return set
	})}
}

// Has reports whether w is one of them.
func (s Words) Has(w string) bool { return s.read()[w] }
