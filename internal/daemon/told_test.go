package daemon

import (
	"testing"

	"github.com/reeve-gate/reeve/internal/ingress/hook"
	"github.com/reeve-gate/reeve/internal/jail"
)

// TestAPathIsClassedAsTheBoundaryMountsIt: masks over all, what is protected
// over what is writable, and nothing is said of what a run may use.
func TestAPathIsClassedAsTheBoundaryMountsIt(t *testing.T) {
	plan := jail.Plan{Workspace: "/w", Write: []string{"/more"}, Protect: []string{"/w/.vscode", "/w/.git/hooks"}, Mask: []string{"/home/.ssh", "/w/sock", "/state"},
		Private: []string{"/home/.claude.json"}, Expose: []jail.Expose{{From: "/state/s", To: "/state/s/hook.sock"}}}
	for path, want := range map[string]hook.Reach{
		"/w/a": hook.ReachUnknown, "/more/a": hook.ReachUnknown, "/tmp/a": hook.ReachUnknown, "/home/.claude.json": hook.ReachUnknown, "/state/s/hook.sock": hook.ReachUnknown,
		"/w/.vscode": hook.ReachKept, "/w/.vscode/tasks.json": hook.ReachKept, "/w/.git/hooks/x": hook.ReachKept, "/w/.git/HEAD": hook.ReachUnknown,
		"/home/.ssh/id": hook.ReachHidden, "/w/sock": hook.ReachHidden, "/state/x": hook.ReachHidden, "/home/a": hook.ReachOutside, "/wa": hook.ReachOutside,
	} {
		if got := reachIn(plan, path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	plan.ReadOnly = true
	if got := reachIn(plan, "/w/a"); got != hook.ReachOutside {
		t.Errorf("a workspace that is read-only: %d", got)
	}
}
