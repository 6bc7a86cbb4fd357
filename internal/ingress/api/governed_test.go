package api

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/localsock"
)

// TestADaemonThatBeginsAnewStillKnowsAnAgentsProcess: nothing has called the
// hook since this daemon began, as after a kill by the agent itself.
func TestADaemonThatBeginsAnewStillKnowsAnAgentsProcess(t *testing.T) {
	agent := exec.Command("/bin/sh", "-c", "read x")
	agent.Args[0] = "claude"
	in, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); agent.Wait() }()
	peer := localsock.Peer{UID: os.Getuid(), PID: agent.Process.Pid}
	for _, c := range []struct {
		clients []string
		refused bool
	}{
		{nil, false}, // no client's hook was ever answered here
		{[]string{"a client that does not run"}, false},
		{[]string{"a client that does not run", "claude"}, true},
	} {
		if err := new(Governed).Person(peer, c.clients); errors.Is(err, reeve.ErrPresence) != c.refused {
			t.Errorf("clients %q: %v, want refused %v", c.clients, err, c.refused)
		}
	}
}
