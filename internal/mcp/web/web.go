package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// Options say how a server is reached.
type Options struct {
	URL     *url.URL // by [Address]
	Headers map[string]string
	Guard   *netguard.Guard // dials; required
	Max     int             // bytes of one message; 0 = message.MaxLine
	TLS     *tls.Config     // for tests; nil = the system's
}

// Times of one connection.
const (
	noteTime   = 10 * time.Second // for a message without an answer
	byeTime    = 2 * time.Second  // to end a session
	maxResumes = 5                // of one stream in a row that brought nothing
	retryFirst = time.Second
	maxRefusal = 64 << 10 // bytes read of an answer that is an error
	maxStreams = 512      // open at once
)

// link is one connection: a client of its own, so that nothing is shared with
// another server's.
type link struct {
	opt    Options
	sink   upstream.Sink
	client *http.Client
	life   context.Context
	die    context.CancelCauseFunc
	work   sync.WaitGroup
	done   chan struct{}
	stop   sync.Once

	mu      sync.Mutex // guards what follows
	version string     // agreed on; empty before
	session string     // of a legacy server
	live    map[string]context.CancelFunc
	over    bool // no work is begun any more
}

var _ upstream.Transport = (*link)(nil)

// Dialer opens connections. Opening one sends nothing yet.
func Dialer(o Options) upstream.Dialer {
	if o.Max <= 0 {
		o.Max = message.MaxLine
	}
	return func(_ context.Context, sink upstream.Sink) (upstream.Transport, error) {
		l := &link{opt: o, sink: sink, done: make(chan struct{}), live: map[string]context.CancelFunc{}}
		l.life, l.die = context.WithCancelCause(context.Background())
		l.client = &http.Client{
			Transport: &http.Transport{
				DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
					t, err := target(addr, o.URL.Scheme)
					if err != nil {
						return nil, err
					}
					c, err := o.Guard.Dial(ctx, t)
					if err != nil {
						return nil, err
					}
					return c, nil
				},
				TLSClientConfig:        o.TLS,
				TLSHandshakeTimeout:    10 * time.Second,
				MaxResponseHeaderBytes: 64 << 10,
				DisableCompression:     true,
				MaxConnsPerHost:        maxStreams,
				IdleConnTimeout:        time.Minute,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		context.AfterFunc(l.life, l.ended)
		return l, nil
	}
}

// ended waits for everything that was under way.
func (l *link) ended() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.work.Wait()
	l.client.CloseIdleConnections()
	close(l.done)
}

// Speak implements [upstream.Transport].
func (l *link) Speak(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = version
}

// Done and Err implement [upstream.Transport].
func (l *link) Done() <-chan struct{} { return l.done }

func (l *link) Err() error {
	if err := context.Cause(l.life); err != nil {
		return err
	}
	return upstream.ErrClosed
}

// Stop implements [upstream.Transport]. A session is ended at the server.
func (l *link) Stop() {
	l.stop.Do(func() {
		l.mu.Lock()
		session := l.session
		l.mu.Unlock()
		if session != "" && l.life.Err() == nil {
			ctx, cancel := context.WithTimeout(l.life, byeTime)
			if resp, err := l.do(ctx, http.MethodDelete, nil, upstream.Outgoing{}, ""); err == nil {
				resp.Body.Close()
			}
			cancel()
		}
		l.die(upstream.ErrClosed)
	})
	<-l.done
}

// begin counts one piece of work, unless the connection has ended.
func (l *link) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.life.Err() != nil {
		return false
	}
	l.work.Add(1)
	return true
}

// Send implements [upstream.Transport]. A request is answered through the
// sink; what has no answer is sent before Send returns.
func (l *link) Send(ctx context.Context, out upstream.Outgoing) error {
	if !l.begin() {
		return l.Err()
	}
	body := out.Append(nil)
	if out.Kind == message.Request {
		ctx, cancel := context.WithCancel(l.life)
		l.mu.Lock()
		l.live[out.ID.Key()] = cancel
		l.mu.Unlock()
		go func() {
			defer l.work.Done()
			defer cancel()
			l.request(ctx, body, out)
			l.mu.Lock()
			delete(l.live, out.ID.Key())
			l.mu.Unlock()
		}()
		return nil
	}
	defer l.work.Done()
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	resp, err := l.do(ctx, http.MethodPost, body, out, "")
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return l.refused(resp)
	}
	if out.Method == "notifications/initialized" && l.begin() {
		go func() {
			defer l.work.Done()
			l.own()
		}()
	}
	return nil
}

