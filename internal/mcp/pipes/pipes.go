// Package pipes is the transport of an MCP server that is a program: messages
// stand one on a line, on its standard input and output (MCP 2025-11-25 and
// 2026-07-28, stdio). What it prints on standard error, and what it prints on
// standard output that is no message, goes into a [Journal] and never into the
// conversation.
//
// The program's tree is somebody else's to start, inside a boundary; from then
// on it belongs to the transport, which ends it: its input is closed, then it
// is told to end, then all of it is killed (contract A33).
package pipes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// Process is a running program; every [jail.Process] is one.
type Process interface {
	Wait() (jail.Exit, error)
	Stop(grace time.Duration)
}

// Program is a started one: our ends of its streams, and its tree.
type Program struct {
	Stdin, Stdout, Stderr *os.File
	Process               Process
}

// How a program is ended: its input is closed, and it has time to end by
// itself; then SIGTERM, and time again; then its whole tree is killed (MCP
// 2026-07-28, stdio, shutdown).
const (
	closeGrace = 2 * time.Second
	termGrace  = 2 * time.Second
	stallLimit = 10 * time.Second // a server that reads nothing for so long is stuck
	drainTime  = 500 * time.Millisecond
	maxCancels = 64 // notices that may wait to be written
)

// Options bound a program's streams.
type Options struct {
	MaxLine int      // bytes of one message; 0 = message.MaxLine
	Journal *Journal // gets what it prints on standard error; nil = dropped
}

// pipe is the transport.
type pipe struct {
	p    Program
	sink upstream.Sink
	opt  Options

	turn chan struct{} // holds one token: who has it writes
	buf  []byte        // of who has the token

	cancels atomic.Int32 // notices that wait to be written
	stop    sync.Once
	ends    sync.WaitGroup // the readers
	done    chan struct{}

	mu  sync.Mutex
	err error
}

var _ upstream.Transport = (*pipe)(nil)

// New is the transport of a started program, which it owns from then on.
func New(p Program, sink upstream.Sink, o Options) upstream.Transport {
	t := &pipe{p: p, sink: sink, opt: o, turn: make(chan struct{}, 1), done: make(chan struct{})}
	t.turn <- struct{}{}
	t.ends.Go(t.read)
	t.ends.Go(t.drain)
	go t.reap()
	return t
}

// read takes messages until the stream ends. A server that closes its output
// ends the connection, as one does that exits.
func (t *pipe) read() {
	lines := message.NewLines(t.p.Stdout, t.opt.MaxLine)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, message.ErrLong):
			t.sink.Odd(upstream.Long)
			continue
		case err != nil:
			go t.Stop()
			return
		}
		m, err := message.Decode(line)
		if err != nil {
			t.sink.Odd(upstream.Noise)
			t.opt.Journal.Stray(line)
			var f *message.Fault
			if errors.As(err, &f) && f.Answer && f.ID != "" {
				t.sink.Fail(f.ID, fmt.Errorf("its answer cannot be taken: %w", f))
			}
			continue
		}
		t.sink.Receive(m, "")
	}
}

func (t *pipe) drain() { t.opt.Journal.Drain(t.p.Stderr) }

// reap waits for the end of the tree, and then for the readers, which end with
// the pipes. A pipe that something outside the tree holds open is not waited
// for.
func (t *pipe) reap() {
	exit, err := t.p.Process.Wait()
	why := fmt.Errorf("its program exited with %d", exit.Code)
	if err != nil {
		why = err
	}
	soon := time.Now().Add(drainTime)
	t.p.Stdout.SetReadDeadline(soon)
	t.p.Stderr.SetReadDeadline(soon)
	t.ends.Wait()
	t.p.Stdin.Close()
	t.p.Stdout.Close()
	t.p.Stderr.Close()
	if last := t.opt.Journal.Last(); last != "" {
		why = fmt.Errorf("%w; its last words: %s", why, last)
	}
	t.mu.Lock()
	t.err = why
	t.mu.Unlock()
	close(t.done)
}

// Send writes one message as one line. A line that was begun is finished or
// ends the connection: half a message would be the end of every other.
func (t *pipe) Send(ctx context.Context, out upstream.Outgoing) error {
	select {
	case <-t.turn:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.done:
		return t.Err()
	}
	defer func() { t.turn <- struct{}{} }()
	t.buf = append(out.Append(t.buf[:0]), '\n')
	line := t.buf
	if cap(t.buf) > 1<<20 {
		t.buf = nil
	}
	t.p.Stdin.SetWriteDeadline(time.Now().Add(stallLimit))
	_, err := t.p.Stdin.Write(line)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		go t.Stop()
		return fmt.Errorf("it read nothing for %s and is stopped", stallLimit)
	}
	// The pipe is closed: it has ended, or is about to, and why says more.
	select {
	case <-t.done:
		return t.Err()
	case <-time.After(closeGrace):
		go t.Stop()
		return fmt.Errorf("it takes no more messages: %w", err)
	}
}

// Cancel implements [upstream.Transport].
func (t *pipe) Cancel(id message.ID, reason string) {
	if t.cancels.Add(1) > maxCancels { // it reads nothing, and so not these either
		t.cancels.Add(-1)
		return
	}
	go func() {
		defer t.cancels.Add(-1)
		ctx, cancel := context.WithTimeout(context.Background(), stallLimit)
		defer cancel()
		m := message.Message{Kind: message.Notification, Method: "notifications/cancelled", Params: upstream.Cancelled(id, reason)}
		_ = t.Send(ctx, upstream.Outgoing{Message: m}) // one that has ended needs no telling
	}()
}

// Speak implements [upstream.Transport]: the pipes know no version.
func (t *pipe) Speak(string) {}

// Done and Err implement [upstream.Transport].
func (t *pipe) Done() <-chan struct{} { return t.done }

func (t *pipe) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		return upstream.ErrClosed
	}
	return t.err
}

// Stop implements [upstream.Transport].
func (t *pipe) Stop() {
	t.stop.Do(func() {
		t.p.Stdin.Close()
		timer := time.NewTimer(closeGrace)
		defer timer.Stop()
		select {
		case <-t.done:
			return
		case <-timer.C:
		}
		t.p.Process.Stop(termGrace)
	})
	<-t.done
}
