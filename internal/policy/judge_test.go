package policy

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

const a55 = `{"deny":["bash(rm -rf*)","write(**/.env*)"],"ask":["bash(git push*)","bash(npm publish*)"],
"allow":["read(*)","grep(*)","glob(*)","bash(cargo test*)"],"defaultDecision":"ask","enabled":true}`

// verdicts judges calls under one set of rules.
func verdicts(t *testing.T, rules string, cases []struct {
	name string
	in   *Input
	want reeve.Verdict
	rule string
}) {
	t.Helper()
	set := Join(layer(t, rules))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := set.Judge(c.in)
			if d.Verdict != c.want || c.rule != "" && d.Rule != c.rule {
				t.Errorf("got %s by %q (%s: %s), want %s by %q", d.Verdict, d.Rule, d.Column, d.Reason, c.want, c.rule)
			}
			if d.Reason == "" || d.Rule == "" || d.Source == "" || d.Step != reeve.StepPolicy {
				t.Errorf("a decision says why and by what: %+v", d)
			}
			e := set.Explain(c.in)
			if len(e.Trace) == 0 {
				t.Error("an explanation shows what matched")
			}
			decides := 0
			for _, l := range e.Trace {
				if l.Decides {
					decides++
				}
			}
			if decides != 1 {
				t.Errorf("%d lines of the explanation decide: %+v", decides, e.Trace)
			}
			if e.Trace = nil; !reflect.DeepEqual(d, e) {
				t.Errorf("the explanation differs from the judgement:\n%+v\n%+v", d, e)
			}
		})
	}
}

type verdictCase = struct {
	name string
	in   *Input
	want reeve.Verdict
	rule string
}

func TestTheSeedsExamplePolicyDoesWhatItSays(t *testing.T) {
	verdicts(t, a55, []verdictCase{
		{"rm", call("bash", run("rm -rf build", reeve.CommandDestructive)), reeve.Deny, "bash(rm -rf*)"},
		{"rm of the root", call("bash", run("rm -rf /x", reeve.CommandDestructive)), reeve.Deny, "bash(rm -rf*)"},
		{"env file", call("write_file", write("app/.env.local")), reeve.Deny, "write(**/.env*)"},
		{"env file by the shell", call("bash", run("echo x", reeve.CommandReadOnly), write(".env")), reeve.Deny, "write(**/.env*)"},
		{"push", call("bash", run("git push origin", reeve.CommandExternal)), reeve.Ask, "bash(git push*)"},
		{"publish", call("bash", run("npm publish", reeve.CommandExternal)), reeve.Ask, "bash(npm publish*)"},
		{"read anything", call("read_file", read("/etc/hosts")), reeve.Allow, "read(*)"},
		{"test", call("bash", run("cargo test --all")), reeve.Allow, "bash(cargo test*)"},
		{"the rest", call("bash", run("cargo run")), reeve.Ask, "default"},
		{"grep", call("grep", read("src")), reeve.Allow, ""},
	})
}

func TestPublicCasesOfTheNeighboursHold(t *testing.T) { // P9 to P12
	verdicts(t, `allow = ["Bash(cargo:*)", "Read(src/*.rs)"]`, []verdictCase{
		{"cargo build", call("bash", run("cargo build")), reeve.Allow, "Bash(cargo:*)"},
		{"cargo", call("bash", run("cargo")), reeve.Allow, "Bash(cargo:*)"},
		{"npm install", call("bash", run("npm install")), reeve.Ask, "default"},
		{"src/main.rs", withTier(call("read_file", read("src/main.rs")), reeve.TierWrite), reeve.Allow, "Read(src/*.rs)"},
		{"src/foo/bar.rs", withTier(call("read_file", read("src/foo/bar.rs")), reeve.TierWrite), reeve.Ask, "default"},
	})
	verdicts(t, `{"deny":["Bash(rm:*)"],"allow":["Bash(*)"]}`, []verdictCase{
		{"deny and allow", call("bash", run("rm -rf x", reeve.CommandDestructive)), reeve.Deny, "Bash(rm:*)"},
		{"allow", call("bash", run("make")), reeve.Allow, "Bash(*)"},
	})
	verdicts(t, ``, []verdictCase{{"no rule", call("bash", run("make")), reeve.Ask, "default"}})
}

func withTier(in *Input, t reeve.Tier) *Input { in.Tier = t; return in }

