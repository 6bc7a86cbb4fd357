package policy

import (
	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/policy/rule"
	"github.com/reeve-gate/reeve/internal/tool"
)

const builtIn = "built-in"

// Judge is step 5: the layers' word on a call, before its mode turns it. The
// strictest part of the call decides; among equals the one that the mode will
// turn most strictly (contract A52, G8 to G15, Y24 to Y28). It is safe for
// concurrent use and changes neither s nor in.
func (s *Set) Judge(in *Input) reeve.Decision {
	j := judge{set: s, in: in}
	return j.run()
}

// Explain is Judge with a Trace: every rule that matched a part of the call,
// and every table that spoke.
func (s *Set) Explain(in *Input) reeve.Decision {
	j := judge{set: s, in: in, explain: true}
	return j.run()
}

// judge is one call being judged.
type judge struct {
	set     *Set
	in      *Input
	explain bool

	scene rule.Scene
	bases match.Bases // folded where fold is set
	fold  bool
	tier  reeve.Tier
	whole *rule.Rule // an allow for the tool as a whole
	auto  bool       // the catalog says auto

	parts   int
	raw     reeve.Verdict // strictest so far
	best    finding
	grants  []grant
	trace   []reeve.Trace
	decides int // index of the trace line of best
}

// finding is what one part of a call came to.
type finding struct {
	verdict  reeve.Verdict
	column   reeve.Column
	subject  string
	rule     string
	source   string
	reason   string
	explicit bool
	warn     bool
	inside   bool // a write below the workspace
	outside  bool // a write elsewhere
	git      bool // a change of the repository through git
	named    bool // a rule that names the host allows the connection
	port     bool // and names the port
}

// grant is a command that a rule allows, for the paths among its operands.
type grant struct {
	command *reeve.Command
	rule    *rule.Rule
}

func (j *judge) run() reeve.Decision {
	f := &j.in.Facts
	j.bases, j.fold = match.Bases{Workspace: f.Workspace, Home: f.Home}, f.FoldCase
	j.scene = rule.Scene{Actor: f.Actor, Origin: f.Origin, Mode: f.Mode, Sandbox: f.Sandbox, Tier: j.in.Tier,
		Interactive: f.Interactive, Dir: f.Dir, Bases: j.bases}
	if j.fold {
		j.bases = match.Bases{Workspace: lower(f.Workspace), Home: lower(f.Home)}
	}
	j.call()
	for i := range j.in.Effects { // commands first: they speak for their operands
		if e := &j.in.Effects[i]; e.Kind == reeve.EffectRun {
			j.command(e)
		}
	}
	for i := range j.in.Effects {
		switch e := &j.in.Effects[i]; e.Kind {
		case reeve.EffectRun:
		case reeve.EffectRead, reeve.EffectWrite, reeve.EffectDelete:
			j.path(e)
		case reeve.EffectConnect:
			j.host(e)
		default:
			j.other(e)
		}
	}
	if len(j.in.Effects) == 0 {
		j.bare()
	}
	return j.decision()
}

func (j *judge) decision() reeve.Decision {
	b := &j.best
	d := reeve.Decision{Verdict: j.raw, Step: reeve.StepPolicy, Rule: b.rule, Source: b.source, Reason: b.reason,
		Effects: j.in.Effects, Column: b.column, Explicit: b.explicit, Warn: b.warn, Named: b.named, Port: b.port, Trace: j.trace}
	if j.explain && j.decides < len(d.Trace) {
		d.Trace[j.decides].Decides = true
	}
	return d
}

// add weighs one part's finding. The decision's verdict is the strictest of
// all parts; its rule, column and reason are those of the part that is the
// strictest once the mode has turned it.
func (j *judge) add(f finding) {
	j.note(f.subject, f.verdict, f.rule, f.source, f.reason)
	j.parts++
	if j.parts == 1 {
		j.raw, j.best, j.decides = f.verdict, f, len(j.trace)-1
		return
	}
	warn := j.best.warn || f.warn
	j.raw = min(j.raw, f.verdict)
	if j.stricter(&f, &j.best) {
		j.best, j.decides = f, len(j.trace)-1
	}
	j.best.warn = warn
}

func (j *judge) stricter(a, b *finding) bool {
	ta, tb := turn(a.cell(j.in), &j.in.Facts), turn(b.cell(j.in), &j.in.Facts)
	switch {
	case ta != tb:
		return ta < tb
	case a.verdict != b.verdict:
		return a.verdict < b.verdict
	case a.explicit != b.explicit:
		return a.explicit
	}
	return a.column > b.column
}

func (f *finding) cell(in *Input) cell {
	return cell{verdict: f.verdict, column: f.column, explicit: f.explicit, inside: f.inside, outside: f.outside, git: f.git, shell: in.Class == tool.ClassBash}
}

func (j *judge) note(subject string, v reeve.Verdict, rule, source, note string) {
	if j.explain {
		j.trace = append(j.trace, reeve.Trace{Step: reeve.StepPolicy, Verdict: v, Subject: subject, Rule: rule, Source: source, Note: note})
	}
}

// by is a finding that a rule gave.
func (j *judge) by(r *rule.Rule, subject string, column reeve.Column) finding {
	f := finding{verdict: r.Verdict, column: column, subject: subject, rule: r.Text, source: r.At, reason: r.Reason, explicit: true}
	if f.reason == "" {
		f.reason = sentence(r.Verdict, subject)
	}
	return f
}

func sentence(v reeve.Verdict, subject string) string {
	switch v {
	case reeve.Deny:
		return "a rule denies " + subject
	case reeve.Ask:
		return "a rule asks about " + subject
	}
	return "a rule allows " + subject
}

