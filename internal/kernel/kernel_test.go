package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/tool"
)

func TestTheIntentIsDurableBeforeTheHandMoves(t *testing.T) {
	w := newKit(t, `allow = ["act"]`)
	w.tools["act"].(*act).run = func(context.Context, tool.Call) {
		if len(w.rows) != 1 || w.rows[0].Phase != reeve.PhaseIntent {
			t.Errorf("when the hand moved the record held %+v, want the intent", w.rows)
		}
	}
	d, r := w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.check("write", d, reeve.Allow, reeve.StepPolicy, 0, 1)
	if r.Status != reeve.StatusSuccess || len(w.rows) != 2 || w.rows[1].Phase != reeve.PhaseOutcome || w.rows[1].Status != reeve.StatusSuccess || w.rows[0].CallID != w.rows[1].CallID {
		t.Errorf("result %+v, rows %+v", r, w.rows)
	}
}

func TestNothingRunsWithoutARecord(t *testing.T) {
	w := newKit(t, `allow = ["act"]`)
	w.auditErr, w.failPhase = errPlanned, reeve.PhaseIntent
	d, r := w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.check("write", d, reeve.Deny, reeve.StepIntent, 0, 0)
	if r.Status != reeve.StatusDenied || !strings.Contains(r.Error, errPlanned.Error()) {
		t.Errorf("result %+v, want a denial that names the fault", r)
	}
}

func TestAFaultInAnyPartDenies(t *testing.T) {
	for _, at := range []string{"sessions", "check", "disk", "taint", "broker", "spend", "audit", "effects", "escalate", "contents"} {
		w := newKit(t, "")
		w.session("s", reeve.ModeDefault, reeve.SandboxReady, "", map[bool]string{true: `ask = ["act"]`, false: `allow = ["act"]`}[at == "broker"])
		w.answer = yes
		w.panics = at
		w.tools["act"].(*act).panics = at
		call := w.call("act", "write /w/a")
		call.Args = append(call.Args[:len(call.Args)-1], `,"text":"[REDACTED]"}`...)
		d, r := w.k.Do(t.Context(), call)
		if d.Verdict != reeve.Deny || r.Status == reeve.StatusSuccess || len(w.moved) != 0 {
			t.Errorf("panic in %s: %s, %+v, %d moves", at, d.Verdict, r, len(w.moved))
		}
	}
}

func TestAPanicInTheHandIsAnErrorOnRecord(t *testing.T) {
	w := newKit(t, `allow = ["act"]`)
	w.tools["act"].(*act).panics = "run"
	_, r := w.k.Do(t.Context(), w.call("act", "write /w/a"))
	if r.Status != reeve.StatusError || len(w.rows) != 2 || w.rows[1].Status != reeve.StatusError {
		t.Errorf("result %+v, rows %+v", r, w.rows)
	}
}

// TestStepsDecideInTheirOrder sets every pair of neighbouring steps up to
// decide at once: the earlier one must be the one that is named.
func TestStepsDecideInTheirOrder(t *testing.T) {
	faults := []struct {
		step reeve.Step
		set  func(w *kit, c *reeve.Invocation)
	}{
		{reeve.StepShape, func(w *kit, c *reeve.Invocation) { w.checkErr = errPlanned }},
		{reeve.StepGuard, func(w *kit, c *reeve.Invocation) {
			w.facts = func(string) reeve.PathFacts { return reeve.PathFacts{Known: true, Marks: reeve.PathOwnState} }
		}},
		{reeve.StepHook, func(w *kit, c *reeve.Invocation) { c.Hook = reeve.Answer{Verdict: reeve.Deny, Reason: "no"} }},
		{reeve.StepOrigin, func(w *kit, c *reeve.Invocation) { c.Origin, c.Parent = reeve.OriginNested, "gone" }},
		{reeve.StepPolicy, func(w *kit, c *reeve.Invocation) {
			w.session("s", reeve.ModeDefault, reeve.SandboxReady, "", `deny = ["act"]`)
		}},
		{reeve.StepTool, func(w *kit, c *reeve.Invocation) { w.tools["act"].(*act).escalate = "because"; w.answer = no }},
		{reeve.StepFlow, func(w *kit, c *reeve.Invocation) { w.taints["s"] = flow.Taint{Untrusted: true, Private: true} }},
		{reeve.StepMode, func(w *kit, c *reeve.Invocation) {
			s := w.sessions["s"]
			s.Mode = reeve.ModePlan
			w.sessions["s"] = s
		}},
		{reeve.StepConfirm, func(w *kit, c *reeve.Invocation) {
			w.session("s", w.sessions["s"].Mode, reeve.SandboxReady, "", `ask = ["act"]`)
			w.answer = no
		}},
		{reeve.StepBudget, func(w *kit, c *reeve.Invocation) { w.spendErr = errPlanned }},
		{reeve.StepIntent, func(w *kit, c *reeve.Invocation) { w.auditErr, w.failPhase = errPlanned, reeve.PhaseIntent }},
	}
	run := func(set ...func(w *kit, c *reeve.Invocation)) (reeve.Decision, *kit) {
		w := newKit(t, `allow = ["act"]`)
		c := w.call("act", "external send", "write /w/a")
		for _, f := range set {
			f(w, c)
		}
		d, _ := w.k.Do(t.Context(), c)
		return d, w
	}
	// Steps 6 and 7 only raise a question: what ends the call is then step 8.
	ends := map[reeve.Step]reeve.Step{reeve.StepTool: reeve.StepConfirm, reeve.StepFlow: reeve.StepConfirm}
	if d, w := run(); d.Verdict != reeve.Allow || len(w.moved) != 1 {
		t.Fatalf("without a fault: %+v", d)
	}
	for i, f := range faults {
		want := f.step
		if e, ok := ends[want]; ok {
			want = e
		}
		d, w := run(f.set)
		if d.Verdict != reeve.Deny || d.Step != want || len(w.moved) != 0 {
			t.Errorf("%s alone: %s in step %s (%s), want deny in %s", f.step, d.Verdict, d.Step, d.Reason, want)
		}
		if i == 0 {
			continue
		}
		before := faults[i-1]
		want = before.step
		if want == reeve.StepTool || want == reeve.StepFlow {
			continue // a raised question is turned by the matrix: TestLateQuestionsAreTurnedByTheMatrix
		}
		if d, w = run(before.set, f.set); d.Verdict != reeve.Deny || d.Step != want || len(w.moved) != 0 {
			t.Errorf("%s and %s: deny in step %s (%s), want %s", before.step, f.step, d.Step, d.Reason, want)
		}
	}
}