func TestDenyBeatsAskBeatsAllowBeatsTablesBeatsTierBeatsDefault(t *testing.T) {
	ro := reeve.CommandReadOnly
	verdicts(t, `
deny = ["bash(a *)", "write(/no/**)"]
ask = ["bash(a *)", "bash(b *)", "write(/no/**)", "write(/maybe/**)", "read(/shown/**)", "bash(ls *)"]
allow = ["bash(a *)", "bash(b *)", "bash(c *)", "write(*)", "read(*)", "read_tool"]
default = "deny"
[tiers]
other = "read"
wrecker = "destructive"
never = "denied"
`, []verdictCase{
		{"deny over ask and allow", call("bash", run("a x")), reeve.Deny, "bash(a *)"},
		{"ask over allow", call("bash", run("b x")), reeve.Ask, "bash(b *)"},
		{"allow over default", call("bash", run("c x")), reeve.Allow, "bash(c *)"},
		{"ask over the read-only table", call("bash", run("ls x", ro)), reeve.Ask, "bash(ls *)"},
		{"read-only table over default", call("bash", run("cat x", ro)), reeve.Allow, "read-only table"},
		{"default", call("bash", run("d x")), reeve.Deny, "default"},
		{"path deny over ask", call("write_file", write("no/x")), reeve.Deny, "write(/no/**)"},
		{"path ask over allow", call("write_file", write("maybe/x")), reeve.Ask, "write(/maybe/**)"},
		{"path allow", call("write_file", write("yes/x")), reeve.Allow, "write(*)"},
		{"ask over tier read", call("read_file", read("shown/x")), reeve.Ask, "read(/shown/**)"},
		{"tier read over default", call("other"), reeve.Allow, "tier read"},
		{"tier destructive over default", call("wrecker"), reeve.Ask, "tier destructive"},
		{"tier denied over all", call("never"), reeve.Deny, "tier denied"},
		{"allow over tier", call("read_tool"), reeve.Allow, "read_tool"},
		{"strictest part", call("bash", run("c x"), run("a x"), run("b x")), reeve.Deny, "bash(a *)"},
		{"strictest part, asked", call("bash", run("c x"), run("cat y", ro), run("b x")), reeve.Ask, "bash(b *)"},
	})
}

func TestTheCatalogAndHooksStandWhereTheOrderPutsThem(t *testing.T) {
	with := func(in *Input, c reeve.Catalog, hook string) *Input {
		in.Facts.Catalog, in.Facts.HookAsk = c, hook
		return in
	}
	verdicts(t, `allow = ["bash(make *)"]
ask = ["bash(b *)"]`, []verdictCase{
		{"off beats allow", with(call("bash", run("make x")), reeve.CatalogOff, ""), reeve.Deny, "catalog off"},
		{"approval blocks", with(call("bash", run("make x")), reeve.CatalogApproval, ""), reeve.Deny, "catalog approval"},
		{"ask first beats allow", with(call("bash", run("make x")), reeve.CatalogAsk, ""), reeve.Ask, "catalog ask"},
		{"a hook's ask beats allow", with(call("bash", run("make x")), 0, "look at it"), reeve.Ask, "hook"},
		{"a hook's ask beats the read-only table", with(call("bash", run("ls", reeve.CommandReadOnly)), 0, "look"), reeve.Ask, "hook"},
		{"auto beats the default", with(call("bash", run("gcc x")), reeve.CatalogAuto, ""), reeve.Allow, "catalog auto"},
		{"auto does not beat ask", with(call("bash", run("b x")), reeve.CatalogAuto, ""), reeve.Ask, "bash(b *)"},
		{"auto covers ordinary commands only", with(call("bash", run("x y", reeve.CommandRunsProgram)), reeve.CatalogAuto, ""), reeve.Ask, "default"},
		{"auto covers the workspace only", with(call("write_file", write("/etc/x")), reeve.CatalogAuto, ""), reeve.Ask, "default"},
		{"auto for an MCP tool", with(call("mcp__a__b", reeve.Effect{Kind: reeve.EffectUnknown}), reeve.CatalogAuto, ""), reeve.Allow, "catalog auto"},
		{"auto does not delete", with(call("delete_path", remove("x")), reeve.CatalogAuto, ""), reeve.Ask, "tier destructive"},
	})
}

func TestDenyAndAskLookThroughWrappersAndSpellings(t *testing.T) {
	leaves := reeve.CommandLeaves
	verdicts(t, `
deny = ["bash(sudo *)", "bash(kubectl delete*)"]
ask = ["bash(pip install*)"]
allow = ["bash(kubectl get*)", "bash(pytest*)"]`, []verdictCase{
		{"the wrapper itself", call("bash", run("sudo|id", leaves)), reeve.Deny, "bash(sudo *)"},
		{"behind a harmless wrapper", call("bash", run("+timeout 5|sudo|id", leaves)), reeve.Deny, "bash(sudo *)"},
		{"inside a wrapper", call("bash", run("env X=1|kubectl delete ns x", reeve.CommandCodeEnv)), reeve.Deny, "bash(kubectl delete*)"},
		{"by its path", call("bash", run("/usr/bin/kubectl delete ns x")), reeve.Deny, "bash(kubectl delete*)"},
		{"a wrapper by its path", call("bash", run("/usr/bin/sudo|id", leaves)), reeve.Deny, "bash(sudo *)"},
		{"a program by its path in a wrapper", call("bash", run("nice|/opt/bin/kubectl delete x")), reeve.Deny, "bash(kubectl delete*)"},
		{"xargs adds words", call("bash", run("+xargs|kubectl")), reeve.Ask, "bash(kubectl delete*)"},
		{"xargs cannot change the sub-command", call("bash", run("+xargs|kubectl get")), reeve.Allow, "bash(kubectl get*)"},
		{"an unknown word that could be denied", call("bash", run("kubectl $x", reeve.CommandUnknownWords)), reeve.Ask, "bash(kubectl delete*)"},
		{"an unknown program", call("bash", run("$x delete", reeve.CommandUnknownProgram)), reeve.Ask, ""},
		{"an unknown word that could be asked", call("bash", run("pip $x", reeve.CommandUnknownWords)), reeve.Ask, "bash(pip install*)"},
	})
}

