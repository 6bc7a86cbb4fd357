package plant

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
)

// newPlan is a workspace with the given files, and Reeve's state beside it.
func newPlan(t testing.TB, names ...string) jail.Plan {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(base, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, ws, names...)
	return jail.Plan{Workspace: ws, Quarantine: filepath.Join(base, "state", "quarantine"), Trees: []string{ws}}
}

// put makes files that hold their own name.
func put(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestChangedFilesAreCountedByChangeTime(t *testing.T) {
	plan := newPlan(t, "old", "dir/old", ".git/config", ".git/objects/x", "node_modules/a/b")
	plan.Protect = []string{filepath.Join(plan.Workspace, ".git")}
	waitForTick(t, filepath.Dir(plan.Workspace))
	before := Snapshot(plan, time.Now())
	if got := before.Compare(t.Context()); got.String() != "0" {
		t.Errorf("nothing ran and %s files changed", got)
	}
	put(t, plan.Workspace, "new", "dir/new", ".git/index", "node_modules/c/d", "node_modules/e/f")
	past := time.Unix(1000, 0)
	if err := os.Chtimes(filepath.Join(plan.Workspace, "old"), past, past); err != nil { // a program cannot hide by setting the time back
		t.Fatal(err)
	}
	if got := before.Compare(t.Context()); got.String() != "5" {
		t.Errorf("%s files changed, want 5: two new, one old, the repository, the packages", got)
	}
}

func TestTheCountSaysAtLeastWhereItEnds(t *testing.T) {
	if got := (Changes{Files: 7, AtLeast: true}).String(); got != "at least 7" {
		t.Errorf("got %q", got)
	}
}

// waitForTick waits until the file system's clock has moved on, so that what
// was just written is older than the snapshot.
func waitForTick(t *testing.T, dir string) {
	t.Helper()
	stamp := func() time.Time {
		file := filepath.Join(dir, "tick")
		if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	for first := stamp(); !stamp().After(first.Add(20 * time.Millisecond)); {
	}
}
