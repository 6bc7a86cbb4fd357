package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/ingress/bell"
)

// relay joins the person's terminal to a session's: keys in, screen out, size
// kept equal. The person's terminal is raw while it lasts, so that ^C and ^Z
// reach the program's terminal, which turns them into signals inside.
type relay struct {
	conn   *attach.Conn
	kept   bool // the detach key means something
	stdin  *os.File
	fd     int        // of stdin, whose size is asked for while keys are read
	screen *bell.Bell // on the person's terminal
	stdout *os.File
	before *term.State
	resize chan os.Signal
	over   chan struct{} // closed when nothing more will be shown

	mu   sync.Mutex
	end  *attach.End // how the program ended; nil: this terminal left, or the session's keeper is gone
	left bool        // by the detach key
	shut bool        // what is typed from now on is for this program

	after chan []byte // what is typed when shut; closed at the end of input
}

func openRelay(stdin, stdout *os.File, conn *attach.Conn, kept bool) *relay {
	r := &relay{conn: conn, kept: kept, stdin: stdin, stdout: stdout, screen: bell.New(stdout, kept), resize: make(chan os.Signal, 1), over: make(chan struct{}), after: make(chan []byte, 16)}
	r.fd = int(stdin.Fd())
	r.before, _ = term.MakeRaw(r.fd) // not raw: keys are echoed twice, nothing worse
	signal.Notify(r.resize, syscall.SIGWINCH)
	go func() {
		r.tellSize()
		for range r.resize {
			r.tellSize()
		}
	}()
	go r.show()
	go r.keys() // ends with the process: a read of a terminal cannot be called off, so that it serves this program later
	return r
}

func (r *relay) tellSize() {
	if cols, rows, err := term.GetSize(r.fd); err == nil {
		_ = r.conn.Tell(attach.Window, attach.Size{Rows: uint16(rows), Cols: uint16(cols)})
	}
}

// show writes what the program shows until it has ended or this terminal has
// left.
func (r *relay) show() {
	defer close(r.over)
	for {
		kind, data, err := r.conn.Receive()
		if err != nil {
			return
		}
		switch kind {
		case attach.Output:
			_, _ = r.screen.Write(data)
		case attach.Ended:
			var end attach.End
			if attach.Read(data, &end) == nil {
				r.mu.Lock()
				r.end = &end
				r.mu.Unlock()
			}
			return
		}
	}
}

// keys gives the program what the person types, but for the detach key.
func (r *relay) keys() {
	defer close(r.after)
	var keys attach.Keys
	buf := make([]byte, 4<<10)
	for {
		awaitInput(r.fd)
		n, err := r.stdin.Read(buf)
		if n > 0 && r.isShut() {
			select {
			case r.after <- slices.Clone(buf[:n]):
			default: // nobody has asked
			}
		} else if n > 0 {
			typed, leave := buf[:n], false
			if r.kept {
				typed, leave = keys.Typed(typed)
			}
			if len(typed) > 0 && r.conn.Send(attach.Input, typed) != nil {
				continue // it has ended
			}
			if leave {
				r.mu.Lock()
				r.left = true
				r.mu.Unlock()
				_ = r.conn.Send(attach.Leave, nil)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// awaitInput returns when something was typed: a read that began while the
// terminal was raw would not see the end of input when it is not (n_tty(4)).
func awaitInput(fd int) {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return // a system that cannot tell lets the read wait
		}
	}
}

func (r *relay) isShut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shut
}

// stop asks for the end of the program; what it still shows is shown.
func (r *relay) stop() { _ = r.conn.Send(attach.Stop, nil) }

// close gives the person's terminal back and says how it came to that: end is
// how the program ended, nil where it may go on; left says that the person
// typed the detach key.
func (r *relay) close() (end *attach.End, left bool) {
	signal.Stop(r.resize)
	close(r.resize)
	r.conn.Close()
	<-r.over
	r.screen.Close()
	_, _ = io.WriteString(r.stdout, attach.Plain)
	if r.before != nil {
		_ = term.Restore(int(r.stdin.Fd()), r.before)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = true
	return r.end, r.left
}