func TestAnAllowWithAStarCoversOrdinaryArgumentsOnly(t *testing.T) {
	cases := []verdictCase{
		{"ordinary", call("bash", run("tool sub --flag x")), reeve.Allow, ""},
		{"a quoted unknown word", call("bash", run(`tool sub "$x"`)), reeve.Allow, ""},
		{"harmless wrappers", call("bash", run("+timeout 5|+nice|tool sub x")), reeve.Allow, ""},
		{"a wrapper that is not harmless", call("bash", run("env X=1|tool sub x")), reeve.Ask, "default"},
		{"a harmless one outside of one that is not", call("bash", run("+nice|env|tool sub x")), reeve.Ask, "default"},
		{"by its path", call("bash", run("./tool sub x")), reeve.Ask, "default"},
		{"not only a prefix of the word", call("bash", run("tool subx")), reeve.Ask, "default"},
		{"the repository's own program", repoRuns(call("bash", run("tool sub x", reeve.CommandGitConfig))), reeve.Ask, "default"},
	}
	for _, m := range []reeve.CommandMark{reeve.CommandRunsProgram, reeve.CommandWritesFile, reeve.CommandCodeEnv, reeve.CommandUnknownProgram,
		reeve.CommandUnknownWords, reeve.CommandFedScript, reeve.CommandLeaves, reeve.CommandHost, reeve.CommandDestructive} {
		cases = append(cases, verdictCase{fmt.Sprintf("mark %b", m), call("bash", run("tool sub x", m)), reeve.Ask, "default"})
	}
	verdicts(t, `allow = ["bash(tool sub *)", "bash(tool2)", "read(*)"]`, cases)
}

func repoRuns(in *Input) *Input { in.Facts.RepoRuns = "core.fsmonitor"; return in }

func TestAnAllowWithoutAStarCoversItsExactWords(t *testing.T) {
	verdicts(t, `allow = ["bash(find . -exec rm x)", "bash(sh)", "bash(sudo id)", "bash(env X=1 make)", "bash(rm -rf out)", 'bash(git commit -m "a b")']`, []verdictCase{
		{"runs a program by its own words", call("bash", run("find . -exec rm x", reeve.CommandRunsProgram)), reeve.Allow, ""},
		{"one more word", call("bash", run("find . -exec rm x y", reeve.CommandRunsProgram)), reeve.Ask, ""},
		{"another user, named", call("bash", run("sudo|id", reeve.CommandLeaves)), reeve.Allow, "bash(sudo id)"},
		{"a shell fed from elsewhere", call("bash", run("sh", reeve.CommandFedScript)), reeve.Ask, ""},
		{"a variable that loads code", call("bash", run("sh", reeve.CommandCodeEnv)), reeve.Ask, ""},
		{"an unknown word", call("bash", run("find . -exec rm $x", reeve.CommandUnknownWords)), reeve.Ask, ""},
		{"destructive needs to be said", call("bash", run("rm -rf out", reeve.CommandDestructive)), reeve.Ask, ""},
		{"a wrapper spelled out", call("bash", run("env X=1|make")), reeve.Allow, "bash(env X=1 make)"},
		{"one word", call("bash", wordsOf("git", "commit", "-m", "a b")), reeve.Allow, ""},
		{"two words", call("bash", wordsOf("git", "commit", "-m", "a", "b")), reeve.Ask, ""},
	})
}

func wordsOf(w ...string) reeve.Effect {
	c := &reeve.Command{Dir: ws, Marks: reeve.CommandGitWrites}
	for _, s := range w {
		c.Words = append(c.Words, reeve.Word{Text: s, Known: true})
	}
	return reeve.Effect{Kind: reeve.EffectRun, Command: c}
}

func TestWhatDeletesNeedsARuleThatSaysSo(t *testing.T) {
	verdicts(t, `allow = ["bash(rm *)", "write(*)", {rule = "bash(rm -rf build)", destructive = true}, {rule = "write(/tmpdir/**)", destructive = true}]`, []verdictCase{
		{"plain rm", call("bash", run("rm x")), reeve.Allow, "bash(rm *)"},
		{"recursive rm", call("bash", run("rm -rf x", reeve.CommandDestructive)), reeve.Ask, "default"},
		{"recursive rm, said", call("bash", run("rm -rf build", reeve.CommandDestructive)), reeve.Allow, "bash(rm -rf build)"},
		{"delete tool", call("delete_path", remove("x")), reeve.Ask, "tier destructive"},
		{"delete tool, said", call("delete_path", remove("tmpdir/x")), reeve.Allow, "write(/tmpdir/**)"},
	})
	set := Join(layer(t, `allow = [{rule = "bash(rm -rf build)", destructive = true}]`))
	for _, in := range []*Input{call("bash", run("rm -rf build", reeve.CommandDestructive)), call("bash", run("rm -rf x", reeve.CommandDestructive)), call("delete_path", remove("x"))} {
		if d := set.Judge(in); !d.Warn || d.Column != reeve.ColumnDestructive {
			t.Errorf("%s: warn %v, column %s", d.Reason, d.Warn, d.Column)
		}
	}
}