func TestLateQuestionsAreTurnedByTheMatrix(t *testing.T) {
	for _, m := range []reeve.Mode{reeve.ModePlan, reeve.ModeAuto} {
		for _, why := range []reeve.Step{reeve.StepTool, reeve.StepFlow} {
			w := newKit(t, "")
			w.session("s", m, reeve.SandboxReady, "", `allow = ["act"]`)
			w.answer = yes
			if why == reeve.StepTool {
				w.tools["act"].(*act).escalate = "because"
			} else {
				w.taints["s"] = flow.Taint{Untrusted: true, Private: true}
			}
			d, _ := w.k.Do(t.Context(), w.call("act", "external send"))
			w.check(m.String()+" "+string(why), d, reeve.Deny, reeve.StepMode, 0, 0)
		}
	}
}

func TestAToolsOwnQuestionRaisesAnAllow(t *testing.T) {
	w := newKit(t, `allow = ["look"]`)
	w.answer = yes
	w.tools["look"].(*act).escalate = "the page asks for a password"
	d, _ := w.k.Do(t.Context(), w.call("look", "read /w/a"))
	w.check("escalated", d, reeve.Allow, reeve.StepConfirm, 1, 1)
	if q := w.questions[0]; q.Standing || !strings.Contains(q.Reason, "password") {
		t.Errorf("question %+v: want the tool's reason and no standing grant", q)
	}
}

func TestAToolsOwnQuestionHoldsInAReadySandboxToo(t *testing.T) {
	w := newKit(t, "")
	w.answer = no
	w.tools["bash"].(*act).escalate = "it would restart the machine"
	d, _ := w.k.Do(t.Context(), w.call("bash", "run make build"))
	w.check("an ordinary command of a tool that asks", d, reeve.Deny, reeve.StepConfirm, 1, 0)
}

func TestATableOfTiersNeverLiftsTheDeniedTier(t *testing.T) {
	w := newKit(t, "allow = [\"never\"]\n[tiers]\nnever = \"read\"\n")
	w.answer = yes
	d, _ := w.k.Do(t.Context(), w.call("never"))
	w.check("denied by the tool itself", d, reeve.Deny, reeve.StepGuard, 0, 0)
	w = newKit(t, "allow = [\"look\"]\n[tiers]\nlook = \"denied\"\n")
	d, _ = w.k.Do(t.Context(), w.call("look", "read /w/a"))
	w.check("denied by the table", d, reeve.Deny, reeve.StepGuard, 0, 0)
}

func TestUntrustedTextAndPrivateDataAskBeforeSending(t *testing.T) {
	w := newKit(t, `allow = ["act", "look", "outside"]`)
	w.answer = no
	send := func() reeve.Decision { d, _ := w.k.Do(t.Context(), w.call("act", "external send")); return d }
	if d := send(); d.Verdict != reeve.Allow {
		t.Fatalf("before reading: %+v", d)
	}
	w.k.Do(t.Context(), w.call("look", "read /w/notes"))
	if d := send(); d.Verdict != reeve.Allow {
		t.Fatalf("after private data: %+v", d)
	}
	w.k.Do(t.Context(), w.call("outside", "read /w/x"))
	d := send()
	if d.Verdict != reeve.Deny || len(w.questions) != 1 || w.questions[0].Standing {
		t.Errorf("after both: %+v, questions %+v; want one question without a standing grant", d, w.questions)
	}
}

