package policy

import (
	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/policy/rule"
	"github.com/reeve-gate/reeve/internal/tool"
)

// spot is a path effect, prepared for comparison: as spelled, and as the disk
// resolves it where that is another place.
type spot struct {
	effect       *reeve.Effect
	path, target string
	sig, tsig    match.Sig
	certain      bool // target is what the disk said
	exists       bool // certain to exist
	may          bool // may exist
}

func (j *judge) spot(e *reeve.Effect) spot {
	f := &e.Facts
	p := spot{effect: e, path: e.Path, target: f.Target, certain: f.Known && f.Target != "",
		exists: e.Exists || f.Known && f.Exists, may: e.Exists || !f.Known || f.Exists}
	if j.fold {
		p.path, p.target = lower(p.path), lower(p.target)
	}
	p.sig = match.SigOf(p.path)
	if p.target == p.path {
		p.target = ""
	} else if p.target != "" {
		p.tsig = match.SigOf(p.target)
	}
	return p
}

// wide: either spelling is meant.
func (j *judge) wide(r *rule.Rule, p *spot) bool {
	return r.Path != nil && (r.Path.Wide(p.path, p.sig, j.bases, j.fold) ||
		p.target != "" && r.Path.Wide(p.target, p.tsig, j.bases, j.fold))
}

// narrow: both spellings are covered, and the disk has been asked.
func (j *judge) narrow(r *rule.Rule, p *spot) bool {
	return r.Path != nil && p.certain && r.Path.Narrow(p.path, p.sig, j.bases, j.fold) &&
		(p.target == "" || r.Path.Narrow(p.target, p.tsig, j.bases, j.fold))
}

// path judges one path that is read, written or deleted.
func (j *judge) path(e *reeve.Effect) {
	column, inside := j.pathColumn(e)
	subject := e.Kind.String() + " " + e.Path
	if e.Path == "" {
		subject = e.Kind.String() + " of a path that is not known before it runs"
	}
	f := j.pathFinding(e, subject, column, inside)
	f.inside, f.outside = inside && e.Kind != reeve.EffectRead, !inside && e.Kind != reeve.EffectRead
	f.warn = f.warn || column == reeve.ColumnDestructive
	j.add(f)
}

// pathColumn says where a path stands in the matrix.
func (j *judge) pathColumn(e *reeve.Effect) (column reeve.Column, inside bool) {
	inside = insideWorkspace(e, &j.in.Facts)
	shell := j.in.Class == tool.ClassBash
	switch {
	case e.Kind == reeve.EffectRead && shell:
		return reeve.ColumnReadCommand, inside
	case e.Kind == reeve.EffectRead:
		if c := j.column(); c != reeve.ColumnWrite && c != reeve.ColumnDestructive {
			return c, inside
		}
		return reeve.ColumnRead, inside
	case protectedPath(e):
		return reeve.ColumnProtected, inside
	case shell && (inside || e.Path == ""):
		return reeve.ColumnOrdinary, inside
	case shell:
		return reeve.ColumnWrite, inside
	}
	return j.column(), inside
}

func (j *judge) pathFinding(e *reeve.Effect, subject string, column reeve.Column, inside bool) finding {
	if why := guarded(e); why != "" {
		return finding{verdict: reeve.Deny, column: column, subject: subject, rule: "guard", source: builtIn, reason: e.Path + why, explicit: true}
	}
	p := j.spot(e)
	for _, v := range [...]reeve.Verdict{reeve.Deny, reeve.Ask} {
		if r := j.findPath(v, e, subject, func(r *rule.Rule) bool { return j.speaksOf(r, &p) }); r != nil {
			return j.by(r, subject, column)
		}
	}
	if e.Deep && e.Command == nil && j.in.Class == tool.ClassBash {
		unknown := *e // a redirection to a pattern: whichever file it turns out to stand for
		unknown.Path = ""
		e, p, inside = &unknown, j.spot(&unknown), false
	}
	if f, ok := j.couldPath(e, &p, subject, column); ok {
		return f
	}
	if f, ok := j.allowPath(e, &p, subject, column, inside); ok {
		return f
	}
	if column == reeve.ColumnProtected {
		return finding{verdict: reeve.Ask, column: column, subject: subject, rule: "protected path", source: builtIn,
			reason: e.Path + " steers programs, or is one file under several names"}
	}
	return j.restOfPath(e, subject, column, inside)
}

// guarded is what the kernel refuses before any rule; said here again, so that
// a judge that is asked alone denies it too (A18, A20, amendments 2 and 13).
func guarded(e *reeve.Effect) string {
	m := e.Facts.Marks
	switch {
	case m.Has(reeve.PathOwnState):
		return " belongs to Reeve itself"
	case m.Has(reeve.PathCredential):
		return " holds credentials"
	case m.Has(reeve.PathGateConfig) && e.Kind != reeve.EffectRead:
		return " holds the settings that put this agent behind the gate"
	}
	return ""
}

