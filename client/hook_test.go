package client

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/wire"
)

// TestAVariableDoesNotNameTheSocketThatDecides: a project's settings can set
// variables for a client's hooks.
func TestAVariableDoesNotNameTheSocketThatDecides(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows a session its socket at one place")
	}
	if _, err := os.Lstat(wire.InsideHook); err == nil {
		t.Skip("this test runs inside a session")
	}
	dir, err := os.MkdirTemp("", "rv-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	vars := map[string]string{"HOME": dir, "REEVE_HOME": dir, "REEVE_HOOK_SOCK": l.Addr().String(), "REEVE_SESSION": "x", localsock.Starting: "1"}
	getenv := func(name string) string { return vars[name] }
	paths, err := config.Dirs(getenv)
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{Paths: paths, Getenv: getenv}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if out, err := c.Hook(ctx, wire.Hook{Client: "claude"}); err == nil {
		t.Errorf("without a daemon the hook answered %+v", out)
	}
	l.(*net.UnixListener).SetDeadline(time.Now().Add(10 * time.Millisecond))
	if conn, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the socket in the variable was spoken to: %v, %v", conn, err)
	}
}
