package rule

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Rule is one entry of a list, compiled. What it says depends on Word:
//
//	a class word with a pattern   every effect of that kind, in whatever tool
//	a class word without one      the same, and every tool of the class
//	a tool's name                 the calls of that tool, narrowed by a pattern
type Rule struct {
	Verdict     reeve.Verdict
	Text        string // as written
	At          string // file:line
	Reason      string
	Destructive bool  // an allow that also covers what deletes or drops work
	Order       int   // place in a joined set
	own, file   *when // conditions of the rule and of its file; nil = always

	Word   string     // lower case
	Class  tool.Class // of a class word
	Kind   bool       // Word is a class word
	Edit   bool       // only changes of files that exist
	Host   bool       // host(...): permission to leave the sandbox
	Name   Wildcard   // of a tool's name, where Word is no class word
	All    bool       // no pattern, or a lone star
	Inside string     // the pattern as written

	// The compiled pattern, in each form that the tool's effects may need.
	Line    *match.Line
	Path    *match.Path
	Site    *match.Host
	Subject Wildcard // mcp(...), addon(...), desktop(...)
	Arg     string   // KEY of KEY:TEXT
	Value   Wildcard
}

// Compile reads one rule's text apart from any file: for tools that write
// rules and want to know that they read.
func Compile(v reeve.Verdict, text string) (*Rule, error) { return parseRule(v, text, false) }

// claudeWords are Claude Code's names for what our class words mean. They
// count as such where they are spelled exactly so.
var claudeWords = map[string]string{
	"Bash": "bash", "Read": "read", "Edit": "write", "Write": "write", "MultiEdit": "write", "NotebookEdit": "write", "WebFetch": "web",
}

// parseRule compiles a rule's text. claude reads every word as Claude Code
// does, whatever its case.
func parseRule(v reeve.Verdict, text string, claude bool) (*Rule, error) {
	word, inside, found, err := split(text)
	if err != nil {
		return nil, err
	}
	r := &Rule{Verdict: v, Text: text, Inside: inside, All: !found || strings.TrimSpace(inside) == "*"}
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
		r.Host, r.Inside, r.All = true, inside, !found || strings.TrimSpace(inside) == "*"
	}
	r.Word = strings.ToLower(word)
	for name, ours := range claudeWords {
		if word == name || claude && strings.EqualFold(word, name) {
			r.Word = ours
		}
	}
	if r.Class, r.Kind = tool.ClassWord(r.Word); r.Kind {
		r.Edit = r.Word == "edit"
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
func (r *Rule) ofClass() error {
	pattern := r.Inside
	if r.All {
		pattern = "*"
	}
	switch r.Class {
	case tool.ClassBash:
		l, err := match.ParseLine(pattern)
		r.Line = &l
		return err
	case tool.ClassRead, tool.ClassWrite:
		p, err := match.ParsePath(pattern)
		r.Path, r.All = &p, p.All()
		return err
	case tool.ClassWeb:
		if !r.All {
			domain, ok := strings.CutPrefix(strings.TrimSpace(pattern), "domain:")
			if !ok {
				return fmt.Errorf("write the host as web(domain:HOST) or web(domain:HOST:PORT)")
			}
			pattern = domain
		}
		h, err := match.ParseHost(pattern)
		r.Site, r.All = &h, h.All() && h.Port() == 0
		return err
	}
	var err error
	if !r.All {
		r.Subject, err = parseWildcard(pattern)
	}
	return err
}

// ofTool compiles the pattern for a tool's own name, in every form that the
// tool's effects may turn out to need.
func (r *Rule) ofTool() error {
	var err error
	if r.Name, err = parseWildcard(r.Word); err != nil {
		return err
	}
	if r.Name.lone() && r.Verdict == reeve.Allow {
		return fmt.Errorf("an allow for every tool is no rule; name the tool, at least its beginning")
	}
	if server, ok := strings.CutPrefix(r.Word, "mcp__"); ok && !strings.Contains(server, "__") && !strings.HasSuffix(server, "*") {
		if server == "" {
			return fmt.Errorf("mcp__ needs a server: mcp__SERVER or mcp__SERVER__TOOL")
		}
		r.Name, _ = parseWildcard(r.Word + "__*")
	}
	if r.All {
		return nil
	}
	if r.Verdict == reeve.Allow && strings.HasPrefix(r.Word, "mcp__") {
		return fmt.Errorf("an allow cannot look into a server's arguments; allow the tool as a whole, or ask")
	}
	if p, err := match.ParsePath(r.Inside); err == nil {
		r.Path = &p
	}
	if l, err := match.ParseLine(r.Inside); err == nil {
		r.Line = &l
	}
	key, value, ok := strings.Cut(r.Inside, ":")
	if ok && key != "" && !strings.ContainsAny(key, " */\\") {
		r.Arg = key
		r.Value, err = parseWildcard(value)
	} else {
		r.Value, err = parseWildcard(r.Inside)
	}
	if r.Path == nil && r.Line == nil {
		return fmt.Errorf("the pattern is neither a path nor a command")
	}
	return err
}

// Holds reports whether the rule's conditions are met.
func (r *Rule) Holds(s *Scene) bool {
	narrow := r.Verdict == reeve.Allow
	return (r.own == nil || r.own.met(s, narrow)) && (r.file == nil || r.file.met(s, narrow))
}

// Always reports whether the rule has no conditions.
func (r *Rule) Always() bool { return r.own == nil && r.file == nil }

// Names reports whether a rule that is not of a class speaks of the tool.
func (r *Rule) Names(tool string) bool { return !r.Kind && r.Name.Tool(tool) }

// Wildcard is a text in which a star stands for anything; case does not count.
type Wildcard []string

func parseWildcard(s string) (Wildcard, error) {
	if strings.ContainsAny(s, "\x00\n\r") {
		return nil, fmt.Errorf("%q is not one line of text", s)
	}
	return strings.Split(strings.ToLower(strings.TrimSpace(s)), "*"), nil
}

func (w Wildcard) lone() bool { return len(w) > 1 && w[0] == "" }

// Tool compares with a tool's name: as it is, or without the client that a
// foreign tool's name starts with, so that grep means claude:grep too.
func (w Wildcard) Tool(name string) bool {
	if w.Match(name) {
		return true
	}
	i := strings.IndexByte(name, ':')
	return i >= 0 && w.Match(name[i+1:])
}

// Match compares with s; text that is in lower case already is not copied.
func (w Wildcard) Match(s string) bool {
	if len(w) > 0 && w[0] != "" && (s == "" || s[0]|0x20 != w[0][0]|0x20) && (s == "" || s[0] < utf8.RuneSelf) {
		return false // most rules differ in the first letter
	}
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