// findPath looks through the rules on paths for this kind of access, and the
// rules on this tool's own name that hold a pattern.
func (j *judge) findPath(v reeve.Verdict, e *reeve.Effect, subject string, matches func(*rule.Rule) bool) *rule.Rule {
	l := &j.set.lists[v]
	list := l.writes
	if e.Kind == reeve.EffectRead {
		list = l.reads
	}
	r := j.find(list, subject, matches)
	if r != nil && !j.explain {
		return r
	}
	named := j.find(l.calls, subject, func(r *rule.Rule) bool { return !r.All && r.Names(j.in.Tool) && matches(r) })
	if r == nil {
		return named
	}
	return r
}

// speaksOf reports whether a deny or ask means the path. A folder that is
// deleted goes with everything in it that a rule names for certain.
func (j *judge) speaksOf(r *rule.Rule, p *spot) bool {
	if r.Edit && !p.may {
		return false
	}
	if r.Path != nil && r.Path.All() {
		return true
	}
	if p.path == "" {
		return false
	}
	if j.wide(r, p) {
		return true
	}
	if p.effect.Kind != reeve.EffectDelete || r.Path == nil {
		return false
	}
	certain, _ := r.Path.Below(p.path, j.bases, j.fold)
	return certain
}

// couldPath asks where a deny or ask might speak of a path and it cannot be
// told: the path is not known, or everything below a folder is meant. What is
// only possible does not outweigh the sandbox.
func (j *judge) couldPath(e *reeve.Effect, p *spot, subject string, column reeve.Column) (finding, bool) {
	if e.Path != "" && (!e.Deep || onlyNames(e)) {
		return finding{}, false
	}
	explicit := false
	could := func(r *rule.Rule) bool {
		if r.Path == nil {
			return false
		}
		if e.Path == "" {
			explicit = true
			return true
		}
		certain, possible := r.Path.Below(p.path, j.bases, j.fold)
		explicit = explicit || certain
		return certain || possible && j.in.Class == tool.ClassBash
	}
	for _, v := range [...]reeve.Verdict{reeve.Deny, reeve.Ask} {
		if r := j.findPath(v, e, subject, could); r != nil {
			return finding{verdict: reeve.Ask, column: column, subject: subject, rule: r.Text, source: r.At,
				reason: subject + " may reach what " + r.Text + " speaks of", explicit: explicit}, true
		}
	}
	return finding{}, false
}

// onlyNames reports whether a path is read by a command that only reads and shows
// the names below it, not what is in them.
func onlyNames(e *reeve.Effect) bool {
	return e.Kind == reeve.EffectRead && e.Command != nil && e.Command.Marks.Has(reeve.CommandReadOnly) && listers[e.Command.Program()]
}

var listers = map[string]bool{"ls": true, "dir": true, "vdir": true, "find": true, "fd": true, "fdfind": true, "tree": true, "du": true}

// allowPath looks for a rule that covers the path: one on paths, one on the
// tool, or the one that allowed the command whose operand the path is.
func (j *judge) allowPath(e *reeve.Effect, p *spot, subject string, column reeve.Column, inside bool) (finding, bool) {
	removes := column == reeve.ColumnDestructive
	covers := func(r *rule.Rule) bool {
		switch {
		case e.Path == "" || removes && !r.Destructive:
			return false
		case r.Edit && (!p.exists || e.Kind == reeve.EffectDelete):
			return false
		case column == reeve.ColumnProtected && !r.Path.Exact():
			return false
		case r.Path != nil && r.Path.All():
			return e.Kind == reeve.EffectRead || inside && p.certain
		}
		return j.narrow(r, p)
	}
	if r := j.findPath(reeve.Allow, e, subject, covers); r != nil {
		f := j.by(r, subject, column)
		f.warn = removes
		return f, true
	}
	if column == reeve.ColumnProtected || e.Path == "" {
		return finding{}, false
	}
	if inside && p.certain || e.Kind == reeve.EffectRead && j.in.Class != tool.ClassRead {
		if f, ok := j.covered(subject, column); ok {
			return f, true
		}
	}
	for _, g := range j.grants {
		if g.command == e.Command && (inside && p.certain || g.rule.Line != nil && g.rule.Line.Exact()) {
			return j.by(g.rule, subject, column), true
		}
	}
	return finding{}, false
}

// restOfPath is the end of the order for a path that no rule speaks of.
func (j *judge) restOfPath(e *reeve.Effect, subject string, column reeve.Column, inside bool) finding {
	fine := func(rule, reason string) finding {
		return finding{verdict: reeve.Allow, column: column, subject: subject, rule: rule, source: builtIn, reason: reason}
	}
	known := e.Path != ""
	switch {
	case e.Facts.Marks.Has(reeve.PathDevice):
		return fine("harmless device", "nothing is kept there")
	case e.Kind != reeve.EffectRead && column == reeve.ColumnDestructive:
		return j.byTier(subject, column)
	case e.Kind != reeve.EffectRead:
		return j.byDefault(subject, column, inside && column != reeve.ColumnProtected)
	case known && j.in.Class == tool.ClassBash:
		return fine("reading", "a command that may run may read")
	case known && inside && j.in.Class != tool.ClassRead && (j.in.Class == tool.ClassWrite || j.in.Class == tool.ClassOther):
		return fine("reading", "a tool may read what it works on")
	case known && inside:
		return j.byTier(subject, column)
	}
	f := j.byDefault(subject, column, known)
	if known && !inside {
		f.reason = e.Path + " lies outside the workspace and no rule speaks of it"
	}
	return f
}