func TestNoPersonNoConsent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		set    func(*kit, *reeve.Invocation)
		rule   string
		asked  int
	}{
		"no broker":        {func(c *Config) { c.Broker = nil }, func(*kit, *reeve.Invocation) {}, RuleNobody, 0},
		"nobody listening": {func(*Config) {}, func(w *kit, c *reeve.Invocation) { c.Askable = false }, RuleNobody, 0},
		"no answer":        {func(*Config) {}, func(*kit, *reeve.Invocation) {}, RuleNoTime, 1},
		"no":               {func(*Config) {}, func(w *kit, c *reeve.Invocation) { w.answer = no }, RuleNo, 1},
	} {
		w := newKit(t, `ask = ["act"]`, c.change)
		call := w.call("act", "write /w/a")
		c.set(w, call)
		d, _ := w.k.Do(t.Context(), call)
		w.check(name, d, reeve.Deny, reeve.StepConfirm, c.asked, 0)
		if d.Rule != c.rule {
			t.Errorf("%s: rule %q, want %q", name, d.Rule, c.rule)
		}
	}
}

func TestANoCarriesAWordToTheAgent(t *testing.T) {
	w := newKit(t, `ask = ["act"]`)
	w.answer = no
	_, r := w.k.Do(t.Context(), w.call("act", "write /w/a"))
	if !strings.Contains(r.Error, "use the test folder") {
		t.Errorf("the agent hears %q", r.Error)
	}
}

func TestAStandingGrantNeverCoversADestructiveCall(t *testing.T) {
	w := newKit(t, `ask = ["act"]`)
	w.granted = "grant-1"
	d, _ := w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.check("granted", d, reeve.Allow, reeve.StepConfirm, 0, 1)
	if d.Approval != "grant-1" {
		t.Errorf("approval %q, want the grant", d.Approval)
	}
	w = newKit(t, "")
	w.granted = "grant-1"
	w.tools["act"].(*act).spec.Tier = reeve.TierDestructive
	d, _ = w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.check("destructive", d, reeve.Deny, reeve.StepConfirm, 1, 0)
	if !w.questions[0].Warn {
		t.Error("the question carries no warning")
	}
}

func TestOnlyTheDoorOfAPersonYieldsHost(t *testing.T) {
	for _, c := range []struct {
		actor   reeve.Actor
		channel reeve.Channel
		want    reeve.Verdict
	}{
		{reeve.ActorUser, reeve.ChannelCLI, reeve.Allow},
		{reeve.ActorUser, reeve.ChannelAPI, reeve.Allow},
		{"agent:a", reeve.ChannelCLI, reeve.Deny},
		{"hook:claude", reeve.ChannelHook, reeve.Deny},
		{"mcp:c", reeve.ChannelMCP, reeve.Deny},
		{"remote:d", reeve.ChannelRemote, reeve.Deny},
		{"chat:p/u/c", reeve.Channel("messaging:p"), reeve.Deny},
		{"addon:x", reeve.ChannelAddon, reeve.Deny},
		{"schedule:n", reeve.ChannelSchedule, reeve.Deny},
		{reeve.ActorUser, reeve.ChannelHook, reeve.Deny},
	} {
		w := newKit(t, `ask = ["act"]`)
		call := w.call("act", "write /w/a")
		call.Actor, call.Channel, call.Origin, call.Askable = c.actor, c.channel, reeve.OriginHost, false
		d, _ := w.k.Do(t.Context(), call)
		if d.Verdict != c.want || c.want == reeve.Deny && d.Step != reeve.StepOrigin {
			t.Errorf("%s over %s: %s in step %s, want %s", c.actor, c.channel, d.Verdict, d.Step, c.want)
		}
	}
}

func TestAHostIsAskedNothingButNoDenialIsLifted(t *testing.T) {
	host := func(w *kit, name string, do ...string) reeve.Decision {
		c := w.call(name, do...)
		c.Actor, c.Origin, c.Askable = reeve.ActorUser, reeve.OriginHost, false
		d, _ := w.k.Do(t.Context(), c)
		return d
	}
	w := newKit(t, `ask = ["act"]`+"\n"+`deny = ["bash(sudo *)"]`)
	if d := host(w, "act", "write /w/a"); d.Verdict != reeve.Allow || len(w.questions) != 0 {
		t.Errorf("ask rule: %+v", d)
	}
	if d := host(w, "bash", "run sudo id"); d.Verdict != reeve.Deny || d.Step != reeve.StepPolicy {
		t.Errorf("deny rule: %+v", d)
	}
	if d := host(w, "never"); d.Verdict != reeve.Deny || d.Step != reeve.StepGuard {
		t.Errorf("denied tier: %+v", d)
	}
	if d := host(w, "bash", "run reeve approvals allow x"); d.Verdict != reeve.Allow {
		t.Errorf("reeve itself, by a person: %+v", d)
	}
	w.spendErr = errPlanned
	if d := host(w, "act", "write /w/a"); d.Verdict != reeve.Deny || d.Step != reeve.StepBudget {
		t.Errorf("budget: %+v", d)
	}
	w.spendErr, w.auditErr = nil, errPlanned
	if d := host(w, "act", "write /w/a"); d.Verdict != reeve.Deny || d.Step != reeve.StepIntent {
		t.Errorf("audit: %+v", d)
	}
}

