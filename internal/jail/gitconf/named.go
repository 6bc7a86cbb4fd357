package gitconf

import (
	"path/filepath"
	"strings"
)

// Bounds of the files that are included.
const (
	maxIncluded = 100
	maxDeep     = 10 // as git
)

// Named are the files and directories that configurations name for git to
// start hooks from, to take attributes from, or to include: absolute, whether
// they exist or not. files are the configurations; top is the working tree in
// which hooks run, homes what ~ stands for. read reads a file. Whether an
// include's condition holds is not looked at: each counts.
func Named(files []string, top string, homes []string, read func(path string) ([]byte, error)) []string {
	n := namer{top: top, homes: homes, read: read, seen: map[string]bool{}}
	for _, file := range files {
		n.file(file, 0)
	}
	return n.out
}

type namer struct {
	top   string
	homes []string
	read  func(string) ([]byte, error)
	seen  map[string]bool
	out   []string
}

func (n *namer) file(path string, depth int) {
	if depth > maxDeep || len(n.seen) > maxIncluded || n.seen[path] {
		return
	}
	n.seen[path] = true
	text, err := n.read(path)
	if err != nil {
		return
	}
	settings, _ := Parse(text)
	for _, s := range settings {
		switch {
		case s.Key == "core.hookspath", s.Key == "core.attributesfile":
			n.out = append(n.out, n.paths(s.Value, n.top)...)
		case s.Key == "include.path", strings.HasPrefix(s.Key, "includeif.") && strings.HasSuffix(s.Key, ".path"):
			for _, more := range n.paths(s.Value, filepath.Dir(path)) {
				n.out = append(n.out, more)
				n.file(more, depth+1)
			}
		}
	}
}

// paths are what a value stands for: a relative one is read from dir.
func (n *namer) paths(value, dir string) []string {
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil
	}
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		var out []string
		for _, home := range n.homes {
			out = append(out, filepath.Join(home, rest))
		}
		return out
	}
	if strings.HasPrefix(value, "~") || strings.HasPrefix(value, "%(prefix)") {
		return nil
	}
	if filepath.IsAbs(value) {
		return []string{filepath.Clean(value)}
	}
	return []string{filepath.Join(dir, value)}
}
