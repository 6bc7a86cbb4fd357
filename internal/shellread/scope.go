package shellread

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
)

// scope is the state of one shell process, as far as it decides what later
// parts mean. It is copied by value for a subshell and for a branch; the
// lists are persistent, so that a copy is cheap and never shares a change.
type scope struct {
	dir   string   // working directory; "" = not known
	alts  []string // where else it would be if a cd before had failed
	prev  string   // what cd - goes back to; "" = not known
	vars  *binding
	funcs *function
	env   []reeve.Assign // exported in this text

	code      string // why every later command runs with a variable that loads code; "" = none
	split     bool   // IFS is not the usual one
	homeMoved bool   // HOME was set
	cdpath    bool   // CDPATH was set: cd may go elsewhere
	allExport bool   // set -a
	physical  bool   // set -P: cd goes where links lead
}

// binding is what is known of a variable that the text sets.
type binding struct {
	name    string
	number  bool // holds a number, or an array of numbers
	integer bool // declare -i: assignments are arithmetic
	keyed   bool // declare -A: subscripts are text
	count   int  // how many there are, with those it hides
	next    *binding
}

// function is one that the text declares, or removes.
type function struct {
	name    string
	body    *syntax.Stmt // nil = removed, or an alias
	alias   bool
	certain bool // declared for certain before what follows
	src     string
	listed  []reeve.Effect // what its body gave where it was declared
	next    *function
}

func (s *scope) lookup(name string) *binding {
	for b := s.vars; b != nil; b = b.next {
		if b.name == name {
			return b
		}
	}
	return nil
}

func (s *scope) bind(b binding) {
	if b.next = s.vars; b.next != nil {
		b.count = b.next.count + 1
	}
	s.vars = &b
}

// join is the state after branches that began with base and ended with ends:
// only what holds in all of them is known.
func join(base *scope, ends ...scope) scope {
	out := ends[0]
	for _, e := range ends[1:] {
		out.code = firstOf(out.code, e.code)
		out.split, out.homeMoved = out.split || e.split, out.homeMoved || e.homeMoved
		out.cdpath, out.allExport, out.physical = out.cdpath || e.cdpath, out.allExport || e.allExport, out.physical || e.physical
		for _, a := range e.env {
			if !slices.Contains(out.env, a) {
				out.env = append(out.env[:len(out.env):len(out.env)], a)
			}
		}
		if e.dir != out.dir {
			out.dir, out.alts = "", nil
		}
		for _, d := range e.alts {
			if out.dir != "" && !slices.Contains(out.alts, d) {
				out.alts = append(out.alts[:len(out.alts):len(out.alts)], d)
			}
		}
		if e.prev != out.prev {
			out.prev = ""
		}
	}
	out.vars = joinVars(base, ends)
	out.funcs = joinFuncs(base, ends)
	return out
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func joinVars(base *scope, ends []scope) *binding {
	out := scope{vars: base.vars}
	if len(ends) == 1 {
		return ends[0].vars
	}
	seen := map[string]bool{}
	for i := range ends {
		for b := ends[i].vars; b != nil && b != base.vars; b = b.next {
			if seen[b.name] {
				continue
			}
			seen[b.name] = true
			all := binding{name: b.name, number: true}
			for j := range ends {
				other := ends[j].lookup(b.name)
				all.number = all.number && other != nil && other.number
				all.integer = all.integer || other != nil && other.integer
				all.keyed = all.keyed || other != nil && other.keyed
			}
			out.bind(all)
		}
	}
	return out.vars
}

func joinFuncs(base *scope, ends []scope) *function {
	if len(ends) == 1 {
		return ends[0].funcs
	}
	out := base.funcs
	for i := range ends {
		for f := ends[i].funcs; f != nil && f != base.funcs; f = f.next {
			copied := *f
			copied.certain = false
			copied.next = out
			out = &copied
		}
	}
	return out
}

// settles reports whether a second round of a loop, begun with s, could mean
// anything else than the first round, begun with entry.
func (s *scope) settles(entry *scope) bool {
	if s.dir != entry.dir || s.prev != entry.prev || s.code != "" && entry.code == "" || s.split && !entry.split ||
		s.homeMoved && !entry.homeMoved || s.cdpath && !entry.cdpath || s.allExport && !entry.allExport || s.physical && !entry.physical ||
		len(s.env) != len(entry.env) || len(s.alts) != len(entry.alts) || s.funcs != entry.funcs {
		return false
	}
	for b := s.vars; b != nil && b != entry.vars; b = b.next {
		was := entry.lookup(b.name)
		now := s.lookup(b.name)
		if was != nil && was.number && !now.number || now.integer && (was == nil || !was.integer) {
			return false
		}
	}
	return true
}
