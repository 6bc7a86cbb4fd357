package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
)

// named parses a layer of some name.
func named(t *testing.T, name, text string) *Layer {
	t.Helper()
	l, err := Parse(name, name+".toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNoLayerTakesBackAnothersDenyOrAsk(t *testing.T) {
	rules := map[string]string{"deny": `deny = ["bash(make *)"]`, "ask": `ask = ["bash(make *)"]`, "allow": `allow = ["bash(make *)"]`, "nothing": ``}
	order := []string{"deny", "ask", "allow", "nothing"}
	want := map[string]reeve.Verdict{"deny": reeve.Deny, "ask": reeve.Ask, "allow": reeve.Allow, "nothing": reeve.Ask}
	for i, a := range order {
		for j, b := range order {
			strictest := order[min(i, j)]
			for _, names := range [][2]string{{LayerManaged, LayerUser}, {LayerUser, LayerProject}, {LayerProject, LayerSession}} {
				d := Join(named(t, names[0], rules[a]), named(t, names[1], rules[b])).Judge(call("bash", run("make x")))
				if d.Verdict != want[strictest] {
					t.Errorf("%s %s + %s %s: %s", names[0], a, names[1], b, d.Verdict)
				}
			}
		}
	}
}

func TestTheStrictestStatedDefaultHolds(t *testing.T) {
	d := func(layers ...string) reeve.Verdict {
		var all []*Layer
		for _, text := range layers {
			all = append(all, named(t, LayerUser, text))
		}
		return Join(all...).Judge(call("bash", run("make x"))).Verdict
	}
	allow, ask, deny := `default = "allow"`, `default = "ask"`, `defaultDecision = "deny"`
	for _, c := range []struct {
		got, want reeve.Verdict
		name      string
	}{
		{d(), reeve.Ask, "none"}, {d("", allow), reeve.Allow, "one"}, {d(allow, ask), reeve.Ask, "allow, ask"},
		{d(deny, allow), reeve.Deny, "deny, allow"}, {d(allow, deny, ask), reeve.Deny, "all"},
		{d("enabled = false\n" + allow), reeve.Ask, "void with the layer's allows"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

func TestADisabledLayerStillDeniesAndAsks(t *testing.T) {
	l := named(t, LayerUser, `enabled = false
deny = ["bash(a *)"]
ask = ["bash(b *)"]
allow = ["bash(c *)"]
default = "deny"`)
	for cmd, want := range map[string]reeve.Verdict{"a x": reeve.Deny, "b x": reeve.Ask, "c x": reeve.Deny} {
		if d := Join(l).Judge(call("bash", run(cmd))); d.Verdict != want {
			t.Errorf("%s: %s, want %s", cmd, d.Verdict, want)
		}
	}
}

func TestABrokenLayerMakesEveryCallAQuestion(t *testing.T) {
	broken := Broken(LayerUser, "policy.toml", errors.New("policy.toml:3:1: unknown key"))
	managed := named(t, LayerManaged, `deny = ["bash(a *)"]
allow = ["bash(b *)", "read(*)", "mcp__x"]`)
	set := Join(managed, broken)
	for _, c := range []struct {
		in   *Input
		want reeve.Verdict
	}{
		{call("bash", run("a x")), reeve.Deny},
		{call("bash", run("b x")), reeve.Ask},
		{call("bash", run("ls", reeve.CommandReadOnly)), reeve.Ask},
		{call("read_file", read("a")), reeve.Ask},
		{call("mcp__x__y"), reeve.Ask},
		{call("bash", run("other")).in(reeve.ModeDefault, reeve.SandboxReady), reeve.Ask},
		{call("read_file", read("a")).in(reeve.ModeAuto, reeve.SandboxReady), reeve.Deny},
		{call("read_file", read("a")).in(reeve.ModePlan, reeve.SandboxReady), reeve.Deny},
	} {
		d := Turn(set.Judge(c.in), c.in.Facts)
		if d.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.in.Tool, d.Verdict, c.want)
		}
		if d.Verdict == reeve.Ask && !strings.Contains(d.Reason, "policy.toml:3:1: unknown key") {
			t.Errorf("the question does not say what is wrong: %s", d.Reason)
		}
	}
	if u := broken.Untrusted(); u.Fault == nil {
		t.Error("not to trust a broken layer repairs it")
	}
}

func TestAnUntrustedProjectOnlyTightens(t *testing.T) {
	project := named(t, LayerProject, `
deny = ["bash(a *)"]
ask = ["bash(b *)", "read(/shown/**)"]
allow = ["bash(c *)", "bash(a *)", "write(*)", "mcp__x"]
default = "allow"
[tiers]
mcp__x__y = "read"
mcp__x__gone = "denied"
reader = "destructive"
`)
	base := named(t, LayerUser, `allow = ["bash(b *)", "reader"]`)
	without, with, trusted := Join(base), Join(base, project.Untrusted()), Join(base, project)
	unknown := reeve.Effect{Kind: reeve.EffectUnknown}
	looser := 0
	for _, in := range []*Input{
		call("bash", run("a x")), call("bash", run("b x")), call("bash", run("c x")), call("bash", run("d x")),
		call("write_file", write("x")), call("read_file", read("shown/x")), call("read_file", read("x")),
		call("mcp__x__y", unknown), call("mcp__x__gone", unknown), withTier(call("reader"), reeve.TierRead), call("bash", run("ls", reeve.CommandReadOnly)),
	} {
		for _, mode := range modes {
			in.in(mode, reeve.SandboxReady)
			b, w := Turn(without.Judge(in), in.Facts), Turn(with.Judge(in), in.Facts)
			if w.Verdict > b.Verdict {
				t.Errorf("%s in %s: %s without the project, %s with it (%s)", in.Tool, mode, b.Verdict, w.Verdict, w.Rule)
			}
			if Turn(trusted.Judge(in), in.Facts).Verdict > w.Verdict {
				looser++
			}
		}
	}
	if looser == 0 {
		t.Error("the project's allows would have changed nothing; the test shows nothing")
	}
	for _, c := range []struct {
		in   *Input
		want reeve.Verdict
	}{{call("bash", run("a x")), reeve.Deny}, {call("bash", run("b x")), reeve.Ask}, {call("mcp__x__gone", unknown), reeve.Deny},
		{withTier(call("reader"), reeve.TierRead), reeve.Ask}, {call("read_file", read("shown/x")), reeve.Ask}} {
		if d := with.Judge(c.in); d.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.in.Tool, d.Verdict, c.want)
		}
	}
}

