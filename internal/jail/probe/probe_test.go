package probe_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/cache"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/bwrap"
	"github.com/reeve-gate/reeve/internal/jail/native"
	"github.com/reeve-gate/reeve/internal/jail/probe"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/testuser"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probe.Command {
		// Not os.Exit: with the race detector that sleeps for a second.
		syscall.Exit(probe.MainWith(os.Args[2:], append(probe.Acts(), more...)))
	}
	os.Exit(m.Run())
}

// more are acts of the tests.
var more []probe.Act

// installed skips where bubblewrap is not.
func installed(t *testing.T, w *bwrap.Wall) jail.Readiness {
	t.Helper()
	r := w.Ready(t.Context())
	if r.State == reeve.SandboxMissing {
		t.Skip(r.Fix)
	}
	return r
}

func TestABoundaryIsReadyOnlyAfterEveryActFailedInside(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		for _, w := range []probe.Prober{&bwrap.Wall{}, &native.Wall{}} {
			t.Run(w.Name(), func(t *testing.T) {
				base := w.Ready(t.Context())
				if base.State == reeve.SandboxMissing {
					t.Skip(base.Fix)
				}
				r := probe.Run(t.Context(), w, base)
				if r.State != reeve.SandboxReady {
					t.Errorf("state %s: %s", r.State, r.Fix)
				}
				if len(r.Checks) < 50 {
					t.Errorf("%d checks, want at least 50", len(r.Checks))
				}
				for _, c := range r.Checks {
					if !c.Held {
						t.Errorf("%s: %s", c.Name, c.Detail)
					}
				}
			})
		}
	})
}

// leaky is a wall that holds nothing: it runs the probe as it is.
type leaky struct {
	bwrap.Wall
	starts atomic.Int64 // the profiles are probed at once
}

func (l *leaky) StartProbe(_ context.Context, plan jail.Plan, command, task string, out, errs *os.File) (jail.Process, error) {
	l.starts.Add(1)
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, command, task)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(plan.Env, "REEVE_PROBE_TOKEN=secret"), out, errs
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return plain{cmd}, nil
}

type plain struct{ *exec.Cmd }

func (p plain) Wait() (jail.Exit, error) { p.Cmd.Wait(); return jail.Exit{}, nil }
func (p plain) Stop(time.Duration)       { p.Process.Kill() }
func (p plain) Signal(s os.Signal) error { return p.Process.Signal(s) }
func (p plain) PID() int                 { return p.Process.Pid }
func (p plain) Contains(int) bool        { return false }

func TestAWallThatDoesNotBiteIsMissing(t *testing.T) {
	temp, err := os.MkdirTemp("", "rp-") // short, for the sockets below it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	t.Setenv("TMPDIR", temp)
	l := &leaky{}
	base := installed(t, &l.Wall)
	r := probe.Run(t.Context(), l, base)
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("the probe left %v", left)
	}
	if r.State != reeve.SandboxMissing {
		t.Fatalf("state %s, want missing", r.State)
	}
	for _, want := range []string{"agent: write outside the workspace", "strict: listen on a port", "agent: change anything outside", "agent: find a secret in the environment"} {
		i := slices.IndexFunc(r.Checks, func(c jail.Check) bool { return c.Name == want })
		if i < 0 || r.Checks[i].Held {
			t.Errorf("%q counts as held by a wall that holds nothing", want)
		}
	}
	w := probe.New(l, disk(t.TempDir(), nil))
	digest := [32]byte{1}
	p := permit.NewIssuer(time.Now).Mint(digest, time.Minute)
	if _, err := w.Start(t.Context(), p, digest, jail.Plan{}, jail.Cmd{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "boundary missing") {
		t.Errorf("start through a wall that does not bite: %v", err)
	}
	if err := p.Spend(digest); err == nil {
		t.Error("the refused start left its permit good")
	}
}

// disk keeps answers in a directory, with a key that the tests know.
func disk(dir string, told *[]string) *cache.Cache {
	return probe.Kept(dir, func() ([]byte, error) { return make([]byte, cache.KeySize), nil }, func(n string) {
		if told != nil {
			*told = append(*told, n)
		}
	})
}

