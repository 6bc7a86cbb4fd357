// Package gitdir knows by the names in it what git takes for a repository,
// whatever the directory is called, so that nothing takes one over that would
// be obeyed (contract Y67). It looks at nothing itself.
package gitdir

import "strings"

// entries are what makes a directory one that git takes for a repository, and
// what git obeys or starts in it (gitrepository-layout(5)).
var entries = map[string]bool{
	"HEAD": true, "commondir": true, "objects": true, "refs": true,
	"config": true, "config.worktree": true, "hooks": true, "info": true, "modules": true, "worktrees": true,
}

// Holds reports whether a slash-separated path is, or lies below, an entry of a
// directory that git would take for a repository. has reports whether a name
// stands in a directory above the path, "." being the first; that a directory
// is called HEAD does not count.
func Holds(path string, has func(dir, name string) bool) bool {
	dir := "."
	for part := range strings.SplitSeq(path, "/") {
		if entries[part] && has(dir, "HEAD") && (has(dir, "commondir") || has(dir, "objects") && has(dir, "refs")) {
			return true
		}
		if dir == "." {
			dir = part
		} else {
			dir += "/" + part
		}
	}
	return false
}
