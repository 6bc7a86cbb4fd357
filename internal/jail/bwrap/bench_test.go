//go:build linux

package bwrap

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
)

// benchPlan is a plan as a person's first run has it: a repository, a state
// folder of one CLI, three credential stores.
func benchPlan(b testing.TB) jail.Plan {
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
	return plan
}

// BenchmarkRunTrue measures Start and Wait of true against bubblewrap started
// by hand with the same arguments, one after the other, and reports the
// medians of both and their difference.
func BenchmarkRunTrue(b *testing.B) {
	w := &Wall{}
	h, err := w.finder.find()
	if err != nil {
		b.Skip(err)
	}
	plan := benchPlan(b)
	issuer := permit.NewIssuer(time.Now)
	digest := [32]byte{1}
	var ours, plain []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		proc, err := w.Start(b.Context(), issuer.Mint(digest, time.Minute), digest, plan, jail.Cmd{Argv: []string{"true"}})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := proc.Wait(); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
		ours = append(ours, time.Since(begin))
		begin = time.Now()
		if err := byHand(plan, h); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(begin))
	}
	b.ReportMetric(median(ours), "ms/run")
	b.ReportMetric(median(plain), "ms/plain")
	b.ReportMetric(median(ours)-median(plain), "ms/more")
	b.ReportMetric(median(ours)/median(plain), "ratio")
}

// median is in milliseconds.
func median(d []time.Duration) float64 {
	slices.Sort(d)
	return d[len(d)/2].Seconds() * 1000
}

// byHand starts bubblewrap with the mounts of a plan and nothing of ours.
func byHand(plan jail.Plan, h helper) error {
	var fds files
	defer fds.close()
	args, err := arguments(plan, h, true, &fds)
	if err != nil {
		return err
	}
	args = append(args, environment(plan.Env)...)
	cmd := exec.Command(Program, append(args, "--", "true")...)
	cmd.ExtraFiles = fds
	cmd.Env = []string{}
	return cmd.Run()
}

func BenchmarkPlan(b *testing.B) {
	ws, home := b.TempDir(), b.TempDir()
	p, err := jail.ProfileNamed("agent")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Plan(jail.Place{Workspace: ws, Home: home, Env: os.Environ()}, jail.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
