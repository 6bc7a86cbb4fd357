//go:build linux

package jailtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/pty"
)

// wayOut: a network by rules has one address that answers, and who answers
// there is who took the listener outside. Nothing else is reached, nothing of
// the handing over is left inside, and nobody inside takes the address.
func wayOut(t *testing.T, wall jail.Wall) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	machine, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	go answer(machine, "machine")
	script := fmt.Sprintf(`import os, socket
def said(port, host="127.0.0.1"):
    try:
        with socket.create_connection((host, port), 5) as c:
            return c.recv(9).decode() or "nothing"
    except OSError:
        return "refused"
def take(reuse):
    with socket.socket() as s:
        if reuse:
            s.setsockopt(socket.SOL_SOCKET, reuse, 1)
        try:
            s.bind(("127.0.0.1", 3128))
            s.listen()
            return "taken"
        except OSError:
            return "busy"
print(said(3128), said(%d), said(3128, "::1"), take(0), take(socket.SO_REUSEPORT), take(socket.SO_REUSEADDR), said(3128))
print(*sorted(os.listdir("/proc/self/fd")))
print(*[n for n in ("REEVE_FIRST", "GOGC", "GOMAXPROCS", "GODEBUG") if n in os.environ] or ["clean"])
try:
    socket.socket(socket.AF_UNIX).close()
    print("unix")
except OSError:
    print("no unix")
`, machine.Addr().(*net.TCPAddr).Port)
	ruled := jail.ProxiedNetwork
	for profile, last := range map[string]string{"agent": "unix", "strict": "no unix"} {
		t.Run("profile "+profile, func(t *testing.T) {
			b := NewBench(t, wall)
			plan := b.Plan(t, profile, jail.Options{Net: &ruled})
			got := wayOutRun(t, b, plan, []string{"python3", "-c", script})
			want := "ours refused refused busy busy busy ours\n0 1 2 3\nclean\n" + last + "\n"
			if got != want {
				t.Errorf("inside:\n%swant:\n%s", got, want)
			}
		})
	}
	t.Run("nobody takes the listener", func(t *testing.T) { nobodyListens(t, wall) })
	t.Run("with a terminal", func(t *testing.T) { wayOutOnATerminal(t, wall) })
}

// ours answers whoever comes to the listener of a boundary.
func ours(t *testing.T) func(*os.File) error {
	return func(f *os.File) error {
		defer f.Close()
		l, err := net.FileListener(f)
		if err != nil {
			return err
		}
		if l.Addr().String() != jail.ProxyAddr {
			t.Errorf("it listens on %s, want %s", l.Addr(), jail.ProxyAddr)
		}
		t.Cleanup(func() { l.Close() })
		go answer(l, "ours")
		return nil
	}
}

// wayOutRun returns what a program inside said, whose end must be 0.
func wayOutRun(t *testing.T, b *Bench, plan jail.Plan, argv []string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := b.Wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: argv, Stdout: w, Stderr: w, Listener: ours(t)})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("end: %+v %v", exit, err)
	}
	return string(text)
}

// nobodyListens: without somebody outside nothing starts; without rules nobody
// is asked.
func nobodyListens(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	ruled, none := jail.ProxiedNetwork, jail.NetNone
	plan := b.Plan(t, "agent", jail.Options{Net: &ruled})
	touch := []string{"touch", filepath.Join(b.Workspace, "ran")}
	busy := errors.New("nobody has time")
	var handed *os.File
	refuse := func(f *os.File) error { handed = f; return busy }
	if p, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: touch, Listener: refuse}); !errors.Is(err, busy) {
		t.Errorf("refused: %v %v", p, err)
	}
	if handed == nil {
		t.Error("the listener was not handed out")
	} else {
		handed.Close()
	}
	if p, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: touch}); err == nil {
		p.Wait()
		t.Error("it started without somebody to take the listener")
	}
	if _, err := os.Stat(filepath.Join(b.Workspace, "ran")); err == nil {
		t.Error("the program ran")
	}
	plan = b.Plan(t, "agent", jail.Options{Net: &none})
	p, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"true"}, Listener: func(f *os.File) error {
		t.Error("a boundary without rules handed out a listener")
		return f.Close()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("end: %+v %v", exit, err)
	}
}

func wayOutOnATerminal(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	pair, err := pty.Open(pty.Size{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	ruled := jail.ProxiedNetwork
	script := `import os, socket
c = socket.create_connection(("127.0.0.1", 3128), 5)
print(c.recv(9).decode(), os.getsid(0) == os.getpid(), os.tcgetpgrp(0) == os.getpgrp(), os.ttyname(0))`
	p, err := wall.Start(t.Context(), b.Permit(), digest, b.Plan(t, "agent", jail.Options{Net: &ruled}),
		jail.Cmd{Argv: []string{"python3", "-c", script}, TTY: pair.TTY, Listener: ours(t)})
	if err != nil {
		t.Fatal(err)
	}
	pair.TTY.Close()
	line, _ := bufio.NewReader(pair.Master).ReadString('\n')
	if strings.TrimSpace(line) != "ours True True /dev/console" {
		t.Errorf("on the terminal: %q", line)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("end: %+v %v", exit, err)
	}
}
