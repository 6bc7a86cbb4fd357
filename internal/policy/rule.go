package policy

import (
	"fmt"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/tool"
)

// rule is one entry of a list, compiled. What it says depends on word:
//
//	a class word with a pattern   every effect of that kind, in whatever tool
//	a class word without one      the same, and every tool of the class
//	a tool's name                 the calls of that tool, narrowed by a pattern
type rule struct {
	verdict     reeve.Verdict
	text        string // as written
	at          string // file:line
	reason      string
	destructive bool
	own, file   *when // conditions of the rule and of its file; nil = always
	layer       string
	order       int // place in the set

	word   string     // lower case
	class  tool.Class // of a class word
	kind   bool       // word is a class word
	edit   bool       // only changes of files that exist
	host   bool       // host(...): permission to leave the sandbox
	name   wildcard   // of a tool's name
	all    bool       // no pattern, or a lone star
	inside string     // the pattern as written

	line    *match.Line
	path    *match.Path
	site    *match.Host
	subject wildcard // mcp(...), addon(...), desktop(...)
	arg     string   // KEY of KEY:TEXT
	value   wildcard
}

// claudeWords are Claude Code's names for what our class words mean. They
// count as such where they are spelled exactly so.
var claudeWords = map[string]string{
	"Bash": "bash", "Read": "read", "Edit": "write", "Write": "write", "MultiEdit": "write", "NotebookEdit": "write", "WebFetch": "web",
}

// parseRule compiles a rule's text. claude reads every word as Claude Code
// does, whatever its case.
func parseRule(v reeve.Verdict, text string, claude bool) (*rule, error) {
	word, inside, found, err := split(text)
	if err != nil {
		return nil, err
	}
	r := &rule{verdict: v, text: text, inside: inside, all: !found || strings.TrimSpace(inside) == "*"}
	if strings.EqualFold(word, "host") {
		if !found {
			return nil, fmt.Errorf("host needs a command: host(bash(PATTERN))")
		}
		if word, inside, found, err = split(inside); err != nil {
			return nil, err
		}
		if c, ok := tool.ClassWord(word); !ok || c != tool.ClassBash {
			return nil, fmt.Errorf("only commands leave the sandbox: host(bash(PATTERN))")
		}
		r.host, r.inside, r.all = true, inside, !found || strings.TrimSpace(inside) == "*"
	}
	r.word = strings.ToLower(word)
	for name, ours := range claudeWords {
		if word == name || claude && strings.EqualFold(word, name) {
			r.word = ours
		}
	}
	if r.class, r.kind = tool.ClassWord(r.word); r.kind {
		r.edit = r.word == "edit"
		return r, r.ofClass()
	}
	return r, r.ofTool()
}

// split takes TOOL(PATTERN) apart.
func split(text string) (word, inside string, found bool, err error) {
	text = strings.TrimSpace(text)
	word, inside, found = strings.Cut(text, "(")
	if found {
		if !strings.HasSuffix(inside, ")") {
			return "", "", false, fmt.Errorf("the parenthesis is not closed")
		}
		inside = inside[:len(inside)-1]
		if strings.TrimSpace(inside) == "" {
			return "", "", false, fmt.Errorf("empty parentheses say nothing; leave them out for every call, or write a pattern")
		}
	}
	word = strings.TrimSpace(word)
	if word == "" || strings.ContainsAny(word, " \t\"'`()") {
		return "", "", false, fmt.Errorf("a rule is TOOL or TOOL(PATTERN)")
	}
	return word, inside, found, nil
}

// ofClass compiles the pattern of a class word.
func (r *rule) ofClass() error {
	pattern := r.inside
	if r.all {
		pattern = "*"
	}
	switch r.class {
	case tool.ClassBash:
		l, err := match.ParseLine(pattern)
		r.line = &l
		return err
	case tool.ClassRead, tool.ClassWrite:
		p, err := match.ParsePath(pattern)
		r.path, r.all = &p, p.All()
		return err
	case tool.ClassWeb:
		if !r.all {
			domain, ok := strings.CutPrefix(strings.TrimSpace(pattern), "domain:")
			if !ok {
				return fmt.Errorf("write the host as web(domain:HOST)")
			}
			pattern = domain
		}
		h, err := match.ParseHost(pattern)
		r.site, r.all = &h, h.All()
		return err
	}
	var err error
	if !r.all {
		r.subject, err = parseWildcard(pattern)
	}
	return err
}

// ofTool compiles the pattern for a tool's own name, in every form that the
// tool's effects may turn out to need.
func (r *rule) ofTool() error {
	var err error
	if r.name, err = parseWildcard(r.word); err != nil {
		return err
	}
	if r.name.lone() && r.verdict == reeve.Allow {
		return fmt.Errorf("an allow for every tool is no rule; name the tool, at least its beginning")
	}
	if server, ok := strings.CutPrefix(r.word, "mcp__"); ok && !strings.Contains(server, "__") && !strings.HasSuffix(server, "*") {
		if server == "" {
			return fmt.Errorf("mcp__ needs a server: mcp__SERVER or mcp__SERVER__TOOL")
		}
		r.name, _ = parseWildcard(r.word + "__*")
	}
	if r.all {
		return nil
	}
	if r.verdict == reeve.Allow && strings.HasPrefix(r.word, "mcp__") {
		return fmt.Errorf("an allow cannot look into a server's arguments; allow the tool as a whole, or ask")
	}
	if p, err := match.ParsePath(r.inside); err == nil {
		r.path = &p
	}
	if l, err := match.ParseLine(r.inside); err == nil {
		r.line = &l
	}
	key, value, ok := strings.Cut(r.inside, ":")
	if ok && key != "" && !strings.ContainsAny(key, " */\\") {
		r.arg = key
		r.value, err = parseWildcard(value)
	} else {
		r.value, err = parseWildcard(r.inside)
	}
	if r.path == nil && r.line == nil {
		return fmt.Errorf("the pattern is neither a path nor a command")
	}
	return err
}

// holds reports whether the rule's conditions are met.
func (r *rule) holds(in *Input) bool {
	narrow := r.verdict == reeve.Allow
	return (r.own == nil || r.own.met(in, narrow)) && (r.file == nil || r.file.met(in, narrow))
}

// names reports whether a rule that is not of a class speaks of the tool.
func (r *rule) names(in *Input) bool { return !r.kind && r.name.match(in.Tool) }

// wildcard is a text in which a star stands for anything; case does not count.
type wildcard []string

func parseWildcard(s string) (wildcard, error) {
	if strings.ContainsAny(s, "\x00\n\r") {
		return nil, fmt.Errorf("%q is not one line of text", s)
	}
	return strings.Split(strings.ToLower(strings.TrimSpace(s)), "*"), nil
}

func (w wildcard) lone() bool { return len(w) > 1 && w[0] == "" }

// match compares with s; text that is in lower case already is not copied.
func (w wildcard) match(s string) bool {
	s = strings.ToLower(s)
	if len(w) <= 1 {
		return len(w) == 1 && s == w[0]
	}
	s, ok := strings.CutPrefix(s, w[0])
	if !ok {
		return false
	}
	for _, p := range w[1 : len(w)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, w[len(w)-1])
}