func TestGitWritesAndOutsideEffectsAreAllowedByNameOnly(t *testing.T) {
	verdicts(t, `allow = ["bash(git *)", "bash(git commit *)", "bash(git -C *)", "bash(npm *)", "bash(gh pr *)"]`, []verdictCase{
		{"read", call("bash", run("git log", reeve.CommandReadOnly|reeve.CommandGitConfig)), reeve.Allow, "bash(git *)"},
		{"named", call("bash", run("git commit -m x", reeve.CommandGitWrites)), reeve.Allow, "bash(git commit *)"},
		{"not named", call("bash", run("git tag v1", reeve.CommandGitWrites)), reeve.Ask, "default"},
		{"a flag is no name", call("bash", run("git -C x tag v1", reeve.CommandGitWrites)), reeve.Ask, "default"},
		{"external, not named", call("bash", run("npm publish", reeve.CommandExternal)), reeve.Ask, "default"},
		{"external, named", call("bash", run("gh pr create", reeve.CommandExternal)), reeve.Allow, "bash(gh pr *)"},
		{"a repository that runs programs", repoRuns(call("bash", run("git commit -m x", reeve.CommandGitWrites))), reeve.Ask, "default"},
		{"reading there", repoRuns(call("bash", run("git status", reeve.CommandReadOnly|reeve.CommandGitConfig))), reeve.Ask, "default"},
	})
}

func TestOnlyHostRulesLeaveTheSandbox(t *testing.T) {
	verdicts(t, `allow = ["bash(make *)", "host(bash(docker *))"]
deny = ["host(bash(docker rm *))"]`, []verdictCase{
		{"asked to leave", call("bash", run("make x", reeve.CommandHost)), reeve.Ask, "default"},
		{"may leave", call("bash", run("docker ps", reeve.CommandHost)), reeve.Allow, "host(bash(docker *))"},
		{"may leave and stays", call("bash", run("docker ps")), reeve.Allow, "host(bash(docker *))"},
		{"may not leave with this", call("bash", run("docker rm x", reeve.CommandHost)), reeve.Deny, "host(bash(docker rm *))"},
		{"may stay with this", call("bash", run("docker rm x")), reeve.Allow, "host(bash(docker *))"},
	})
}

func TestRedirectionsNeedARuleOfTheirOwnAndOperandsDoNot(t *testing.T) {
	mk := run("mkdir out")
	operand := write("out")
	operand.Command = mk.Command
	cp := run("cp a /etc/a")
	outside := write("/etc/a")
	outside.Command = cp.Command
	other := write("out")
	other.Command = run("touch out").Command
	verdicts(t, `allow = ["bash(mkdir *)", "bash(cp *)", "bash(echo *)", "write(/logs/**)", "write(//srv/**)"]
deny = ["write(**/dist/**)"]`, []verdictCase{
		{"an operand", call("bash", mk, operand), reeve.Allow, ""},
		{"an operand outside", call("bash", cp, outside), reeve.Ask, "default"},
		{"a redirection", call("bash", run("echo x"), write("notes.txt")), reeve.Ask, "default"},
		{"a redirection with a rule", call("bash", run("echo x"), write("logs/a")), reeve.Allow, ""},
		{"outside with a rule", call("bash", run("echo x"), write("/srv/a")), reeve.Allow, ""},
		{"denied", call("bash", run("echo x"), write("lib/dist/a")), reeve.Deny, "write(**/dist/**)"},
		{"an operand of another command", call("bash", mk, other), reeve.Ask, "default"},
		{"nothing is kept", call("bash", run("echo x"), write("/dev/null", reeve.PathDevice)), reeve.Allow, ""},
		{"a file that is not known", call("bash", run("echo x"), reeve.Effect{Kind: reeve.EffectWrite}), reeve.Ask, "write(**/dist/**)"},
	})
}

func TestBothSpellingsOfAPathMustBeAllowedAndEitherMayBeDenied(t *testing.T) {
	link := func(kind reeve.EffectKind, p, target string) reeve.Effect {
		e := at(kind, p)
		e.Facts.Target = target
		if !strings.HasPrefix(target, ws+"/") {
			e.Facts.Marks |= reeve.PathOutside
		}
		return e
	}
	unresolved := write("lib/x")
	unresolved.Facts = reeve.PathFacts{}
	verdicts(t, `allow = ["write(/lib/**)", "write(//ext/**)", "write(*)"]
deny = ["write(**/secret/**)", "read(**/secret/**)"]`, []verdictCase{
		{"plain", call("write_file", write("lib/a")), reeve.Allow, "write(/lib/**)"},
		{"a link to what is denied", call("write_file", link(reeve.EffectWrite, "lib/a", "/w/secret/a")), reeve.Deny, ""},
		{"a link out", call("write_file", link(reeve.EffectWrite, "lib/a", "/etc/passwd")), reeve.Ask, "default"},
		{"a link to what is allowed as well", call("write_file", link(reeve.EffectWrite, "lib/a", "/w/lib/b")), reeve.Allow, ""},
		{"nobody looked", call("write_file", unresolved), reeve.Ask, "default"},
		{"read by the shell through a link", call("bash", run("cat l", reeve.CommandReadOnly), link(reeve.EffectRead, "l", "/w/secret/k")), reeve.Deny, ""},
	})
}

