package talk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Times of a conversation over pipes.
const (
	unread    = 20 * time.Second // a client that reads nothing for so long has gone
	drainTime = time.Minute      // for answers, after a client has said all it has to say
)

// deadlined is a stream whose writing can be bounded; files on pipes are.
type deadlined interface{ SetWriteDeadline(time.Time) error }

// Conversation is what [Stdio] serves: a Talk, and what is built on one.
type Conversation interface {
	// Announce says that a request will be handled: what cancels it may come
	// before that has begun.
	Announce(m message.Message)
	Handle(ctx context.Context, m message.Message, out func(message.Message))
	Fault(err error, out func(message.Message))
	Hangup() // the client says no more
	Close()
}

// Stdio serves one client over two streams, one message on a line, until the
// client has said all that it has to say and has its answers, or ctx ends. open
// begins the conversation.
func Stdio(ctx context.Context, in io.Reader, out io.Writer, open func(send func(message.Message)) Conversation) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &lineWriter{out: out, broken: cancel}
	c := open(w.send)
	defer c.Close()
	var work sync.WaitGroup
	lines := message.NewLines(in, message.MaxLine)
	for {
		line, err := lines.Next()
		if errors.Is(err, message.ErrLong) {
			w.send(refused("", message.CodeInvalidRequest, fmt.Sprintf("a message has at most %d bytes", message.MaxLine)))
			continue
		}
		if err != nil {
			break
		}
		m, err := message.Decode(line)
		switch {
		case err != nil:
			c.Fault(err, w.send)
		case m.Kind == message.Request && m.Method != "initialize":
			c.Announce(m)
			work.Go(func() { c.Handle(ctx, m, w.send) })
		default: // in order: what comes after stands on it
			c.Handle(ctx, m, w.send)
		}
		if ctx.Err() != nil {
			break
		}
	}
	c.Hangup()
	answered := make(chan struct{})
	go func() { work.Wait(); close(answered) }()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-answered:
	case <-ctx.Done():
	case <-timer.C:
	}
	c.Close()
	<-answered
	if cause := context.Cause(ctx); errors.Is(cause, errUnread) {
		return cause
	}
	return nil
}

// Hangup ends what would never end by itself, once the client says no more.
func (t *Talk) Hangup() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.quiet = true
	for _, s := range t.subs {
		s.r.cancel(errCancelled)
	}
	for id, ch := range t.asked { // nobody will answer
		delete(t.asked, id)
		ch <- refused("", message.CodeInternal, "the client says no more")
	}
}

var errUnread = fmt.Errorf("the client reads nothing more")

// lineWriter writes messages, each as one line.
type lineWriter struct {
	broken context.CancelCauseFunc

	mu   sync.Mutex // guards what follows
	out  io.Writer
	buf  []byte
	dead bool
}

func (w *lineWriter) send(m message.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return
	}
	w.buf = append(m.Append(w.buf[:0]), '\n')
	if f, ok := w.out.(deadlined); ok {
		_ = f.SetWriteDeadline(time.Now().Add(unread)) // a file that knows none blocks as long as it likes
	}
	if _, err := w.out.Write(w.buf); err != nil {
		w.dead = true
		w.broken(errUnread)
	}
	if cap(w.buf) > 1<<20 {
		w.buf = nil
	}
}

// Pollable is another handle of a stream that a deadline ends. The stream's end
// is this client's alone, so that what is set for it is nobody else's.
func Pollable(f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at a stream: %w", err)
	}
	if info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil, fmt.Errorf("%w: a client is served over pipes", reeve.ErrUsage)
	}
	return localsock.Pollable(f, "stream")
}
