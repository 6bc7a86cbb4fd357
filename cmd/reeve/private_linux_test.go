package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/testuser"
)

// TestWhatReeveMakesIsItsOwnersAloneUnderAnyUmask covers M27: a person uses
// what there is under umask 0000, as root and as an ordinary user, and then
// each file and directory of Reeve's is looked at.
func TestWhatReeveMakesIsItsOwnersAloneUnderAnyUmask(t *testing.T) {
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(builtBefore, bin)
	testuser.Both(t, func(t *testing.T) {
		defer syscall.Umask(syscall.Umask(0))
		d := gateway(t, `allow = ["mcp__legacy", "bash"]`, "legacy")
		tour(t, d)
		everythingPrivate(t, filepath.Join(d.root, "rh"))
		doctorMends(t, d)
	})
}

// typed is a command with something on its standard input.
func typed(t *testing.T, d *desk, in string, args ...string) {
	t.Helper()
	cmd := exec.Command(d.bin, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = d.work, d.env, strings.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("reeve %q: %v\n%s", args, err, out)
	}
}

// tour uses what makes files: runs of each kind, hooks, servers, the vault,
// settings and the record.
func tour(t *testing.T, d *desk) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q", "."}, {"config", "user.name", "n"}, {"config", "user.email", "e"}, {"commit", "-q", "--allow-empty", "-m", "m"}} {
		if out, err := exec.Command("git", append([]string{"-C", d.work}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := []string{"--", "sh", "-c", "echo text > new.txt; mkdir -p .vscode; echo {} > .vscode/tasks.json"}
	d.reeve(append([]string{"run"}, write...)...)
	d.reeve(append([]string{"run", "--profile", "build"}, write...)...)
	d.reeve(append([]string{"run", "--worktree"}, write...)...)
	d.reeve(append([]string{"run", "--review"}, write...)...)
	d.reeve("run", "--detach", "--name", "on", "--", "sleep", "1000")
	d.reeve("exec", "read_file", `{"path":"new.txt"}`)
	d.reeve("exec", "bash", `{"command":"echo more > more.txt"}`)
	typed(t, d, fmt.Sprintf(`{"session_id":"s","hook_event_name":"PreToolUse","cwd":%q,"tool_name":"Read","tool_input":{"file_path":%q}}`, d.work, filepath.Join(d.work, "new.txt")), "hook", "claude")
	d.reeve("tools", "set", "bash", "auto")
	c := d.client("--client", "tester")
	c.use("legacy__echo", `{"text":"hello"}`)
	c.end()
	d.reeve("mcp", "disable", "legacy")
	d.says("mcp", "enable", "legacy")
	key := filepath.Join(d.root, "keys", "key")
	if err := os.Mkdir(filepath.Dir(key), 0o700); err != nil {
		t.Fatal(err)
	}
	d.reeve("vault", "init", "--key-file", key)
	typed(t, d, "a-value-of-the-vault", "vault", "set", "github/token")
	d.reeve("audit", "verify")
	d.reeve("sessions", "logs", "on")
	d.reeve("install", "claude")
}

// notOurs is below a directory of ours and made by others: copies of a
// workspace, what a run planted, what programs keep between runs.
var notOurs = regexp.MustCompile(`^(state/sessions/[^/]+/view/tree|state/cache|state/quarantine/[^/]+|checkouts/[^/]+)/`)

func everythingPrivate(t *testing.T, root string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a daemon works on
		}
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if notOurs.MatchString(name) {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		seen++
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
			if name == "state/sessions" || strings.HasSuffix(name, "view/tree") {
				seen += 100 // what makes the most was there
			}
		}
		if strings.HasSuffix(name, "/view/tree") {
			return nil // the root of a copy has the mode of what it is a copy of
		}
		if got := info.Mode() &^ fs.ModeType; got != want {
			t.Errorf("%s has mode %04o, want %04o", name, got, want)
		}
		return nil
	})
	if err != nil || seen < 240 {
		t.Errorf("%d files and directories were looked at, too few to say anything: %v", seen, err)
	}
}

// doctorMends loosens what the tour made, and has it found and mended.
func doctorMends(t *testing.T, d *desk) {
	t.Helper()
	d.reeve("down", "--stop-sessions")
	own := func(name string) string { return filepath.Join(d.root, "rh", name) }
	if out := d.reeve("doctor"); !strings.Contains(out, "ready    Reeve's own files for you alone") {
		t.Errorf("after a tour doctor says:\n%s", out)
	}
	loose := map[string]fs.FileMode{
		own("state"): 0o755, own("state/audit.db"): 0o644, own("state/tools.json.bak"): 0o660, own("state/daemon.log"): 0o666, own("state/cache.key"): 0o604,
		own("data/vault.db"): 0o640, own("config/mcp.json"): 0o644, own("config/mcp.json.bak"): 0o644, filepath.Join(d.root, "keys", "key"): 0o644,
	}
	should := map[string]fs.FileMode{own("state"): 0o700}
	for path, mode := range loose {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	out, err := d.person(d.bin, "doctor")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != reeve.ExitFailed {
		t.Errorf("doctor ends with %v, want exit code %d", err, reeve.ExitFailed)
	}
	for path, mode := range loose {
		want := max(should[path], 0o600)
		if line := fmt.Sprintf("not private: %s has mode %04o and should have %04o\n", path, mode, want); !strings.Contains(out, line) {
			t.Errorf("doctor does not say %q:\n%s", line, out)
		}
		if now := modeNow(t, path); now != mode && path != own("data/vault.db") { // opening the vault closes its file
			t.Errorf("unasked, %s became %04o", path, now)
		}
	}
	if err := os.Chmod(own("data/vault.db"), 0o640); err != nil {
		t.Fatal(err)
	}
	out = d.reeve("doctor", "--mend")
	for path, mode := range loose {
		want := max(should[path], 0o600)
		if line := fmt.Sprintf("mended: %s had mode %04o and has %04o now\n", path, mode, want); !strings.Contains(out, line) {
			t.Errorf("doctor --mend does not say %q:\n%s", line, out)
		}
		if now := modeNow(t, path); now != want {
			t.Errorf("%s has mode %04o, want %04o", path, now, want)
		}
	}
	d.reeve("vault", "status")
}

func modeNow(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
