package kernel

import (
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/tool"
)

// call is one invocation on its way through the steps.
type call struct {
	inv     reeve.Invocation
	started time.Time
	foreign bool // another program has the hand
	explain bool
	clash   bool // another call with this id is alive

	tool  tool.Tool
	spec  tool.Spec
	place tool.Place
	in    policy.Input

	// views are the policies that must agree: the session's own first, then
	// its parents'. first keeps the ordinary case off the heap.
	views []view
	first [1]view

	d      reeve.Decision
	over   bool
	args   string // redacted; empty until a record needs it
	answer approval.Answer
	said   bool // a person said yes to this call
	permit permit.Permit
}

// view is one session's judgement of the call.
type view struct {
	sess  Session
	facts policy.Facts
	d     reeve.Decision
}

// deny ends the call.
func (c *call) deny(step reeve.Step, rule, reason string) {
	c.denyBy(step, rule, "built-in", reason)
}

func (c *call) denyBy(step reeve.Step, rule, source, reason string) {
	c.note(step, reeve.Deny, rule, source, reason)
	c.d = reeve.Decision{Verdict: reeve.Deny, Step: step, Rule: rule, Source: source, Reason: reason,
		Effects: c.in.Effects, Column: c.d.Column, Approval: c.d.Approval, Trace: c.d.Trace}
	c.over = true
}

// note adds a line to an explanation.
func (c *call) note(step reeve.Step, v reeve.Verdict, rule, source, note string) {
	if c.explain {
		c.d.Trace = append(c.d.Trace, reeve.Trace{Step: step, Verdict: v, Rule: rule, Source: source, Note: note})
	}
}

// session is the view the call was made in.
func (c *call) session() *Session { return &c.views[0].sess }

// strictest makes the call's decision the strictest of its views; among equals
// the one nearest to the call.
func (c *call) strictest() {
	trace, effects := c.d.Trace, c.in.Effects
	best := 0
	for i := range c.views {
		if c.views[i].d.Verdict < c.views[best].d.Verdict {
			best = i
		}
	}
	c.d = c.views[best].d
	c.d.Effects = effects
	if c.explain {
		c.d.Trace = append(trace, c.d.Trace...)
	}
	for i := range c.views {
		c.d.Host = c.d.Host || c.views[i].d.Host
		c.d.Tainted = c.d.Tainted || c.views[i].d.Tainted
		c.d.Warn = c.d.Warn || c.views[i].d.Warn
	}
}
