package view

import (
	"fmt"
	"path/filepath"
)

// stays are directories of the workspace that something else stands for in the
// view, which is never taken over.
type stays map[string]bool

// kept are those of a walk that has ended.
func (c *comparison) kept() stays {
	dirs := stays{}
	for _, ch := range c.found.Changes {
		if ch.Held != "" && ch.Was.IsDir() && !ch.Is.IsDir() {
			dirs[ch.Path] = true
		}
	}
	return dirs
}

// above says why what was deleted below such a directory stays in it, or "":
// the directory would be left empty, and nobody has looked at each name.
func (s stays) above(path string) string {
	for up := filepath.Dir(path); up != "."; up = filepath.Dir(up) {
		if s[up] {
			return fmt.Sprintf("lies in %q, in whose place something stands that is not taken over: delete it yourself", up)
		}
	}
	return ""
}
