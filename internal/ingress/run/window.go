package run

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/jail/pty"
	"github.com/reeve-gate/reeve/internal/localsock"
)

// window is the terminal of a run that is not kept: this daemon joins it to
// the caller's own, in the same frames as a keeper does.
type window struct {
	pair  pty.Pair
	conn  *attach.Conn  // this end
	far   *os.File      // the caller's end
	shown chan struct{} // closed when everything was shown; nil until it runs
}

// lastFrame is how long a caller may take to be told of the end.
const lastFrame = 2 * time.Second

func openWindow(rows, cols uint16) (*window, error) {
	pair, err := pty.Open(pty.Size{Rows: rows, Cols: cols})
	if err != nil {
		return nil, fmt.Errorf("open a terminal for the program: %w", err)
	}
	near, far, err := localsock.Pair()
	if err != nil {
		pair.Close()
		return nil, fmt.Errorf("open a terminal for the program: %w", err)
	}
	return &window{pair: pair, conn: attach.On(near), far: far}, nil
}

// serve shows what the program writes and gives it what is typed, from when it
// runs; gone is called when the caller's terminal goes.
func (w *window) serve(gone func()) {
	w.pair.TTY.Close() // or the end of the program would never reach the master
	w.far.Close()
	w.shown = make(chan struct{})
	go func() {
		defer close(w.shown)
		buf := make([]byte, 32<<10)
		for {
			n, err := w.pair.Master.Read(buf)
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
				_, _ = w.pair.Master.Write(data)
			case attach.Window:
				var s attach.Size
				if attach.Read(data, &s) == nil {
					_ = pty.Resize(w.pair.Master, pty.Size{Rows: s.Rows, Cols: s.Cols})
				}
			}
		}
	}()
}

// end tells the caller how the program ended, after everything it showed.
func (w *window) end(ctx context.Context, code int) {
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

func (w *window) close() {
	w.pair.Close()
	w.conn.Close()
	w.far.Close()
}
