package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
)

// matrix is DESIGN 3 with amendments 1, 8, 10, 11, 12 and 26, written out: what
// becomes of a call that no rule speaks of, and of one that a rule allows by
// name. a = allow, ? = ask, d = deny; default, plan, auto, dangerous; each
// with the sandbox ready and missing.
var matrix = []struct {
	column  string
	in      func() *Input
	rule    string
	unruled string
	ruled   string
}{
	{"read", func() *Input { return call("read_file", read("a")) }, "read(*)",
		"aa aa aa aa", "aa aa aa aa"},
	{"read outside", func() *Input { return call("read_file", read("/x/a")) }, "read(//x/**)",
		"?? dd dd aa", "aa aa aa aa"},
	{"ordinary command", func() *Input { return call("bash", run("make x")) }, "bash(make *)",
		"a? dd ad aa", "aa dd ad aa"},
	{"read-only command", func() *Input { return call("bash", run("ls", reeve.CommandReadOnly)) }, "bash(ls)",
		"aa dd ad aa", "aa dd ad aa"},
	{"explicit host command", func() *Input { return call("bash", run("make x", reeve.CommandHost)) }, "host(bash(make x))",
		"?? dd dd aa", "aa dd dd aa"},
	{"protected metadata", func() *Input { return call("write_file", write(".vscode/a", reeve.PathProtected)) }, "write(/.vscode/a)",
		"?? dd dd aa", "aa dd dd aa"},
	{"mutating git", func() *Input { return call("bash", run("git commit -m x", reeve.CommandGitWrites)) }, "bash(git commit *)",
		"?? dd dd aa", "aa dd ad aa"},
	{"external effect", func() *Input { return call("bash", run("git push origin", reeve.CommandExternal)) }, "bash(git push *)",
		"?? dd dd aa", "aa dd dd aa"},
	{"external effect of a tool", func() *Input { return call("artifact", reeve.Effect{Kind: reeve.EffectExternal}) }, "artifact",
		"?? dd dd aa", "aa dd dd aa"},
	{"write tool inside", func() *Input { return call("write_file", write("a")) }, "write(*)",
		"?? dd aa aa", "aa dd aa aa"},
	{"write tool outside", func() *Input { return call("write_file", write("/x/a")) }, "write(//x/**)",
		"?? dd dd aa", "aa dd dd aa"},
	{"destructive tool", func() *Input { return call("delete_path", remove("a")) }, "{destructive}write(/a)",
		"?? dd dd aa", "aa dd aa aa"},
	{"destructive command", func() *Input { return call("bash", run("rm -rf a", reeve.CommandDestructive)) }, "{destructive}bash(rm -rf a)",
		"?? dd dd aa", "aa dd ad aa"},
	{"redirection inside", func() *Input { return call("bash", run("echo x", reeve.CommandReadOnly), write("a")) }, "write(/a)",
		"a? dd ad aa", "aa dd ad aa"},
	{"redirection outside", func() *Input { return call("bash", run("echo x", reeve.CommandReadOnly), write("/x/a")) }, "write(//x/a)",
		"?? dd dd aa", "aa dd dd aa"},
	{"MCP read", func() *Input {
		return withTier(call("mcp__a__b", reeve.Effect{Kind: reeve.EffectUnknown}), reeve.TierRead)
	}, "mcp__a__b", "aa aa aa aa", "aa aa aa aa"},
	{"MCP write or unknown", func() *Input { return call("mcp__a__b", reeve.Effect{Kind: reeve.EffectUnknown}) }, "mcp__a__b",
		"?? dd dd aa", "aa dd dd aa"},
	{"a host, by a tool", func() *Input { return call("webfetch", connect("x.org")) }, "web(domain:x.org)",
		"?? dd dd aa", "aa aa aa aa"},
	{"a host, by a command", func() *Input { return call("bash", run("curl x.org"), connect("x.org")) }, "web(domain:x.org)",
		"a? dd ad aa", "a? dd ad aa"},
	{"the screen", func() *Input { return call("desktop", reeve.Effect{Kind: reeve.EffectDrive}) }, "desktop(click)",
		"?? dd dd ??", "?? dd dd ??"},
}

