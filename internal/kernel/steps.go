package kernel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/policy/look"
	"github.com/reeve-gate/reeve/internal/tool"
)

// shape is step 1: a live session, a known tool, complete arguments that match
// the schema, and effects that the tool can name (Y36, G73, M5).
func (k *Kernel) shape(ctx context.Context, c *call) {
	inv := &c.inv
	if c.clash {
		c.deny(reeve.StepShape, "one call, one id", "another call with id "+inv.ID+" is still running")
		return
	}
	if inv.Incomplete {
		c.deny(reeve.StepShape, "complete arguments", "the arguments were cut off; a truncated call is never run")
		return
	}
	if len(inv.Args) == 0 {
		inv.Args = []byte("{}")
	}
	t, ok := k.Tools.Find(inv.Tool)
	if !ok {
		c.deny(reeve.StepShape, "known tool", fmt.Sprintf("there is no tool %q here; reeve tools ls lists them", inv.Tool))
		return
	}
	c.tool, c.spec = t, t.Spec()
	if err := k.enter(c); err != nil {
		c.deny(reeve.StepShape, "live session", err.Error())
		return
	}
	if err := k.Check.Check(t, inv.Args); err != nil {
		c.deny(reeve.StepShape, "arguments", fmt.Sprintf("%s: %v", c.spec.Name, err))
		return
	}
	k.describe(c)
}

// enter looks up the session and its parents.
func (k *Kernel) enter(c *call) error {
	c.views = c.first[:0]
	for id := c.inv.Session; id != ""; {
		if len(c.views) > 16 {
			return fmt.Errorf("session %s has more than 16 parents", c.inv.Session)
		}
		s, err := k.Sessions.Find(id)
		if err != nil {
			return err
		}
		if s.Policy == nil {
			return fmt.Errorf("session %s has no policy", id)
		}
		c.views = append(c.views, view{sess: s})
		id = s.Parent
	}
	if len(c.views) == 0 {
		return fmt.Errorf("the call names no session")
	}
	return nil
}

// describe turns the call into effects with the facts of the disk.
func (k *Kernel) describe(c *call) {
	s := c.session()
	c.place = tool.Place{Workspace: s.Workspace, Home: s.Home, Dir: c.inv.Dir}
	if c.place.Dir == "" {
		c.place.Dir = s.Workspace
	}
	effects, err := c.tool.Effects(c.inv.Args, c.place)
	if err != nil {
		c.deny(reeve.StepShape, "arguments", fmt.Sprintf("%s: %v", c.spec.Name, err))
		return
	}
	effects, runs := look.Fill(k.Disk, look.Place{Workspace: s.Workspace, Home: s.Home, Dir: c.place.Dir}, effects)
	folds := k.Disk.FoldsCase(s.Workspace)
	c.in = policy.Input{Tool: c.spec.Name, Class: c.spec.Class, Source: c.spec.Source, Tier: c.spec.Tier, Args: c.inv.Args, Effects: effects}
	for i := range c.views {
		v := &c.views[i]
		v.facts = policy.Facts{
			Workspace: s.Workspace, Home: s.Home, Dir: c.place.Dir,
			Mode: v.sess.Mode, Sandbox: k.sandbox(c, v), Interactive: k.Broker != nil && c.inv.Askable,
			Actor: c.inv.Actor, Origin: c.inv.Origin, RepoRuns: runs, FoldCase: folds,
			Catalog: k.Sessions.Catalog(v.sess.ID, c.spec.Name),
		}
	}
}

// sandbox is the boundary this call would run in: for our own hands the
// session's wall; for another program's hand only what the door has proven.
func (k *Kernel) sandbox(c *call, v *view) reeve.Sandbox {
	if _, ours := c.tool.(tool.Runner); ours {
		return v.sess.Sandbox
	}
	if c.inv.Contained {
		return reeve.SandboxReady
	}
	return reeve.SandboxMissing
}

// guard is step 2: what no rule, mode or person can lift for a governed
// caller (A20, A21, A52, G12, amendments 2, 5 and 13).
func (k *Kernel) guard(ctx context.Context, c *call) {
	if b, ok := c.tool.(tool.Barred); ok {
		if why := b.Barred(); why != "" {
			c.deny(reeve.StepGuard, "held", why)
			return
		}
	}
	for i := range c.views {
		s := &c.views[i].sess
		if s.Only != nil && !s.Only[c.spec.Name] {
			c.deny(reeve.StepGuard, "tool set", fmt.Sprintf("%s may not be used here: %s", c.spec.Name, s.OnlyWhy))
			return
		}
		table, named := s.Policy.Tier(c.spec.Name)
		if c.spec.Tier == reeve.TierDenied || named && table == reeve.TierDenied {
			c.deny(reeve.StepGuard, "denied tier", c.spec.Name+" is in the denied tier; nothing allows it")
			return
		}
	}
	for i := range c.in.Effects {
		if rule, why := forbidden(&c.in.Effects[i], c.inv.Origin); rule != "" {
			c.deny(reeve.StepGuard, rule, why)
			return
		}
	}
	if why := k.unmasks(c); why != "" {
		c.deny(reeve.StepGuard, "masked values", why)
	}
}

