package jail

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestChangedFilesAreCountedByChangeTime(t *testing.T) {
	h := newHouse(t)
	h.put(t, "home/work/ws/old", "home/work/ws/dir/old", "home/work/ws/.git/config", "home/work/ws/.git/objects/x", "home/work/ws/node_modules/a/b")
	plan := h.plan(t, "agent", Options{})
	waitForTick(t, h.base)
	before := Snapshot(plan, time.Now())
	if got := before.Compare(t.Context()); got.String() != "0" {
		t.Errorf("nothing ran and %s files changed", got)
	}
	h.put(t, "home/work/ws/new", "home/work/ws/dir/new", "home/work/ws/.git/index", "home/work/ws/node_modules/c/d", "home/work/ws/node_modules/e/f")
	past := time.Unix(1000, 0)
	if err := os.Chtimes(filepath.Join(h.ws, "old"), past, past); err != nil { // a program cannot hide by setting the time back
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
