//go:build linux

package jailtest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
)

// ownPlace: what Reeve shows inside cannot be moved away to put another thing
// in its place.
func ownPlace(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	b.Put(t, filepath.Join(b.State, "hook"), "ours")
	program := filepath.Join(b.Workspace, "bin/tool")
	b.Put(t, program, "ours")
	none := jail.NetNone
	plan := b.Plan(t, "agent", jail.Options{Net: &none, Expose: []jail.Expose{{From: filepath.Join(b.State, "hook"), To: "/run/reeve/hook"}, {From: program, To: program}}})
	b.Shell(t, plan, jail.Limits{}, "mv /run/reeve /run/away; mkdir -p /run/reeve; rm -f /run/reeve/hook; echo theirs > /run/reeve/hook; touch /run/reeve/more; cat /run/reeve/hook > out; "+
		"ls /run/reeve >> out; mv bin away; mkdir -p bin; rm -f bin/tool; echo theirs > bin/tool; true")
	if text, err := os.ReadFile(filepath.Join(b.Workspace, "out")); err != nil || string(text) != "ourshook\n" {
		t.Errorf("inside stands %q %v", text, err)
	}
	if text, err := os.ReadFile(program); err != nil || string(text) != "ours" {
		t.Errorf("outside stands %q %v", text, err)
	}
}

// abstractName: an open network shares the machine's abstract names, of which
// the display and the message bus may have one.
func abstractName(t *testing.T, wall jail.Wall) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	b := NewBench(t, wall)
	name := "@reeve-jailtest-" + filepath.Base(filepath.Dir(b.State)) + filepath.Base(filepath.Dir(filepath.Dir(b.State)))
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go answer(l, "reached")
	b.Put(t, filepath.Join(b.Workspace, "try.py"), `import socket
s = socket.socket(socket.AF_UNIX)
try:
    s.connect("\0`+name[1:]+`")
    print(s.recv(9).decode())
except OSError as e:
    print("refused")
own = socket.socket(socket.AF_UNIX)
own.bind("\0`+name[1:]+`-own")
own.listen(1)
socket.socket(socket.AF_UNIX).connect("\0`+name[1:]+`-own")
print("own")
`)
	open := jail.UnrestrictedNetwork
	c := b.Shell(t, b.Plan(t, "agent", jail.Options{Net: &open}), jail.Limits{}, "python3 try.py")
	if slices.Contains(c.Exit.Unheld, "unix sockets with an abstract name") {
		t.Skip("this kernel has no scopes for abstract names (Linux 6.12), and the receipt says so")
	}
	if got := strings.Fields(c.Stdout.Text); !slices.Equal(got, []string{"refused", "own"}) {
		t.Errorf("got %v %s", got, c.Stderr.Text)
	}
}

// streams: a file that is read cannot be written by way of its descriptor, and
// a directory is no stream.
func streams(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	victim := filepath.Join(b.Home, "victim")
	b.Put(t, victim, "as it was\n")
	none := jail.NetNone
	plan := b.Plan(t, "agent", jail.Options{Net: &none})
	in, err := os.Open(victim)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	p, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"/bin/sh", "-c", "cat; echo changed > /proc/self/fd/0"}, Stdin: in, Stdout: out})
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(bufio.NewReader(from))
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "as it was\n" || string(got) != "as it was\n" {
		t.Errorf("the file holds %q %v, inside was read %q", text, err, got)
	}
	dir, err := os.Open(b.Home)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"/bin/true"}, Stdin: dir}); !errors.Is(err, reeve.ErrUsage) {
		t.Errorf("a directory as standard input: %v", err)
	}
}

func umask(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	none := jail.NetNone
	p, err := wall.Start(t.Context(), b.Permit(), digest, b.Plan(t, "agent", jail.Options{Net: &none}), jail.Cmd{Argv: []string{"/bin/sh", "-c", "umask > mask"}, Umask: 0o013})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(b.Workspace, "mask")); err != nil || strings.TrimSpace(string(text)) != "0013" {
		t.Errorf("umask %q %v", text, err)
	}
}
