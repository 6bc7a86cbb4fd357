package viewed_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/viewed"
)

func TestAWorkspaceThatCanBeReachedAnotherWayIsRefused(t *testing.T) {
	ws := filepath.Join(t.TempDir(), "a", "ws")
	if err := os.MkdirAll(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		plan jail.Plan
		want string
	}{
		{jail.Plan{Workspace: ws, Write: []string{filepath.Dir(ws)}}, "holds the workspace"},
		{jail.Plan{Workspace: ws, ReadOnly: true}, "needs no view"},
		{jail.Plan{Workspace: ws, Write: []string{ws + "/in", "/elsewhere"}}, ""},
	} {
		p, err := viewed.Through(c.plan, "/view")
		if c.want == "" && (err != nil || p.View != "/view") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.plan, err, c.want)
		}
	}
	if err := os.WriteFile(filepath.Join(ws, ".git"), []byte("gitdir: /elsewhere"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := viewed.Through(jail.Plan{Workspace: ws}, "/view"); err == nil || !strings.Contains(err.Error(), "linked worktree") {
		t.Errorf("a linked worktree: %v", err)
	}
}

func TestWhoMountsNothingRefusesAView(t *testing.T) {
	for wall, can := range map[string]bool{"native": true, "bwrap": true, "landlock": false, "seatbelt": false, "host": false, "": false} {
		if viewed.By(wall) != can {
			t.Errorf("%q shows a view: %v", wall, !can)
		}
	}
	if err := viewed.Refuse(jail.Plan{View: "/v"}); !errors.Is(err, reeve.ErrBoundary) {
		t.Errorf("got %v", err)
	}
	if err := viewed.Refuse(jail.Plan{}); err != nil {
		t.Error(err)
	}
}

// TestNothingInAViewedWorkspaceIsPutBack: what a person changes there while the
// run lasts is theirs.
func TestNothingInAViewedWorkspaceIsPutBack(t *testing.T) {
	plan := jail.Plan{Workspace: "/w", View: "/v", Protect: []string{"/w/.git/config", "/d/.vscode"}, Absent: []string{"/w/.envrc", "/d/.envrc"}, Trees: []string{"/w", "/d"},
		Links: []jail.Link{{Path: "/w/l"}, {Path: "/d/l"}}, Repos: []jail.Repo{{Git: "/w/.git"}, {Git: "/d/.git"}}, Mask: []string{"/w/sock"}, Private: []string{"/home/x"}}
	got := viewed.Watched(plan)
	if !slices.Equal(got.Protect, []string{"/d/.vscode"}) || !slices.Equal(got.Absent, []string{"/d/.envrc"}) || !slices.Equal(got.Trees, []string{"/d"}) ||
		len(got.Links) != 1 || len(got.Repos) != 1 || !got.ReadOnly {
		t.Errorf("watched: %+v", got)
	}
	if held := viewed.Guarded(plan); !slices.Equal(held, []string{".git/config", ".envrc", "sock", "l"}) && !slices.Equal(held, []string{".git/config", ".envrc", "sock", "l", "l"}) {
		t.Errorf("guarded: %q", held)
	}
	plan.View = ""
	if got := viewed.Watched(plan); len(got.Protect) != 2 {
		t.Errorf("without a view: %+v", got)
	}
}
