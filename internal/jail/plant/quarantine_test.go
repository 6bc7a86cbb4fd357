package plant

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatCannotBeMovedOutIsRenamed(t *testing.T) {
	plan := newPlan(t)
	envrc := filepath.Join(plan.Workspace, ".envrc")
	plan.Absent = []string{envrc}
	put(t, filepath.Dir(plan.Workspace), "state") // a file where the quarantine would be made
	before := Snapshot(plan, time.Now())
	put(t, plan.Workspace, ".envrc")
	c := before.Quarantine()
	if _, err := os.Lstat(envrc); err == nil {
		t.Error("it is still there")
	}
	if _, err := os.Lstat(envrc + ".quarantined-by-reeve-0"); err != nil {
		t.Error(err)
	}
	if lines := c.Lines(plan.Workspace); len(lines) != 1 || !strings.HasPrefix(lines[0], "attention: ") {
		t.Errorf("a person is told %q", lines)
	}
}

func TestARunThatWasCutOffIsQuarantinedAtTheNextStart(t *testing.T) {
	plan := newPlan(t, ".vscode/tasks.json")
	plan.Env = []string{"TOKEN=secret"}
	plan.Absent = []string{filepath.Join(plan.Workspace, ".envrc"), filepath.Join(plan.Workspace, ".idea")}
	plan.Protect = []string{filepath.Join(plan.Workspace, ".vscode")}
	runs := filepath.Join(filepath.Dir(plan.Workspace), "state", "runs")
	put(t, plan.Workspace, ".idea/mine")
	before := Snapshot(plan, time.Now())
	if _, err := before.Note(runs); err != nil {
		t.Fatal(err)
	}
	notes, _ := filepath.Glob(filepath.Join(runs, "*"))
	if len(notes) != 1 {
		t.Fatalf("notes %v", notes)
	}
	info, err := os.Stat(notes[0])
	text, _ := os.ReadFile(notes[0])
	if err != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(text), "secret") {
		t.Errorf("the note has mode %v and says %s", info.Mode(), text)
	}
	put(t, plan.Workspace, ".envrc")
	// The daemon is killed here.
	left := Leftover(runs)
	if len(left) != 1 || !slices.Equal(left[0].Quarantined, []string{filepath.Join(plan.Workspace, ".envrc")}) || len(left[0].Problems) > 0 {
		t.Errorf("left %+v", left)
	}
	if again := Leftover(runs); len(again) > 0 {
		t.Errorf("a second time: %+v", again)
	}
	forget, err := before.Note(runs)
	if err != nil {
		t.Fatal(err)
	}
	if forget(); len(Leftover(runs)) > 0 {
		t.Error("a run that ended is still noted")
	}
	put(t, runs, "broken.run.json")
	if bad := Leftover(runs); len(bad) != 1 || len(bad[0].Problems) != 1 {
		t.Errorf("an unreadable note: %+v", bad)
	}
}