func TestAnAgentCannotChangeOrAnswerForReeve(t *testing.T) {
	for _, do := range []string{"run reeve approvals allow x", "self socket", "run reeve policy trust"} {
		for _, o := range []reeve.Origin{reeve.OriginAgent, reeve.OriginNested} {
			w := newKit(t, `allow = ["bash"]`)
			w.answer = yes
			c := w.call("bash", do)
			c.Origin = o
			d, _ := w.k.Do(t.Context(), c)
			w.check(do, d, reeve.Deny, reeve.StepGuard, 0, 0)
		}
	}
}

func TestCredentialsAndOwnStateAreClosedToEveryRule(t *testing.T) {
	for mark, rule := range map[reeve.PathMark]string{reeve.PathCredential: "credentials", reeve.PathOwnState: "own state", reeve.PathGateConfig: "gate settings"} {
		w := newKit(t, `allow = ["act", "read(*)", "write(*)"]`)
		w.answer = yes
		w.facts = func(string) reeve.PathFacts { return reeve.PathFacts{Known: true, Marks: mark} }
		d, _ := w.k.Do(t.Context(), w.call("act", "write /w/a"))
		w.check(rule, d, reeve.Deny, reeve.StepGuard, 0, 0)
		if d.Rule != rule {
			t.Errorf("rule %q, want %q", d.Rule, rule)
		}
	}
}

