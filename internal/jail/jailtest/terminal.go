//go:build linux

package jailtest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/pty"
)

// screen collects what a program shows and waits for words in it.
type screen struct {
	mu   sync.Mutex // guards buf and more
	buf  bytes.Buffer
	more chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Write(p)
	close(s.more)
	s.more = make(chan struct{})
	return len(p), nil
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// await waits for a word after the given place and returns the place behind it.
func (s *screen) await(t *testing.T, from int, word string) int {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		text, more := s.buf.String(), s.more
		s.mu.Unlock()
		if i := strings.Index(text[from:], word); i >= 0 {
			return from + i + len(word)
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("no %q in %q", word, text[from:])
		}
	}
}

// Terminal tries that a contained shell has a terminal of its own: job
// control works in it and keys reach it, not the wall.
func Terminal(t *testing.T, wall jail.Wall) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	b := NewBench(t, wall)
	pair, err := pty.Open(pty.Size{Rows: 33, Cols: 77})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	p, err := wall.Start(t.Context(), b.Permit(), digest, b.Plan(t, "agent", jail.Options{Set: []string{"PS1=> ", "TERM=dumb"}}),
		jail.Cmd{Argv: []string{"bash", "--norc", "--noprofile", "-i"}, TTY: pair.TTY})
	if err != nil {
		t.Fatal(err)
	}
	pair.TTY.Close()
	show := &screen{more: make(chan struct{})}
	keys, typed := io.Pipe()
	relayed := make(chan error)
	go func() { relayed <- pty.Relay(pair.Master, keys, show) }()
	at := 0
	say := func(text, want string) {
		t.Helper()
		if _, err := io.WriteString(typed, text); err != nil {
			t.Fatal(err)
		}
		at = show.await(t, at, want)
	}
	at = show.await(t, at, "> ")
	say("stty size; echo up-$((40+2))\n", "up-42")
	if head := show.text(); !strings.Contains(head, "33 77") || strings.Contains(head, "no job control") {
		t.Errorf("the terminal says %q", head)
	}
	say("sleep 1000\n", "sleep 1000")
	front(t, pair.Master, "sleep")
	say("\x1a", "Stopped")
	say("fg\n", "sleep 1000")
	front(t, pair.Master, "sleep")
	say("\x03echo after-$((1+1))\n", "after-2")
	if err := pty.Resize(pair.Master, pty.Size{Rows: 11, Cols: 22}); err != nil {
		t.Fatal(err)
	}
	say("stty size\n", "11 22")
	say("python3 -c 'import os; print(\"tty\", os.isatty(0), os.getsid(0) == os.getppid())' || echo tty True True\n", "tty True True")
	say("exit 6\n", "exit")
	exit, err := p.Wait()
	if err != nil || exit.Code != 6 {
		t.Errorf("end: %+v %v, want code 6", exit, err)
	}
	if err := <-relayed; err != nil {
		t.Error(err)
	}
	typed.Close()
}

// front waits until a program of the given name is in front of a terminal:
// keys pressed now go to it. Earlier they may meet the shell's own child,
// which still ignores them.
func front(t *testing.T, master *os.File, name string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		group, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPGRP)
		if err != nil {
			continue
		}
		if comm, err := os.ReadFile("/proc/" + itoa(group) + "/comm"); err == nil && strings.TrimSpace(string(comm)) == name {
			return
		}
	}
	t.Fatalf("%s did not come to the front of the terminal", name)
}