var modes = []reeve.Mode{reeve.ModeDefault, reeve.ModePlan, reeve.ModeAuto, reeve.ModeDangerous}

func TestEveryCellOfTheMatrix(t *testing.T) {
	for _, m := range matrix {
		for _, ruled := range []bool{false, true} {
			rules, want := "", m.unruled
			if ruled {
				text, destructive := strings.CutPrefix(m.rule, "{destructive}")
				rules, want = fmt.Sprintf("allow = [{rule = %q, destructive = %v}]", text, destructive), m.ruled
			}
			set := Join(layer(t, rules))
			got := ""
			for _, mode := range modes {
				if got != "" {
					got += " "
				}
				for _, sandbox := range []reeve.Sandbox{reeve.SandboxReady, reeve.SandboxMissing} {
					in := m.in().in(mode, sandbox)
					d := Turn(set.Judge(in), in.Facts)
					got += map[reeve.Verdict]string{reeve.Allow: "a", reeve.Ask: "?", reeve.Deny: "d"}[d.Verdict]
					reduced := m.in().in(mode, reeve.SandboxReduced)
					if sandbox == reeve.SandboxMissing {
						if r := Turn(set.Judge(reduced), reduced.Facts); r.Verdict != d.Verdict {
							t.Errorf("%s, %s: half a sandbox gives %s, none gives %s", m.column, mode, r.Verdict, d.Verdict)
						}
					}
					if d.Step == reeve.StepMode && !strings.HasPrefix(d.Rule, mode.String()+"/"+sandbox.String()+"/") {
						t.Errorf("%s: the cell is named %s", m.column, d.Rule)
					}
					if mode == reeve.ModePlan || mode == reeve.ModeAuto {
						if d.Verdict == reeve.Ask {
							t.Errorf("%s: %s asks", m.column, mode)
						}
					}
				}
			}
			if got != want {
				t.Errorf("%s, by a rule: %v: got %s, want %s", m.column, ruled, got, want)
			}
		}
	}
}

func TestAnExplicitAskStaysOneAndIsADenialWhereNobodyIsAsked(t *testing.T) {
	set := Join(layer(t, `ask = ["bash(make *)", "write(/a)", "read(/r)"]`))
	for _, in := range []*Input{call("bash", run("make x")), call("write_file", write("a")), call("read_file", read("r"))} {
		for _, c := range []struct {
			mode reeve.Mode
			want reeve.Verdict
		}{{reeve.ModeDefault, reeve.Ask}, {reeve.ModeAuto, reeve.Deny}, {reeve.ModePlan, reeve.Deny}, {reeve.ModeDangerous, reeve.Allow}} {
			in.in(c.mode, reeve.SandboxReady)
			if d := Turn(set.Judge(in), in.Facts); d.Verdict != c.want {
				t.Errorf("%s %s: %s, want %s", in.Tool, c.mode, d.Verdict, c.want)
			}
		}
	}
}

func TestADenialIsTurnedByNoMode(t *testing.T) {
	set := Join(layer(t, `deny = ["bash(make *)"]`))
	for _, mode := range modes {
		in := call("bash", run("make x")).in(mode, reeve.SandboxReady)
		if d := Turn(set.Judge(in), in.Facts); d.Verdict != reeve.Deny || d.Rule != "bash(make *)" || d.Step != reeve.StepPolicy {
			t.Errorf("%s: %s by %s", mode, d.Verdict, d.Rule)
		}
	}
}

