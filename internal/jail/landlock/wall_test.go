//go:build linux

package landlock

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/jailtest"
	"github.com/reeve-gate/reeve/internal/jail/probe"
	"github.com/reeve-gate/reeve/internal/jail/ruleset"
	"github.com/reeve-gate/reeve/internal/testuser"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		os.Exit(Main())
	}
	if len(os.Args) > 1 && os.Args[1] == probe.Command {
		syscall.Exit(probe.MainWith(os.Args[2:], append(jailtest.Attempts(), probe.Acts()...)))
	}
	os.Exit(m.Run())
}

var (
	_ probe.Prober  = (*Wall)(nil)
	_ probe.Partial = (*Wall)(nil)
)

// wall skips where the kernel has no Landlock that is new enough.
func wall(t *testing.T) *Wall {
	t.Helper()
	w := &Wall{anyway: true}
	if r := w.Ready(t.Context()); r.State == reeve.SandboxMissing {
		t.Skip(r.Fix)
	}
	return w
}

func TestNothingEscapesThatIsPromised(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Escape(t, wall(t)) })
}

func TestTheReducedBoundaryHoldsWhatItPromisesAndSaysWhatNot(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Reduced(t, wall(t), Unheld()) })
}

func TestHonestWorkSucceedsInside(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Work(t, wall(t)) })
}

func TestItIsReducedAfterEveryPromisedActFailedInside(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := wall(t)
		base := w.Ready(t.Context())
		if base.Usable() {
			t.Error("it is usable before it was tried")
		}
		r := probe.Run(t.Context(), w, base)
		if r.State != reeve.SandboxReduced || !r.Usable() || !strings.Contains(r.Engine, "reduced") {
			t.Errorf("state %s: %s", r.State, r.Fix)
		}
		if len(r.Checks) < 25 {
			t.Errorf("%d checks, want at least 25", len(r.Checks))
		}
	})
}

func TestItStandsBackWhereUserNamespacesAreToBeHad(t *testing.T) {
	w := &Wall{}
	r := w.Ready(t.Context())
	if ruleset.Version() < ruleset.MinVersion || !namespaces() {
		t.Skip("user namespaces are refused here, or Landlock is missing")
	}
	if r.State != reeve.SandboxMissing || !strings.Contains(r.Fix, "the default boundary holds more") {
		t.Errorf("%+v", r)
	}
	if _, err := w.launch(context.Background(), jail.Plan{}, jail.Cmd{}); err == nil {
		t.Error("it starts a program all the same")
	}
}

// TestTheSecondLayerClosesWhatNoRootNames applies the layer to a thread of
// this very process and tries what a forgotten mount would leave open.
func TestTheSecondLayerClosesWhatNoRootNames(t *testing.T) {
	if ruleset.Version() < ruleset.MinVersion {
		t.Skip("no Landlock here")
	}
	base := t.TempDir()
	inside, outside := filepath.Join(base, "ws"), filepath.Join(base, "out")
	for _, dir := range []string{inside, outside} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	rules := ruleset.Layer(jail.Plan{Workspace: inside})
	rules.Rules = rules.Rules[1:] // the test's own directories lie in /tmp, which is the tree's own inside
	type got struct{ in, out, read error }
	done := make(chan got)
	go func() {
		lockForGood()
		var g got
		if g.in = rules.Apply(); g.in == nil {
			g.in = os.WriteFile(filepath.Join(inside, "x"), nil, 0o644)
			g.out = os.WriteFile(filepath.Join(outside, "x"), nil, 0o644)
			_, g.read = os.ReadFile("/etc/passwd")
		}
		done <- g
	}()
	select {
	case g := <-done:
		if g.in != nil || g.read != nil || !os.IsPermission(g.out) {
			t.Errorf("inside %v, reading %v, outside %v", g.in, g.read, g.out)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no answer")
	}
}

// lockForGood: the thread ends with the goroutine, and its rules with it.
func lockForGood() { runtime.LockOSThread() }