// find returns the first rule of list that holds and matches. An explanation
// lists the others too.
func (j *judge) find(list []*rule.Rule, subject string, matches func(*rule.Rule) bool) *rule.Rule {
	var first *rule.Rule
	for _, r := range list {
		if !matches(r) || !r.Holds(&j.scene) {
			continue
		}
		if !j.explain {
			return r
		}
		if first == nil {
			first = r
		}
		j.note(subject, r.Verdict, r.Text, r.At, "matches")
	}
	return first
}

// call judges what speaks of the call as a whole: tiers, the catalog, rules on
// the tool, layers that cannot be read, hooks that ask.
func (j *judge) call() {
	in := j.in
	j.tier = in.Tier
	if t, ok := j.set.Tier(in.Tool); ok && in.Tier != reeve.TierDenied {
		j.tier = t
	}
	column := j.column()
	fixed := func(v reeve.Verdict, rule, source, reason string) {
		j.add(finding{verdict: v, column: column, subject: in.Tool, rule: rule, source: source, reason: reason, explicit: true})
	}
	if j.tier == reeve.TierDenied {
		fixed(reeve.Deny, "tier denied", builtIn, in.Tool+" is in the denied tier; nothing allows it")
	}
	if in.Facts.Catalog == reeve.CatalogOff || in.Facts.Catalog == reeve.CatalogApproval {
		fixed(reeve.Deny, "catalog "+in.Facts.Catalog.String(), "tool settings", in.Tool+" is switched off; reeve tools set "+in.Tool+" changes that")
	}
	means := func(r *rule.Rule) bool { return speaks(r, in) }
	for _, v := range [...]reeve.Verdict{reeve.Deny, reeve.Ask} {
		if r := j.find(j.set.lists[v].calls, in.Tool, means); r != nil {
			j.add(j.by(r, in.Tool, column))
		}
	}
	for _, l := range j.set.broken {
		fixed(reeve.Ask, "unreadable policy", l.File, "the "+l.Name+" policy cannot be read, so that nothing it allows counts: "+l.Fault.Error())
	}
	if in.Facts.HookAsk != "" {
		fixed(reeve.Ask, "hook", "hook", in.Facts.HookAsk)
	}
	switch in.Facts.Catalog {
	case reeve.CatalogAsk:
		fixed(reeve.Ask, "catalog ask", "tool settings", in.Tool+" is set to ask first")
	case reeve.CatalogAuto:
		j.auto = true
	}
	j.whole = j.find(j.set.lists[reeve.Allow].calls, in.Tool, means)
}

// column is where a call stands in the matrix by its tool alone.
func (j *judge) column() reeve.Column {
	switch {
	case j.in.Class == tool.ClassBash:
		return reeve.ColumnOrdinary
	case j.tier == reeve.TierDestructive:
		return reeve.ColumnDestructive
	case j.in.Class == tool.ClassMCP && j.tier != reeve.TierRead, j.in.Class == tool.ClassDesktop:
		return reeve.ColumnTool
	case j.in.Class == tool.ClassRead || j.tier == reeve.TierRead:
		return reeve.ColumnRead
	}
	return reeve.ColumnWrite
}

// covered reports what allows the tool as a whole: a rule, or the catalog.
// What deletes needs a rule that says so.
func (j *judge) covered(subject string, column reeve.Column) (finding, bool) {
	if r := j.whole; r != nil && (column != reeve.ColumnDestructive || r.Destructive) {
		f := j.by(r, subject, column)
		f.warn = column == reeve.ColumnDestructive
		return f, true
	}
	if j.auto && column != reeve.ColumnDestructive {
		return finding{verdict: reeve.Allow, column: column, subject: subject, rule: "catalog auto", source: "tool settings",
			reason: j.in.Tool + " is set to run by itself", explicit: true}, true
	}
	return finding{}, false
}

// bare judges a call that names no effect.
func (j *judge) bare() {
	if j.parts > 0 && j.raw == reeve.Deny {
		return
	}
	if j.argument(reeve.Deny, j.in.Tool, j.column()) || j.argument(reeve.Ask, j.in.Tool, j.column()) {
		return
	}
	f, ok := j.covered(j.in.Tool, j.column())
	if !ok {
		f = j.byTier(j.in.Tool, j.column())
	}
	j.add(f)
}

// byTier is the end of the order: the tier, then the default.
func (j *judge) byTier(subject string, column reeve.Column) finding {
	switch {
	case j.tier == reeve.TierDestructive:
		return finding{verdict: reeve.Ask, column: reeve.ColumnDestructive, subject: subject, rule: "tier destructive", source: builtIn,
			reason: "what " + j.in.Tool + " removes may not come back", warn: true}
	case j.tier == reeve.TierRead && column == reeve.ColumnRead:
		return finding{verdict: reeve.Allow, column: column, subject: subject, rule: "tier read", source: builtIn, reason: "it only reads"}
	}
	return j.byDefault(subject, column, true)
}

// byDefault is what holds where no rule and no table speaks. A default of
// allow covers what an allow with a star would, which the caller says.
func (j *judge) byDefault(subject string, column reeve.Column, ordinary bool) finding {
	f := finding{verdict: j.set.def, column: column, subject: subject, rule: "default", source: j.set.defAt, reason: "no rule speaks of " + subject}
	if f.verdict == reeve.Allow && !ordinary {
		f.verdict = reeve.Ask
	}
	if f.verdict == reeve.Deny {
		f.explicit = true
	}
	return f
}
