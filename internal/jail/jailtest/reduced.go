//go:build linux

package jailtest

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
)

// Reduced tries what a wall without namespaces promises of processes, limits
// and plans, in the profiles strict and read-only; unheld are the words of its
// receipts.
func Reduced(t *testing.T, wall jail.Wall, unheld []string) {
	t.Run("the program's own code and signal come back", func(t *testing.T) {
		b := NewBench(t, wall)
		plan := b.Plan(t, "strict", jail.Options{})
		for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143} {
			if got := b.Shell(t, plan, jail.Limits{}, script).Exit.Code; got != want {
				t.Errorf("%s: code %d, want %d", script, got, want)
			}
		}
	})
	t.Run("a permit opens once", func(t *testing.T) { oncePerPermit(t, wall) })
	t.Run("what cannot be built starts nothing", func(t *testing.T) { nothingUnprotected(t, wall) })
	t.Run("a link planted after the plan leads nowhere", func(t *testing.T) { plantedParent(t, wall, "strict") })
	t.Run("a profile that needs more does not start", func(t *testing.T) { needsMore(t, wall) })
	t.Run("the receipt says what is not held", func(t *testing.T) {
		b := NewBench(t, wall)
		c := b.Shell(t, b.Plan(t, "strict", jail.Options{}), jail.Limits{}, "true")
		for _, want := range unheld {
			if !slices.Contains(c.Exit.Unheld, want) {
				t.Errorf("%q is not said: %v", want, c.Exit.Unheld)
			}
		}
	})
	t.Run("the group ends as a whole", func(t *testing.T) { groupEnds(t, wall) })
	t.Run("limits and umask hold", func(t *testing.T) { reducedLimits(t, wall) })
	t.Run("a read-only workspace is read-only", func(t *testing.T) {
		b := NewBench(t, wall)
		b.Put(t, filepath.Join(b.Workspace, "sub/file"), "as it was\n")
		c := b.Shell(t, b.Plan(t, "read-only", jail.Options{}), jail.Limits{}, "cat sub/file; echo x > sub/file; echo x > new; rm sub/file; echo x > $TMPDIR/t && cat $TMPDIR/t")
		if got := strings.Fields(c.Stdout.Text); !slices.Equal(got, []string{"as", "it", "was", "x"}) {
			t.Errorf("got %v %s", got, c.Stderr.Text)
		}
		if text, err := os.ReadFile(filepath.Join(b.Workspace, "sub/file")); err != nil || string(text) != "as it was\n" {
			t.Errorf("%q %v", text, err)
		}
	})
	t.Run("below a directory with a protected name work goes on", func(t *testing.T) { besideProtected(t, wall) })
}

func needsMore(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	marker := filepath.Join(b.Workspace, "ran")
	cmd := jail.Cmd{Argv: []string{"/bin/sh", "-c", "touch " + marker}}
	proxied := b.Plan(t, "strict", jail.Options{})
	proxied.Net = jail.ProxiedNetwork
	for name, plan := range map[string]jail.Plan{"agent": b.Plan(t, "agent", jail.Options{}), "rules for the network": proxied} {
		p := b.Permit()
		if _, err := wall.Start(t.Context(), p, digest, plan, cmd); !errors.Is(err, reeve.ErrBoundary) || !strings.Contains(err.Error(), "--profile strict") {
			t.Errorf("%s: %v", name, err)
		}
		if p.Spend(digest) == nil {
			t.Errorf("%s: the permit is still good", name)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the program ran")
	}
}

func groupEnds(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	plan := b.Plan(t, "strict", jail.Options{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"/bin/sh", "-c", "trap '' TERM; sleep 1000 & echo up; wait"}, Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if !p.Contains(p.PID()) || p.Contains(os.Getpid()) || p.Contains(1) || p.Contains(0) {
		t.Error("who is inside is not told")
	}
	p.Stop(50 * time.Millisecond)
	if exit, err := p.Wait(); err != nil || exit.Code != 137 {
		t.Errorf("%+v %v, want 137", exit, err)
	}
	if n, _ := r.Read(make([]byte, 8)); n != 0 {
		t.Error("the pipe still has a writer")
	}
}

func reducedLimits(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	plan := b.Plan(t, "strict", jail.Options{})
	c := b.Shell(t, plan, jail.Limits{Files: 40, FileSize: 1 << 20, CPU: 3 * time.Second}, "ulimit -n; ulimit -c; ulimit -t; head -c 2000000 /dev/zero > big; wc -c < big")
	if got := strings.Fields(c.Stdout.Text); !slices.Equal(got, []string{"40", "0", "3", "1048576"}) {
		t.Errorf("limits: %v %s", got, c.Stderr.Text)
	}
	if c := b.Shell(t, plan, jail.Limits{Wall: 200 * time.Millisecond}, "sleep 1000"); !c.TimedOut {
		t.Errorf("the wall time did not hold: %+v", c)
	}
	p, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"/bin/sh", "-c", "umask > mask"}, Umask: 0o013})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(b.Workspace, "mask")); err != nil || strings.TrimSpace(string(text)) != "0013" {
		t.Errorf("umask %q %v", text, err)
	}
}

// besideProtected: the top of a workspace that holds .git is closed for new
// names, and says so; what stands in it and below it is worked on.
func besideProtected(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	b.repository(t)
	b.Put(t, filepath.Join(b.Workspace, "src/main.c"), "old")
	b.Put(t, filepath.Join(b.Workspace, "top.txt"), "old")
	c := b.Shell(t, b.Plan(t, "strict", jail.Options{}), jail.Limits{}, "echo new > src/main.c; echo new > src/made.c; mkdir src/dir; mv src/made.c src/dir/; rm src/dir/made.c; echo new > top.txt; "+
		"echo new > made.txt; mv .git g; rm -rf .git; echo x > .git/hooks/pre-commit; ln .git/config src/config; git log --oneline")
	for name, want := range map[string]string{"src/main.c": "new\n", "top.txt": "new\n"} {
		if text, err := os.ReadFile(filepath.Join(b.Workspace, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	for _, name := range []string{"made.txt", "g", ".git/hooks/pre-commit", "src/config"} {
		if _, err := os.Lstat(filepath.Join(b.Workspace, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	if !strings.Contains(c.Stdout.Text, "first") {
		t.Errorf("the history is not read: %s%s", c.Stdout.Text, c.Stderr.Text)
	}
	if !slices.ContainsFunc(c.Exit.Unheld, func(s string) bool { return strings.HasPrefix(s, "nothing new can be made right in "+b.Workspace) }) {
		t.Errorf("that nothing new can be made at the top is not said: %v", c.Exit.Unheld)
	}
}
