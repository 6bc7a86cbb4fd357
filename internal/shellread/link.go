package shellread

import (
	"path"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/use"
)

// symlink is a name that this text makes for another place. The disk is asked
// before the text runs, so that what goes through such a name is followed here.
type symlink struct {
	path   string
	target spot
}

// maxLinks bounds the links that are followed.
const maxLinks = 32

// link notes a link that a program makes. Where its name is a folder already,
// it is made in there.
func (r *reader) link(l use.Link, dir string) {
	at, target := r.resolve(l.Name, dir), r.resolve(l.Target, dir)
	if at.path == "" || len(r.links) >= maxLinks {
		r.unknown("where a link is made is not certain")
		return
	}
	var made []symlink
	for _, name := range []string{at.path, path.Join(at.path, path.Base(l.Target.Text))} {
		to := target
		if l.Soft && !strings.HasPrefix(l.Target.Text, "/") && !l.Target.Tilde {
			if to = r.resolve(l.Target, path.Dir(name)); to.path != target.path {
				r.path(to, 'r', false, nil)
			}
		}
		made = append(made, symlink{name, to})
	}
	r.links = append(r.links, made...)
}

// follow emits what is done to a path through a link that this text makes, at
// the place that the link leads to; that can be a link made before it.
func (r *reader) follow(s spot, role byte, deep bool, owner *reeve.Command) {
	links := r.links
	defer func() { r.links = links }()
	for i := len(links) - 1; i >= 0; i-- {
		rest, ok := strings.CutPrefix(s.path, links[i].path)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		there := links[i].target
		if there.path != "" {
			there = spot{path: path.Join(there.path, rest), deep: s.deep}
		}
		r.links = links[:i]
		r.path(there, role, deep, owner)
	}
}
