package rule

import (
	"path"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/policy/tree"
)

// Where the relative paths of examples stand.
var exampleBases = match.Bases{Workspace: "/workspace", Home: "/home/user"}

// tests tries the examples of a rule while the file is read, so that a pattern
// that does not do what its author meant never takes effect.
func (p *parser) tests(r *Rule, n *tree.Node) error {
	if err := p.want(n, "tests", tree.Table); err != nil {
		return err
	}
	for _, k := range n.Keys {
		if k.Name != "match" && k.Name != "not_match" {
			return p.fault(k.Pos, "unknown key %q in tests; the keys are match and not_match", k.Name)
		}
		if err := p.want(k.Value, k.Name, tree.List); err != nil {
			return err
		}
		for _, e := range k.Value.List {
			if err := p.want(e, k.Name, tree.String); err != nil {
				return err
			}
			switch matched := r.example(e.Str); {
			case matched && k.Name == "not_match":
				return p.fault(e.Pos, "rule %s matches %q, which its tests say it must not", r.Text, e.Str)
			case !matched && k.Name == "match":
				return p.fault(e.Pos, "rule %s does not match %q, which its tests say it must", r.Text, e.Str)
			}
		}
	}
	return nil
}

// example reports whether the rule's pattern speaks of s: the words of one
// simple command, a path, a host or a tool's name.
func (r *Rule) example(s string) bool {
	narrow := r.Verdict == reeve.Allow
	switch {
	case r.Line != nil && (r.Kind || r.Path == nil):
		words := exampleWords(s)
		if narrow {
			return r.Line.Narrow(match.NarrowText(words))
		}
		return r.Line.Wide((&reeve.Command{Words: words}).Line(), false)
	case r.Path != nil:
		full := examplePath(s)
		if narrow {
			return r.Path.All() || r.Path.Narrow(full, match.SigOf(full), exampleBases, false)
		}
		return r.Path.Wide(full, match.SigOf(full), exampleBases, false)
	case r.Site != nil:
		name, port, err := match.SplitPort(s)
		host, ok := match.CleanHost(name)
		return err == nil && ok && (narrow && r.Site.Narrow(host, port, port != 0) || !narrow && r.Site.Wide(host, port))
	case r.Kind:
		return r.All || r.Subject.Match(s)
	}
	return r.Name.Match(s)
}

func examplePath(s string) string {
	switch {
	case strings.HasPrefix(s, "~/"):
		return path.Join(exampleBases.Home, s[2:])
	case strings.HasPrefix(s, "/"):
		return path.Clean(s)
	}
	return path.Join(exampleBases.Workspace, s)
}

// exampleWords splits at blanks and removes quotes; no more of the shell.
func exampleWords(s string) []reeve.Word {
	var words []reeve.Word
	var b strings.Builder
	open, quote := false, byte(0)
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || quote == 0 && (s[i] == ' ' || s[i] == '\t'):
			if open {
				words = append(words, reeve.Word{Text: b.String(), Known: true})
				b.Reset()
				open = false
			}
		case quote == 0 && (s[i] == '"' || s[i] == '\''):
			open, quote = true, s[i]
		case quote != 0 && s[i] == quote:
			quote = 0
		default:
			open = true
			b.WriteByte(s[i])
		}
	}
	if len(words) == 0 {
		words = []reeve.Word{{Known: true}}
	}
	return words
}