// forbidden says which guard an effect runs into, or "".
func forbidden(e *reeve.Effect, o reeve.Origin) (rule, why string) {
	switch e.Kind {
	case reeve.EffectRead, reeve.EffectWrite, reeve.EffectDelete:
		m := e.Facts.Marks
		switch {
		case m.Has(reeve.PathOwnState):
			return "own state", e.Path + " belongs to Reeve itself; only reeve's own commands, typed by a person, touch it"
		case m.Has(reeve.PathCredential):
			return "credentials", e.Path + " holds credentials; no rule opens it to an agent"
		case m.Has(reeve.PathGateConfig) && e.Kind != reeve.EffectRead:
			return "gate settings", e.Path + " holds the settings that put this agent behind the gate"
		}
	case reeve.EffectChangeSelf:
		if o != reeve.OriginHost {
			return "change Reeve", "only a person may change or answer for Reeve" + because(e.Why)
		}
	case reeve.EffectReadSecret:
		if o != reeve.OriginHost {
			return "secrets", "only a person may see a secret" + because(e.Why)
		}
	case reeve.EffectRun:
		if e.Command != nil && e.Command.Marks.Has(reeve.CommandSelf) && o != reeve.OriginHost {
			return "change Reeve", "only a person may run " + e.Command.Line()
		}
	}
	return "", ""
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// hook is step 3: the caller's own hooks and ours, by priority. A hook that
// fails, panics or runs out of time denies; a rewrite goes through the steps
// before it again (A52, A57).
func (k *Kernel) hook(ctx context.Context, c *call) {
	ask := ""
	if h := c.inv.Hook; h.Reason != "" {
		switch h.Verdict {
		case reeve.Deny:
			c.denyBy(reeve.StepHook, "client hook", "the client", h.Reason)
			return
		case reeve.Ask:
			ask = h.Reason
		}
	}
	for _, h := range k.Hooks {
		a, err := k.callHook(ctx, h, c.inv)
		switch {
		case err != nil:
			c.denyBy(reeve.StepHook, "hook "+h.Name(), h.Name(), fmt.Sprintf("hook %s did not answer: %v", h.Name(), err))
		case a.Verdict == reeve.Deny:
			c.denyBy(reeve.StepHook, "hook "+h.Name(), h.Name(), "hook "+h.Name()+" blocked it"+because(a.Reason))
		case a.Args != nil:
			c.inv.Args, c.args = slices.Clone(a.Args), ""
			if k.shape(ctx, c); !c.over {
				k.guard(ctx, c)
			}
		}
		if c.over {
			return
		}
		if a.Verdict == reeve.Ask && ask == "" {
			ask = "hook " + h.Name() + " wants a person's word" + because(a.Reason)
		}
	}
	for i := range c.views {
		c.views[i].facts.HookAsk = ask
	}
}

func (k *Kernel) callHook(ctx context.Context, h Hook, inv reeve.Invocation) (a HookAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.Limits.Hook)
	defer cancel()
	type out struct {
		a   HookAnswer
		err error
	}
	done := make(chan out, 1)
	go func() {
		var o out
		defer func() {
			if p := recover(); p != nil {
				o = out{err: fmt.Errorf("it panicked: %v", p)}
			}
			done <- o
		}()
		o.a, o.err = h.Pre(ctx, inv)
	}()
	select {
	case o := <-done:
		return o.a, o.err
	case <-ctx.Done():
		return HookAnswer{}, fmt.Errorf("it took longer than %s", k.Limits.Hook)
	}
}

func sortedHooks(hs []Hook) []Hook {
	hs = slices.Clone(hs)
	slices.SortStableFunc(hs, func(a, b Hook) int { return a.Priority() - b.Priority() })
	return hs
}