func TestQuestionsRaisedAfterThePolicyAreTurnedToo(t *testing.T) {
	for _, step := range []reeve.Step{reeve.StepTool, reeve.StepFlow} {
		for _, c := range []struct {
			mode reeve.Mode
			want reeve.Verdict
			rule string
		}{
			{reeve.ModeDefault, reeve.Ask, "r"},
			{reeve.ModePlan, reeve.Deny, "plan/ready/" + map[reeve.Step]string{reeve.StepTool: "tool", reeve.StepFlow: "external"}[step]},
			{reeve.ModeAuto, reeve.Deny, "auto/ready/" + map[reeve.Step]string{reeve.StepTool: "tool", reeve.StepFlow: "external"}[step]},
			{reeve.ModeDangerous, reeve.Allow, "dangerous/ready/" + map[reeve.Step]string{reeve.StepTool: "tool", reeve.StepFlow: "external"}[step]},
		} {
			d := Turn(reeve.Decision{Verdict: reeve.Ask, Step: step, Rule: "r", Column: reeve.ColumnOrdinary}, Facts{Mode: c.mode, Sandbox: reeve.SandboxReady})
			if d.Verdict != c.want || d.Rule != c.rule {
				t.Errorf("%s in %s: %s by %s, want %s by %s", step, c.mode, d.Verdict, d.Rule, c.want, c.rule)
			}
		}
	}
}

func TestHostIsSaidOnlyWhereAReadySandboxIsLeft(t *testing.T) {
	set := Join(layer(t, `allow = ["host(bash(make *))"]`))
	for _, c := range []struct {
		in   *Input
		want bool
	}{
		{call("bash", run("make x", reeve.CommandHost)).in(reeve.ModeDefault, reeve.SandboxReady), true},
		{call("bash", run("make x", reeve.CommandHost)).in(reeve.ModeDefault, reeve.SandboxMissing), false},
		{call("bash", run("make x")).in(reeve.ModeDefault, reeve.SandboxReady), false},
		{call("bash", run("make x", reeve.CommandHost)).in(reeve.ModeAuto, reeve.SandboxReady), false},
	} {
		if d := Turn(set.Judge(c.in), c.in.Facts); d.Host != c.want {
			t.Errorf("%s/%s: host %v", c.in.Facts.Mode, c.in.Facts.Sandbox, d.Host)
		}
	}
}

func TestTheZeroFactsAndTheZeroDecisionDeny(t *testing.T) {
	if d := Turn(reeve.Decision{}, Facts{}); d.Verdict != reeve.Deny {
		t.Error(d.Verdict)
	}
	if d := Turn(reeve.Decision{Verdict: reeve.Allow}, Facts{}); d.Verdict != reeve.Deny {
		t.Error("plan lets a call through of which nothing is known")
	}
	if d := Join().Judge(&Input{}); d.Verdict != reeve.Deny { // the zero tier is denied
		t.Error(d.Verdict)
	}
	if d := Join().Judge(&Input{Tier: reeve.TierWrite}); d.Verdict != reeve.Ask {
		t.Error(d.Verdict)
	}
}

func TestEveryPartIsTurnedByItself(t *testing.T) {
	rules := `allow = ["bash(git commit *)", "bash(git push *)"]`
	set := Join(layer(t, rules))
	commit, push, other := run("git commit -m x", reeve.CommandGitWrites), run("git push o", reeve.CommandExternal), run("make x")
	for _, c := range []struct {
		in   *Input
		want reeve.Verdict
	}{
		{call("bash", commit, other).in(reeve.ModeDefault, reeve.SandboxReady), reeve.Allow},
		{call("bash", commit, other).in(reeve.ModeDefault, reeve.SandboxMissing), reeve.Ask},
		{call("bash", commit, other).in(reeve.ModeAuto, reeve.SandboxReady), reeve.Allow},
		{call("bash", push, other).in(reeve.ModeDefault, reeve.SandboxReady), reeve.Allow},
		{call("bash", push, other).in(reeve.ModeAuto, reeve.SandboxReady), reeve.Deny},
		{call("bash", other, push).in(reeve.ModeAuto, reeve.SandboxReady), reeve.Deny},
	} {
		if d := Turn(set.Judge(c.in), c.in.Facts); d.Verdict != c.want {
			t.Errorf("%s/%s %s: %s by %s, want %s", c.in.Facts.Mode, c.in.Facts.Sandbox, c.in.Effects[0].Command.Line(), d.Verdict, d.Rule, c.want)
		}
	}
}
