// Package suffix knows the public suffixes: the names below which anybody can
// have a site, such as com, co.uk and github.io. A rule on *.co.uk would speak
// of every site below it.
//
// The list is that of golang.org/x/net/publicsuffix, taken by go generate. The
// package itself is not linked in: it brings net/http and all of TLS into a
// program that is started for every call of an agent (docs/performance.md).
package suffix

import "strings"

//go:generate go run ../gen

// Public reports whether name, lower case and ASCII, is a public suffix that
// is on the list.
func Public(name string) bool {
	if listed("!" + name) {
		return false
	}
	if listed(name) || listed("*."+name) {
		return true
	}
	_, parent, ok := strings.Cut(name, ".")
	return ok && listed("*."+parent)
}

// listed reports whether a line stands in the table, which begins and ends
// with a line end.
func listed(line string) bool { return strings.Contains(table, "\n"+line+"\n") }
