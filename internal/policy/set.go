package policy

import (
	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Set is the layers of one session, joined and indexed. It is immutable and
// safe for concurrent use.
type Set struct {
	lists  [reeve.Allow + 1]lists // by verdict
	broken []*Layer
	tiers  []tierRule
	def    reeve.Verdict
	defAt  string
}

// lists are the rules of one verdict, by what they speak of, each in the
// order of the layers.
type lists struct {
	calls   []*rule // of tools: by name, or of a class as a whole
	reads   []*rule
	writes  []*rule
	hosts   []*rule
	program map[string][]*rule // commands, by program
	loose   []*rule            // commands, with a star in the program's name
	line    []*rule            // all of them
}

// Join joins layers into what holds for a session. Layers are given in the
// order in which equal rules should be named. No layer weakens another's deny
// or ask; the strictest default that a layer states holds, ask where none does
// (contract A52, A55). Nil layers are left out.
func Join(layers ...*Layer) *Set {
	s := &Set{def: reeve.Ask, defAt: "built-in"}
	order, stated := 0, false
	for _, l := range layers {
		if l == nil {
			continue
		}
		if l.broken != nil {
			s.broken = append(s.broken, l)
			continue
		}
		s.tiers = append(s.tiers, l.tiers...)
		if l.hasDefault && !(l.disabled && l.def == reeve.Allow) && (!stated || l.def < s.def) {
			s.def, s.defAt, stated = l.def, l.File, true
		}
		for _, r := range l.rules {
			if r.verdict == reeve.Allow && l.disabled {
				continue
			}
			joined := *r
			joined.layer, joined.order = l.Name, order
			order++
			s.lists[r.verdict].add(&joined)
		}
	}
	return s
}

func (l *lists) add(r *rule) {
	if !r.kind {
		l.calls = append(l.calls, r)
		return
	}
	switch r.class {
	case tool.ClassRead:
		l.reads = append(l.reads, r)
	case tool.ClassWrite:
		l.writes = append(l.writes, r)
	case tool.ClassWeb:
		l.hosts = append(l.hosts, r)
	case tool.ClassBash:
		l.line = append(l.line, r)
		if program := r.line.Program(); program != "" {
			if l.program == nil {
				l.program = map[string][]*rule{}
			}
			l.program[program] = append(l.program[program], r)
		} else {
			l.loose = append(l.loose, r)
		}
		if r.host || r.verdict == reeve.Allow {
			return // an allow of every command still looks at each
		}
	default:
		l.calls = append(l.calls, r)
		return
	}
	if r.all && r.class != tool.ClassWeb {
		// Every path is every call of the class, also one that names no path.
		l.calls = append(l.calls, r)
	}
}

// Tier is what the layers' tables say of a tool; the strictest entry holds. A
// tool of the denied tier stays there, whatever a table says (G12).
func (s *Set) Tier(name string) (reeve.Tier, bool) {
	t, found := reeve.TierRead, false
	for i := range s.tiers {
		if s.tiers[i].name.match(name) {
			t, found = min(t, s.tiers[i].tier), true
		}
	}
	return t, found
}

// speaks reports whether a rule in calls means the call of in as a whole.
func (r *rule) speaks(in *Input) bool {
	if !r.kind {
		return r.name.match(in.Tool) && r.all
	}
	if r.class != in.Class || r.edit {
		return false
	}
	return r.all || r.subject != nil && r.subject.match(subject(in))
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