func TestAGoodAnswerIsKeptForThisBootAndBinary(t *testing.T) {
	dir := t.TempDir()
	var told []string
	kept := disk(dir, &told)
	first := probe.New(&bwrap.Wall{}, kept)
	installed(t, &bwrap.Wall{})
	if r := first.Ready(t.Context()); r.State != reeve.SandboxReady {
		t.Fatalf("state %s: %s", r.State, r.Fix)
	}
	file := filepath.Join(dir, "probe-bwrap.cache")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("kept answer: %v %v", info, err)
	}
	again := &leaky{}
	if r := probe.New(again, kept).Ready(t.Context()); r.State != reeve.SandboxReady || again.starts.Load() != 0 {
		t.Errorf("kept answer was not used: %s, %d starts", r.State, again.starts.Load())
	}
	var was map[string]any
	if !kept.Get("probe-bwrap", &was) {
		t.Fatal("the answer cannot be read")
	}
	was["Key"] = "0"
	if err := kept.Put("probe-bwrap", was); err != nil {
		t.Fatal(err)
	}
	if r := probe.New(again, kept).Ready(t.Context()); r.State != reeve.SandboxMissing || again.starts.Load() == 0 || len(told) != 0 {
		t.Errorf("an answer of another boot was believed: %s, told %q", r.State, told)
	}
}

// TestAnAnswerThatReeveDidNotWriteIsNotBelieved: one that says of a wall that
// holds nothing that it is ready, by each way to write it without the key.
func TestAnAnswerThatReeveDidNotWriteIsNotBelieved(t *testing.T) {
	dir := t.TempDir()
	var told []string
	kept := disk(dir, &told)
	installed(t, &bwrap.Wall{})
	if r := probe.New(&bwrap.Wall{}, kept).Ready(t.Context()); r.State != reeve.SandboxReady {
		t.Fatalf("state %s: %s", r.State, r.Fix)
	}
	file := filepath.Join(dir, "probe-bwrap.cache")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string][]byte{
		"plain JSON": good[bytes.IndexByte(good, '{'):],
		"one byte":   bytes.Replace(good, []byte(`"Time":"2`), []byte(`"Time":"3`), 1),
	} {
		told = nil
		if err := os.WriteFile(file, forged, 0o600); err != nil {
			t.Fatal(err)
		}
		again := &leaky{}
		if r := probe.New(again, kept).Ready(t.Context()); r.State != reeve.SandboxMissing || again.starts.Load() == 0 || len(told) != 1 {
			t.Errorf("%s: it was believed: %s, %d starts, told %q", name, r.State, again.starts.Load(), told)
		}
	}
}

// named is a wall under another name.
type named struct {
	*leaky
	name string
}

func (n named) Name() string { return n.name }

func TestTheFirstWallThatBitesIsTaken(t *testing.T) {
	good := &bwrap.Wall{}
	installed(t, good)
	leak, after := &leaky{}, &leaky{}
	c := probe.Among([]probe.Prober{named{leak, "leaky"}, good, named{after, "after"}}, disk(t.TempDir(), nil))
	if c.Name() != "leaky" {
		t.Errorf("before it was tried it is called %s", c.Name())
	}
	if r := c.Ready(t.Context()); r.State != reeve.SandboxReady || c.Name() != "bwrap" {
		t.Fatalf("taken: %s %s %s", c.Name(), r.State, r.Fix)
	}
	tried := leak.starts.Load()
	if tried == 0 || after.starts.Load() != 0 {
		t.Errorf("the first was tried %d times, what comes after the taken one %d times", tried, after.starts.Load())
	}
	c.Ready(t.Context())
	if leak.starts.Load() != tried {
		t.Error("the first was tried again, although another one is taken")
	}
	digest := [32]byte{1}
	dir := t.TempDir()
	p, err := c.Start(t.Context(), permit.NewIssuer(time.Now).Mint(digest, time.Minute), digest, jail.Plan{Workspace: dir, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}, jail.Cmd{Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("end: %+v %v", exit, err)
	}
}

func TestWhereNoWallBitesEachSaysWhy(t *testing.T) {
	one, two := &leaky{}, &leaky{}
	installed(t, &one.Wall)
	c := probe.Among([]probe.Prober{named{one, "one"}, named{two, "two"}}, nil)
	r := c.Ready(t.Context())
	if r.State != reeve.SandboxMissing || !strings.Contains(r.Fix, "one: the sandbox does not hold") || !strings.Contains(r.Fix, "two: the sandbox does not hold") {
		t.Errorf("%s: %s", r.State, r.Fix)
	}
	digest := [32]byte{1}
	p := permit.NewIssuer(time.Now).Mint(digest, time.Minute)
	if _, err := c.Start(t.Context(), p, digest, jail.Plan{}, jail.Cmd{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "boundary missing") {
		t.Errorf("start through walls that do not bite: %v", err)
	}
	if err := p.Spend(digest); err == nil {
		t.Error("the refused start left its permit good")
	}
}
