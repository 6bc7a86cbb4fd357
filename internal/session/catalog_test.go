package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/flow"
)

// open makes a store below a new state directory; ids count up.
func open(t *testing.T, state string) *Store {
	t.Helper()
	n := 0
	s, err := Open(state, 3, func() time.Time { return time.Unix(1000, 0).UTC() }, func() string { n++; return fmt.Sprintf("id-%s-%d", t.Name(), n) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTheStricterOfThePersonsAndTheSessionsSettingHolds is contract Y27: a
// session can tighten a tool for itself and loosens nothing.
func TestTheStricterOfThePersonsAndTheSessionsSettingHolds(t *testing.T) {
	s := open(t, t.TempDir())
	for _, c := range []struct{ person, own, want reeve.Catalog }{
		{reeve.CatalogUnset, reeve.CatalogUnset, reeve.CatalogUnset},
		{reeve.CatalogAuto, reeve.CatalogOff, reeve.CatalogOff},
		{reeve.CatalogOff, reeve.CatalogAuto, reeve.CatalogOff},
		{reeve.CatalogUnset, reeve.CatalogAsk, reeve.CatalogAsk},
		{reeve.CatalogApproval, reeve.CatalogAsk, reeve.CatalogApproval},
		{reeve.CatalogAsk, reeve.CatalogUnset, reeve.CatalogAsk},
	} {
		one, err := s.Create(Session{Client: "run", Workspace: t.TempDir(), Tools: map[string]reeve.Catalog{"bash": c.own}}, "/home/nobody-here")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetTool("bash", c.person); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"bash", "claude:bash"} {
			if got := s.Catalog(one.ID, name); got != c.want {
				t.Errorf("%s: the person says %s, the session %s: %s holds, want %s", name, c.person, c.own, got, c.want)
			}
		}
		if got := s.Catalog(one.ID, "read_file"); got != reeve.CatalogUnset {
			t.Errorf("a tool nobody set is %s", got)
		}
	}
}

func TestASessionSpendsItsCallsAndEndsForGood(t *testing.T) {
	state := t.TempDir()
	s := open(t, state)
	one, err := s.Create(Session{Client: "claude", Foreign: "f", Workspace: t.TempDir(), Mode: reeve.ModeDefault}, "/home/nobody-here")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if err := s.Spend(one.ID); err != nil {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if err := s.Spend(one.ID); err == nil {
		t.Error("a fourth call of three was granted")
	}
	if err := s.SetPlan(one.ID, true); err != nil {
		t.Fatal(err)
	}
	if now, err := s.Get(one.ID); err != nil || now.Mode != reeve.ModePlan {
		t.Errorf("while its client plans the session is in mode %s, %v", now.Mode, err)
	}
	if again := open(t, state); len(again.List()) != 1 {
		t.Errorf("after a restart there are %d sessions, want the one that had not ended", len(again.List()))
	}
	if err := s.End(one.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(one.ID); err == nil {
		t.Error("an ended session is still found")
	}
	if again := open(t, state); len(again.List()) != 0 {
		t.Error("an ended session came back after a restart")
	}
}

func TestAWorkspaceIsNeverTheRootOrTheHome(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"/", home, home + "/.", "relative", home + "/none"} {
		if got, err := Workspace(dir, home); err == nil {
			t.Errorf("%q became the workspace %s", dir, got)
		}
	}
}

// TestAClientsSessionThatBeginsAgainRemembers: who says that a session has
// ended may be the agent in it, which would be rid of what it has read.
func TestAClientsSessionThatBeginsAgainRemembers(t *testing.T) {
	state, ws := t.TempDir(), t.TempDir()
	one := Session{Client: "claude", Foreign: "f", Workspace: ws}
	s := open(t, state)
	first, err := s.ForClient(one, "/home/nobody-here")
	if err != nil {
		t.Fatal(err)
	}
	read := flow.Taint{Untrusted: true, Private: true}
	s.AddTaint(first.ID, read)
	for range 2 {
		if err := s.Spend(first.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(first.ID); err != nil {
		t.Fatal(err)
	}
	again, err := s.ForClient(one, "/home/nobody-here")
	if err != nil || again.ID == first.ID || s.Taint(again.ID) != read {
		t.Errorf("the same client's session: %s with %+v, %v; want another that has read %+v", again.ID, s.Taint(again.ID), err, read)
	}
	if err := s.Spend(again.ID); err != nil {
		t.Error(err)
	}
	if err := s.Spend(again.ID); err == nil {
		t.Error("its calls are counted from the start")
	}
	if err := s.End(again.ID); err != nil {
		t.Fatal(err)
	}
	s, n := open(t, state), 100
	s.newID = func() string { n++; return fmt.Sprint("later-", n) }
	if later, err := s.ForClient(one, "/home/nobody-here"); err != nil || s.Taint(later.ID) != read {
		t.Errorf("after a new start it has read %+v, %v", s.Taint(later.ID), err)
	}
	if other, err := s.ForClient(Session{Client: "claude", Foreign: "g", Workspace: ws}, "/home/nobody-here"); err != nil || s.Taint(other.ID) != (flow.Taint{}) {
		t.Errorf("another session has read %+v, %v", s.Taint(other.ID), err)
	}
}

// TestASessionThatIsKeptOutlivesItsDaemon: another daemon reads the whole of
// it, what it has read and its end; one that is not kept leaves nothing.
func TestASessionThatIsKeptOutlivesItsDaemon(t *testing.T) {
	state, ws := t.TempDir(), t.TempDir()
	n := 0
	again := func() *Store {
		s, err := Open(state, 10, time.Now, func() string { n++; return fmt.Sprint("s", n) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := again()
	for i := range 20 {
		one, err := s.Begin(Session{Client: "run", Workspace: ws, Mode: reeve.ModePlan, Profile: "strict"}, "/home/nobody-here")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(one.ID); err != nil || got.Profile != "strict" {
			t.Errorf("begun: %+v %v", got, err)
		}
		keep := i%2 == 0
		if keep {
			if err := s.Keep(one.ID); err != nil {
				t.Fatal(err)
			}
		}
		s.AddTaint(one.ID, flow.Taint{Untrusted: true})
		got, err := again().Get(one.ID)
		if keep && (err != nil || got.Mode != reeve.ModePlan || got.Workspace != one.Workspace || !got.Taint.Untrusted) {
			t.Errorf("another daemon reads %+v %v", got, err)
		}
		if !keep && !errors.Is(err, reeve.ErrNotFound) {
			t.Errorf("one that is not kept is read as %+v %v", got, err)
		}
		if err := s.End(one.ID); err != nil {
			t.Error(err)
		}
		if err := s.Keep(one.ID); !errors.Is(err, reeve.ErrNotFound) {
			t.Errorf("keep one that has ended: %v", err)
		}
		if got, err := again().Recall(one.ID); keep && (err != nil || got.Ended.IsZero()) {
			t.Errorf("its end is read as %+v %v", got, err)
		}
	}
	if _, err := s.Begin(Session{Client: "run", Workspace: "/"}, "/home/nobody-here"); err == nil {
		t.Error("the root is a workspace")
	}
	if left, err := os.ReadDir(filepath.Join(state, "sessions")); err != nil || len(left) != 10 {
		t.Errorf("%d sessions have a folder, want 10 (%v)", len(left), err)
	}
}
