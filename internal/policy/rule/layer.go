package rule

import (
	"fmt"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/tree"
)

// The names of the layers, weakest claim first. The order decides only which
// of several equal rules is named.
const (
	LayerBuiltIn = "built-in"
	LayerManaged = "managed"
	LayerUser    = "user"
	LayerProject = "project"
	LayerSession = "session"
	LayerImport  = "import"
	LayerTest    = "test" // a case of "policy test"; may say interactive
)

// maxRules bounds one layer.
const maxRules = 10_000

// Layer is one policy file, parsed. It is immutable; use [Join] to judge by it.
type Layer struct {
	Name string
	File string

	Rules       []*Rule
	Default     reeve.Verdict // meaningful where Stated is set
	Stated      bool
	Disabled    bool // enabled = false: its allows are void
	Tiers       []TierRule
	Interactive *bool // what a test case says of whether somebody can answer; nil = nothing
	Fault       error // why the layer cannot be read; nil for a good one
}

// TierRule is one entry of the table tiers.
type TierRule struct {
	Tool string // as written
	Name Wildcard
	Tier reeve.Tier
	At   string // file:line
}

// Broken stands for a layer that cannot be read: it allows nothing, and every
// call that no other layer denies is asked, with the reason in the question
// (DESIGN 3a).
func Broken(name, file string, err error) *Layer {
	if err == nil {
		err = fmt.Errorf("%s cannot be read", file)
	}
	return &Layer{Name: name, File: file, Fault: err}
}

// Untrusted is what counts of a project's file before a person has trusted its
// exact content: it may only tighten. Deny and ask rules stay; a tier becomes
// the rule that it amounts to; allow rules and the default go.
func (l *Layer) Untrusted() *Layer {
	u := &Layer{Name: l.Name, File: l.File, Fault: l.Fault}
	for _, r := range l.Rules {
		if r.Verdict != reeve.Allow {
			u.Rules = append(u.Rules, r)
		}
	}
	for _, t := range l.Tiers {
		if t.Tier == reeve.TierRead {
			continue
		}
		r := &Rule{Verdict: reeve.Ask, Text: t.Tool, At: t.At, Word: t.Tool, Name: t.Name, All: true}
		if t.Tier == reeve.TierDenied {
			r.Verdict = reeve.Deny
		}
		u.Rules = append(u.Rules, r)
	}
	if l.Stated && l.Default != reeve.Allow {
		u.Default, u.Stated = l.Default, true
	}
	return u
}

// Parse reads one policy file. name is one of the Layer names, file is what
// rules and errors are placed by. Errors are of the form FILE:LINE:COLUMN:
// what is wrong. A file with any fault gives no layer at all (contract A55).
func Parse(name, file string, src []byte) (*Layer, error) {
	root, err := tree.Read(file, src)
	if err != nil {
		return nil, err
	}
	p := &parser{file: file, layer: &Layer{Name: name, File: file}}
	if err := p.top(root); err != nil {
		return nil, err
	}
	return p.layer, nil
}

// parser turns a tree into a layer.
type parser struct {
	file   string
	layer  *Layer
	claude bool  // rules are read as Claude Code reads them
	when   *when // conditions of the whole file
}

