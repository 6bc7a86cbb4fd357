package probe_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/probe"
	"github.com/reeve-gate/reeve/internal/testuser"
)

// One act mounts and leaves it so, one stands still until it is killed.
func init() {
	more = append(more,
		probe.Act{Name: "mount and stay", Do: func(s probe.Stage) error {
			return unix.Mount("tmpfs", filepath.Join(s.Workspace, "mnt"), "tmpfs", 0, "")
		}},
		probe.Act{Name: "stand still", Do: func(probe.Stage) error {
			_, err := os.Stdin.Read(make([]byte, 1))
			return err
		}})
}

// mountsBelow are the mounts of this machine below a folder.
func mountsBelow(t *testing.T, dir string) (all []string) {
	t.Helper()
	list, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir) {
			all = append(all, f[4])
		}
	}
	return all
}

// TestAKilledProbeLeavesNoMount: nothing contains it here, as with a wall that
// does not bite, and it is killed with its mount up.
func TestAKilledProbeLeavesNoMount(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{"ws/mnt", "home"} {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		task, err := json.Marshal(map[string]any{"Stage": probe.Stage{Workspace: dir + "/ws", Home: dir + "/home"}, "Acts": []string{"mount a file system", "mount and stay", "stand still"}})
		if err != nil {
			t.Fatal(err)
		}
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, probe.Command, string(task))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for _, name := range []string{"mount a file system", "mount and stay"} {
			var o probe.Outcome
			if !lines.Scan() || json.Unmarshal(lines.Bytes(), &o) != nil || o.Name != name {
				t.Fatalf("the probe said %q, want %s", lines.Text(), name)
			}
			if os.Getuid() == 0 && !o.Done() {
				t.Errorf("%s: %s, so that nothing was tried", name, o.Error)
			}
		}
		if left := mountsBelow(t, dir); len(left) > 0 {
			t.Errorf("mounted on the machine: %v", left)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if left := mountsBelow(t, dir); len(left) > 0 {
			t.Errorf("left on the machine: %v", left)
			for _, at := range left {
				unix.Unmount(at, unix.MNT_DETACH)
			}
		}
	})
}
