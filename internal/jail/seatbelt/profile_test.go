package seatbelt

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
)

var update = flag.Bool("update", false, "write the golden profiles instead of comparing them")

const (
	home = "/Users/ada"
	ws   = home + "/code/tern"
	temp = "/private/var/folders/q1/x/T/reeve-1"
)

var own = Local{Temp: temp, TTY: "/dev/ttys004", Port: 49321}

// plans are what a person's profiles come to on a Mac with this home.
func plans() map[string]jail.Plan {
	agent := jail.Plan{
		Profile: "agent", Workspace: ws, Dir: ws, Net: jail.UnrestrictedNetwork,
		Write:   []string{home + "/.claude"},
		Read:    []string{},
		Pin:     []string{ws + "/.git", ws + "/sub", ws + "/sub/.git"},
		Protect: []string{ws + "/.git/config", ws + "/.git/hooks", ws + "/.vscode", ws + "/.mcp.json", ws + "/.envrc", ws + "/sub/.git/config", ws + "/sub/.git/hooks", home + "/.claude/settings.json", home + "/.claude/hooks", home + "/.claude/commands"},
		Absent:  []string{ws + "/.git/commondir", ws + "/.git/info/attributes", ws + "/.claude", ws + "/.idea", home + "/.claude/mcp*.json"},
		Links:   []jail.Link{{Path: ws + "/.cursor", Target: "elsewhere"}},
		Private: []string{home + "/.claude.json", home + "/.claude/shell-snapshots"},
		Mask: []string{home + "/.ssh", home + "/.netrc", home + "/.npmrc", home + "/.git-credentials", home + "/.cargo/credentials.toml", home + "/.aws", home + "/.docker", home + "/.kube", home + "/.gnupg",
			home + "/.config/gh", home + "/.config/gcloud", home + "/Library/Keychains", ws + "/deep/alias-of-netrc", ws + "/deep/sock", home + "/.local/state/reeve"},
		Expose: []jail.Expose{{From: "/usr/local/bin/reeve", To: "/usr/local/bin/reeve"}, {From: home + "/.local/state/reeve/sessions/1/hook.sock", To: "/run/reeve/hook.sock"},
			{From: home + "/.local/state/reeve/cache", To: "/run/reeve/cache", Write: true}},
		Env: []string{"HOME=" + home, "TMPDIR=/tmp", "XDG_CACHE_HOME=/run/reeve/cache", "REEVE_HOOK_SOCK=/run/reeve/hook.sock", "HTTPS_PROXY=http://" + jail.ProxyAddr, "PWD=/tmp/x"},
	}
	none := agent
	none.Net = jail.NetNone
	rules := agent
	rules.Net = jail.ProxiedNetwork
	strict := none
	strict.Profile, strict.NoUnix, strict.Write, strict.Private, strict.Expose = "strict", true, nil, nil, agent.Expose[:1]
	strict.Protect = []string{ws + "/.git", ws + "/.vscode", ws + "/.mcp.json", ws + "/.envrc", ws + "/sub/.git"}
	strict.Absent = []string{ws + "/.claude", ws + "/.idea"}
	strict.Mask = append([]string{home + "/.claude/.credentials.json", home + "/.claude.json"}, agent.Mask...)
	readOnly := strict
	readOnly.Profile, readOnly.ReadOnly, readOnly.Write = "read-only", true, []string{ws + "/out"}
	return map[string]jail.Plan{"agent-open": agent, "agent-none": none, "agent-rules": rules, "strict": strict, "read-only": readOnly}
}

func written(t testing.TB, plan jail.Plan) (Profile, *policy) {
	t.Helper()
	p, err := Write(plan, own)
	if err != nil {
		t.Fatal(err)
	}
	pol, err := parseProfile(p)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Text)
	}
	return p, pol
}

func TestProfilesAreAsTheyWere(t *testing.T) {
	for name, plan := range plans() {
		p, _ := written(t, plan)
		got := p.Text + "\n; parameters\n"
		for _, d := range p.Params {
			got += "; " + d + "\n"
		}
		file := filepath.Join("testdata", name+".sb")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != got {
			t.Errorf("%s: the profile differs from %s (%v); look at it, then run go test -update here", name, file, err)
		}
	}
}

