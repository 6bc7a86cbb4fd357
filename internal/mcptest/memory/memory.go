// Package memory is a transport to a server of package mcptest that runs in
// the test's own process.
package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// Starts starts servers, one of each mode in turn and then of the last again.
type Starts struct {
	Serve func(mode string, in io.Reader, out, errs io.Writer) int // mcptest.Serve
	Modes []string

	mu   sync.Mutex
	made []*transport
}

// Count is how many were started.
func (s *Starts) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.made)
}

// Methods is what the last one was sent, in order, with blanks between.
func (s *Starts) Methods() string {
	s.mu.Lock()
	t := s.made[len(s.made)-1]
	s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.sent, " ")
}

// Dial is an [upstream.Dialer].
func (s *Starts) Dial(_ context.Context, sink upstream.Sink) (upstream.Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mode := s.Modes[min(len(s.made), len(s.Modes)-1)]
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	t := &transport{in: in, out: out, done: make(chan struct{})}
	s.made = append(s.made, t)
	exited := make(chan int, 1)
	go func() {
		code := s.Serve(mode, theirIn, theirOut, io.Discard)
		theirIn.Close()
		theirOut.Close()
		exited <- code
	}()
	go t.read(sink, exited)
	return t, nil
}

type transport struct {
	in   *io.PipeWriter
	out  *io.PipeReader
	done chan struct{}
	err  error

	mu   sync.Mutex
	sent []string
}

var _ upstream.Transport = (*transport)(nil)

func (t *transport) read(sink upstream.Sink, exited <-chan int) {
	lines := message.NewLines(t.out, 0)
	for {
		line, err := lines.Next()
		if errors.Is(err, message.ErrLong) {
			sink.Odd(upstream.Long)
			continue
		}
		if err != nil {
			break
		}
		if m, err := message.Decode(line); err == nil {
			sink.Receive(m, "")
		} else {
			sink.Odd(upstream.Noise)
		}
	}
	t.in.Close()
	t.err = fmt.Errorf("its program exited with %d", <-exited)
	close(t.done)
}

func (t *transport) Send(_ context.Context, out upstream.Outgoing) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, out.Method)
	if _, err := t.in.Write(append(out.Append(nil), '\n')); err != nil {
		return errors.New("it has ended")
	}
	return nil
}

func (t *transport) Cancel(id message.ID, reason string) {
	m := message.Message{Kind: message.Notification, Method: "notifications/cancelled", Params: upstream.Cancelled(id, reason)}
	go t.Send(context.Background(), upstream.Outgoing{Message: m})
}

func (t *transport) Speak(string)          {}
func (t *transport) Stop()                 { t.in.Close(); t.out.Close(); <-t.done }
func (t *transport) Done() <-chan struct{} { return t.done }
func (t *transport) Err() error            { return t.err }