func TestEditSpeaksOfFilesThatExist(t *testing.T) {
	existing := write("lib/a")
	existing.Facts.Exists = true
	asserted := write("lib/new")
	asserted.Exists = true
	unknown := write("lib/u")
	unknown.Facts.Known, unknown.Facts.Target = false, ""
	verdicts(t, `allow = ["edit(/lib/**)"]
deny = ["edit(/fixed/**)"]`, []verdictCase{
		{"a change", call("edit_file", asserted), reeve.Allow, "edit(/lib/**)"},
		{"overwriting", call("write_file", existing), reeve.Allow, "edit(/lib/**)"},
		{"a new file", call("write_file", write("lib/new")), reeve.Ask, "default"},
		{"perhaps new", call("write_file", unknown), reeve.Ask, "default"},
		{"deleting", call("write_file", remove("lib/a")), reeve.Ask, "default"},
		{"denied change", call("write_file", func() reeve.Effect { e := write("fixed/a"); e.Facts.Exists = true; return e }()), reeve.Deny, ""},
		{"a new file beside denied ones", call("write_file", write("fixed/new")), reeve.Ask, "default"},
	})
	// Spelled as Claude Code spells it, Edit is every writer.
	verdicts(t, `allow = ["Edit(/lib/**)"]`, []verdictCase{{"a new file", call("write_file", write("lib/new")), reeve.Allow, "Edit(/lib/**)"}})
	verdicts(t, `{"permissions":{"allow":["edit(/lib/**)"]}}`, []verdictCase{{"a new file", call("write_file", write("lib/new")), reeve.Allow, "edit(/lib/**)"}})
}

func TestWhatStandsBelowAFolderThatGoesIsSeen(t *testing.T) {
	deep := func(e reeve.Effect) reeve.Effect {
		e.Deep, e.Command = true, run("grep -r x .", reeve.CommandReadOnly).Command
		return e
	}
	redirected := read("src")
	redirected.Deep = true
	verdicts(t, `deny = ["write(/config/prod/**)", "read(/config/prod/**)", "read(**/private/**)"]
allow = ["bash(rm *)", "bash(grep *)"]`, []verdictCase{
		{"deleting the folder above", call("bash", run("rm -r config"), deep(remove("config"))), reeve.Deny, "write(/config/prod/**)"},
		{"deleting beside it", call("bash", run("rm -r src"), deep(remove("src"))), reeve.Ask, ""},
		{"reading below the folder above", call("bash", run("grep -r x config", reeve.CommandReadOnly), deep(read("config"))), reeve.Ask, "read(/config/prod/**)"},
		{"reading where it may be", call("bash", run("grep -r x src", reeve.CommandReadOnly), deep(read("src"))), reeve.Ask, "read(**/private/**)"},
		{"a redirection from a pattern", call("bash", run("cat", reeve.CommandReadOnly), redirected), reeve.Ask, "read(/config/prod/**)"},
		{"reading one file", call("bash", run("grep x src/a", reeve.CommandReadOnly), read("src/a")), reeve.Allow, ""},
	})
}

func TestSpecialPathsHoldAgainstAnyRule(t *testing.T) {
	verdicts(t, `allow = ["read(*)", "write(*)", "write(/.vscode/**)", "write(/.vscode/settings.json)", "read(//**)", "write(//**)", "bash(*)"]`, []verdictCase{
		{"credentials", call("read_file", read(".env", reeve.PathCredential)), reeve.Deny, "guard"},
		{"credentials by the shell", call("bash", run("cat x", reeve.CommandReadOnly), read("/home/u/.ssh/id", reeve.PathCredential)), reeve.Deny, "guard"},
		{"own state", call("read_file", read("/home/u/.config/reeve/policy.toml", reeve.PathOwnState)), reeve.Deny, "guard"},
		{"gate settings", call("write_file", write(".claude/settings.json", reeve.PathGateConfig, reeve.PathProtected)), reeve.Deny, "guard"},
		{"reading gate settings", call("read_file", read(".claude/settings.json", reeve.PathGateConfig)), reeve.Allow, ""},
		{"protected", call("write_file", write(".vscode/tasks.json", reeve.PathProtected)), reeve.Ask, "protected path"},
		{"protected, named exactly", call("write_file", write(".vscode/settings.json", reeve.PathProtected)), reeve.Allow, "write(/.vscode/settings.json)"},
		{"one file, two names", call("write_file", write("a", reeve.PathHardLinked)), reeve.Ask, "protected path"},
		{"reeve itself", call("bash", run("reeve approvals allow x", reeve.CommandSelf)), reeve.Deny, "guard"},
		{"change of Reeve", call("tool", reeve.Effect{Kind: reeve.EffectChangeSelf}), reeve.Deny, "guard"},
	})
}

