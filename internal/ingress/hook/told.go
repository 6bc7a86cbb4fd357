package hook

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// Refusal is a connection that the boundary of a run refused.
type Refusal struct {
	Host string // with its port
	Why  string
	Rule string // that decided, and where it stands; may be empty
	Help string // the rule that would allow it; may be empty
}

// Reach says what a run may do with a path.
type Reach uint8

const (
	ReachUnknown Reach = iota // or nothing stands in the way
	ReachOutside              // it lies outside of what may be written
	ReachKept                 // it is kept read-only inside of that
	ReachHidden
)

// Bounds on what an agent is told at a time. Each line is a sentence of ours
// with what others wrote in quotation marks.
const (
	maxTold     = 1 << 10 // bytes in all
	maxToldLine = 460     // of a connection
	maxRefusals = 2       // connections at a time; the others come with the next call
	maxNamed    = 120     // bytes of a host or a path
)

const toldIntro = "Reeve, the boundary of this run, tells what it refused:"

// tell is what an agent in a run is told with the outcome of a call: what the
// boundary refused since, each fact once in a session; "" where there is
// nothing to tell.
func (d *Door) tell(r Request, e *event) string {
	if r.InSession == "" {
		return ""
	}
	said := toldIntro
	add := func(line string) bool {
		if len(said)+1+len(line) > maxTold {
			return false
		}
		said += "\n" + line
		return true
	}
	if d.opt.Refused != nil {
		for _, no := range d.opt.Refused(r.InSession, maxRefusals) {
			add(d.connection(no))
		}
	}
	if fact := d.place(r, e); fact != "" && len(said)+1+len(fact) <= maxTold && d.told.once(r.InSession, fact) {
		add(fact)
	}
	if said == toldIntro {
		return ""
	}
	return said
}

// connection is the sentence for one, the shorter the longer what others wrote.
func (d *Door) connection(no Refusal) string {
	said := "The connection to " + d.quote(no.Host, maxNamed) + " was refused"
	if no.Rule != "" {
		said += " by " + d.quote(no.Rule, maxRule)
	}
	help := "."
	if no.Help != "" {
		help = ". What a person can do: " + d.quote(no.Help, maxReason) + "."
	}
	if why := ": " + d.quote(no.Why, maxNamed); no.Why != "" && len(said)+len(why)+len(help) <= maxToldLine {
		said += why
	}
	if len(said)+len(help) > maxToldLine {
		help = "."
	}
	return said + help
}

// The words of a tool that the operating system has refused something
// (errno(3)), as C libraries, Node and Go write them.
var (
	readOnly = []string{"read-only file system", "erofs"}
	denied   = []string{"permission denied", "eacces", "no such file", "enoent", "not exist"}
)

// place is the sentence for a path that a call names, where the call came back
// with the operating system's word; or for a command that did, whose path
// nobody knows for certain.
func (d *Door) place(r Request, e *event) string {
	text := strings.ToLower(e.failure)
	if e.name != "PostToolUseFailure" {
		out, _ := cut(output(e.response, membersOf(e.response)))
		text = strings.ToLower(out)
	}
	wrote := containsAny(text, readOnly)
	path := d.named(e)
	reach := ReachUnknown
	if path != "" && d.opt.Reach != nil {
		reach = d.opt.Reach(r.InSession, path)
	}
	switch name := d.quote(path, maxNamed); {
	case reach == ReachHidden && e.name == "PostToolUseFailure" && containsAny(text, denied):
		return name + " is hidden in this run, and no rule shows it."
	case !wrote:
		return ""
	case reach == ReachOutside:
		return name + " lies outside of what this run may write. A person can let a run write a directory: reeve run --write DIR."
	case reach == ReachKept:
		return name + " is kept read-only in this run, since it steers programs outside of it. A person can change it themselves."
	}
	return "A read-only file system was met: a run writes only the workspace and what a person named, and nothing there that steers programs. A person can let a run write a directory: reeve run --write DIR."
}

// named is the path that a call names for a file tool, or "".
func (d *Door) named(e *event) string {
	members := membersOf(e.input)
	for _, field := range []string{"file_path", "notebook_path", "path"} {
		if p, ok := unquote(members[field]); ok && p != "" && len(p) <= maxPath {
			if !filepath.IsAbs(p) {
				p = filepath.Join(e.dir, p)
			}
			return filepath.Clean(p)
		}
	}
	return ""
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// told remembers what the agents of sessions were told. The zero value has
// told nothing.
type told struct {
	mu   sync.Mutex // guards said
	said map[string]map[string]bool
}

// Bounds on what is remembered; beyond, the sessions are told anew.
const (
	maxToldSessions = 256
	maxToldFacts    = 64
)

// once reports whether the session was not told this before; a session that was
// told very much is told no more.
func (t *told) once(session, fact string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == nil || len(t.said) >= maxToldSessions && t.said[session] == nil {
		t.said = map[string]map[string]bool{}
	}
	if t.said[session] == nil {
		t.said[session] = map[string]bool{}
	}
	if t.said[session][fact] || len(t.said[session]) >= maxToldFacts {
		return false
	}
	t.said[session][fact] = true
	return true
}

// withContext adds text to what the model reads after a call, in the form that
// Claude Code and Codex share.
func withContext(event, text string) []byte {
	type specific struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	b, err := json.Marshal(struct {
		Specific specific `json:"hookSpecificOutput"`
	}{specific{event, text}})
	if err != nil {
		return nil // it is told to the person all the same
	}
	return append(b, '\n')
}
