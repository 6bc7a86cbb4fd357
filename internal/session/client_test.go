package session

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/reeve-gate/reeve/internal/flow"
)

// TestCallsThatComeTogetherAreOfOneSession: a client starts several calls at
// once, also its first ones. What one of them read must count for the others.
func TestCallsThatComeTogetherAreOfOneSession(t *testing.T) {
	state, ws := t.TempDir(), t.TempDir()
	s := open(t, state)
	s.newID = func() string { return uuid.Must(uuid.NewV7()).String() }
	const at = 16
	var ids [at]string
	var errs [at]error
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range at {
		all.Go(func() {
			<-begin
			one, err := s.ForClient(Session{Client: "claude", Foreign: "f", Workspace: ws}, "/home/nobody-here")
			ids[i], errs[i] = one.ID, err
		})
	}
	close(begin)
	all.Wait()
	for i := range at {
		if errs[i] != nil || ids[i] != ids[0] {
			t.Errorf("call %d is of session %s (%v), the first of %s", i, ids[i], errs[i], ids[0])
		}
	}
	read := flow.Taint{Private: true}
	s.AddTaint(ids[at-1], read)
	if one, err := s.ForClient(Session{Client: "claude", Foreign: "f", Workspace: ws}, "/home/nobody-here"); err != nil || s.Taint(one.ID) != read {
		t.Errorf("a later call is of a session that has read %+v, %v; want %+v", s.Taint(one.ID), err, read)
	}
	if folders, err := os.ReadDir(filepath.Join(state, "sessions")); err != nil || len(folders) != 1 {
		t.Errorf("%d sessions are kept, %v; want 1", len(folders), err)
	}
}