func TestReadersRunUnaskedInTheWorkspaceAndAskOutside(t *testing.T) {
	verdicts(t, `allow = ["read(//usr/include/**)"]`, []verdictCase{
		{"inside", call("read_file", read("a")), reeve.Allow, "tier read"},
		{"outside", call("read_file", read("/var/lib/x")), reeve.Ask, "default"},
		{"outside with a rule", call("read_file", read("/usr/include/stdio.h")), reeve.Allow, "read(//usr/include/**)"},
		{"by a command", call("bash", run("cat /var/x", reeve.CommandReadOnly), read("/var/x")), reeve.Allow, ""},
		{"by a command, not known", call("bash", run(`cat "$x"`, reeve.CommandReadOnly), reeve.Effect{Kind: reeve.EffectRead}), reeve.Ask, "default"},
	})
}

func TestHostsNeedARule(t *testing.T) {
	verdicts(t, `allow = ["web(domain:*.example.com)", "WebFetch(domain:docs.rs)", "bash(curl *)"]
deny = ["web(domain:*.evil.com)"]
ask = ["web(domain:ask.example.com)"]`, []verdictCase{
		{"a subdomain", call("webfetch", connect("a.example.com")), reeve.Allow, ""},
		{"the name itself", call("webfetch", connect("example.com")), reeve.Ask, "default"},
		{"Claude's form", call("webfetch", connect("docs.rs")), reeve.Allow, "WebFetch(domain:docs.rs)"},
		{"deny covers the name itself", call("webfetch", connect("evil.com")), reeve.Deny, ""},
		{"deny covers below", call("webfetch", connect("x.evil.com")), reeve.Deny, ""},
		{"ask over allow", call("webfetch", connect("ask.example.com")), reeve.Ask, "web(domain:ask.example.com)"},
		{"a look-alike", call("webfetch", connect("evil.com.example.org")), reeve.Ask, "default"},
		{"an address in disguise", call("webfetch", connect("0x7f.1")), reeve.Ask, "unclear host"},
		{"another script", call("webfetch", connect("ｅvil.com")), reeve.Ask, "unclear host"},
		{"by a command", call("bash", run("curl a.example.com"), connect("a.example.com")), reeve.Allow, ""},
		{"by a command, denied", call("bash", run("curl evil.com"), connect("evil.com")), reeve.Deny, ""},
		{"tier read opens no host", withTier(call("webfetch", connect("x.org")), reeve.TierRead), reeve.Ask, "default"},
	})
}

// dialled is a connection that we make ourselves.
func dialled(host string, port int, closed string) *Input {
	return withClass(call("connect", reeve.Effect{Kind: reeve.EffectConnect, Host: host, Port: port, Dial: &reeve.Dial{Closed: closed}}), tool.ClassWeb)
}

func withClass(in *Input, c tool.Class) *Input { in.Class = c; return in }

func TestWhatIsDialledNeedsItsPort(t *testing.T) {
	verdicts(t, `allow = ["web(domain:a.example)", "web(domain:b.example:22)", "web(domain:*.c.example:8443)", "web(domain:a.example:443)"]
deny = ["web(domain:*:25)", "web(domain:d.example)"]
ask = ["web(domain:a.example:81)"]`, []verdictCase{
		{"https", dialled("a.example", 443, ""), reeve.Allow, "web(domain:a.example)"},
		{"http", dialled("a.example", 80, ""), reeve.Allow, "web(domain:a.example)"},
		{"another port", dialled("a.example", 8080, ""), reeve.Ask, "default"},
		{"a port that is asked about", dialled("a.example", 81, ""), reeve.Ask, "web(domain:a.example:81)"},
		{"a port that a rule names", dialled("b.example", 22, ""), reeve.Allow, "web(domain:b.example:22)"},
		{"the web's port where another is named", dialled("b.example", 443, ""), reeve.Ask, "default"},
		{"below", dialled("x.c.example", 8443, ""), reeve.Allow, "web(domain:*.c.example:8443)"},
		{"a port that is closed", dialled("a.example", 25, ""), reeve.Deny, "web(domain:*:25)"},
		{"a host that is closed, any port", dialled("d.example", 9999, ""), reeve.Deny, "web(domain:d.example)"},
		{"what a client says of itself", call("webfetch", reeve.Effect{Kind: reeve.EffectConnect, Host: "a.example", Port: 8080}), reeve.Allow, "web(domain:a.example)"},
	})
}

