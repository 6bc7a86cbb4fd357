package api

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/session"
)

// TestASessionOfTheCommandLineEndsWithItsTerminal: what was allowed in it for
// the session does not hold at the next terminal of its name, and what it has
// read is not forgotten. One without a terminal ends when nobody uses it.
func TestASessionOfTheCommandLineEndsWithItsTerminal(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	store, err := session.Open(t.TempDir(), 100, func() time.Time { return now }, func() string { return uuid.Must(uuid.NewV7()).String() }, nil)
	if err != nil {
		t.Fatal(err)
	}
	broker := approval.New(func() time.Time { return now })
	s := &Server{Sessions: store, Broker: broker}
	ws := t.TempDir()
	begin := func(client, foreign string) string {
		t.Helper()
		one, err := store.ForClient(session.Session{Client: client, Foreign: foreign, Workspace: ws}, "/home/nobody-here")
		if err != nil {
			t.Fatal(err)
		}
		return one.ID
	}
	open := func(id string) bool {
		s.closeLeft()
		return slices.ContainsFunc(store.List(), func(one session.Session) bool { return one.ID == id })
	}
	pid, shut := closingTerminal(t)
	window, script, agent := begin("cli", "/dev/pts/7"), begin("cli", ""), begin("claude", "x")
	rise := s.desks.sit(window, localsock.Peer{UID: os.Getuid(), PID: pid})
	s.desks.sit(script, localsock.Peer{UID: os.Getuid(), PID: 1})()
	store.AddTaint(window, flow.Taint{Private: true})
	if !open(window) || !open(script) {
		t.Fatal("a session ended while it was used")
	}
	shut()
	if !open(window) {
		t.Error("it ended under a call")
	}
	asked := make(chan approval.Answer, 1)
	events, _, stop := broker.Watch(false)
	defer stop()
	go func() {
		asked <- broker.Ask(t.Context(), approval.Question{ID: "q", Session: window, Expires: time.Now().Add(time.Hour)})
	}()
	<-events
	rise()
	if open(window) {
		t.Error("the terminal is gone, and its session goes on")
	}
	if a := <-asked; a.Yes() || a.State != approval.Withdrawn {
		t.Errorf("its question ended as %+v", a)
	}
	if next := begin("cli", "/dev/pts/7"); next == window || !store.Taint(next).Private {
		t.Errorf("the next terminal of the name has session %s, taint %+v", next, store.Taint(next))
	}
	now = now.Add(cliIdle)
	if !open(script) {
		t.Error("it ended too early")
	}
	now = now.Add(time.Second)
	if open(script) || !open(agent) {
		t.Errorf("unused for %s: the script's is open %v, the agent's %v", cliIdle, open(script), open(agent))
	}
}
