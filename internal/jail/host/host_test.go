package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/host"
	"github.com/reeve-gate/reeve/internal/permit"
)

var (
	digest = [32]byte{7}
	issuer = permit.NewIssuer(time.Now)
)

func plan(t *testing.T) jail.Plan {
	t.Helper()
	home, ws := t.TempDir(), t.TempDir()
	p, err := jail.OnHost(jail.Place{Workspace: ws, Home: home, Env: []string{"PATH=/usr/bin:/bin", "GITHUB_TOKEN=x"}}, jail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t *testing.T, p jail.Plan, limits jail.Limits, script string) jail.Captured {
	t.Helper()
	c, err := jail.Output(t.Context(), host.Wall{}, issuer.Mint(digest, time.Minute), digest, p, []string{"sh", "-c", script}, limits)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheHostIsNoBoundary(t *testing.T) {
	if r := (host.Wall{}).Ready(t.Context()); r.State != reeve.SandboxMissing || (host.Wall{}).Name() != "host" {
		t.Errorf("%+v", r)
	}
}

func TestAHostCallNeedsItsPermit(t *testing.T) {
	p := plan(t)
	marker := filepath.Join(p.Workspace, "ran")
	cmd := jail.Cmd{Argv: []string{"touch", marker}}
	spent := issuer.Mint(digest, time.Minute)
	if err := spent.Spend(digest); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]permit.Permit{"zero": {}, "other call": issuer.Mint([32]byte{8}, time.Minute), "spent": spent} {
		if _, err := (host.Wall{}).Start(t.Context(), key, digest, p, cmd); err == nil {
			t.Errorf("%s permit started a program", name)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the program ran")
	}
}

func TestUtilityCommandsAreBounded(t *testing.T) {
	p := plan(t)
	c := run(t, p, jail.Limits{}, "cat | wc -c; echo $GITHUB_TOKEN; yes | head -c 100000; exit 4")
	if c.Exit.Code != 4 || !strings.HasSuffix(c.Stdout.Text, "y\n") || len(c.Stdout.Text) != jail.MaxOutput || c.Stdout.Total != 100003 {
		t.Errorf("code %d, %d of %d bytes", c.Exit.Code, len(c.Stdout.Text), c.Stdout.Total)
	}
	begin := time.Now()
	c = run(t, p, jail.Limits{Wall: 100 * time.Millisecond}, "sleep 1000 & sleep 1000")
	if !c.TimedOut || c.Exit.Code != 143 || time.Since(begin) > 10*time.Second {
		t.Errorf("%+v after %s", c, time.Since(begin))
	}
	c = run(t, p, jail.Limits{}, "sleep 1000 & echo $!")
	pid, err := strconv.Atoi(strings.TrimSpace(c.Stdout.Text))
	if err != nil {
		t.Fatal(err)
	}
	if state := stateOf(pid); state != "" && state != "Z" {
		t.Errorf("process %d of the group is still in state %s", pid, state)
	}
}

// stateOf reads a process's state, empty where there is none.
func stateOf(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])[0]
}

func TestContainsFollowsParents(t *testing.T) {
	p := plan(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	proc, err := (host.Wall{}).Start(ctx, issuer.Mint(digest, time.Minute), digest, p, jail.Cmd{Argv: []string{"sh", "-c", "sh -c 'echo $$; sleep 1000'; :"}, Stdout: w})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	buf := make([]byte, 32)
	n, _ := r.Read(buf)
	child, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		t.Fatal(err)
	}
	if !proc.Contains(child) || !proc.Contains(proc.PID()) || proc.Contains(os.Getpid()) || proc.Contains(1) {
		t.Errorf("child %v, itself %v, us %v, one %v", proc.Contains(child), proc.Contains(proc.PID()), proc.Contains(os.Getpid()), proc.Contains(1))
	}
	cancel()
	if exit, err := proc.Wait(); err != nil || exit.Code != 143 {
		t.Errorf("%+v %v", exit, err)
	}
	if proc.Contains(child) {
		t.Error("a number counts as inside after the end")
	}
}