// TestOrdinaryWorkIsAllowed is what the profile must leave to a program.
func TestOrdinaryWorkIsAllowed(t *testing.T) {
	file := func(op, path string) act { return act{op: op, path: path} }
	work := []act{
		file("file-write-create", ws+"/main.go"), file("file-write-data", ws+"/.git/index"), file("file-write-create", ws+"/.git/objects/aa/bb"), file("file-write-unlink", ws+"/old.go"),
		file("file-write-create", ws+"/.gitignore"), file("file-write-mode", ws+"/run.sh"), file("file-write-create", temp+"/x"), file("file-write-data", "/dev/null"), file("file-read-data", "/dev/urandom"),
		file("file-read-data", "/usr/lib/libSystem.dylib"), file("file-map-executable", "/opt/homebrew/lib/x.dylib"), file("file-read-data", home+"/.gitconfig"), file("file-read-data", ws+"/.git/config"),
		file("file-read-metadata", "/private/var/folders/q1/x"), file("file-write-data", "/dev/ttys004"), {op: "file-write-data", path: "/dev/ttys009", pty: true}, file("file-read-data", "/dev/fd/63"),
		{op: "process-exec*"}, {op: "process-fork"}, {op: "signal", target: "same-sandbox"}, {op: "mach-lookup", name: "com.apple.system.opendirectoryd.libinfo"},
		{op: "sysctl-read", name: "hw.ncpu"}, {op: "ipc-posix-sem"}, file("file-read-data", "/usr/local/bin/reeve"),
	}
	for name, plan := range plans() {
		_, pol := written(t, plan)
		for _, a := range work {
			if plan.Profile != "agent" && strings.Contains(a.path, "/.git/") && strings.HasPrefix(a.op, "file-write") || plan.ReadOnly && strings.HasPrefix(a.path, ws) && strings.HasPrefix(a.op, "file-write") {
				if pol.allows(a) {
					t.Errorf("%s allows %s of %s", name, a.op, a.path)
				}
				continue
			}
			if !pol.allows(a) {
				t.Errorf("%s refuses %+v", name, a)
			}
		}
	}
	_, agent := written(t, plans()["agent-open"])
	for _, a := range []act{
		file("file-write-create", home+"/.claude/projects/x.jsonl"), file("file-write-data", home+"/.local/state/reeve/cache/go-build/x"), file("file-read-data", home+"/.claude.json"),
		{op: "network-outbound", ip: "203.0.113.7:443"}, {op: "network-bind", ip: "127.0.0.1:8080"}, {op: "network-bind", path: ws + "/s"}, {op: "network-outbound", path: ws + "/s"}, {op: "network-outbound", path: temp + "/s"},
		{op: "network-outbound", path: home + "/.local/state/reeve/sessions/1/hook.sock"}, {op: "network-outbound", path: "/private/var/run/mDNSResponder"}, {op: "mach-lookup", name: "com.apple.trustd.agent"},
	} {
		if !agent.allows(a) {
			t.Errorf("agent with an open network refuses %+v", a)
		}
	}
	_, rules := written(t, plans()["agent-rules"])
	if !rules.allows(act{op: "network-outbound", ip: "127.0.0.1:49321"}) {
		t.Error("the proxy is not reached")
	}
	_, ro := written(t, plans()["read-only"])
	if !ro.allows(file("file-write-create", ws+"/out/x")) || ro.allows(file("file-write-create", ws+"/x")) {
		t.Error("a writable directory in a read-only workspace is not told apart from it")
	}
}

// TestAppleEventsAndLaunchServicesAreClosed is contract Y65, with what else
// makes a program act outside.
func TestAppleEventsAndLaunchServicesAreClosed(t *testing.T) {
	for name, plan := range plans() {
		_, pol := written(t, plan)
		for _, a := range []act{
			{op: "appleevent-send"}, {op: "lsopen"}, {op: "job-creation"}, {op: "mach-lookup", name: "com.apple.coreservices.appleevents"}, {op: "mach-lookup", name: "com.apple.coreservices.launchservicesd"},
			{op: "mach-lookup", name: "com.apple.lsd.mapdb"}, {op: "mach-lookup", name: "com.apple.SecurityServer"}, {op: "mach-lookup", name: "com.apple.pasteboard.1"}, {op: "mach-lookup", name: "com.example.other"},
		} {
			if pol.allows(a) {
				t.Errorf("%s allows %+v", name, a)
			}
		}
		// Also where somebody adds to the list of services what must stay closed.
		opened := *pol
		opened.rules = slices.Clone(pol.rules)
		at := slices.IndexFunc(opened.rules, func(r rule) bool { return r.op == "mach-lookup" })
		opened.rules = slices.Insert(opened.rules, at, rule{allow: true, op: "mach-lookup"}, rule{allow: true, op: "lsopen"}, rule{allow: true, op: "appleevent-send"})
		for _, a := range []act{{op: "appleevent-send"}, {op: "lsopen"}, {op: "mach-lookup", name: "com.apple.coreservices.appleevents"}, {op: "mach-lookup", name: "com.apple.lsd.mapdb"}} {
			if opened.allows(a) {
				t.Errorf("%s: no deny stands behind the allow for %+v", name, a)
			}
		}
	}
}