func (p *parser) fault(at tree.Pos, format string, args ...any) error {
	return &tree.Error{File: p.file, Pos: at, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) want(n *tree.Node, key string, k tree.Kind) error {
	if n.Kind != k {
		return p.fault(n.Pos, "%s must be %s, not %s", key, k, n.Kind)
	}
	return nil
}

// verdicts are the lists of a file, strictest first.
var verdicts = [...]struct {
	key string
	v   reeve.Verdict
}{{"deny", reeve.Deny}, {"ask", reeve.Ask}, {"allow", reeve.Allow}}

// top reads the keys of a file. What the others depend on comes first.
func (p *parser) top(root *tree.Node) error {
	for _, k := range root.Keys {
		var err error
		switch k.Name {
		case "import":
			err = p.imports(k.Value)
		case "when":
			p.when, err = p.conditions(k.Value)
		case "deny", "ask", "allow", "permissions", "default", "defaultDecision", "enabled", "tiers", "interactive":
		default:
			err = p.fault(k.Pos, "unknown key %q; the keys are deny, ask, allow, default, enabled, tiers, when, import, permissions", k.Name)
		}
		if err != nil {
			return err
		}
	}
	if a, b := root.Find("default"), root.Find("defaultDecision"); a != nil && b != nil {
		return p.fault(b.Pos, "default and defaultDecision are the same key; write one")
	}
	for _, list := range verdicts {
		if err := p.list(list.key, list.v, root.Find(list.key)); err != nil {
			return err
		}
	}
	return p.settings(root)
}

func (p *parser) settings(root *tree.Node) error {
	for _, k := range root.Keys {
		var err error
		switch k.Name {
		case "permissions":
			err = p.permissions(k.Value)
		case "default", "defaultDecision":
			if err = p.want(k.Value, k.Name, tree.String); err == nil {
				p.layer.Default, err = reeve.ParseVerdict(k.Value.Str)
				p.layer.Stated = true
				if err != nil {
					err = p.fault(k.Value.Pos, "%s: %v", k.Name, err)
				}
			}
		case "enabled":
			if err = p.want(k.Value, k.Name, tree.Bool); err == nil {
				p.layer.Disabled = !k.Value.Bool
			}
		case "tiers":
			err = p.tiers(k.Value)
		case "interactive":
			if p.layer.Name != LayerTest {
				return p.fault(k.Pos, "interactive belongs into test cases only; a session knows by itself whether somebody can answer")
			}
			if err = p.want(k.Value, k.Name, tree.Bool); err == nil {
				p.layer.Interactive = &k.Value.Bool
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) imports(n *tree.Node) error {
	if err := p.want(n, "import", tree.String); err != nil {
		return err
	}
	if n.Str != "claude" {
		return p.fault(n.Pos, "import %q is not known; the one known form is \"claude\"", n.Str)
	}
	p.claude = true
	return nil
}

// permissions reads the table of that name in Claude Code's settings. What it
// says of modes and folders is not a rule and is left out.
func (p *parser) permissions(n *tree.Node) error {
	if err := p.want(n, "permissions", tree.Table); err != nil {
		return err
	}
	for _, k := range n.Keys {
		switch k.Name {
		case "deny", "ask", "allow", "defaultMode", "additionalDirectories", "disableBypassPermissionsMode", "disableAutoMode":
		default:
			return p.fault(k.Pos, "unknown key %q in permissions; the rules stand under deny, ask and allow", k.Name)
		}
	}
	before := p.claude
	p.claude = true
	defer func() { p.claude = before }()
	for _, list := range verdicts {
		if err := p.list("permissions."+list.key, list.v, n.Find(list.key)); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) tiers(n *tree.Node) error {
	if err := p.want(n, "tiers", tree.Table); err != nil {
		return err
	}
	for _, k := range n.Keys {
		if err := p.want(k.Value, "a tier", tree.String); err != nil {
			return err
		}
		t := TierRule{Tool: k.Name, At: p.at(k.Pos)}
		var err error
		if t.Tier, err = reeve.ParseTier(k.Value.Str); err != nil {
			return p.fault(k.Value.Pos, "%v", err)
		}
		if t.Name, err = parseWildcard(k.Name); err != nil || t.Name.lone() {
			return p.fault(k.Pos, "tiers: %q is no tool name with a literal start", k.Name)
		}
		p.layer.Tiers = append(p.layer.Tiers, t)
	}
	return nil
}

func (p *parser) at(pos tree.Pos) string { return fmt.Sprintf("%s:%d", p.file, pos.Line) }

// list reads one list of rules.
func (p *parser) list(key string, v reeve.Verdict, n *tree.Node) error {
	if n == nil {
		return nil
	}
	if err := p.want(n, key, tree.List); err != nil {
		return err
	}
	for _, item := range n.List {
		r, err := p.rule(v, item)
		if err != nil {
			return err
		}
		if len(p.layer.Rules) >= maxRules {
			return p.fault(item.Pos, "more than %d rules", maxRules)
		}
		p.layer.Rules = append(p.layer.Rules, r)
	}
	return nil
}

// rule reads one entry: a string, or a table.
func (p *parser) rule(v reeve.Verdict, n *tree.Node) (*Rule, error) {
	if n.Kind == tree.String {
		return p.compile(v, n, n)
	}
	if n.Kind != tree.Table {
		return nil, p.fault(n.Pos, "a rule is a string or a table with the key rule, not %s", n.Kind)
	}
	text := n.Find("rule")
	if text == nil {
		return nil, p.fault(n.Pos, "this rule has no key rule")
	}
	if err := p.want(text, "rule", tree.String); err != nil {
		return nil, err
	}
	r, err := p.compile(v, text, n)
	if err != nil {
		return nil, err
	}
	for _, k := range n.Keys {
		switch k.Name {
		case "rule":
		case "reason":
			if err = p.want(k.Value, "reason", tree.String); err == nil {
				r.Reason = k.Value.Str
			}
		case "when":
			r.own, err = p.conditions(k.Value)
		case "destructive":
			if v != reeve.Allow {
				return nil, p.fault(k.Pos, "destructive only says something in an allow rule")
			}
			if err = p.want(k.Value, "destructive", tree.Bool); err == nil {
				r.Destructive = k.Value.Bool
			}
		case "tests":
			err = p.tests(r, k.Value)
		default:
			err = p.fault(k.Pos, "unknown key %q in a rule; the keys are rule, reason, when, destructive, tests", k.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// compile parses a rule's text.
func (p *parser) compile(v reeve.Verdict, text, n *tree.Node) (*Rule, error) {
	r, err := parseRule(v, text.Str, p.claude)
	if err != nil {
		return nil, p.fault(text.Pos, "rule %q: %v", text.Str, err)
	}
	r.At, r.file = p.at(n.Pos), p.when
	if n.Kind == tree.String {
		r.At = p.at(text.Pos)
	}
	return r, nil
}
