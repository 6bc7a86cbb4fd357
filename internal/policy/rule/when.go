package rule

import (
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/policy/tree"
)

// Scene is what conditions look at.
type Scene struct {
	Actor       reeve.Actor
	Origin      reeve.Origin
	Mode        reeve.Mode
	Sandbox     reeve.Sandbox
	Tier        reeve.Tier
	Interactive bool
	Dir         string // the caller's directory; empty = not known
	Bases       match.Bases
}

// when is the conditions of a rule; all that are set must be met.
type when struct {
	actor       []Wildcard
	origin      []reeve.Origin
	mode        []reeve.Mode
	sandbox     []reeve.Sandbox
	tier        []reeve.Tier
	cwd         []match.Path
	interactive *bool
	node        *tree.Node // as written
}

// conditions reads a when table.
func (p *parser) conditions(n *tree.Node) (*when, error) {
	if err := p.want(n, "when", tree.Table); err != nil {
		return nil, err
	}
	w := &when{node: n}
	for _, k := range n.Keys {
		if k.Name == "interactive" {
			if err := p.want(k.Value, k.Name, tree.Bool); err != nil {
				return nil, err
			}
			w.interactive = &k.Value.Bool
			continue
		}
		values := k.Value.List
		if k.Value.Kind == tree.String {
			values = []*tree.Node{k.Value}
		} else if err := p.want(k.Value, k.Name, tree.List); err != nil {
			return nil, err
		}
		if len(values) == 0 {
			return nil, p.fault(k.Value.Pos, "%s lists nothing, so that the rule could never hold", k.Name)
		}
		for _, v := range values {
			if err := p.want(v, k.Name, tree.String); err != nil {
				return nil, err
			}
			if err := w.add(k.Name, v.Str); err != nil {
				return nil, p.fault(v.Pos, "%v", err)
			}
		}
	}
	return w, nil
}

func (w *when) add(key, value string) error {
	var err error
	switch key {
	case "actor":
		err = w.addActor(value)
	case "origin":
		var o reeve.Origin
		o, err = reeve.ParseOrigin(value)
		w.origin = append(w.origin, o)
	case "mode":
		var m reeve.Mode
		m, err = reeve.ParseMode(value)
		w.mode = append(w.mode, m)
	case "sandbox":
		var s reeve.Sandbox
		s, err = reeve.ParseSandbox(value)
		w.sandbox = append(w.sandbox, s)
	case "tier":
		var t reeve.Tier
		t, err = reeve.ParseTier(value)
		w.tier = append(w.tier, t)
	case "cwd":
		var d match.Path
		d, err = match.ParsePath(value)
		w.cwd = append(w.cwd, d)
	default:
		err = unknownCondition(key)
	}
	return err
}

type unknownCondition string

func (k unknownCondition) Error() string {
	return "unknown condition \"" + string(k) + "\"; the conditions are actor, origin, mode, sandbox, interactive, cwd, tier"
}

// addActor takes a kind of actor ("child"), an actor, or one with stars.
func (w *when) addActor(s string) error {
	kind, _, named := strings.Cut(s, ":")
	known := reeve.Actor(kind)
	if _, err := reeve.ParseActor(kind + ":x"); err != nil {
		if known, err = reeve.ParseActor(kind); err != nil {
			return err
		}
	}
	if !named && known != "user" && known != "monitor" {
		s = kind + ":*"
	}
	c, err := parseWildcard(s)
	w.actor = append(w.actor, c)
	return err
}

// met reports whether every condition holds for f. Where narrow is set, for
// an allow rule, a folder is read narrowly; a directory that is not known
// holds for deny and ask and not for allow.
func (w *when) met(f *Scene, narrow bool) bool {
	one := func(list []Wildcard, s string) bool {
		return slices.ContainsFunc(list, func(c Wildcard) bool { return c.Match(s) })
	}
	sandbox := f.Sandbox
	if sandbox == reeve.SandboxReduced && !slices.Contains(w.sandbox, sandbox) {
		sandbox = reeve.SandboxMissing
	}
	switch {
	case w.actor != nil && !one(w.actor, string(f.Actor)),
		w.origin != nil && !slices.Contains(w.origin, f.Origin),
		w.mode != nil && !slices.Contains(w.mode, f.Mode),
		w.sandbox != nil && !slices.Contains(w.sandbox, sandbox),
		w.tier != nil && !slices.Contains(w.tier, f.Tier),
		w.interactive != nil && *w.interactive != f.Interactive:
		return false
	}
	return w.cwd == nil || slices.ContainsFunc(w.cwd, func(p match.Path) bool {
		switch sig := match.SigOf(f.Dir); {
		case p.All():
			return true
		case f.Dir == "":
			return !narrow
		case narrow:
			return p.Narrow(f.Dir, sig, f.Bases, false)
		default:
			return p.Wide(f.Dir, sig, f.Bases, false)
		}
	})
}
