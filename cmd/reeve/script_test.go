package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// built is the program under test, built once as it ships: without cgo.
var built = sync.OnceValues(func() (string, error) {
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
	code := m.Run()
	if bin, err := built(); err == nil {
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
				down := exec.Command(bin, "down")
				down.Env = e.Vars
				_ = down.Run() // most scripts end it themselves
			})
			return errors.Join(os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755), os.MkdirAll(filepath.Join(e.WorkDir, "rh", "config"), 0o700))
		},
		Condition: func(cond string) (bool, error) {
			if cond == "sandbox" {
				probe := exec.Command(bin, "doctor")
				return probe.Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"pending": pending,
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
