package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// relay joins the person's terminal to the program's own: keys in, screen out,
// size kept equal. The person's terminal is raw while it lasts, so that ^C and
// ^Z reach the program's terminal, which turns them into signals inside.
type relay struct {
	master *os.File
	stdin  *os.File
	stdout *os.File
	before *term.State
	resize chan os.Signal
	drawn  chan struct{} // closed when the program's terminal has nothing more to show
}

func openRelay(stdin, stdout, master *os.File) *relay {
	r := &relay{master: master, stdin: stdin, stdout: stdout, resize: make(chan os.Signal, 1), drawn: make(chan struct{})}
	r.before, _ = term.MakeRaw(int(stdin.Fd())) // not raw: keys are echoed twice, nothing worse
	signal.Notify(r.resize, syscall.SIGWINCH)
	go func() {
		for range r.resize {
			_ = pty.InheritSize(stdin, master)
		}
	}()
	go func() {
		defer close(r.drawn)
		_, _ = io.Copy(stdout, master) // ends with EIO when the last process has closed its side
	}()
	go func() { _, _ = io.Copy(master, stdin) }() // ends with the process: a read of a terminal cannot be called off
	return r
}

// plain gives a terminal back its ordinary screen, writing and mouse, without
// moving the cursor: a program can leave it so that nothing said afterwards is
// seen, or reads as something else.
const plain = "\x1b[?1047l\x1b[!p\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l"

// close shows what is left and gives the person's terminal back.
func (r *relay) close() {
	<-r.drawn
	_, _ = io.WriteString(r.stdout, plain)
	signal.Stop(r.resize)
	close(r.resize)
	r.master.Close()
	if r.before != nil {
		_ = term.Restore(int(r.stdin.Fd()), r.before)
	}
}
