package shellread

import (
	"path"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// spot is where a word points to.
type spot struct {
	path    string // absolute and clean; "" = not certain
	spelled string // the same with ".." in it, where that may lead elsewhere
	deep    bool   // it may be anything below path
	why     string // why it is not certain
}

// resolve finds the place of a word that names a file, from a directory.
func (r *reader) resolve(w words.Word, dir string) spot {
	text := w.Text
	switch {
	case r.away:
		return spot{why: text + " is on another machine or in a container"}
	case !w.Known:
		return spot{why: "the path " + text + " is not certain"}
	}
	deep := false
	if w.Glob {
		deep = true
		text = w.Lead[:strings.LastIndexByte(w.Lead, '/')+1]
		if text == "" {
			text = "."
		}
	}
	if w.Tilde {
		if text != "~" && !strings.HasPrefix(text, "~/") || r.at.Home == "" || r.scope.homeMoved {
			return spot{why: "the path " + w.Text + " is not certain"}
		}
		text = r.at.Home + text[1:]
	}
	if !strings.HasPrefix(text, "/") {
		if dir == "" {
			return spot{why: "the directory that " + w.Text + " is in is not certain"}
		}
		text = dir + "/" + text
	}
	if why := passes(text); why != "" {
		return spot{why: text + why}
	}
	s := spot{path: path.Clean(text), deep: deep}
	if strings.Contains(text, "/../") || strings.HasSuffix(text, "/..") {
		s.spelled = text
		for _, l := range r.links {
			if strings.Contains(text, "/"+path.Base(l.path)+"/") {
				return spot{why: text + " goes up from a link that this text makes"}
			}
		}
	}
	return s
}

// passes: parts of /proc and /dev lead to where the process is or to what it
// has open, which another process cannot look up.
func passes(text string) string {
	clean := path.Clean(text)
	if strings.HasPrefix(clean, "/dev/fd/") && len(clean) > len("/dev/fd/") {
		return " stands for something that is already open"
	}
	rest, ok := strings.CutPrefix(clean, "/proc/")
	if !ok {
		return ""
	}
	for _, part := range strings.Split(rest, "/")[1:] {
		switch part {
		case "root", "cwd", "fd", "exe", "task", "map_files":
			return " leads to where the process is"
		}
	}
	return ""
}

// devices keep nothing and show nothing.
var devices = map[string]bool{"/dev/null": true, "/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true, "/dev/tty": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true, "/dev/fd/0": true, "/dev/fd/1": true, "/dev/fd/2": true}

// touch emits what is done to the file that a word names: from dir, and from
// where the shell would be if a cd before had failed.
func (r *reader) touch(w words.Word, role byte, deep bool, dir string, owner *reeve.Command, alts []string) {
	if w.Pipe || w.Certain() && devices[w.Text] {
		return
	}
	s := r.resolve(w, dir)
	r.path(s, role, deep, owner)
	if s.path == "" || strings.HasPrefix(w.Text, "/") || w.Tilde {
		return
	}
	for _, alt := range alts {
		if other := r.resolve(w, alt); other.path != s.path {
			r.path(other, role, deep, owner)
		}
	}
}

func (r *reader) path(s spot, role byte, deep bool, owner *reeve.Command) {
	if s.path != "" && devices[s.path] {
		return
	}
	e := reeve.Effect{Path: s.path, Spelled: s.spelled, Why: s.why, Deep: deep || s.deep, Command: owner}
	kinds := [2]reeve.EffectKind{}
	switch role {
	case 'w':
		kinds[0] = reeve.EffectWrite
	case 'd':
		kinds[0] = reeve.EffectDelete
	case 'm':
		kinds[0], kinds[1] = reeve.EffectRead, reeve.EffectDelete
	default:
		kinds[0] = reeve.EffectRead
	}
	for i, k := range kinds {
		if i == 0 || k != reeve.EffectUnknown {
			e.Kind = k
			r.emit(e)
		}
	}
	r.follow(s, role, deep, owner)
}
