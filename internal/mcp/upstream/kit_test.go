package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcptest"
)

// memory is a transport to a server in this process, for tests in which time
// is not the world's.
type memory struct {
	mode  string
	in    *io.PipeWriter
	out   *io.PipeReader
	mu    sync.Mutex
	sends []message.Message
	done  chan struct{}
	err   error
}

func (t *memory) Send(_ context.Context, out Outgoing) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sends = append(t.sends, out.Message)
	if _, err := t.in.Write(append(out.Append(nil), '\n')); err != nil {
		return errors.New("it has ended")
	}
	return nil
}

func (t *memory) Cancel(id message.ID, reason string) {
	go t.Send(context.Background(), Outgoing{Message: message.Message{Kind: message.Notification, Method: "notifications/cancelled", Params: Cancelled(id, reason)}})
}
func (t *memory) Speak(string)          {}
func (t *memory) Stop()                 { t.in.Close(); t.out.Close(); <-t.done }
func (t *memory) Done() <-chan struct{} { return t.done }
func (t *memory) Err() error            { return t.err }

// methods is what the server was sent, in order.
func (t *memory) methods() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for _, m := range t.sends {
		all = append(all, m.Method)
	}
	return strings.Join(all, " ")
}

// starts is a dialer that starts a server of each mode in turn, and what it
// started.
type starts struct {
	modes []string
	mu    sync.Mutex
	made  []*memory
}

func (s *starts) dial(_ context.Context, sink Sink) (Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mode := s.modes[min(len(s.made), len(s.modes)-1)]
	if mode == "refused" {
		return nil, errors.New("no such program")
	}
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	t := &memory{mode: mode, in: in, out: out, done: make(chan struct{})}
	s.made = append(s.made, t)
	exited := make(chan int, 1)
	go func() {
		code := mcptest.Serve(mode, theirIn, theirOut, io.Discard)
		theirIn.Close()
		theirOut.Close()
		exited <- code
	}()
	go func() {
		lines := message.NewLines(out, 1<<20)
		for {
			line, err := lines.Next()
			if errors.Is(err, message.ErrLong) {
				sink.Odd(Long)
				continue
			}
			if err != nil {
				break
			}
			if m, err := message.Decode(line); err == nil {
				sink.Receive(m, "")
			} else {
				sink.Odd(Noise)
			}
		}
		in.Close()
		t.err = fmt.Errorf("its program exited with %d", <-exited)
		close(t.done)
	}()
	return t, nil
}

func (s *starts) last() *memory { return s.made[len(s.made)-1] }

// open connects to a server in this process.
func open(t *testing.T, o Options, modes ...string) (*Conn, *starts) {
	t.Helper()
	s := &starts{modes: modes}
	o.Name, o.Dial = "t", s.dial
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open %v: %v", modes, err)
	}
	return c, s
}

// tool is a call of one of the servers' tools.
func tool(name, args string) Request {
	return Request{Method: "tools/call", Params: message.Object{message.OwnText("name", name), message.Own("arguments", []byte(args))}, Name: name}
}

// said is the text of a result.
func said(t *testing.T, result []byte, err error) string {
	t.Helper()
	if err != nil {
		return "error: " + err.Error()
	}
	o, err := message.Members(result)
	if err != nil {
		t.Fatalf("result %s: %v", result, err)
	}
	content, err := message.Elements(o.Get("content"))
	if err != nil || len(content) == 0 {
		t.Fatalf("result %s has no content: %v", result, err)
	}
	one, err := message.Members(content[0])
	if err != nil {
		t.Fatalf("content %s: %v", content[0], err)
	}
	return one.Text("text")
}