func TestTheTableOfTiersTakesTheStricterEntryAndLiftsNoDenial(t *testing.T) {
	set := Join(named(t, LayerUser, `tiers = {"mcp__a__*" = "read", mcp__a__b = "destructive", never = "read"}`))
	if tier, ok := set.Tier("MCP__A__B"); !ok || tier != reeve.TierDestructive {
		t.Errorf("%s %v", tier, ok)
	}
	if tier, ok := set.Tier("claude:never"); !ok || tier != reeve.TierRead {
		t.Errorf("%s %v", tier, ok)
	}
	if _, ok := set.Tier("other"); ok {
		t.Error("a tool that no table names has a tier")
	}
	if d := set.Judge(withTier(call("never"), reeve.TierDenied)); d.Verdict != reeve.Deny {
		t.Errorf("a table lifts the denied tier: %s", d.Verdict)
	}
}

func TestSuggestionsAreNarrowAndNeverForWhatShouldBeAskedEachTime(t *testing.T) {
	operand := write("out")
	mkdir := run("mkdir out")
	operand.Command = mkdir.Command
	unknown := reeve.Effect{Kind: reeve.EffectUnknown}
	for _, c := range []struct {
		name string
		in   *Input
		want string
	}{
		{"a command", call("bash", run("npm run build")), "bash(npm run build)"},
		{"beside readers", call("bash", run("cat x", reeve.CommandReadOnly), read("x"), run("go vet ./...")), "bash(go vet ./...)"},
		{"with operands", call("bash", mkdir, operand), "bash(mkdir out)"},
		{"words with blanks", call("bash", func() reeve.Effect {
			e := wordsOf("go", "test", "-run", "a b", "it's", "x*")
			e.Command.Marks = 0
			return e
		}()), `bash(go test -run "a b" "it's" x\*)`},
		{"two commands", call("bash", run("make a"), run("make b")), ""},
		{"destructive", call("bash", run("rm -rf x", reeve.CommandDestructive)), ""},
		{"external", call("bash", run("git push", reeve.CommandExternal)), ""},
		{"out of the sandbox", call("bash", run("make x", reeve.CommandHost)), ""},
		{"another user", call("bash", run("sudo|id", reeve.CommandLeaves)), ""},
		{"a wrapper", call("bash", run("+timeout 5|make x")), ""},
		{"an interpreter", call("bash", run("python3.12 x.py")), ""},
		{"a shell", call("bash", run("bash x.sh")), ""},
		{"a shell by its path", call("bash", run("/bin/sh x.sh")), ""},
		{"git alone", call("bash", run("git")), ""},
		{"git with a flag first", call("bash", run("git -C x commit", reeve.CommandGitWrites)), ""},
		{"git with a sub-command", call("bash", run("git commit -m x", reeve.CommandGitWrites)), "bash(git commit -m x)"},
		{"an unknown word", call("bash", run("make $x")), ""},
		{"with a redirection", call("bash", run("make x"), write("log")), ""},
		{"not parsed", call("bash", unknown), ""},
		{"a write", call("write_file", write("a/b.txt")), "write(/a/b.txt)"},
		{"a write with odd characters", call("write_file", write("a/[x] {y}?*.txt")), `write(/a/\[x\] \{y\}\?\*.txt)`},
		{"a write outside", call("write_file", write("/srv/x")), "write(//srv/x)"},
		{"a protected write", call("write_file", write(".git/config", reeve.PathProtected)), ""},
		{"a deletion", call("delete_path", remove("a")), ""},
		{"a host", call("webfetch", connect("docs.rs")), "web(domain:docs.rs)"},
		{"a connection", dialled("docs.rs", 443, ""), "web(domain:docs.rs)"},
		{"a connection to another port", dialled("docs.rs", 8443, ""), "web(domain:docs.rs:8443)"},
		{"a connection to an address", dialled("2606:4700::1111", 22, ""), "web(domain:[2606:4700::1111]:22)"},
		{"a host in disguise", call("webfetch", connect("127.1")), ""},
		{"an MCP tool", call("mcp__a__b", unknown), "mcp__a__b"},
		{"an unknown tool", call("other", unknown), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rule, ok := Suggest(c.in)
			if ok != (c.want != "") || ok && rule != strings.ReplaceAll(c.want, `\]`, `]`) {
				t.Fatalf("got %q, %v; want %q", rule, ok, c.want)
			}
			if !ok {
				return
			}
			set := Join(layer(t, "allow = ['''"+rule+"''']"))
			if d := set.Judge(c.in); d.Verdict != reeve.Allow {
				t.Errorf("the suggested rule does not cover the call: %s by %s", d.Verdict, d.Rule)
			}
		})
	}
}