func TestNestedCallsAreJudgedAgainAndOnlyBuiltInsKeepTheHost(t *testing.T) {
	for _, c := range []struct {
		name   string
		parent string
		origin reeve.Origin // of the parent
		child  reeve.Origin
		tool   string
		want   reeve.Verdict
		step   reeve.Step
	}{
		{"governed child of an agent", "batch", reeve.OriginAgent, reeve.OriginNested, "act", reeve.Deny, reeve.StepConfirm},
		{"governed child of a host", "batch", reeve.OriginHost, reeve.OriginNested, "act", reeve.Deny, reeve.StepConfirm},
		{"built-in child of a host's batch", "batch", reeve.OriginHost, reeve.OriginHostNested, "act", reeve.Allow, reeve.StepOrigin},
		{"custom child of a host's batch", "batch", reeve.OriginHost, reeve.OriginHostNested, "outside", reeve.Deny, reeve.StepOrigin},
		{"child of an agent's batch claims the host", "batch", reeve.OriginAgent, reeve.OriginHostNested, "act", reeve.Deny, reeve.StepOrigin},
		{"child of an ordinary tool claims the host", "look", reeve.OriginHost, reeve.OriginHostNested, "act", reeve.Deny, reeve.StepOrigin},
	} {
		w := newKit(t, `ask = ["act"]`)
		var d reeve.Decision
		w.tools[c.parent].(*act).run = func(ctx context.Context, call tool.Call) {
			child := w.call(c.tool, "write /w/a")
			child.Origin, child.Parent = c.child, call.ID
			d, _ = w.k.Do(ctx, child)
		}
		p := w.call(c.parent)
		if p.Origin = c.origin; c.origin == reeve.OriginHost {
			p.Actor = reeve.ActorUser
		}
		if pd, _ := w.k.Do(t.Context(), p); pd.Verdict != reeve.Allow {
			t.Fatalf("%s: the parent was denied: %+v", c.name, pd)
		}
		if d.Verdict != c.want || d.Step != c.step {
			t.Errorf("%s: %s in step %s (%s), want %s in %s", c.name, d.Verdict, d.Step, d.Reason, c.want, c.step)
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	w := newKit(t, `allow = ["batch"]`)
	deepest, denied := 0, reeve.Decision{}
	w.tools["batch"].(*act).run = func(ctx context.Context, call tool.Call) {
		child := w.call("batch")
		child.Origin, child.Parent = reeve.OriginNested, call.ID
		deepest++
		if d, _ := w.k.Do(ctx, child); d.Verdict == reeve.Deny {
			denied = d
		}
	}
	w.k.Do(t.Context(), w.call("batch"))
	if denied.Step != reeve.StepBudget || deepest != 4 {
		t.Errorf("nested %d deep, ended by %+v; want the budget after 3", deepest, denied)
	}
}

func TestAChildNeverGetsMoreThanItsParent(t *testing.T) {
	for _, c := range []struct {
		name, parent, child string
		answer              func(approval.Question) approval.Answer
		want                reeve.Verdict
		askedOf             []string
	}{
		{"child allow, parent ask: only the parent is asked", `ask = ["act"]`, `allow = ["act"]`, yes, reeve.Allow, []string{"p"}},
		{"child ask, parent allow: only the child is asked", `allow = ["act"]`, `ask = ["act"]`, yes, reeve.Allow, []string{"c"}},
		{"both ask: each is asked", `ask = ["act"]`, `ask = ["act"]`, yes, reeve.Allow, []string{"c", "p"}},
		{"parent deny", `deny = ["act"]`, `allow = ["act"]`, yes, reeve.Deny, nil},
		{"child deny", `allow = ["act"]`, `deny = ["act"]`, yes, reeve.Deny, nil},
		{"the parent says no", `ask = ["act"]`, `allow = ["act"]`, no, reeve.Deny, []string{"p"}},
	} {
		w := newKit(t, "")
		w.session("p", reeve.ModeDefault, reeve.SandboxReady, "", c.parent)
		w.session("c", reeve.ModeDefault, reeve.SandboxReady, "p", c.child)
		w.answer = c.answer
		call := w.call("act", "write /w/a")
		call.Session = "c"
		d, _ := w.k.Do(t.Context(), call)
		var asked []string
		for _, q := range w.questions {
			asked = append(asked, q.Session)
		}
		if d.Verdict != c.want || !slices.Equal(asked, c.askedOf) {
			t.Errorf("%s: %s (%s), asked of %v; want %s, %v", c.name, d.Verdict, d.Reason, asked, c.want, c.askedOf)
		}
	}
	// P25: the child would be approved, but nobody stands behind the parent.
	w := newKit(t, "", func(c *Config) { c.Broker = nil })
	w.session("p", reeve.ModeDefault, reeve.SandboxReady, "", `ask = ["act"]`)
	w.session("c", reeve.ModeDefault, reeve.SandboxReady, "p", `allow = ["act"]`)
	call := w.call("act", "write /w/a")
	call.Session = "c"
	d, _ := w.k.Do(t.Context(), call)
	w.check("no provider for the parent", d, reeve.Deny, reeve.StepConfirm, 0, 0)
}

func TestAParentsModeBindsItsChild(t *testing.T) {
	w := newKit(t, "")
	w.session("p", reeve.ModePlan, reeve.SandboxReady, "", `allow = ["act"]`)
	w.session("c", reeve.ModeDefault, reeve.SandboxReady, "p", `allow = ["act"]`)
	call := w.call("act", "write /w/a")
	call.Session = "c"
	d, _ := w.k.Do(t.Context(), call)
	w.check("plan above default", d, reeve.Deny, reeve.StepMode, 0, 0)
}

func TestARestrictedActorKeepsToItsTools(t *testing.T) {
	w := newKit(t, `allow = ["act", "look"]`)
	s := w.sessions["s"]
	s.Only, s.OnlyWhy = map[string]bool{"look": true}, "skill notes"
	w.sessions["s"] = s
	d, _ := w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.check("act", d, reeve.Deny, reeve.StepGuard, 0, 0)
	d, _ = w.k.Do(t.Context(), w.call("LOOK", "read /w/a"))
	w.check("look", d, reeve.Allow, reeve.StepPolicy, 0, 1)
}

func TestShapeRefusesWhatIsNotWhole(t *testing.T) {
	for name, set := range map[string]func(w *kit, c *reeve.Invocation){
		"unknown tool":      func(w *kit, c *reeve.Invocation) { c.Tool = "nothing" },
		"cut off arguments": func(w *kit, c *reeve.Invocation) { c.Incomplete = true },
		"schema":            func(w *kit, c *reeve.Invocation) { w.checkErr = errPlanned },
		"effects":           func(w *kit, c *reeve.Invocation) { w.tools["act"].(*act).fault = errPlanned },
		"no session":        func(w *kit, c *reeve.Invocation) { c.Session = "" },
		"ended session":     func(w *kit, c *reeve.Invocation) { c.Session = "gone" },
	} {
		w := newKit(t, `allow = ["act"]`)
		w.answer = yes
		c := w.call("act", "write /w/a")
		set(w, c)
		d, _ := w.k.Do(t.Context(), c)
		w.check(name, d, reeve.Deny, reeve.StepShape, 0, 0)
	}
}

func TestOneIDRunsOnce(t *testing.T) {
	w := newKit(t, `allow = ["act", "look"]`)
	var d reeve.Decision
	c := w.call("act", "write /w/a")
	w.tools["act"].(*act).run = func(ctx context.Context, call tool.Call) {
		again := *c
		again.Tool = "look"
		d, _ = w.k.Do(ctx, &again)
	}
	w.k.Do(t.Context(), c)
	w.check("the same id", d, reeve.Deny, reeve.StepShape, 0, 1)
}

func TestSecretsReachNeitherQuestionNorRecordNorCaller(t *testing.T) {
	w := newKit(t, `ask = ["act"]`)
	w.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{ID: q.ID, State: approval.Allowed, Scope: approval.Once, Word: secret}
	}
	w.tools["act"].(*act).output = "out " + secret
	c := w.call("act", "write /w/"+secret, "run curl "+secret, secret, "connect "+secret)
	_, r := w.k.Do(t.Context(), c)
	denied := w.call("act", "write /w/a")
	w.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{ID: q.ID, State: approval.Denied, Word: "not with " + secret}
	}
	_, r2 := w.k.Do(t.Context(), denied)
	unknown := w.call(secret)
	_, r3 := w.k.Do(t.Context(), unknown)
	for what, text := range map[string]string{
		"questions": fmt.Sprintf("%+v", w.questions), "rows": fmt.Sprintf("%+v", w.rows), "results": fmt.Sprintf("%+v %+v %+v", r, r2, r3),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("the secret reached the %s: %s", what, text)
		}
	}
	if len(w.questions) != 2 || len(w.rows) != 4 {
		t.Errorf("%d questions, %d rows; want 2 and 4", len(w.questions), len(w.rows))
	}
}

