//go:build linux

package native_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/bwrap"
	"github.com/reeve-gate/reeve/internal/jail/native"
	"github.com/reeve-gate/reeve/internal/jail/orders"
	"github.com/reeve-gate/reeve/internal/permit"
)

// benchPlan is a plan as a person's first run has it: a repository, a state
// folder of one CLI, three credential stores, and so many protected places
// more.
func benchPlan(b *testing.B, more int) jail.Plan {
	b.Helper()
	ws, home := b.TempDir(), b.TempDir()
	for _, dir := range []string{ws + "/.git/hooks", home + "/.ssh", home + "/.aws", home + "/.claude/commands"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	for _, file := range []string{ws + "/.git/config", home + "/.claude/settings.json", home + "/.netrc"} {
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	p, err := jail.ProfileNamed("agent")
	if err != nil {
		b.Fatal(err)
	}
	plan, err := p.Plan(jail.Place{Workspace: ws, Home: home, State: []string{b.TempDir()}, Env: os.Environ()}, jail.Options{Net: new(jail.NetMode)})
	if err != nil {
		b.Fatal(err)
	}
	for i := range more {
		dir := filepath.Join(ws, fmt.Sprintf("d%03d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		plan.Protect = append(plan.Protect, dir)
	}
	return plan
}

// BenchmarkRunTrue measures Start and Wait of true against bubblewrap started
// by hand with the same mounts, one after the other, and reports the medians
// and their difference. Budget: 2 ms more.
func BenchmarkRunTrue(b *testing.B) {
	plan := benchPlan(b, 0)
	plain := byHand(b, plan)
	ours, theirs := sideBySide(b, func() { runTrue(b, &native.Wall{}, plan) }, func() {
		if out, err := exec.Command(bwrap.Program, plain...).CombinedOutput(); err != nil {
			b.Fatalf("%v %s", err, out)
		}
	})
	b.ReportMetric(ours, "ms/run")
	b.ReportMetric(theirs, "ms/plain")
	b.ReportMetric(ours-theirs, "ms/more")
}

// BenchmarkRunTrueProtected measures what 200 protected places add to a start.
// Budget: 8 ms.
func BenchmarkRunTrueProtected(b *testing.B) {
	few, many := benchPlan(b, 0), benchPlan(b, 200)
	with, without := sideBySide(b, func() { runTrue(b, &native.Wall{}, many) }, func() { runTrue(b, &native.Wall{}, few) })
	b.ReportMetric(with, "ms/200")
	b.ReportMetric(without, "ms/0")
	b.ReportMetric(with-without, "ms/more")
}

// sideBySide runs both by turns and returns the medians, in milliseconds.
func sideBySide(b *testing.B, one, other func()) (first, second float64) {
	var times [2][]time.Duration
	for b.Loop() {
		for i, f := range []func(){one, other} {
			begin := time.Now()
			f()
			times[i] = append(times[i], time.Since(begin))
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	return times[0][len(times[0])/2].Seconds() * 1000, times[1][len(times[1])/2].Seconds() * 1000
}

func runTrue(b *testing.B, w jail.Wall, plan jail.Plan) {
	p, err := w.Start(b.Context(), permit.NewIssuer(time.Now).Mint(digest, time.Minute), digest, plan, jail.Cmd{Argv: []string{"true"}})
	if err != nil {
		b.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		b.Fatal(exit, err)
	}
}

// byHand are the arguments of bubblewrap for the mounts of a plan and nothing
// of ours. It skips where bubblewrap is not installed.
func byHand(b *testing.B, plan jail.Plan) []string {
	b.Helper()
	if _, err := os.Stat(bwrap.Program); err != nil {
		b.Skip("bubblewrap is not installed")
	}
	mounts, err := plan.Mounts()
	if err != nil {
		b.Fatal(err)
	}
	args := []string{"--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session"}
	for _, m := range mounts {
		switch m.What {
		case orders.Host:
			args = append(args, "--ro-bind", "/", "/")
		case orders.Memory, orders.Hide:
			args = append(args, "--tmpfs", m.At)
		case orders.Devices:
			args = append(args, "--dev", m.At)
		case orders.Processes:
			args = append(args, "--proc", m.At)
		case orders.Bind:
			args = append(args, "--bind", m.From, m.At)
		case orders.Copy, orders.Empty:
			args = append(args, "--ro-bind", "/dev/null", m.At)
		case orders.Seal:
			args = append(args, "--remount-ro", m.At)
		}
	}
	return append(args, "--", "true")
}
