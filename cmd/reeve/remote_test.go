//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/reeve-gate/reeve/internal/sshdtest"
)

// TestARunOnAnotherMachine goes the whole way: command, daemon, kernel, ssh, a
// real sshd, bubblewrap there, receipt and record.
func TestARunOnAnotherMachine(t *testing.T) {
	if _, err := os.Stat("/usr/bin/bwrap"); err != nil {
		t.Skip("bubblewrap is not installed")
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	m := sshdtest.New(t)
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	var quoted []string
	for _, o := range m.Options {
		quoted = append(quoted, fmt.Sprintf("%q", o))
	}
	m.Put(t, filepath.Join(here, "rh/config/config.toml"), "[remote]\nssh_options = ["+strings.Join(quoted, ", ")+"]\n")
	if err := os.Chmod(filepath.Join(here, "rh/config"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.Put(t, filepath.Join(here, "home/x"), "")
	reeve := func(want int, args ...string) (string, string) {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Dir = filepath.Join(here, "home")
		cmd.Env = []string{"HOME=" + filepath.Join(here, "home"), "REEVE_HOME=" + filepath.Join(here, "rh"), "PATH=/usr/bin:/bin", "TMPDIR=/tmp"}
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want {
			t.Fatalf("%v ended with %d, want %d: %s%s", args, code, want, out.String(), errs.String())
		}
		return out.String(), errs.String()
	}
	t.Cleanup(func() { reeve(0, "down") })
	host := u.Username + "@127.0.0.1"

	out, errs := reeve(7, "run", "--host", host, "--dir", m.Workspace, "--net", "none", "--", "/bin/sh", "-c", "pwd; echo made > made; echo x > $HOME/out; cat $HOME/.netrc; exit 7")
	if strings.TrimSpace(out) != m.Workspace || !strings.Contains(errs, "on "+host+" in profile agent, exit 7") || !strings.Contains(errs, "Read-only file system") {
		t.Errorf("got %q %q", out, errs)
	}
	if text, err := os.ReadFile(filepath.Join(m.Workspace, "made")); err != nil || string(text) != "made\n" {
		t.Errorf("%q %v", text, err)
	}
	for what, args := range map[string][]string{
		"no such directory":     {"run", "--host", host, "--dir", "/no/such/dir", "--net", "none", "--", "true"},
		"a host that is a flag": {"run", "--host", "-oProxyCommand=touch x", "--dir", m.Workspace, "--net", "none", "--", "true"},
		"no directory":          {"run", "--host", host, "--net", "none", "--", "true"},
		"no machine":            {"run", "--dir", m.Workspace, "--", "true"},
		"rules for the network": {"run", "--host", host, "--dir", m.Workspace, "--net", "ask", "--", "true"},
		"a workspace of ours":   {"run", "--host", host, "--dir", m.Workspace, "--workspace", here, "--", "true"},
	} {
		code := 2
		if what == "no such directory" {
			code = 5
		}
		if _, errs := reeve(code, args...); errs == "" {
			t.Errorf("%s: nothing is said", what)
		}
	}

	// With a terminal of the caller's, whose size it has there too.
	onTerminal := exec.Command(bin, "run", "--host", host, "--dir", m.Workspace, "--net", "none", "--no-receipt", "--", "/bin/sh", "-c", "tty -s && stty size; exit 4")
	onTerminal.Dir, onTerminal.Env = filepath.Join(here, "home"), []string{"HOME=" + filepath.Join(here, "home"), "REEVE_HOME=" + filepath.Join(here, "rh"), "PATH=/usr/bin:/bin", "TMPDIR=/tmp", "TERM=dumb"}
	screen, err := pty.StartWithSize(onTerminal, &pty.Winsize{Rows: 31, Cols: 97})
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := io.ReadAll(screen) // ends with EIO when nobody has the other end
	screen.Close()
	onTerminal.Wait()
	if onTerminal.ProcessState.ExitCode() != 4 || !strings.Contains(string(shown), "31 97") {
		t.Errorf("on a terminal: %v %q", onTerminal.ProcessState, shown)
	}

	out, _ = reeve(0, "audit", "ls", "--json")
	var found bool
	for line := range strings.Lines(out) {
		var row map[string]any
		if json.Unmarshal([]byte(line), &row) == nil && strings.Contains(line, host) && strings.Contains(line, m.Workspace[:20]) {
			found = true
		}
	}
	if !found && !strings.Contains(out, host) {
		t.Errorf("the record does not name the machine: %s", out)
	}

	m.Put(t, filepath.Join(here, "rh/config/policy.toml"), "deny = [\"web(domain:127.0.0.1)\"]\n")
	if _, errs := reeve(3, "run", "--host", host, "--dir", m.Workspace, "--net", "none", "--", "/usr/bin/touch", filepath.Join(m.Workspace, "denied")); !strings.Contains(errs, "policy.toml") {
		t.Errorf("a rule that denies the machine: %s", errs)
	}
	if _, err := os.Lstat(filepath.Join(m.Workspace, "denied")); err == nil {
		t.Error("the denied run ran")
	}
}
