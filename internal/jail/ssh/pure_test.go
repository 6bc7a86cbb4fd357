package ssh

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail"
)

var odd = []string{"plain", "it's", `a"b`, `a\b`, "$(touch x)", "`touch x`", "a;b", "a\nb", "-rf", "*", "~", "%s%n\\000", "a  b", "\xff\xfe", "!x", "#", "'; exit 0; '"}

// throughShell is what a real shell makes of the words.
func throughShell(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", script).Output()
	if err != nil {
		t.Fatalf("%q: %v", script, err)
	}
	return string(out)
}

func TestAValueIsAValueToTheShell(t *testing.T) {
	for _, s := range odd {
		aValue(t, s)
	}
}

// FuzzAValueIsAValueToTheShell asks a real shell: a quoted text comes out as it
// went in, and bytes written for printf come out as they were.
func FuzzAValueIsAValueToTheShell(f *testing.F) {
	for _, s := range odd {
		f.Add(s)
	}
	f.Fuzz(aValue)
}

func aValue(t *testing.T, s string) {
	if strings.Contains(s, "\x00") || len(s) > 4096 {
		return
	}
	if got := throughShell(t, "printf '%s.' "+quote(s)+" "+quote("end")); got != s+".end." {
		t.Errorf("%q came out as %q", s, got)
	}
	if got := throughShell(t, "printf '"+octal([]byte(s+"\x00"))+"'"); got != s+"\x00" {
		t.Errorf("the bytes of %q came out as %q", s, got)
	}
}

// FuzzFacts: whatever the other machine answers is read or refused, and no path
// of it reaches the arguments of bubblewrap but as one clean argument.
func FuzzFacts(f *testing.F) {
	place := "U1000\x00SLinux\x00Mx86_64\x00H/home/a\x00D/home/a/w\x00Bbubblewrap 0.8.0\x00"
	f.Add(place + "md/home/a/.ssh\x00mf/home/a/.netrc\x00nf/home/a/w/.git/config\x00gd/home/a/w/.git\x00G/home/a/w/.git\n[core]\nhooksPath = hooks\n\x00ad/home/a/.claude\x00")
	f.Add(place + "md/\x00md/home\x00nf/etc/passwd\x00w/tmp/x\x00")
	f.Add(place + "nf/home/a/w/--bind\x00nl/home/a/w/x\x00")
	f.Add("!no\x00")
	f.Add("")
	f.Fuzz(func(t *testing.T, answer string) {
		var got facts
		if got.parse(answer) != nil || got.checkPlace() != nil {
			return
		}
		p, err := jail.ProfileNamed("agent")
		if err != nil {
			t.Fatal(err)
		}
		laid, err := lay(p, got, jail.Options{}, jail.NetNone)
		if err != nil {
			return
		}
		args, err := laid.arguments(got, jail.Options{}, jail.NetNone, false, "/tmp/reeve-x")
		if err != nil {
			return
		}
		flags := 0
		for i, a := range args {
			if strings.Contains(a, "\x00") {
				t.Fatalf("argument %q holds a zero byte", a)
			}
			if a == "--bind" || a == "--ro-bind" {
				if i+2 >= len(args) || !clean(args[i+1]) || !clean(args[i+2]) {
					t.Fatalf("%v binds what is no clean path", args[i:])
				}
				flags++
			}
		}
		for _, m := range laid.mounts {
			if m.kind == write && !slices.Contains(append(got.write, got.dir), m.path) && !slices.ContainsFunc(got.agents, func(t thing) bool { return t.path == m.path }) {
				t.Fatalf("%s may be written and nobody asked for it", m.path)
			}
		}
	})
}

// laidOn is the boundary of the facts in an answer.
func laidOn(t *testing.T, profile, answer string) plan {
	t.Helper()
	var f facts
	if err := f.parse("U1000\x00SLinux\x00Mx86_64\x00H/home/a\x00D/home/a/w\x00Bbubblewrap 0.8.0\x00" + answer); err != nil {
		t.Fatal(err)
	}
	p, err := jail.ProfileNamed(profile)
	if err != nil {
		t.Fatal(err)
	}
	laid, err := lay(p, f, jail.Options{}, jail.NetNone)
	if err != nil {
		t.Fatal(err)
	}
	return laid
}

func TestThePlanThereGuardsWhatTheFactsName(t *testing.T) {
	p := laidOn(t, "agent", "md/home/a/.ssh\x00ml/home/a/.aws\x00md/mnt/keys\x00gd/home/a/w/.git\x00nf/home/a/w/.git/config\x00nd/home/a/w/sub/.git/hooks\x00gd/home/a/w/sub/.git\x00"+
		"G/home/a/w/.git\n[core]\n\thooksPath = githooks\n\x00nl/home/a/w/.vscode\x00ad/home/a/.claude\x00cf/home/a/.claude/settings.json\x00pd/home/a/.claude/shell-snapshots\x00tf/home/a/.claude.json\x00u/home/a/w/s\x00u/run/docker.sock\x00")
	want := []mount{
		{"/home/a/.claude", write, ""}, {"/home/a/.claude/settings.json", protect, ""}, {"/home/a/.claude/shell-snapshots", empty, ""}, {"/home/a/.claude.json", copied, "1"},
		{"/home/a/w", write, ""}, {"/home/a/w/.git", pin, ""}, {"/home/a/w/.git/config", protect, ""}, {"/home/a/w/githooks", protect, ""},
		{"/home/a/w/sub", pin, ""}, {"/home/a/w/sub/.git", pin, ""}, {"/home/a/w/sub/.git/hooks", protect, ""},
		{"/home/a/.ssh", hideDir, ""}, {"/home/a/w/s", hideFile, ""}, {"/mnt/keys", hideDir, ""},
	}
	if !slices.Equal(p.mounts, want) {
		t.Errorf("got  %v\nwant %v", p.mounts, want)
	}
	for _, name := range []string{"/home/a/w/.git/hooks", "/home/a/w/.envrc", "/home/a/w/sub/.mcp.json"} {
		if !slices.Contains(p.absent, name) {
			t.Errorf("%s is not looked for after the run", name)
		}
	}
	if slices.Contains(p.absent, "/home/a/w/.git/config") {
		t.Error("what exists is looked for as new")
	}
	strict := laidOn(t, "strict", "gd/home/a/w/.git\x00kf/home/a/.claude/.credentials.json\x00tf/home/a/.claude.json\x00ad/home/a/.claude\x00")
	if !slices.Equal(strict.mounts, []mount{{"/home/a/w", write, ""}, {"/home/a/w/.git", protect, ""}, {"/home/a/.claude/.credentials.json", hideFile, ""}, {"/home/a/.claude.json", hideFile, ""}}) {
		t.Errorf("strict: %v", strict.mounts)
	}
}
