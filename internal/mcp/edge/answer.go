package edge

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// answer is the way back of one HTTP request: one JSON object where the answer
// is all there is to say, else a stream of events that ends with it.
type answer struct {
	w      http.ResponseWriter
	modern bool
	unread time.Duration // how long a client may leave what it is sent

	mu     sync.Mutex // guards what follows
	stream bool
	over   bool
	err    error
}

// send writes one message.
func (a *answer) send(m message.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.err != nil {
		return
	}
	body := m.Append(nil)
	if m.Kind == message.Response && !a.stream {
		a.over = true
		a.w.Header().Set("Content-Type", "application/json")
		a.w.WriteHeader(a.status(m))
		a.soon()
		_, a.err = a.w.Write(body)
		return
	}
	a.open()
	a.write(append(append([]byte("data: "), body...), '\n', '\n'))
	a.over = m.Kind == message.Response
}

// status is the modern era's for an error (MCP 2026-07-28, streamable HTTP); in
// the legacy era an error is an answer like any other.
func (a *answer) status(m message.Message) int {
	if m.Error == nil || !a.modern {
		return http.StatusOK
	}
	switch m.Error.Code {
	case message.CodeMethodNotFound:
		return http.StatusNotFound
	case message.CodeHeaderMismatch, message.CodeMissingCapability, message.CodeUnsupportedVersion, message.CodeInvalidRequest, message.CodeParse:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// open begins the stream. It is called under mu.
func (a *answer) open() {
	if a.stream {
		return
	}
	a.stream = true
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-store")
	a.w.Header().Set("X-Accel-Buffering", "no")
	a.w.WriteHeader(http.StatusOK)
}

// write is called under mu.
func (a *answer) write(b []byte) {
	a.soon()
	if _, a.err = a.w.Write(b); a.err == nil {
		a.err = http.NewResponseController(a.w).Flush()
	}
}

// soon bounds the next write: who reads nothing holds up the server that tells
// it, and with it every other client of that server. A way without deadlines blocks as long as it likes.
func (a *answer) soon() {
	_ = http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(a.unread))
}

// begin opens the stream before there is anything to say.
func (a *answer) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open()
	a.err = http.NewResponseController(a.w).Flush()
}

// comment keeps a stream alive that says nothing.
func (a *answer) comment() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream && !a.over && a.err == nil {
		a.write([]byte(":\n\n"))
	}
}

func (a *answer) broken() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil
}

// beat keeps a stream alive until stop is called.
func (a *answer) beat(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(keepAlive)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				a.comment()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// close answers a request that got no answer, because it was cancelled. Nothing
// is written after it, since the handler returns then.
func (a *answer) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stream && !a.over && a.err == nil {
		a.w.WriteHeader(http.StatusNoContent)
	}
	a.over = true
}