// spy is a hook made of functions.
type spy struct {
	name     string
	priority int
	pre      func(context.Context, reeve.Invocation) (HookAnswer, error)
	post     func()
}

func (s spy) Name() string  { return s.name }
func (s spy) Priority() int { return s.priority }
func (s spy) Pre(ctx context.Context, inv reeve.Invocation) (HookAnswer, error) {
	return s.pre(ctx, inv)
}
func (s spy) Post(context.Context, reeve.Invocation, reeve.Result) {
	if s.post != nil {
		s.post()
	}
}

func TestAHookThatDoesNotAnswerDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, pre := range map[string]func(context.Context, reeve.Invocation) (HookAnswer, error){
			"error": func(context.Context, reeve.Invocation) (HookAnswer, error) { return HookAnswer{}, errPlanned },
			"panic": func(context.Context, reeve.Invocation) (HookAnswer, error) { panic("planned") },
			"timeout": func(ctx context.Context, _ reeve.Invocation) (HookAnswer, error) {
				<-ctx.Done()
				return HookAnswer{}, nil
			},
			"deny": func(context.Context, reeve.Invocation) (HookAnswer, error) {
				return HookAnswer{Verdict: reeve.Deny, Reason: "no"}, nil
			},
		} {
			w := newKit(t, `allow = ["act"]`, func(c *Config) { c.Hooks = []Hook{spy{name: name, pre: pre}} })
			d, _ := w.k.Do(t.Context(), w.call("act", "write /w/a"))
			w.check(name, d, reeve.Deny, reeve.StepHook, 0, 0)
		}
	})
}

func TestHooksRunByPriorityAndARewriteIsJudgedAgain(t *testing.T) {
	var order []string
	rewrite := func(args string) func(context.Context, reeve.Invocation) (HookAnswer, error) {
		return func(_ context.Context, inv reeve.Invocation) (HookAnswer, error) {
			order = append(order, "rewrite")
			return HookAnswer{Verdict: reeve.Allow, Args: []byte(args)}, nil
		}
	}
	see := func(_ context.Context, inv reeve.Invocation) (HookAnswer, error) {
		order = append(order, "see "+string(inv.Args))
		return HookAnswer{Verdict: reeve.Allow}, nil
	}
	hooks := func(args string) func(*Config) {
		return func(c *Config) { c.Hooks = []Hook{spy{"late", 200, see, nil}, spy{"early", 100, rewrite(args), nil}} }
	}
	w := newKit(t, `allow = ["act"]`, hooks(`{"do":["write /w/b"]}`))
	d, _ := w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.check("rewritten", d, reeve.Allow, reeve.StepPolicy, 0, 1)
	if want := []string{"rewrite", `see {"do":["write /w/b"]}`}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	if !strings.Contains(w.rows[0].Args, "/w/b") {
		t.Errorf("the record holds %s, want what ran", w.rows[0].Args)
	}
	w = newKit(t, `allow = ["act"]`, hooks(`{"do":["self now"]}`))
	d, _ = w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.check("rewritten into a guard", d, reeve.Deny, reeve.StepGuard, 0, 0)
}

func TestAHooksQuestionIsAFloor(t *testing.T) {
	w := newKit(t, `allow = ["act"]`, func(c *Config) {
		c.Hooks = []Hook{spy{name: "h", pre: func(context.Context, reeve.Invocation) (HookAnswer, error) {
			return HookAnswer{Verdict: reeve.Ask, Reason: "look twice"}, nil
		}}}
	})
	w.answer = yes
	d, _ := w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.check("hook ask", d, reeve.Allow, reeve.StepConfirm, 1, 1)
}

func TestAnObserversFaultChangesNothing(t *testing.T) {
	saw := false
	w := newKit(t, `allow = ["act"]`, func(c *Config) {
		ok := func(context.Context, reeve.Invocation) (HookAnswer, error) {
			return HookAnswer{Verdict: reeve.Allow}, nil
		}
		c.Hooks = []Hook{spy{"bad", 1, ok, func() { panic("planned") }}, spy{"good", 2, ok, func() { saw = true }}}
	})
	d, r := w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.check("observed", d, reeve.Allow, reeve.StepPolicy, 0, 1)
	if !saw || r.Status != reeve.StatusSuccess {
		t.Errorf("second observer ran: %v; result %+v", saw, r)
	}
}

