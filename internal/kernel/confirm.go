package kernel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/policy"
)

// Why a question ended without a yes; Decision.Rule of a denial in step
// confirm.
const (
	RuleNobody = "nobody can answer"
	RuleNoTime = "nobody answered"
	RuleNo     = "a person said no"
)

// confirm is step 8: each view that asks puts its own question, and one answer
// settles one invocation (A3, A4, A50, A53).
func (k *Kernel) confirm(ctx context.Context, c *call) {
	for i := range c.views {
		if c.views[i].d.Verdict != reeve.Ask {
			continue
		}
		if k.ask(ctx, c, &c.views[i]); c.over {
			return
		}
	}
}

func (k *Kernel) ask(ctx context.Context, c *call, v *view) {
	if k.Broker == nil {
		c.deny(reeve.StepConfirm, RuleNobody, v.d.Reason+"; there is nobody to ask, so it is denied")
		return
	}
	standing := v.d.Standing()
	if standing {
		if id := k.Broker.Granted(v.sess.ID, c.inv.CallDigest()); id != "" {
			c.allow(v, id, "allowed for this session by approval "+id)
			return
		}
	}
	if c.inv.Again {
		if id := k.Broker.Take(v.sess.ID, c.inv.CallDigest(), risk(c, v)); id != "" {
			c.said = true
			c.allow(v, id, "allowed by a person while nobody waited for it ("+id+")")
			return
		}
	}
	if !c.inv.Askable && !k.Broker.Watched() {
		c.deny(reeve.StepConfirm, RuleNobody, v.d.Reason+"; nobody can be asked here, so it is denied (run it from a terminal, or write a rule)")
		return
	}
	if c.inv.Again && !c.inv.Deadline.IsZero() { // the caller's time is up before the question's
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, c.inv.Deadline)
		defer cancel()
	}
	a := k.Broker.Ask(ctx, k.question(c, v, standing))
	c.d.Approval = a.ID
	switch {
	case a.Yes():
		c.said = true
		c.allow(v, a.ID, "allowed by a person ("+string(a.Scope)+")")
	case a.State == approval.Denied:
		c.deny(reeve.StepConfirm, RuleNo, "a person said no"+because(a.Word))
	default:
		c.deny(reeve.StepConfirm, RuleNoTime, v.d.Reason+"; "+a.Word+", so it is denied")
	}
}

// allow lets one view's question be settled by an approval.
func (c *call) allow(v *view, id, why string) {
	v.d.Verdict, v.d.Approval = reeve.Allow, id
	c.strictest()
	if c.d.Verdict == reeve.Allow {
		c.d.Step, c.d.Reason, c.d.Approval = reeve.StepConfirm, why, id
	}
}

// previewLimit bounds what a question shows, in bytes; the rest is named by
// its size.
const previewLimit = 16 << 10

// question builds what a person sees. Everything in it goes through the
// cleaner here and nowhere else (amendment 16).
func (k *Kernel) question(c *call, v *view, standing bool) approval.Question {
	now := k.Now()
	until := now.Add(k.Limits.Question)
	if d := c.inv.Deadline; !d.IsZero() && d.Before(until) && !c.inv.Again {
		until = d
	}
	preview := string(k.Clean.JSON(c.inv.Args))
	if len(preview) > previewLimit {
		preview = fmt.Sprintf("%s … and %d more bytes", preview[:previewLimit], len(preview)-previewLimit)
	}
	q := approval.Question{
		ID: k.NewID(), Session: v.sess.ID, Call: c.inv.ID, Actor: c.inv.Actor, Tool: k.toolName(c),
		Operation: k.Clean.Show(operation(c)),
		Reason:    k.Clean.Show(reasonWithRule(&v.d)),
		Scope:     scope(c, v),
		Risk:      risk(c, v),
		Preview:   k.Clean.Show(preview),
		Warn:      v.d.Warn, Standing: standing, Workspace: k.Clean.Show(v.sess.Workspace),
		Asked: now, Expires: until, Again: c.inv.Again,
		Digest: c.inv.Digest(), Content: c.inv.CallDigest(),
	}
	if standing {
		c.in.Facts = v.facts
		if rule, ok := policy.Suggest(&c.in); ok && k.Clean.Show(rule) == rule { // a rule with a secret, or with what cannot be seen, is not offered
			q.Suggest = rule
		}
	}
	return q
}

// operation says in one line what the call would do.
func operation(c *call) string {
	var parts []string
	for i := range c.in.Effects {
		e := &c.in.Effects[i]
		switch {
		case e.Kind == reeve.EffectRun && e.Command != nil && !e.Command.Marks.Has(reeve.CommandBuiltin):
			parts = append(parts, "run "+e.Command.Line())
		case e.Kind == reeve.EffectConnect:
			to := "connect to " + e.Host
			if e.Dial != nil {
				to = strings.Replace(e.String(), "connect ", "connect to ", 1)
			}
			parts = append(parts, to)
		case e.Kind == reeve.EffectUnknown:
			parts = append(parts, "something that cannot be told: "+e.Why)
		case e.Path != "" && e.Kind != reeve.EffectRead:
			parts = append(parts, e.Kind.String()+" "+e.Path)
		}
	}
	if len(parts) == 0 {
		return "use " + c.spec.Name
	}
	if len(parts) > 6 {
		parts = append(parts[:6], fmt.Sprintf("and %d more", len(parts)-6))
	}
	return strings.Join(parts, "; ")
}

func reasonWithRule(d *reeve.Decision) string {
	if d.Rule == "" {
		return d.Reason
	}
	return fmt.Sprintf("%s (%s, %s)", d.Reason, d.Rule, d.Source)
}

func scope(c *call, v *view) string {
	switch {
	case v.facts.Sandbox == reeve.SandboxReady && !v.d.Host:
		return "this call, inside the sandbox"
	case v.facts.Sandbox == reeve.SandboxReady:
		return "this call, outside the sandbox"
	case v.facts.Sandbox == reeve.SandboxReduced && !v.d.Host:
		return "this call, inside the reduced sandbox"
	}
	return "this call, on the host without a sandbox"
}

func risk(c *call, v *view) string {
	r := c.spec.Tier.String()
	if v.d.Warn {
		r = "destructive: what it removes may not come back"
	}
	if v.d.Tainted {
		r += "; this session has read text from outside"
	}
	return r
}

// budget is step 8a: calls and nesting, for every origin (A51).
func (k *Kernel) budget(ctx context.Context, c *call) {
	if c.inv.Depth > k.Limits.Depth {
		c.deny(reeve.StepBudget, "gate.max_depth", fmt.Sprintf("calls nest %d deep; at most %d", c.inv.Depth, k.Limits.Depth))
		return
	}
	for i := range c.views {
		if err := k.Sessions.Spend(c.views[i].sess.ID); err != nil {
			c.deny(reeve.StepBudget, "gate.max_calls", err.Error())
			return
		}
	}
}

// intent is step 9: the record is durable before the hand moves, and the
// permit is minted for exactly this call.
func (k *Kernel) intent(ctx context.Context, c *call) {
	wait, cancel := context.WithTimeout(ctx, k.Limits.Intent)
	defer cancel()
	if err := k.write(wait, k.record(c, reeve.PhaseIntent)); err != nil {
		c.deny(reeve.StepIntent, "record first", fmt.Sprintf("the record could not be written, so nothing was run: %v", err))
		return
	}
	c.permit = k.permits.Mint(c.inv.Digest(), time.Minute)
}
