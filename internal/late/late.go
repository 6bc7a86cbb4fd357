// Package late holds regular expressions that are compiled at their first use:
// one at the start of the program is paid by every command and every hook,
// which need few of them.
package late

import (
	"regexp"
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