func TestAForeignCallIsReportedOnce(t *testing.T) {
	w := newKit(t, `allow = ["bash"]`)
	c := w.call("theirs", "run make")
	c.Contained = true
	if d := w.k.Decide(t.Context(), c); d.Verdict != reeve.Allow || len(w.moved) != 0 {
		t.Fatalf("decided %+v, %d moves", d, len(w.moved))
	}
	if len(w.rows) != 1 || w.rows[0].Phase != reeve.PhaseIntent || !w.rows[0].Contained {
		t.Fatalf("rows %+v, want one contained intent", w.rows)
	}
	if err := w.k.Report(t.Context(), c.ID, reeve.Result{Status: reeve.StatusError, Output: "x " + secret}); err != nil {
		t.Fatal(err)
	}
	if err := w.k.Report(t.Context(), c.ID, reeve.Result{Status: reeve.StatusSuccess}); !errors.Is(err, reeve.ErrNotFound) {
		t.Errorf("second report: %v, want not found", err)
	}
	if len(w.rows) != 2 || w.rows[1].Status != reeve.StatusError || strings.Contains(w.rows[1].Summary, secret) {
		t.Errorf("rows %+v", w.rows)
	}
}

func TestACallThatNobodyReportsEndsUnknown(t *testing.T) {
	w := newKit(t, `allow = ["bash"]`)
	w.k.Decide(t.Context(), w.call("theirs", "run make"))
	w.k.EndSession(t.Context(), "other")
	w.k.EndSession(t.Context(), "s")
	if len(w.rows) != 2 || w.rows[1].Status != reeve.StatusUnknown {
		t.Errorf("rows %+v, want an unknown outcome", w.rows)
	}
}

func TestOnlyAProvenCallerCountsAsContained(t *testing.T) {
	for _, contained := range []bool{true, false} {
		w := newKit(t, "")
		w.session("s", reeve.ModeAuto, reeve.SandboxReady, "", "")
		c := w.call("theirs", "run make")
		c.Contained = contained
		d := w.k.Decide(t.Context(), c)
		if got := d.Verdict == reeve.Allow; got != contained {
			t.Errorf("contained %v: %s (%s)", contained, d.Verdict, d.Rule)
		}
	}
}

// TestAReducedBoundaryAsksAndContains: to the rules half a sandbox is none, and
// what a person then allows still runs inside it.
func TestAReducedBoundaryAsksAndContains(t *testing.T) {
	for sandbox, want := range map[reeve.Sandbox]bool{reeve.SandboxReduced: true, reeve.SandboxMissing: false} {
		w := newKit(t, "")
		w.answer = yes
		w.session("s", reeve.ModeDefault, sandbox, "", "")
		d, _ := w.k.Do(t.Context(), w.call("bash", "run make"))
		if d.Verdict != reeve.Allow || len(w.questions) != 1 {
			t.Errorf("%s: %s after %d questions, want one", sandbox, d.Verdict, len(w.questions))
		}
		if len(w.rows) == 0 || w.rows[0].Contained != want {
			t.Errorf("%s: recorded as contained: %v", sandbox, !want)
		}
	}
	w := newKit(t, "")
	w.session("s", reeve.ModeAuto, reeve.SandboxReduced, "", "")
	if d, _ := w.k.Do(t.Context(), w.call("bash", "run make")); d.Verdict != reeve.Deny {
		t.Errorf("mode auto behind a reduced boundary: %s", d.Verdict)
	}
}

func TestExplainAsksNobodyAndWritesNothing(t *testing.T) {
	w := newKit(t, `ask = ["act"]`)
	w.answer = yes
	d := w.k.Explain(t.Context(), w.call("act", "write /w/a"))
	if d.Verdict != reeve.Ask || len(w.questions)+len(w.moved)+len(w.rows) != 0 {
		t.Errorf("explained %s; %d questions, %d moves, %d rows", d.Verdict, len(w.questions), len(w.moved), len(w.rows))
	}
	if len(d.Trace) == 0 {
		t.Error("no step was explained")
	}
	for _, rule := range []string{`deny = ["act"]`} {
		w.session("s", reeve.ModeDefault, reeve.SandboxReady, "", rule)
		if d := w.k.Explain(t.Context(), w.call("act", "write /w/a")); d.Verdict != reeve.Deny || !strings.HasPrefix(d.Source, "policy.toml:1") {
			t.Errorf("explained %s at %q, want deny at policy.toml:1", d.Verdict, d.Source)
		}
	}
}

func TestTheCatalogSwitchesAToolOff(t *testing.T) {
	for state, want := range map[reeve.Catalog]struct {
		v         reeve.Verdict
		step      reeve.Step
		questions int
	}{
		reeve.CatalogOff:      {reeve.Deny, reeve.StepPolicy, 0},
		reeve.CatalogApproval: {reeve.Deny, reeve.StepPolicy, 0},
		reeve.CatalogAsk:      {reeve.Allow, reeve.StepConfirm, 1},
		reeve.CatalogAuto:     {reeve.Allow, reeve.StepPolicy, 0},
	} {
		w := newKit(t, `allow = ["look"]`)
		w.answer = yes
		w.catalog["s/look"] = state
		d, _ := w.k.Do(t.Context(), w.call("look", "read /w/a"))
		moved := 0
		if want.v == reeve.Allow {
			moved = 1
		}
		w.check(state.String(), d, want.v, want.step, want.questions, moved)
	}
}

