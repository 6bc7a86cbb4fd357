// Package window is the terminal of a run that is not kept: the daemon itself
// joins the program's to the caller's own.
package window

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/jail/pty"
	"github.com/reeve-gate/reeve/internal/localsock"
)

// Window joins a program's terminal to the caller's own, in the same frames as
// a keeper does.
type Window struct {
	Pair  pty.Pair
	Far   *os.File      // the caller's end
	conn  *attach.Conn  // this end
	shown chan struct{} // closed when everything was shown; nil until it runs
}

// lastFrame is how long a caller may take to be told of the end.
const lastFrame = 2 * time.Second

// Open makes one.
func Open(rows, cols uint16) (*Window, error) {
	pair, err := pty.Open(pty.Size{Rows: rows, Cols: cols})
	if err != nil {
		return nil, fmt.Errorf("open a terminal for the program: %w", err)
	}
	near, far, err := localsock.Pair()
	if err != nil {
		pair.Close()
		return nil, fmt.Errorf("open a terminal for the program: %w", err)
	}
	return &Window{Pair: pair, conn: attach.On(near), Far: far}, nil
}

// Serve shows what the program writes and gives it what is typed, from when it
// runs; gone is called when the caller's terminal goes.
func (w *Window) Serve(gone func()) {
	w.Pair.TTY.Close() // or the end of the program would never reach the master
	w.Far.Close()
	w.shown = make(chan struct{})
	go func() {
		defer close(w.shown)
		buf := make([]byte, 32<<10)
		for {
			n, err := w.Pair.Master.Read(buf)
			if n > 0 && w.conn.Send(attach.Output, buf[:n]) != nil {
				gone()
				return
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer gone()
		for {
			kind, data, err := w.conn.Receive()
			if err != nil || kind == attach.Leave || kind == attach.Stop {
				return
			}
			switch kind {
			case attach.Input:
				_, _ = w.Pair.Master.Write(data)
			case attach.Window:
				var s attach.Size
				if attach.Read(data, &s) == nil {
					_ = pty.Resize(w.Pair.Master, pty.Size{Rows: s.Rows, Cols: s.Cols})
				}
			}
		}
	}()
}

// End tells the caller how the program ended, after everything it showed.
func (w *Window) End(ctx context.Context, code int) {
	if w.shown == nil {
		return // it never ran
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFrame)
	defer cancel()
	select {
	case <-w.shown:
	case <-late.Done():
	}
	w.conn.SetWriteDeadline(time.Now().Add(lastFrame))
	_ = w.conn.Tell(attach.Ended, attach.End{Code: code, At: time.Now().UTC()})
}

// Close closes what is left of it.
func (w *Window) Close() {
	w.Pair.Close()
	w.conn.Close()
	w.Far.Close()
}