func TestWhatNoProfileCanSayIsRefused(t *testing.T) {
	long := "/" + strings.Repeat("x", maxString)
	for name, change := range map[string]func(*jail.Plan, *Local){
		"no workspace":           func(p *jail.Plan, _ *Local) { p.Workspace = "" },
		"no temporary directory": func(_ *jail.Plan, l *Local) { l.Temp = "" },
		"no proxy":               func(p *jail.Plan, l *Local) { p.Net, l.Port = jail.ProxiedNetwork, 0 },
		"a long root":            func(p *jail.Plan, _ *Local) { p.Write = append(p.Write, long) },
		"a long mask":            func(p *jail.Plan, _ *Local) { p.Mask = append(p.Mask, long) },
		"a long pattern":         func(p *jail.Plan, _ *Local) { p.Absent = append(p.Absent, ws+"/"+strings.Repeat("a", 300)) },
		"a relative path":        func(p *jail.Plan, _ *Local) { p.Protect = append(p.Protect, "ws/.git") },
		"an unclean path":        func(p *jail.Plan, _ *Local) { p.Mask = append(p.Mask, home+"/../bob/.ssh") },
		"a zero byte":            func(p *jail.Plan, _ *Local) { p.Mask = append(p.Mask, home+"/a\x00b") },
		"a newline in a pattern": func(p *jail.Plan, _ *Local) { p.Absent = append(p.Absent, ws+"/a\nb/.git") },
		"too many names": func(p *jail.Plan, _ *Local) {
			for i := range 6000 {
				p.Protect = append(p.Protect, fmt.Sprintf("%s/module-number-%d/.git/config", ws, i))
			}
		},
	} {
		plan, local := plans()["agent-open"], own
		change(&plan, &local)
		if p, err := Write(plan, local); !errors.Is(err, reeve.ErrBoundary) || p.Text != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// odd are names that would do harm where they were pasted into the text.
var odd = []string{`a"b`, `a\b`, `a\"b`, "a\nb", `a)(allow default)`, `a") (allow default) (deny file-read* (literal "`, "a;b", `#"x"`, "a'b", "(param \"P0\")", "ä ö", "\xff\xfe", "a.b*c+[d]{e}^f$|g?"}

func TestNoNameAddsARule(t *testing.T) {
	base, _ := written(t, plans()["agent-none"])
	for _, name := range odd {
		noRuleFrom(t, base, name)
	}
}

func FuzzNoPathAddsARule(f *testing.F) {
	for _, name := range odd {
		f.Add(name)
	}
	base, _ := written(f, plans()["agent-none"])
	f.Fuzz(func(t *testing.T, name string) { noRuleFrom(t, base, name) })
}

// noRuleFrom puts a name in every place of a plan and asks that the profile
// has the very same rules as with an ordinary name, or is refused.
func noRuleFrom(t *testing.T, base Profile, name string) {
	if name == "" || strings.Contains(name, "/") || name == "." || name == ".." {
		return
	}
	with := func(n string) (Profile, error) {
		p := plans()["agent-none"]
		d := ws + "/" + n
		p.Write = append(p.Write, "/Volumes/"+n)
		p.Protect = append(p.Protect, d+"/.vscode")
		p.Pin = append(p.Pin, d)
		p.Absent = append(p.Absent, d+"/.idea")
		p.Mask = append(p.Mask, home+"/"+n)
		p.Private = append(p.Private, home+"/.claude/"+n)
		p.Expose = append(p.Expose, jail.Expose{From: "/opt/" + n, To: "/opt/" + n})
		return Write(p, own)
	}
	got, err := with(name)
	if err != nil {
		if !errors.Is(err, reeve.ErrBoundary) {
			t.Fatal(err)
		}
		return
	}
	want, err := with("plain")
	if err != nil {
		t.Fatal(err)
	}
	a, err := parseProfile(got)
	if err != nil {
		t.Fatalf("%q: %v", name, err)
	}
	b, err := parseProfile(want)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.rules) != len(b.rules) || len(a.params) != len(b.params) {
		t.Fatalf("%q: %d rules and %d parameters, want %d and %d", name, len(a.rules), len(a.params), len(b.rules), len(b.params))
	}
	for _, f := range []string{ws + "/" + name + "/.vscode/x", ws + "/" + name + "/.idea", ws + "/" + name + "/.IDEA/x"} {
		if a.allows(act{op: "file-write-create", path: f}) {
			t.Errorf("%q: %q may be written", name, f)
		}
	}
	if !a.allows(act{op: "file-write-create", path: ws + "/" + name + "/x"}) || a.allows(act{op: "file-read-data", path: home + "/" + name}) || a.allows(act{op: "file-write-unlink", path: ws + "/" + name}) {
		t.Errorf("%q is not treated as a plain name is", name)
	}
}
