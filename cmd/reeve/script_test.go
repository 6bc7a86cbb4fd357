package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcptest"
	"github.com/reeve-gate/reeve/internal/mcptest/naive"
	"github.com/reeve-gate/reeve/internal/wire"
)

// builtBefore names the program under test to a run as another user, who builds
// nothing.
const builtBefore = "REEVE_TEST_BINARY"

// built is the program under test, built once as it ships: without cgo.
var built = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv(builtBefore); bin != "" {
		return bin, nil
	}
	dir, err := os.MkdirTemp("", "reeve-built-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // an ordinary user runs it too
		return "", err
	}
	bin := filepath.Join(dir, "reeve")
	cmd := exec.Command("go", "build", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build reeve: %v\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	naive.Main()
	mcptest.Main()
	code := m.Run()
	if bin, err := built(); err == nil && os.Getenv(builtBefore) == "" {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// TestCommands runs testdata/script: every command as a person types it.
func TestCommands(t *testing.T) {
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("REEVE_HOME", filepath.Join(e.WorkDir, "rh"))
			e.Setenv("TMPDIR", "/tmp")
			e.Defer(func() {
				down := exec.Command(bin, "down", "--stop-sessions")
				down.Env = e.Vars
				_ = down.Run() // most scripts end it themselves
			})
			return errors.Join(os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755), os.MkdirAll(filepath.Join(e.WorkDir, "rh", "config"), 0o700))
		},
		Condition: func(cond string) (bool, error) {
			if cond == "sandbox" {
				probe := exec.Command(bin, "doctor")
				_ = probe.Run()
				return probe.ProcessState != nil && probe.ProcessState.ExitCode() != reeve.ExitBoundary, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"pending":  pending,
			"terminal": terminal,
			"shows":    shows,
			"ended":    ended,

			"killdaemon": killDaemon,
			"setnet":     setNet,
		},
	})
}

// exits N CMD ARGS: the command ends with exactly N. Its streams are compared
// with stdout and stderr as after exec.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N CMD ARGS")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if code != want {
		ts.Fatalf("%s ended with %d, want %d", strings.Join(args[1:], " "), code, want)
	}
}

// pending waits until one question is pending and puts its id into $Q.
func pending(ts *testscript.TestScript, neg bool, args []string) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		bin, err := built()
		ts.Check(err)
		cmd := exec.Command(bin, "approvals", "ls")
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "REEVE_HOME=" + ts.Getenv("REEVE_HOME"), "PATH=" + ts.Getenv("PATH")}
		out, err := cmd.Output()
		if id, _, ok := strings.Cut(string(out), "\n"); err == nil && ok && len(id) == 36 {
			ts.Setenv("Q", id)
			return
		}
	}
	ts.Fatalf("no question is pending after 20 seconds")
}

// terminal CMD ARGS: the command succeeds on a terminal of its own, as a person
// types it.
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: terminal CMD ARGS")
	}
	bin, err := built()
	ts.Check(err)
	cmd := exec.Command(filepath.Join(filepath.Dir(bin), args[0]), args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "REEVE_HOME=" + ts.Getenv("REEVE_HOME"), "PATH=" + ts.Getenv("PATH")}
	shown, err := onTerminal(cmd)
	if (err == nil) == neg {
		ts.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, shown)
	}
}

// onTerminal runs a command with its streams on a terminal of its own and
// gives what was shown there.
func onTerminal(cmd *exec.Cmd) (shown string, err error) {
	master, err := pty.Start(cmd)
	if err != nil {
		return "", err
	}
	defer master.Close()
	if err := master.SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
		return "", err
	}
	var all bytes.Buffer
	_, _ = all.ReadFrom(master) // ends with EIO
	return all.String(), cmd.Wait()
}

// reeve is the program with a script's environment.
func scripted(ts *testscript.TestScript, args ...string) *exec.Cmd {
	bin, err := built()
	ts.Check(err)
	cmd := exec.Command(bin, args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "REEVE_HOME=" + ts.Getenv("REEVE_HOME"), "PATH=" + ts.Getenv("PATH")}
	return cmd
}

// shows ID TEXT: the session shows the text, now or later.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shows ID TEXT")
	}
	cmd := scripted(ts, "sessions", "logs", "-f", args[0])
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	late := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer late.Stop()
	var seen strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(seen.String(), args[1]) {
		n, err := out.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			ts.Fatalf("session %s showed %q and no %q", args[0], seen.String(), args[1])
		}
	}
}

// ended ID: the session has ended, now or later.
func ended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ended ID")
	}
	out, err := scripted(ts, "sessions", "logs", "-f", args[0]).CombinedOutput()
	if err != nil {
		ts.Fatalf("follow session %s to its end: %v\n%s", args[0], err, out)
	}
}

// killdaemon kills the daemon without a word.
func killDaemon(ts *testscript.TestScript, neg bool, args []string) {
	out, err := scripted(ts, "status", "--json").Output()
	ts.Check(err)
	var status wire.Status
	ts.Check(wire.Decode(bytes.TrimSpace(out), &status))
	ts.Check(killed(status.PID))
}

// networkIn finds the network that is kept of a session.
var networkIn = regexp.MustCompile(`"Net":"[a-z]+"`)

// setnet ID WORD writes another network into what is kept of a session.
func setNet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: setnet ID WORD")
	}
	out, err := scripted(ts, "sessions", "--json").Output()
	ts.Check(err)
	var all []wire.Session
	ts.Check(wire.Decode(bytes.TrimSpace(out), &all))
	for _, s := range all {
		if s.Name != args[0] {
			continue
		}
		file := filepath.Join(ts.Getenv("REEVE_HOME"), "state", "sessions", s.ID, "kept.json")
		text, err := os.ReadFile(file)
		ts.Check(err)
		changed := networkIn.ReplaceAllString(string(text), `"Net":"`+args[1]+`"`)
		if changed == string(text) {
			ts.Fatalf("no network stands in %s", text)
		}
		ts.Check(os.WriteFile(file, []byte(changed), 0o600))
		return
	}
	ts.Fatalf("no session %s", args[0])
}
