package kernel

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/tool"
)

// execute is step 10: the hand moves, with a deadline, holding the permit.
func (k *Kernel) execute(ctx context.Context, c *call) (r reeve.Result) {
	hand, ok := c.tool.(tool.Runner)
	if !ok {
		return tool.Failed("%s is carried out by another program; it has no hand here", c.spec.Name)
	}
	if !c.spec.Long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, k.Limits.Run)
		defer cancel()
	}
	defer func() {
		if p := recover(); p != nil {
			r = tool.Failed("%s failed inside Reeve (%v); what it had done by then is unknown", c.spec.Name, p)
		}
		r.Duration = k.Now().Sub(c.started)
	}()
	s := c.session()
	return hand.Run(ctx, tool.Call{
		Permit: c.permit, Digest: c.inv.Digest(), ID: c.inv.ID, Session: s.ID, Args: c.inv.Args, Place: c.place,
		Profile: s.Profile, Contained: c.contained(),
	})
}

// contained reports whether the call runs inside the boundary. A reduced one,
// which a person chose by its name, is none to the rules, and still contains.
func (c *call) contained() bool {
	return len(c.views) > 0 && c.views[0].facts.Sandbox != reeve.SandboxMissing && !c.d.Host
}

// redact is step 11 for results; questions and records pass the same cleaner
// where they are made.
func (k *Kernel) redact(r reeve.Result) reeve.Result {
	r.Output, r.Error = k.Clean.Text(r.Output), k.Clean.Text(r.Error)
	if r.Data != nil {
		r.Data = k.Clean.JSON(r.Data)
	}
	for i := range r.Changed {
		r.Changed[i] = k.Clean.Text(r.Changed[i])
	}
	return r
}

// outcome is step 12: the second row, the observers, the taint.
func (k *Kernel) outcome(ctx context.Context, c *call, r reeve.Result) error {
	rec := k.record(c, reeve.PhaseOutcome)
	rec.Status, rec.Duration, rec.Summary = r.Status, r.Duration, summary(r)
	err := k.write(context.WithoutCancel(ctx), rec)
	if r.Status == reeve.StatusDenied {
		return err
	}
	k.Sessions.AddTaint(c.inv.Session, flow.From(c.spec.Source, c.in.Effects))
	for _, h := range k.Hooks {
		k.observe(ctx, h, c.inv, r)
	}
	return err
}

// write appends one row; a panic below is an error like any other.
func (k *Kernel) write(ctx context.Context, r reeve.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the record failed: %v", p)
		}
	}()
	return k.Audit.Append(ctx, r)
}

// observe calls a hook after the act; its faults change nothing (P26).
func (k *Kernel) observe(ctx context.Context, h Hook, inv reeve.Invocation, r reeve.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.Limits.Hook)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		h.Post(ctx, inv, r)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	cancel()
}

// refuse records a denial and gives the caller a short reason. A denial whose
// record cannot be written is still a denial.
func (k *Kernel) refuse(ctx context.Context, c *call) (reeve.Decision, reeve.Result) {
	r := reeve.Result{Status: reeve.StatusDenied, Error: k.Clean.Text(c.d.Reason), Duration: k.Now().Sub(c.started)}
	c.d.Reason = r.Error
	if err := k.outcome(ctx, c, r); err != nil {
		r.Error += fmt.Sprintf(" (and the refusal could not be recorded: %v)", err)
	}
	return c.d, r
}

// record fills the columns that both rows of a call share.
func (k *Kernel) record(c *call, phase reeve.Phase) reeve.Record {
	rec := reeve.Record{
		CallID: c.inv.ID, Phase: phase, Time: k.Now(), Session: c.inv.Session,
		Tool: k.toolName(c), Source: c.spec.Source, Tier: c.spec.Tier,
		Args:      k.cleanArgs(c),
		Confirmed: c.said, Channel: c.inv.Channel, Actor: reeve.Actor(k.Clean.Text(string(c.inv.Actor))), Origin: c.inv.Origin,
		Decision: c.d.Verdict, Step: c.d.Step, Rule: k.Clean.Text(c.d.Rule), RuleAt: c.d.Source, Approval: c.d.Approval,
		Contained: c.contained(), Parent: c.inv.Parent,
	}
	if len(c.views) > 0 {
		rec.Mode, rec.Sandbox = c.views[0].sess.Mode, c.views[0].facts.Sandbox
		rec.Dangerous = rec.Mode == reeve.ModeDangerous
	}
	return rec
}

// toolName is the name as people and records have it. A client may put any text
// there; what was masked of it is not taken from the tool, which may have the
// same text in small letters, where no held value is found.
func (k *Kernel) toolName(c *call) string {
	if name := k.Clean.Text(c.inv.Tool); c.tool == nil || name != c.inv.Tool {
		return name
	}
	return c.spec.Name
}

// cleanArgs is the arguments as records have them: redacted once for both rows.
func (k *Kernel) cleanArgs(c *call) string {
	if c.args == "" {
		c.args = string(k.Clean.JSON(c.inv.Args))
	}
	return c.args
}

// summary is what the record keeps of a result: at most 500 characters on one
// line (G29).
func summary(r reeve.Result) string {
	s := r.Error
	if s == "" {
		s = r.Output
	}
	s = strings.Join(strings.Fields(s), " ")
	if r.ExitCode != 0 {
		s = fmt.Sprintf("exit %d: %s", r.ExitCode, s)
	}
	if utf8.RuneCountInString(s) <= 500 {
		return s
	}
	return string([]rune(s)[:499]) + "…"
}
