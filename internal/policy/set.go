package policy

import (
	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/rule"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Set is the layers of one session, joined and indexed. It is immutable and
// safe for concurrent use.
type Set struct {
	lists  [reeve.Allow + 1]lists // by verdict
	broken []*Layer
	tiers  []rule.TierRule
	def    reeve.Verdict
	defAt  string
}

// lists are the rules of one verdict, by what they speak of, each in the
// order of the layers.
type lists struct {
	calls   []*rule.Rule // of tools: by name, or of a class as a whole
	reads   []*rule.Rule
	writes  []*rule.Rule
	hosts   []*rule.Rule
	program map[string][]*rule.Rule // commands, by program
	loose   []*rule.Rule            // commands, with a star in the program's name
	line    []*rule.Rule            // all of them
}

// Join joins layers into what holds for a session. Layers are given in the
// order in which equal rules should be named. No layer weakens another's deny
// or ask; the strictest default that a layer states holds, ask where none does
// (contract A52, A55). Nil layers are left out.
func Join(layers ...*Layer) *Set {
	s := &Set{def: reeve.Ask, defAt: builtIn}
	order, stated := 0, false
	for _, l := range layers {
		if l == nil {
			continue
		}
		if l.Fault != nil {
			s.broken = append(s.broken, l)
			continue
		}
		s.tiers = append(s.tiers, l.Tiers...)
		if l.Stated && !(l.Disabled && l.Default == reeve.Allow) && (!stated || l.Default < s.def) {
			s.def, s.defAt, stated = l.Default, l.File, true
		}
		for _, r := range l.Rules {
			if r.Verdict == reeve.Allow && l.Disabled {
				continue
			}
			joined := *r
			joined.Order = order
			order++
			s.lists[r.Verdict].add(&joined)
		}
	}
	return s
}

func (l *lists) add(r *rule.Rule) {
	if !r.Kind {
		l.calls = append(l.calls, r)
		return
	}
	switch r.Class {
	case tool.ClassRead:
		l.reads = append(l.reads, r)
	case tool.ClassWrite:
		l.writes = append(l.writes, r)
	case tool.ClassWeb:
		l.hosts = append(l.hosts, r)
	case tool.ClassBash:
		l.line = append(l.line, r)
		if program := r.Line.Program(); program != "" {
			if l.program == nil {
				l.program = map[string][]*rule.Rule{}
			}
			l.program[program] = append(l.program[program], r)
		} else {
			l.loose = append(l.loose, r)
		}
		if r.Host || r.Verdict == reeve.Allow {
			return // an allow of every command still looks at each
		}
	default:
		l.calls = append(l.calls, r)
		return
	}
	if r.All && r.Class != tool.ClassWeb {
		// Every path is every call of the class, also one that names no path.
		l.calls = append(l.calls, r)
	}
}

// Tier is what the layers' tables say of a tool; the strictest entry holds. A
// tool of the denied tier stays there, whatever a table says (G12).
func (s *Set) Tier(name string) (reeve.Tier, bool) {
	t, found := reeve.TierRead, false
	for i := range s.tiers {
		if s.tiers[i].Name.Tool(name) {
			t, found = min(t, s.tiers[i].Tier), true
		}
	}
	return t, found
}

// speaks reports whether a rule in calls means the call of in as a whole.
func speaks(r *rule.Rule, in *Input) bool {
	if !r.Kind {
		return r.All && r.Names(in.Tool)
	}
	if r.Class != in.Class || r.Edit {
		return false
	}
	return r.All || r.Subject != nil && r.Subject.Match(subject(in))
}

// subject is what a pattern of mcp, addon and desktop is compared with.
func subject(in *Input) string {
	switch in.Class {
	case tool.ClassMCP:
		return trimPrefix(in.Tool, "mcp__")
	case tool.ClassAddon:
		return trimPrefix(in.Source, "addon:") + ":" + in.Tool
	case tool.ClassDesktop:
		return trimPrefix(in.Tool, "desktop_")
	}
	return in.Tool
}

func trimPrefix(s, prefix string) string {
	if len(s) >= len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}
