package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/durable"
)

// A daemon that ends has closed its socket before it lets go of the state
// directory: a command typed at that moment starts the next one.
func TestACommandWaitsForADaemonThatEnds(t *testing.T) {
	in := newRig(t, "")
	in.run(t, nil, "down")
	lock, err := durable.TryLock(filepath.Join(in.home(), "state", "daemon.lock"))
	if err != nil {
		t.Fatal(err)
	}
	up := exec.Command(in.bin, "up")
	up.Dir, up.Env = in.ws, in.env
	var out bytes.Buffer
	up.Stdout, up.Stderr = &out, &out
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	children := func() string {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", up.Process.Pid, up.Process.Pid))
		return strings.TrimSpace(string(b))
	}
	// Until one that it started has given way, or at most a second.
	for first, limit := "", time.Now().Add(time.Second); time.Now().Before(limit); {
		now := children()
		if first == "" {
			first = now
		} else if now != first {
			break
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := up.Wait(); err != nil {
		t.Errorf("reeve up beside a daemon that ends: %v\n%s", err, out.String())
	}
}

// home is Reeve's own directory.
func (in *rig) home() string { return filepath.Join(filepath.Dir(in.ws), "rh") }
