package seatbelt

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/group"
	"github.com/reeve-gate/reeve/internal/permit"
)

var (
	digest = [32]byte{3}
	issuer = permit.NewIssuer(time.Now)
)

// bench is a workspace, and a stand-in for sandbox-exec that writes down its
// arguments and becomes the program: what is tried here is how the profile is
// handed over and how the tree is held, on any system.
func bench(t *testing.T) (w *Wall, plan jail.Plan, told func() []string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(base, "tmp"))
	for _, dir := range []string{"ws", "tmp"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program, record := filepath.Join(base, "sandbox-exec"), filepath.Join(base, "record")
	script := "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\"; done > " + record + "\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	plan = jail.Plan{Profile: "agent", Workspace: filepath.Join(base, "ws"), Dir: filepath.Join(base, "ws"), Env: []string{"PATH=/usr/bin:/bin", "TMPDIR=/tmp"}}
	return &Wall{program: program}, plan, func() []string {
		text, err := os.ReadFile(record)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	}
}

func run(t *testing.T, w *Wall, plan jail.Plan, limits jail.Limits, script string) jail.Captured {
	t.Helper()
	c, err := jail.Output(t.Context(), w, issuer.Mint(digest, time.Minute), digest, plan, []string{"sh", "-c", script}, limits)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTheProfileIsHandedOverInline is contract Y63.
func TestTheProfileIsHandedOverInline(t *testing.T) {
	w, plan, told := bench(t)
	c := run(t, w, plan, jail.Limits{}, `echo "$TMPDIR"; test -d "$TMPDIR" && test -w "$TMPDIR" && echo kept > "$TMPDIR/x"; find "$TMPDIR" "$PWD" -type f | wc -l`)
	out := strings.Fields(c.Stdout.Text)
	if c.Exit.Code != 0 || len(out) != 2 || out[1] != "1" {
		t.Fatalf("%+v", c)
	}
	args := told()
	if args[0] != "-p" {
		t.Fatalf("the first argument is %q", args[0])
	}
	if want, err := Write(plan, Local{Temp: out[0]}); err != nil || args[1] != want.Text {
		t.Errorf("the profile is not the plan's (%v)", err)
	}
	end := slices.Index(args, "--")
	for i, a := range args[2:end] {
		if i%2 == 0 && a != "-D" {
			t.Errorf("argument %d is %q: nothing but parameters follows the profile", i+2, a)
		}
	}
	if !slices.Equal(args[end+1:end+3], []string{"sh", "-c"}) {
		t.Errorf("the program is %q", args[end+1:])
	}
	if _, err := os.Stat(out[0]); err == nil {
		t.Error("the temporary directory is still there")
	}
}

func TestATreeIsLimitedWaitedForAndStopped(t *testing.T) {
	w, plan, _ := bench(t)
	for script, want := range map[string]int{"exit 7": 7, "kill -TERM $$": 143} {
		if c := run(t, w, plan, jail.Limits{}, script); c.Exit.Code != want {
			t.Errorf("%s: %d, want %d", script, c.Exit.Code, want)
		}
	}
	c := run(t, w, plan, jail.Limits{Files: 40, FileSize: 1 << 20, CPU: 3 * time.Second}, "ulimit -n; ulimit -c; ulimit -t; head -c 2000000 /dev/zero > big; wc -c < big")
	if got := strings.Fields(c.Stdout.Text); !slices.Equal(got, []string{"40", "0", "3", "1048576"}) {
		t.Errorf("limits: %v %s", got, c.Stderr.Text)
	}
	for _, want := range []string{"40 open files a process", "files up to 1048576 bytes", "cpu 3s a process", "no core files"} {
		if !slices.Contains(c.Exit.Held, want) {
			t.Errorf("%q is not said to be held: %v", want, c.Exit.Held)
		}
	}
	if !slices.Contains(c.Exit.Unheld, "programs that leave their group") {
		t.Errorf("what is not held is not said: %v", c.Exit.Unheld)
	}
	if c := run(t, w, plan, jail.Limits{Wall: 200 * time.Millisecond}, "trap '' TERM; sleep 1000"); !c.TimedOut {
		t.Errorf("the wall time did not hold: %+v", c)
	}
	p, err := w.Start(t.Context(), issuer.Mint(digest, time.Minute), digest, plan, jail.Cmd{Argv: []string{"sh", "-c", "umask > mask"}, Umask: 0o013})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(plan.Workspace, "mask")); err != nil || strings.TrimSpace(string(text)) != "0013" {
		t.Errorf("umask %q %v", text, err)
	}
}

func TestWhatCannotBeContainedIsNotStarted(t *testing.T) {
	w, good, _ := bench(t)
	marker := filepath.Join(good.Workspace, "ran")
	cmd := jail.Cmd{Argv: []string{"sh", "-c", "touch " + marker}}
	long := good
	long.Mask = []string{"/" + strings.Repeat("x", 1000)}
	proxied := good
	proxied.Net = jail.ProxiedNetwork
	broken := good
	broken.Env = append(slices.Clone(good.Env), "NO EQUALS SIGN")
	dir, err := os.Open(good.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	wall := &Wall{}
	for name, try := range map[string]struct {
		wall *Wall
		plan jail.Plan
		cmd  jail.Cmd
		want error
	}{
		"zero plan":                 {w, jail.Plan{}, cmd, reeve.ErrBoundary},
		"nothing can say it":        {w, long, cmd, reeve.ErrBoundary},
		"no proxy":                  {w, proxied, cmd, reeve.ErrBoundary},
		"a broken variable":         {w, broken, cmd, reeve.ErrBoundary},
		"a directory as a stream":   {w, good, jail.Cmd{Argv: cmd.Argv, Stdout: dir}, reeve.ErrUsage},
		"no program":                {w, good, jail.Cmd{}, reeve.ErrUsage},
		"a program that is not":     {w, good, jail.Cmd{Argv: []string{"no-such-program-here"}}, nil},
		"a system without seatbelt": {wall, good, cmd, reeve.ErrBoundary},
	} {
		if try.wall == wall && here {
			continue
		}
		p := issuer.Mint(digest, time.Minute)
		if _, err := try.wall.Start(t.Context(), p, digest, try.plan, try.cmd); err == nil || try.want != nil && !errors.Is(err, try.want) {
			t.Errorf("%s: %v", name, err)
		}
		if p.Spend(digest) == nil {
			t.Errorf("%s: the permit is still good", name)
		}
	}
	spent := issuer.Mint(digest, time.Minute)
	if err := spent.Spend(digest); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Start(t.Context(), spent, digest, good, cmd); err == nil {
		t.Error("a spent permit started a program")
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the program ran")
	}
	if r := w.Ready(t.Context()); r.State == reeve.SandboxReady || !strings.Contains(r.Engine, Unverified) {
		t.Errorf("unprobed, the wall says %+v", r)
	}
	if r := wall.Ready(t.Context()); !here && (r.State != reeve.SandboxMissing || !strings.Contains(r.Fix, "macOS")) {
		t.Errorf("on another system the wall says %+v", r)
	}
}

func TestTheEnvironmentNamesThePlacesWhereTheyAre(t *testing.T) {
	got := group.Environment(plans()["agent-rules"], own.Temp, own.proxy())
	state := home + "/.local/state/reeve"
	want := []string{"HOME=" + home, "TMPDIR=" + temp, "XDG_CACHE_HOME=" + state + "/cache", "REEVE_HOOK_SOCK=" + state + "/sessions/1/hook.sock", "HTTPS_PROXY=http://127.0.0.1:49321", "PWD=/tmp/x"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