func TestAClosedAddressIsOpenedByARuleThatSpellsItOnly(t *testing.T) {
	verdicts(t, `allow = ["web(*)", "web(domain:127.0.0.1)", "web(domain:127.0.0.1:3000)", "web(domain:*:4000)", "connect"]
deny = ["web(domain:10.0.0.1:80)"]
ask = ["web(domain:10.0.0.2:80)"]
default = "allow"`, []verdictCase{
		{"spelled", dialled("127.0.0.1", 3000, "this machine's loopback"), reeve.Allow, "web(domain:127.0.0.1:3000)"},
		{"another port", dialled("127.0.0.1", 80, "this machine's loopback"), reeve.Deny, "closed address"},
		{"a star with the port", dialled("127.0.0.1", 4000, "this machine's loopback"), reeve.Deny, "closed address"},
		{"a neighbour", dialled("192.168.1.1", 443, "a private network"), reeve.Deny, "closed address"},
		{"a rule denies", dialled("10.0.0.1", 80, "a private network"), reeve.Deny, "web(domain:10.0.0.1:80)"},
		{"a rule asks", dialled("10.0.0.2", 80, "a private network"), reeve.Ask, "web(domain:10.0.0.2:80)"},
		{"a public address", dialled("93.184.215.14", 443, ""), reeve.Allow, "web(*)"},
		{"by the catalog", catalogAuto(dialled("127.0.0.1", 80, "this machine's loopback")), reeve.Deny, "closed address"},
	})
}

func catalogAuto(in *Input) *Input { in.Facts.Catalog = reeve.CatalogAuto; return in }

func TestADecisionSaysWhetherItsRuleNamesTheHostAndThePort(t *testing.T) {
	set := Join(layer(t, `allow = ["web(domain:a.example)", "web(domain:*)", "web(domain:*:9000)", "web(domain:b.example)", "web(domain:b.example:443)", "web(domain:127.0.0.1:80)"]`))
	for _, c := range []struct {
		in         *Input
		host, port bool
	}{
		{dialled("a.example", 443, ""), true, false}, {dialled("b.example", 443, ""), true, true}, {dialled("b.example", 80, ""), true, false}, {dialled("127.0.0.1", 80, "loopback"), true, true},
		{dialled("x.example", 443, ""), false, false}, {dialled("x.example", 9000, ""), false, true}, {call("webfetch", connect("a.example")), false, false}, {dialled("x.example", 22, ""), false, false},
	} {
		if d := set.Judge(c.in); d.Named != c.host || d.Port != c.port {
			t.Errorf("%s by %s: names the host %v, the port %v", c.in.Effects[0].String(), d.Rule, d.Named, d.Port)
		}
	}
}

func TestToolNamesMatchWithoutCaseAndWithStars(t *testing.T) {
	unknown := reeve.Effect{Kind: reeve.EffectUnknown, Why: "nothing is known"}
	args := func(in *Input, a string) *Input { in.Args = []byte(a); return in }
	verdicts(t, `
allow = ["mcp__GitHub__get_*", "mcp__files", "mcp(db__read_*)", "Grep", "task", "mcp__look__wipe", {rule = "mcp__look__wipe_tmp", destructive = true}]
deny = ["mcp__*__delete_*", "mcp__files__write(path:*secret*)"]
ask = ["mcp__db__query(*drop table*)"]
[tiers]
"mcp__look__wipe*" = "destructive"
"mcp__look__*" = "read"`, []verdictCase{
		{"an allow that does not say destructive", call("mcp__look__wipe", unknown), reeve.Ask, "tier destructive"},
		{"an allow that says destructive", call("mcp__look__wipe_tmp", unknown), reeve.Allow, "mcp__look__wipe_tmp"},
		{"a star", call("mcp__github__get_issue", unknown), reeve.Allow, "mcp__GitHub__get_*"},
		{"a whole server", call("mcp__files__read", unknown), reeve.Allow, "mcp__files"},
		{"no other server", call("mcp__files2__read", unknown), reeve.Ask, "default"},
		{"deny over a server", call("mcp__files__delete_all", unknown), reeve.Deny, "mcp__*__delete_*"},
		{"an argument", args(call("mcp__files__write", unknown), `{"path":"/a/Secret.txt"}`), reeve.Deny, "mcp__files__write(path:*secret*)"},
		{"another argument", args(call("mcp__files__write", unknown), `{"text":"secret"}`), reeve.Allow, "mcp__files"},
		{"any argument", args(call("mcp__db__query", unknown), `{"q":{"sql":"DROP TABLE x"}}`), reeve.Ask, "mcp__db__query(*drop table*)"},
		{"arguments that cannot be read", args(call("mcp__db__query", unknown), `{"q":`), reeve.Ask, "mcp__db__query(*drop table*)"},
		{"class word", call("mcp__db__read_all", unknown), reeve.Allow, "mcp(db__read_*)"},
		{"a tier", call("mcp__look__at", unknown), reeve.Allow, "tier read"},
		{"a client's tool", call("claude:task"), reeve.Allow, "task"},
		{"unknown", call("mcp__new__thing", unknown), reeve.Ask, "default"},
	})
	verdicts(t, `tiers = {"claude:task" = "read"}`, []verdictCase{
		{"a reader's unknown effect is not what its tier speaks of", call("grep", unknown), reeve.Ask, "default"},
		{"what a person puts in the tier is", call("claude:task", unknown), reeve.Allow, "tier read"},
	})
}

