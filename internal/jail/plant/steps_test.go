package plant

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
)

// TestARebaseGoesOnWithoutWhatARunPutThere: a person who continues a rebase, in
// the repository, in a worktree or in a submodule of it, starts no program that
// an agent named, and those that they named themselves (contract Y67).
func TestARebaseGoesOnWithoutWhatARunPutThere(t *testing.T) {
	const head = "ref: refs/heads/main\n"
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plan := newPlan(t, ".git/objects/x", ".git/refs/x", ".git/modules/s/objects/x", ".git/modules/s/refs/x")
	git := filepath.Join(plan.Workspace, ".git")
	for _, dir := range []string{git, git + "/modules/s", git + "/worktrees/w"} {
		write(dir+"/HEAD", head)
	}
	write(git+"/worktrees/w/commondir", "../..\n")
	write(git+"/worktrees/w/"+todoFile, "x make\n")
	write(git+"/"+todoFile, "pick 1 one\nexec make test\nbreak\n")
	plan.Repos = []jail.Repo{{Git: git}}
	before := Snapshot(plan, time.Now())
	write(git+"/"+todoFile, "exec make test\npick 2 x\n exec evil\nx evil\nexecutes nothing\nexec\tevil\n")
	write(git+"/worktrees/w/"+todoFile, "x make\nx evil\n")
	write(git+"/modules/s/"+todoFile, "exec evil\n")
	write(git+"/"+strategyFile, "x/../evil\n")
	write(git+"/modules/s/"+strategyFile, "ort\n")
	write(git+"/"+optionsFile, "[options]\n\tstrategy = x/../evil\n")
	if err := os.Symlink("../../elsewhere", git+"/modules/s/sequencer"); err != nil {
		t.Fatal(err)
	}
	c := before.Quarantine()
	for path, want := range map[string]string{
		todoFile: "exec make test\npick 2 x\nexecutes nothing\n", "worktrees/w/" + todoFile: "x make\n", "modules/s/" + todoFile: "",
		strategyFile: "", optionsFile: "", "modules/s/" + strategyFile: "ort\n", "modules/s/sequencer": "",
	} {
		if text, _ := os.ReadFile(filepath.Join(git, path)); string(text) != want {
			t.Errorf("%s: %q, want %q", path, text, want)
		}
	}
	if len(c.Quarantined) != 6 || len(c.Problems) > 0 || !slices.ContainsFunc(c.Quarantined, func(q string) bool { return strings.HasSuffix(q, optionsFile) }) {
		t.Errorf("moved away: %q, %q", c.Quarantined, c.Problems)
	}
	// Nothing that nobody touched is moved.
	if c := Snapshot(plan, time.Now()).Quarantine(); len(c.Quarantined) > 0 {
		t.Errorf("without a run: %q", c.Quarantined)
	}
}