func TestADeadlineOfTheDoorShortensTheQuestion(t *testing.T) {
	w := newKit(t, `ask = ["act"]`)
	c := w.call("act", "write /w/a")
	c.Deadline = time.Now().Add(5 * time.Second)
	w.k.Do(t.Context(), c)
	if got := time.Until(w.questions[0].Expires); got > 6*time.Second {
		t.Errorf("the question stands for %s, want the door's 5 s", got)
	}
}

// TestAnActThatGoesOnKeepsItsIntentOpen until it is reported, once, by this
// kernel or by a later one.
func TestAnActThatGoesOnKeepsItsIntentOpen(t *testing.T) {
	w := newKit(t, `allow = ["act"]`)
	w.tools["act"].(*act).open = true
	c := w.call("act", "write /w/a")
	if d, r := w.k.Do(t.Context(), c); d.Verdict != reeve.Allow || !r.Open || len(w.moved) != 1 {
		t.Fatalf("%+v, %+v, %d moves", d, r, len(w.moved))
	}
	if len(w.rows) != 1 || w.rows[0].Phase != reeve.PhaseIntent {
		t.Fatalf("rows %+v, want the intent alone", w.rows)
	}
	intent := w.rows[0]
	if err := w.k.Report(t.Context(), c.ID, reeve.Result{Status: reeve.StatusError, ExitCode: 3, Error: "x " + secret}); err != nil {
		t.Fatal(err)
	}
	if err := w.k.Report(t.Context(), c.ID, reeve.Result{}); !errors.Is(err, reeve.ErrNotFound) {
		t.Errorf("second report: %v, want not found", err)
	}
	if err := w.k.ReportLate(t.Context(), intent, reeve.Result{Status: reeve.StatusUnknown, Error: "lost " + secret, Duration: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if len(w.rows) != 3 {
		t.Fatalf("%d rows, want 3", len(w.rows))
	}
	for i, want := range []reeve.Status{"", reeve.StatusError, reeve.StatusUnknown} {
		r := w.rows[i]
		if r.Status != want || r.CallID != c.ID || r.Tool != intent.Tool || r.Args != intent.Args || strings.Contains(r.Summary, secret) {
			t.Errorf("row %d: %+v, want status %q of the same call", i, r, want)
		}
	}
	if w.rows[2].Duration != time.Hour {
		t.Errorf("a late report keeps %s, want the duration it was told", w.rows[2].Duration)
	}
	if err := w.k.ReportLate(t.Context(), w.rows[1], reeve.Result{Status: reeve.StatusSuccess}); err == nil || len(w.rows) != 3 {
		t.Errorf("an outcome was reported as if it were an intent: %v", err)
	}
}

func TestAnActThatGoesOnEndsUnknownWithItsSession(t *testing.T) {
	w := newKit(t, `allow = ["act"]`)
	w.tools["act"].(*act).open = true
	w.k.Do(t.Context(), w.call("act", "write /w/a"))
	w.k.EndSession(t.Context(), "s")
	if len(w.rows) != 2 || w.rows[1].Status != reeve.StatusUnknown {
		t.Errorf("rows %+v, want an unknown outcome", w.rows)
	}
}

func TestACallMadeAgainUsesTheYesThatCameMeanwhileOnce(t *testing.T) {
	w := newKit(t, `ask = ["act"]`)
	inv := w.call("act", "write /w/a")
	inv.Again = true
	w.ticket = inv.CallDigest()
	if d, r := w.k.Do(t.Context(), inv); d.Verdict != reeve.Allow || r.Status != reeve.StatusSuccess || len(w.questions) != 0 {
		t.Errorf("the same call: %+v, %d questions", d, len(w.questions))
	}
	if rows := w.rows; !rows[len(rows)-1].Confirmed || rows[len(rows)-1].Approval == "" {
		t.Errorf("the record says %+v", rows[len(rows)-1])
	}
	inv.ID = w.id()
	if d, _ := w.k.Do(t.Context(), inv); d.Verdict == reeve.Allow || len(w.questions) != 1 {
		t.Errorf("the second time: %+v, %d questions", d, len(w.questions))
	}
}

// held is a tool that nobody may use now.
type held struct{ *act }

func (held) Barred() string { return "its definition is another one" }

func TestAHeldToolIsRefusedWhateverRulesSay(t *testing.T) {
	w := newKit(t, `allow = ["act"]`)
	w.tools["act"] = held{w.tools["act"].(*act)}
	for _, origin := range []reeve.Origin{reeve.OriginAgent, reeve.OriginHost} {
		inv := w.call("act")
		if inv.Origin = origin; origin == reeve.OriginHost {
			inv.Actor, inv.Channel = reeve.ActorUser, reeve.ChannelCLI
		}
		if d, r := w.k.Do(t.Context(), inv); d.Verdict != reeve.Deny || d.Rule != "held" || r.Error != "its definition is another one" || len(w.moved) != 0 {
			t.Errorf("%s: %+v %+v", origin, d, r)
		}
	}
}