// origin is step 4: which authority the caller really has (A36 to A41, A51).
// It only ever refuses; what a host may skip is settled in mode.
func (k *Kernel) origin(ctx context.Context, c *call) {
	inv := &c.inv
	switch inv.Origin {
	case reeve.OriginAgent:
	case reeve.OriginNested, reeve.OriginHostNested:
		k.mu.Lock()
		parent := k.live[inv.Parent]
		k.mu.Unlock()
		if parent == nil || parent == c {
			c.deny(reeve.StepOrigin, "nested", "the call says it is nested, but no call "+inv.Parent+" is running")
			return
		}
		inv.Depth = parent.inv.Depth + 1
		if inv.Origin == reeve.OriginHostNested && !trustedParent(parent, c) {
			c.deny(reeve.StepOrigin, "host_nested", "only built-in children of a built-in orchestration that a person started keep the person's authority")
		}
	case reeve.OriginHost:
		if inv.Actor != reeve.ActorUser || inv.Channel != reeve.ChannelCLI && inv.Channel != reeve.ChannelAPI {
			c.deny(reeve.StepOrigin, "host", fmt.Sprintf("%s over %s cannot carry a person's authority", inv.Actor, inv.Channel))
		}
	default:
		c.deny(reeve.StepOrigin, "known origin", "unknown origin")
	}
}

// trustedParent reports whether a child keeps its host's authority: both are
// native, the parent orchestrates and carries that authority itself.
func trustedParent(parent, child *call) bool {
	host := parent.inv.Origin == reeve.OriginHost || parent.inv.Origin == reeve.OriginHostNested
	return host && parent.spec.Orchestrates && parent.spec.Source == "native" && child.spec.Source == "native"
}

// policy is step 5: every view judges; none weakens another (A2, A41).
func (k *Kernel) policy(ctx context.Context, c *call) {
	for i := range c.views {
		v := &c.views[i]
		c.in.Facts = v.facts
		if c.explain {
			v.d = v.sess.Policy.Explain(&c.in)
		} else {
			v.d = v.sess.Policy.Judge(&c.in)
		}
	}
	c.settle()
}

// settle takes over the strictest view and ends the call where it denies.
func (c *call) settle() {
	c.strictest()
	c.over = c.d.Verdict == reeve.Deny
}

// escalate is step 6: the tool itself may want a question; it never lowers
// one (A42). After every view allows, the question belongs to the outermost
// session (A3).
func (k *Kernel) escalate(ctx context.Context, c *call) {
	e, ok := c.tool.(tool.Escalator)
	if !ok || c.d.Verdict == reeve.Ask && c.d.Explicit {
		return // a question that stands already
	}
	reason := e.Escalate(c.inv.Args, c.place)
	if reason == "" {
		return
	}
	c.raise(reeve.StepTool, "tool escalation", reason, reeve.ColumnTool)
}

// flow is step 7: untrusted text and private data in one session (Y112).
func (k *Kernel) flow(ctx context.Context, c *call) {
	reason := flow.Check(k.Sessions.Taint(c.inv.Session), c.in.Effects)
	if reason == "" {
		return
	}
	if c.d.Verdict == reeve.Allow && c.d.Named {
		return // a person decided by name that data may go to this host
	}
	for i := range c.views {
		c.views[i].d.Tainted = true
	}
	if c.d.Tainted = true; c.d.Verdict == reeve.Allow || !c.d.Explicit {
		c.raise(reeve.StepFlow, "data flow", reason, reeve.ColumnExternal)
	}
}

// raise turns the outermost view's verdict into a question.
func (c *call) raise(step reeve.Step, rule, reason string, col reeve.Column) {
	c.note(step, reeve.Ask, rule, "built-in", reason)
	d := &c.views[len(c.views)-1].d
	d.Verdict, d.Step, d.Rule, d.Source, d.Reason = min(d.Verdict, reeve.Ask), step, rule, "built-in", reason
	d.Column, d.Explicit = max(d.Column, col), true
	c.settle()
}

// mode is step 7a: the matrix turns what is left. A host is asked nothing, but
// no denial is lifted for it (A45 to A49, A51).
func (k *Kernel) mode(ctx context.Context, c *call) {
	for i := range c.views {
		v := &c.views[i]
		v.d = policy.Turn(v.d, v.facts)
		if v.d.Verdict == reeve.Ask && !c.inv.Origin.Governed() {
			v.d.Verdict, v.d.Step, v.d.Reason = reeve.Allow, reeve.StepOrigin, "a person asked for it directly"
		}
	}
	c.settle()
	c.note(reeve.StepMode, c.d.Verdict, c.d.Rule, c.d.Source, strings.TrimSpace(c.d.Column.String()+" "+c.d.Reason))
}
