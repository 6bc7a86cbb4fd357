package policy

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
)

// cell is what the matrix looks at.
type cell struct {
	verdict  reeve.Verdict
	column   reeve.Column
	explicit bool // a rule, the catalog, a hook or the tool itself said so
	inside   bool // a write, and only below the workspace
	outside  bool // it is certain that the call does more than write below the workspace
	git      bool // changes a repository through git, and touches nothing else that is protected
	shell    bool // it is a shell's
	desktop  bool
}

// turn is the matrix of DESIGN 3 (contract A44 to A49, G57, amendments 1, 8,
// 10, 11, 12 and 26): what becomes of a verdict in a mode, with the boundary
// as it is. A boundary that bites in part counts as missing.
func turn(c cell, f *Facts) reeve.Verdict {
	ready := f.Sandbox == reeve.SandboxReady
	if c.verdict == reeve.Deny {
		return reeve.Deny
	}
	contained := c.column == reeve.ColumnOrdinary || c.column == reeve.ColumnReadCommand
	switch f.Mode {
	case reeve.ModeDefault:
		if contained && ready && !c.explicit {
			return reeve.Allow // A25: ordinary shell, in the sandbox
		}
		return c.verdict
	case reeve.ModeAuto:
		return turnAuto(c, contained, ready)
	case reeve.ModeDangerous:
		if c.desktop {
			return c.verdict // G57: the screen is asked for, each time
		}
		return reeve.Allow
	}
	// Plan, and every mode that is not known: readers only (A26, A47).
	if c.column == reeve.ColumnRead {
		return denyUnless(c.verdict == reeve.Allow && !c.shell)
	}
	return reeve.Deny
}

// turnAuto asks nobody (A27, A48).
func turnAuto(c cell, contained, ready bool) reeve.Verdict {
	allowed := c.verdict == reeve.Allow
	switch {
	case c.shell && !ready:
		return reeve.Deny
	case contained:
		return denyUnless(allowed || !c.explicit)
	case c.column == reeve.ColumnRead:
		return denyUnless(allowed)
	case c.column == reeve.ColumnWrite:
		return denyUnless(allowed && !c.outside || !c.explicit && c.inside)
	case c.column == reeve.ColumnProtected:
		return denyUnless(allowed && c.explicit && c.git)
	case c.column == reeve.ColumnDestructive:
		return denyUnless(allowed)
	}
	return reeve.Deny // a host, the outside, a tool's own question
}

func denyUnless(ok bool) reeve.Verdict {
	if ok {
		return reeve.Allow
	}
	return reeve.Deny
}

// Turn is step 7a: what the mode and the boundary make of a decision of steps
// 5 to 7. The answer of auto and plan is never a question. Where the matrix
// decided, Step is mode and Rule names the cell, as in "auto/ready/external";
// where a rule's verdict stands, the rule stays named. Host is set when the
// call will leave a boundary that is ready.
func Turn(d reeve.Decision, f Facts) reeve.Decision {
	c := cellOf(&d, &f)
	v := turn(c, &f)
	if v != reeve.Deny && f.Sandbox == reeve.SandboxReady {
		d.Host = leavesSandbox(d.Effects)
	}
	if v == d.Verdict && (v != reeve.Ask || c.explicit) {
		return d
	}
	name := cellName(&d, &f)
	switch {
	case v == reeve.Deny:
		d.Reason = "mode " + f.Mode.String() + " asks nobody, so this is denied: " + d.Reason
		if d.Verdict == reeve.Allow {
			d.Reason = "mode " + f.Mode.String() + " does not let this through (" + name + "), also where a rule allows it"
		}
	case v == reeve.Allow && f.Mode == reeve.ModeDangerous:
		d.Reason = "dangerous mode asks nobody: " + d.Reason
	case v == reeve.Allow && c.column == reeve.ColumnWrite:
		d.Reason = "it writes inside the workspace"
	case v == reeve.Allow:
		d.Reason = "an ordinary command, run inside the sandbox"
	}
	d.Verdict, d.Step, d.Rule, d.Source = v, reeve.StepMode, name, builtIn
	return d
}

// cellOf reads from a decision what the matrix looks at.
func cellOf(d *reeve.Decision, f *Facts) cell {
	c := cell{verdict: d.Verdict, column: d.Column, explicit: d.Explicit, inside: true, git: true}
	if d.Step == reeve.StepTool || d.Step == reeve.StepFlow {
		c.explicit = true
	}
	wrote := false
	for i := range d.Effects {
		e := &d.Effects[i]
		switch e.Kind {
		case reeve.EffectRun:
			c.shell = true
		case reeve.EffectDrive:
			c.desktop = true
		case reeve.EffectWrite, reeve.EffectDelete:
			wrote = true
			c.git = c.git && !protectedPath(e)
			if !insideWorkspace(e, f) {
				c.inside, c.outside = false, true
			}
		case reeve.EffectExternal, reeve.EffectUnknown, reeve.EffectConnect, reeve.EffectChangeSelf, reeve.EffectReadSecret:
			c.inside, c.outside = false, true
		}
	}
	c.inside = c.inside && wrote
	switch d.Column {
	case reeve.ColumnOrdinary, reeve.ColumnReadCommand, reeve.ColumnHost:
		c.shell = true
	case reeve.ColumnProtected:
		c.git = c.git && c.shell
	}
	return c
}

// insideWorkspace reports whether a path effect stays below the workspace, as
// it is spelled and as the disk resolves it.
func insideWorkspace(e *reeve.Effect, f *Facts) bool {
	if e.Path == "" {
		return false
	}
	if e.Facts.Known {
		return !e.Facts.Marks.Has(reeve.PathOutside) || e.Facts.Marks.Any(reeve.PathScratch|reeve.PathDevice)
	}
	if f.FoldCase {
		return match.Under(lower(e.Path), lower(f.Workspace))
	}
	return match.Under(e.Path, f.Workspace)
}

func protectedPath(e *reeve.Effect) bool {
	return e.Facts.Marks.Any(reeve.PathProtected | reeve.PathHardLinked | reeve.PathGateConfig)
}

// leavesSandbox reports whether the caller asked for a command outside of it.
func leavesSandbox(effects []reeve.Effect) bool {
	for i := range effects {
		if c := effects[i].Command; effects[i].Kind == reeve.EffectRun && c != nil && c.Marks.Has(reeve.CommandHost) {
			return true
		}
	}
	return false
}

// cellName is how a cell of the matrix is written in records.
func cellName(d *reeve.Decision, f *Facts) string {
	sandbox := reeve.SandboxMissing
	if f.Sandbox == reeve.SandboxReady {
		sandbox = reeve.SandboxReady
	}
	column := d.Column.String()
	switch d.Step {
	case reeve.StepTool:
		column = reeve.ColumnTool.String()
	case reeve.StepFlow:
		column = reeve.ColumnExternal.String()
	}
	return f.Mode.String() + "/" + sandbox.String() + "/" + column
}

func lower(s string) string { return strings.ToLower(s) }