func TestConditionsNarrowARule(t *testing.T) {
	child := call("bash", run("make x"))
	child.Facts.Actor, child.Facts.Origin = "child:a/b", reeve.OriginNested
	host := call("bash", run("make x"))
	host.Facts.Origin = reeve.OriginHost
	elsewhere := call("bash", run("make x"))
	elsewhere.Facts.Dir = "/w/sub"
	verdicts(t, `
deny = [{rule = "bash(make *)", when = {actor = "child"}}]
ask = [{rule = "bash(make *)", when = {origin = ["agent", "nested"], cwd = ["/sub"]}}]
allow = [{rule = "bash(make *)", when = {mode = "default", sandbox = ["missing"], interactive = true, tier = "write"}}]`, []verdictCase{
		{"an agent", call("bash", run("make x")), reeve.Allow, ""},
		{"a child", child, reeve.Deny, ""},
		{"in a folder", elsewhere, reeve.Ask, ""},
		{"as host in the folder", host, reeve.Allow, ""},
		{"another mode", call("bash", run("make x")).in(reeve.ModeAuto, reeve.SandboxMissing), reeve.Ask, "default"},
		{"a sandbox", call("bash", run("make x")).in(reeve.ModeDefault, reeve.SandboxReady), reeve.Ask, "default"},
		{"half a sandbox is none", call("bash", run("make x")).in(reeve.ModeDefault, reeve.SandboxReduced), reeve.Allow, ""},
	})
	verdicts(t, `deny = ["bash(make *)"]
[when]
mode = "auto"`, []verdictCase{{"a condition of the whole file", call("bash", run("make x")), reeve.Ask, "default"}})
}

func TestOnAFileSystemThatFoldsCaseSpellingsAreOne(t *testing.T) {
	fold := func(in *Input) *Input { in.Facts.FoldCase = true; return in }
	verdicts(t, `deny = ["read(**/Private/**)", "bash(sudo *)"]
allow = ["write(/Lib/**)"]`, []verdictCase{
		{"deny", fold(call("read_file", read("private/x"))), reeve.Deny, ""},
		{"deny, other case", fold(call("read_file", read("PRIVATE/x"))), reeve.Deny, ""},
		{"a program", fold(call("bash", run("/usr/bin/SUDO|id", reeve.CommandLeaves))), reeve.Deny, ""},
		{"allow", fold(call("write_file", write("lib/x"))), reeve.Allow, ""},
		{"elsewhere case counts", call("write_file", write("lib/x")), reeve.Ask, "default"},
		{"elsewhere case counts in deny", call("read_file", read("private/x")), reeve.Allow, ""},
	})
}

func TestWhatCannotBeToldIsNeverAllowedByARule(t *testing.T) {
	unknown := reeve.Effect{Kind: reeve.EffectUnknown, Why: "does not parse"}
	set := Join(layer(t, `allow = ["bash(*)", "bash", "host(bash(*))"]
default = "allow"`))
	for _, in := range []*Input{
		call("bash", unknown),
		call("bash", run("ls", reeve.CommandReadOnly), unknown),
		call("bash", run("$x", reeve.CommandUnknownProgram)),
		call("bash", run("sh", reeve.CommandFedScript)),
		call("bash", reeve.Effect{Kind: reeve.EffectRun}),
	} {
		for _, s := range []reeve.Sandbox{reeve.SandboxMissing, reeve.SandboxReady} {
			in.in(reeve.ModeDefault, s)
			if d := Turn(set.Judge(in), in.Facts); d.Verdict != reeve.Ask {
				t.Errorf("%s sandbox: %s by %s (%s)", s, d.Verdict, d.Rule, d.Reason)
			}
			in.in(reeve.ModeAuto, s)
			if d := Turn(set.Judge(in), in.Facts); d.Verdict != reeve.Deny {
				t.Errorf("auto, %s sandbox: %s by %s (%s)", s, d.Verdict, d.Rule, d.Reason)
			}
		}
	}
}

func TestADefaultOfAllowCoversOrdinaryCallsOnly(t *testing.T) {
	verdicts(t, `default = "allow"`, []verdictCase{
		{"a command", call("bash", run("make")), reeve.Allow, "default"},
		{"one that runs another", call("bash", run("find . -exec x", reeve.CommandRunsProgram)), reeve.Ask, "default"},
		{"one that publishes", call("bash", run("npm publish", reeve.CommandExternal)), reeve.Ask, "default"},
		{"a write", call("write_file", write("a")), reeve.Allow, "default"},
		{"a write outside", call("write_file", write("/etc/a")), reeve.Ask, "default"},
		{"a deletion", call("delete_path", remove("a")), reeve.Ask, "tier destructive"},
		{"protected", call("write_file", write(".git/hooks/x", reeve.PathProtected)), reeve.Ask, "protected path"},
		{"an unknown tool", call("mcp__a__b", reeve.Effect{Kind: reeve.EffectUnknown}), reeve.Ask, "default"},
	})
}