// Cancel implements [upstream.Transport]: a modern server learns it from the
// end of the stream, a legacy one from a notification.
func (l *link) Cancel(id message.ID, reason string) {
	l.mu.Lock()
	cancel, legacy := l.live[id.Key()], l.version != "" && l.version != message.Modern
	l.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	if !legacy {
		return
	}
	go func() {
		m := message.Message{Kind: message.Notification, Method: "notifications/cancelled", Params: upstream.Cancelled(id, reason)}
		_ = l.Send(context.Background(), upstream.Outgoing{Message: m}) // nobody waits for it
	}()
}

// do makes one HTTP request.
func (l *link) do(ctx context.Context, method string, body []byte, out upstream.Outgoing, last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.opt.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range l.opt.Headers {
		req.Header.Set(name, value)
	}
	l.mu.Lock()
	version, session := l.version, l.session
	l.mu.Unlock()
	if version == "" && out.Method != "initialize" {
		version = message.Modern
	}
	if version != "" {
		req.Header.Set("MCP-Protocol-Version", version)
	}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	switch method {
	case http.MethodPost:
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		req.Header.Set("Accept", "text/event-stream")
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
	}
	if version == message.Modern && out.Kind == message.Request {
		req.Header.Set("Mcp-Method", out.Method)
		if out.Name != "" {
			req.Header.Set("Mcp-Name", headerValue(out.Name))
		}
		for _, h := range out.Headers {
			req.Header.Set("Mcp-Param-"+h.Name, headerValue(h.Value))
		}
	}
	resp, err := l.client.Do(req)
	var refused *netguard.Refused
	switch {
	case err == nil:
		return resp, nil
	case errors.As(err, &refused):
		return nil, refused
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	var wrapped *url.Error // its text would repeat the address
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return nil, fmt.Errorf("reach %s: %w", l.opt.URL.Host, err)
}

// request makes one request and gives what comes of it to the sink.
func (l *link) request(ctx context.Context, body []byte, out upstream.Outgoing) {
	resp, err := l.do(ctx, http.MethodPost, body, out, "")
	if err != nil {
		l.sink.Fail(out.ID, err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		l.failed(resp, out)
		return
	}
	if out.Method == "initialize" {
		if s := resp.Header.Get("Mcp-Session-Id"); visible(s) {
			l.mu.Lock()
			l.session = s
			l.mu.Unlock()
		}
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		l.single(resp.Body, out.ID)
	case "text/event-stream":
		l.stream(ctx, resp.Body, out.ID)
	default:
		l.sink.Fail(out.ID, &upstream.Foreign{Why: fmt.Sprintf("it answered with %q, neither JSON nor a stream of events", kind)})
	}
}

// single takes an answer that is one JSON object.
func (l *link) single(r io.Reader, id message.ID) {
	b, err := io.ReadAll(io.LimitReader(r, int64(l.opt.Max)+1))
	switch {
	case err != nil:
		l.sink.Fail(id, fmt.Errorf("read its answer: %w", err))
	case len(b) > l.opt.Max:
		l.sink.Fail(id, upstream.ErrLong)
	default:
		m, err := message.Decode(bytes.TrimSpace(b))
		if err != nil || m.Kind != message.Response {
			l.sink.Fail(id, &upstream.Foreign{Why: "its answer is no message of the protocol"})
			return
		}
		l.sink.Receive(m, id)
		l.sink.Fail(id, &upstream.Foreign{Why: "it answered another question"}) // where it did not end it
	}
}

// stream takes the events of one answer, and takes a legacy server's stream up
// again where it broke and may be.
func (l *link) stream(ctx context.Context, r io.Reader, id message.ID) {
	ev := newEvents(r, l.opt.Max)
	var next io.ReadCloser // what the stream was taken up on
	defer func() {
		if next != nil {
			next.Close()
		}
	}()
	for resumes := 0; ; resumes++ {
		got, err := l.read(ev, id)
		switch {
		case err == nil: // the answer came
			return
		case errors.Is(err, errLongEvent):
			l.sink.Fail(id, upstream.ErrLong)
			return
		case got:
			resumes = 0
		}
		l.mu.Lock()
		legacy := l.version != message.Modern && l.version != ""
		l.mu.Unlock()
		if ctx.Err() != nil || !legacy || ev.last == "" || resumes >= maxResumes {
			l.sink.Fail(id, fmt.Errorf("its stream ended before its answer: %w", err))
			return
		}
		if next != nil {
			next.Close()
		}
		if next, err = l.resume(ctx, ev); err != nil {
			l.sink.Fail(id, err)
			return
		}
		ev.r.Reset(next)
	}
}

// read gives the messages of a stream to the sink until it ends. nil means
// that the answer to id was among them.
func (l *link) read(ev *events, id message.ID) (got bool, err error) {
	for {
		e, err := ev.next()
		if err != nil {
			return got, err
		}
		if e.name != "" && e.name != "message" || len(bytes.TrimSpace(e.data)) == 0 {
			continue
		}
		m, err := message.Decode(bytes.TrimSpace(e.data))
		if err != nil {
			l.sink.Odd(upstream.Noise)
			continue
		}
		got = true
		l.sink.Receive(m, id)
		if id != "" && m.Kind == message.Response && m.ID.Key() == id.Key() {
			return got, nil
		}
	}
}

// resume asks for the rest of a stream, after the time that the server wants.
func (l *link) resume(ctx context.Context, ev *events) (io.ReadCloser, error) {
	if err := l.pause(ctx, ev.retry); err != nil {
		return nil, err
	}
	resp, _, err := l.get(ctx, ev.last)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func (l *link) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		d = retryFirst
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// get opens a stream of a legacy server: its own, or the rest of a broken one.
// answered says that the server was reached, also where it offers none.
func (l *link) get(ctx context.Context, last string) (resp *http.Response, answered bool, err error) {
	if resp, err = l.do(ctx, http.MethodGet, nil, upstream.Outgoing{}, last); err != nil {
		return nil, false, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return resp, true, nil
	}
	defer resp.Body.Close()
	return nil, true, l.refused(resp)
}

// own keeps the stream open on which a legacy server sends what belongs to no
// call, where it has one. It ends with the connection.
func (l *link) own() {
	wait, last := retryFirst, ""
	for {
		resp, answered, err := l.get(l.life, last)
		if answered && err != nil {
			return // it has none, which is its right
		}
		if err == nil {
			ev := newEvents(resp.Body, l.opt.Max)
			ev.last = last
			got, rerr := l.read(ev, "")
			resp.Body.Close()
			if errors.Is(rerr, errLongEvent) {
				l.sink.Odd(upstream.Long)
			}
			if last = ev.last; got {
				wait = retryFirst
			}
			wait = max(wait, ev.retry)
		}
		if l.pause(l.life, wait) != nil {
			return
		}
		wait = min(2*wait, maxRetry)
	}
}

// failed gives the sink what a request came to that was not answered with 200.
func (l *link) failed(resp *http.Response, out upstream.Outgoing) {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if m, err := message.Decode(bytes.TrimSpace(b)); err == nil && m.Kind == message.Response && m.Error != nil {
		m.ID = out.ID // an error about a message whose id it did not read is about this one
		l.sink.Receive(m, out.ID)
	} else {
		l.sink.Fail(out.ID, l.refused(resp))
	}
	l.lost(resp)
}

// lost: a legacy server that does not know its session any more has ended it.
func (l *link) lost(resp *http.Response) {
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	if session != "" && resp.StatusCode == http.StatusNotFound {
		l.die(errors.New("it has forgotten its session"))
	}
}

// refused says in words what a status means.
func (l *link) refused(resp *http.Response) error {
	l.lost(resp)
	switch {
	case resp.StatusCode/100 == 3:
		return fmt.Errorf("it points to another address (%q); write that one into the settings if you mean it", resp.Header.Get("Location"))
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("it answered %s: give it a token in a header; signing in with OAuth is not supported yet", resp.Status)
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
		return fmt.Errorf("it answered %s; try again later", resp.Status)
	}
	return &upstream.Foreign{Why: "it answered " + resp.Status}
}
