// Package talk is the conversation with one client of the Model Context
// Protocol, of either era: its handshake or its versions, its requests, each
// with one answer, what it cancels, what it is asked, and what it listens to.
//
// What the requests mean is somebody else's: [Options.Handlers]. A method for
// which the table of package methods has no place is refused by its name, and
// an id that is in use is refused; what is no message is answered as the
// protocol says, and the conversation goes on.
package talk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/methods"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// Options are what a conversation stands on; every field is required.
type Options struct {
	Version      string                    // of this program
	Instructions string                    // for the client's model
	Handlers     map[string]func(*Request) // of the methods that are not answered here
	Named        func(name string)         // what the client calls itself, when it says so
	Level        func(level string)        // a legacy client wants log messages from this level on
	Watch        func(uris []string) error // the resources that the client watches now
}

// do finds the way of a request.
func (o *Options) do(t *Talk, r *Request) {
	switch r.Method {
	case "initialize":
		t.initialize(r)
	case "server/discover":
		t.discover(r)
	case "ping":
		r.Result([]byte("{}"))
	case "logging/setLevel":
		t.setLevel(r)
	case "subscriptions/listen":
		t.listen(r)
	case "resources/subscribe", "resources/unsubscribe":
		t.watchOne(r)
	default:
		h := o.Handlers[r.Method]
		if h == nil {
			r.Fail(message.CodeMethodNotFound, "it is not offered here")
			return
		}
		h(r)
	}
}

// Bounds of one conversation.
const (
	maxLive  = 256 // requests that are being answered
	maxAsked = 64  // questions to the client
)

// Talk is one conversation. It is safe for concurrent use.
type Talk struct {
	opt  Options
	send func(message.Message) // what belongs to no request
	life context.Context
	die  context.CancelFunc

	alone atomic.Int64 // requests with a way of their own

	mu     sync.Mutex // guards what follows
	legacy *hello     // of a client that has shaken hands
	live   map[string]*Request
	coming map[string]*coming
	asked  map[string]chan message.Message
	next   int64
	quiet  bool // the client says no more
	subs   map[string]*subscription
	uris   map[string]bool // that a legacy client watches
}

// coming are requests of one id that were announced and have not begun.
type coming struct {
	n         int
	cancelled bool
}

// hello is what a legacy client said of itself.
type hello struct {
	caps  message.Object
	level int // of log messages that it wants
}

// Open begins a conversation. send takes what belongs to no request, and may be
// called from many goroutines.
func Open(o Options, send func(message.Message)) *Talk {
	t := &Talk{opt: o, send: send, live: map[string]*Request{}, coming: map[string]*coming{}, asked: map[string]chan message.Message{},
		subs: map[string]*subscription{}, uris: map[string]bool{}}
	t.life, t.die = context.WithCancel(context.Background())
	return t
}

// Life ends with the conversation.
func (t *Talk) Life() context.Context { return t.life }

// Close ends the conversation and every request in it.
func (t *Talk) Close() {
	t.die()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.live {
		r.cancel(errClosed)
	}
}

var errClosed = errors.New("the client has gone")

// Request is one request of the client, from its arrival to its one answer.
type Request struct {
	message.Message
	Params message.Object
	Meta   message.Object
	Modern bool
	Caps   message.Object        // what the client can do, as this request or its handshake says
	Out    func(message.Message) // the way back for what belongs to it
	Ctx    context.Context       // ends when the client cancels it or goes

	t      *Talk
	key    string // among those that are being answered
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it was answered, or will not be
}

// Announce implements [Conversation].
func (t *Talk) Announce(m message.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := m.ID.Key()
	if t.coming[key] == nil {
		t.coming[key] = &coming{}
	}
	t.coming[key].n++
}

// begun takes an announcement back, and tells whether the request was cancelled
// meanwhile. It is called under mu.
func (t *Talk) begun(key string) (cancelled bool) {
	c := t.coming[key]
	if c == nil {
		return false
	}
	if c.n--; c.n == 0 {
		delete(t.coming, key)
	}
	return c.cancelled
}

// Handle takes one message of the client. It returns when the message is
// answered, where it is a request. out is the way back for that request.
func (t *Talk) Handle(ctx context.Context, m message.Message, out func(message.Message)) {
	switch m.Kind {
	case message.Request:
		t.serve(ctx, m, out, m.ID.Key(), false)
	case message.Notification:
		t.notice(m)
	case message.Response:
		t.mu.Lock()
		ch := t.asked[m.ID.Key()]
		delete(t.asked, m.ID.Key())
		t.mu.Unlock()
		if ch != nil { // an answer to no question, or a second one, is dropped
			ch <- m
		}
	}
}

// HandleAlone takes one request that has a way of its own: its id need not
// differ from that of another one, and what ends it is the end of ctx.
func (t *Talk) HandleAlone(ctx context.Context, m message.Message, out func(message.Message)) {
	t.serve(ctx, m, out, fmt.Sprintf("alone %d", t.alone.Add(1)), true)
}

// Fault answers a line that is no message, where the protocol has an answer.
func (t *Talk) Fault(err error, out func(message.Message)) {
	var f *message.Fault
	if errors.As(err, &f) {
		out(refused(f.ID, f.Code(), f.Error()))
		return
	}
	out(refused("", message.CodeParse, err.Error()))
}

func refused(id message.ID, code int, why string) message.Message {
	return message.Message{Kind: message.Response, ID: id, Error: &message.Error{Code: code, Message: why}}
}

// serve answers one request.
func (t *Talk) serve(ctx context.Context, m message.Message, out func(message.Message), key string, alone bool) {
	r := &Request{t: t, key: key, Message: m, Out: out, done: make(chan struct{})}
	entered := false
	defer func() {
		if !entered {
			t.mu.Lock()
			t.begun(key)
			t.mu.Unlock()
		}
	}()
	var err error
	if m.Params != nil {
		if r.Params, err = message.Members(m.Params); err == nil {
			r.Meta, err = r.Params.Meta()
		}
		if err != nil {
			out(refused(m.ID, message.CodeInvalidParams, err.Error()))
			return
		}
	}
	rule, known := methods.Requests[m.Method]
	if e := t.era(r, rule, known); e != nil {
		out(message.Message{Kind: message.Response, ID: m.ID, Error: e})
		return
	}
	r.Ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	if entered = t.enter(r); !entered {
		out(refused(m.ID, message.CodeInvalidRequest, fmt.Sprintf("a request with this id is being answered, or %d are", maxLive)))
		return
	}
	stop := context.AfterFunc(t.life, func() { r.cancel(errClosed) })
	defer stop()
	if alone { // what it asks may come back in another request, while this one is over
		go t.opt.do(t, r)
	} else {
		t.opt.do(t, r)
	}
	<-r.done
}

// era settles which protocol a request is of, and whether its method may be
// used in it.
func (t *Talk) era(r *Request, rule methods.Rule, known bool) *message.Error {
	version := r.Meta.Text(message.MetaVersion)
	t.mu.Lock()
	hello := t.legacy
	t.mu.Unlock()
	noMethod := func(why string) *message.Error {
		return &message.Error{Code: message.CodeMethodNotFound, Message: fmt.Sprintf("%q is not offered: %s", message.Clip(r.Method, 100), why)}
	}
	switch {
	case version != "" && version != message.Modern:
		return Unsupported(version)
	case version != "":
		r.Modern = true
		caps := r.Meta.Get(message.MetaCapabilities)
		if caps == nil {
			return &message.Error{Code: message.CodeInvalidParams, Message: "_meta has a protocolVersion and no clientCapabilities"}
		}
		var err error
		if r.Caps, err = message.Members(caps); err != nil {
			return &message.Error{Code: message.CodeInvalidParams, Message: "the client's capabilities are no object"}
		}
		t.names(r.Meta.Get(message.MetaClient))
	case hello != nil:
		r.Caps = hello.caps
	case r.Method != "initialize" && r.Method != "ping" && r.Method != "server/discover":
		if !known {
			return noMethod("it is unknown here")
		}
		return &message.Error{Code: message.CodeInvalidRequest, Message: "initialize first, or name a protocolVersion in _meta"}
	}
	switch {
	case !known:
		return noMethod("it is unknown here")
	case r.Modern && rule.Eras&methods.Modern == 0, !r.Modern && rule.Eras&methods.Legacy == 0:
		return noMethod("it is not one of this version's")
	case rule.Bar:
		return noMethod(rule.How)
	}
	return nil
}

func Unsupported(version string) *message.Error {
	data := append([]byte(`{"supported":[`), message.Quote(message.Modern)...)
	for _, v := range upstream.LegacyVersions {
		data = append(append(data, ','), message.Quote(v)...)
	}
	data = append(append(append(data, `],"requested":`...), message.Quote(version)...), '}')
	return &message.Error{Code: message.CodeUnsupportedVersion, Message: "Unsupported protocol version", Data: data}
}

// enter counts a request as one that is being answered.
func (t *Talk) enter(r *Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, twice := t.live[r.key]; twice || len(t.live) >= maxLive {
		return false
	}
	t.live[r.key] = r
	if t.begun(r.key) {
		r.cancel(errCancelled)
	}
	return true
}

// leave counts it as over; only the first to do so may answer it.
func (t *Talk) leave(r *Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live[r.key] != r {
		return false
	}
	delete(t.live, r.key)
	close(r.done)
	return true
}

// Result answers the request.
func (r *Request) Result(result []byte) {
	r.Answer(message.Message{Kind: message.Response, Result: result})
}

// Own answers it with a result of our own, in the form of its era.
func (r *Request) Own(o message.Object) {
	if r.Modern || r.Method == "server/discover" {
		o = r.t.Form(o)
	}
	r.Result(o.Bytes())
}

// Fail answers it with an error.
func (r *Request) Fail(code int, why string) { r.Answer(refused(r.ID, code, why)) }

// Answer gives the request its one answer. One that the client has cancelled
// gets none (MCP 2025-11-25 and 2026-07-28, cancellation).
func (r *Request) Answer(m message.Message) {
	r.t.mu.Lock()
	over := r.t.live[r.key] != r
	r.t.mu.Unlock()
	if over {
		return
	}
	if m.ID = r.ID; !errors.Is(context.Cause(r.Ctx), errCancelled) {
		r.Out(m)
	}
	r.t.leave(r)
}

var errCancelled = errors.New("the client has cancelled it")

// notice takes a notification.
func (t *Talk) notice(m message.Message) {
	if m.Method != "notifications/cancelled" {
		return // see the table: each is dropped by decision, and so is what is unknown
	}
	o, err := message.Members(m.Params)
	if err != nil {
		return
	}
	key := message.ID(o.Get("requestId")).Key()
	t.mu.Lock()
	r := t.live[key]
	if c := t.coming[key]; c != nil {
		c.cancelled = true
	}
	t.mu.Unlock()
	if r != nil && r.Method != "initialize" {
		r.cancel(errCancelled)
	}
}

// Can reports whether the client declared a capability, and in it a part.
func (r *Request) Can(capability, part string) bool {
	v := r.Caps.Get(capability)
	if v == nil || v[0] != '{' {
		return false
	}
	if part == "" {
		return true
	}
	o, err := message.Members(v)
	return err == nil && (o.Get(part) != nil || part == "form" && len(o) == 0)
}

// names tells what a client calls itself.
func (t *Talk) names(info []byte) {
	if o, err := message.Members(info); err == nil && o.Text("name") != "" {
		t.opt.Named(o.Text("name"))
	}
}

// identity is what the gateway says it is.
func (t *Talk) identity() []byte {
	return message.Object{message.OwnText("name", "reeve"), message.OwnText("title", "Reeve"), message.OwnText("version", t.opt.Version)}.Bytes()
}

const capabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}`

// initialize is the handshake of the legacy era. The version is the client's
// where it is spoken, else the newest.
func (t *Talk) initialize(r *Request) {
	version := r.Params.Text("protocolVersion")
	caps, err := message.Members(r.Params.Get("capabilities"))
	if version == "" || err != nil {
		r.Fail(message.CodeInvalidParams, "initialize needs a protocolVersion and the client's capabilities")
		return
	}
	if !slices.Contains(upstream.LegacyVersions, version) {
		version = message.Legacy
	}
	t.mu.Lock()
	if t.legacy != nil {
		t.mu.Unlock()
		r.Fail(message.CodeInvalidRequest, "the handshake was made already")
		return
	}
	t.legacy = &hello{caps: caps}
	t.mu.Unlock()
	t.names(r.Params.Get("clientInfo"))
	r.Result(message.Object{message.OwnText("protocolVersion", version), message.Own("capabilities", []byte(capabilities)),
		message.Own("serverInfo", t.identity()), message.OwnText("instructions", t.opt.Instructions)}.Bytes())
}

// discover tells a modern client what is here.
func (t *Talk) discover(r *Request) {
	versions := append([]byte{'['}, message.Quote(message.Modern)...)
	for _, v := range upstream.LegacyVersions {
		versions = append(append(versions, ','), message.Quote(v)...)
	}
	r.Own(message.Object{message.Own("supportedVersions", append(versions, ']')), message.Own("capabilities", []byte(capabilities)),
		message.OwnText("instructions", t.opt.Instructions), message.Own("ttlMs", []byte("0")), message.OwnText("cacheScope", "private")})
}

// Form gives a result what every one of the modern era has.
func (t *Talk) Form(o message.Object) message.Object {
	if o.Get("resultType") == nil {
		o = append(message.Object{message.OwnText("resultType", "complete")}, o...)
	}
	out, err := o.Rewrite(message.Own(message.MetaServer, t.identity()))
	if err != nil {
		return o
	}
	return out
}

// setLevel keeps which log messages a legacy client wants.
func (t *Talk) setLevel(r *Request) {
	level := methods.Level(r.Params.Text("level"))
	if level < 0 {
		r.Fail(message.CodeInvalidParams, fmt.Sprintf("the level is none of %q", methods.Levels))
		return
	}
	t.mu.Lock()
	if t.legacy != nil {
		t.legacy.level = level
	}
	t.mu.Unlock()
	t.opt.Level(r.Params.Text("level"))
	r.Result([]byte("{}"))
}

// Ask makes a request of ours to a client of the legacy era, on the way of one
// of its own, and waits for the answer. Where ctx ends first, it is withdrawn.
func (t *Talk) Ask(ctx context.Context, r *Request, method string, params []byte) (message.Message, error) {
	ch := make(chan message.Message, 1)
	t.mu.Lock()
	if t.quiet {
		t.mu.Unlock()
		return message.Message{}, errClosed
	}
	if len(t.asked) >= maxAsked {
		t.mu.Unlock()
		return message.Message{}, fmt.Errorf("the client has %d questions to answer already", maxAsked)
	}
	t.next++
	id := message.ID(fmt.Sprintf(`"reeve-%d"`, t.next))
	t.asked[id.Key()] = ch
	t.mu.Unlock()
	r.Out(message.Message{Kind: message.Request, ID: id, Method: method, Params: params})
	select {
	case m := <-ch:
		return m, nil
	case <-ctx.Done():
		t.mu.Lock()
		delete(t.asked, id.Key())
		t.mu.Unlock()
		r.Out(message.Message{Kind: message.Notification, Method: "notifications/cancelled", Params: upstream.Cancelled(id, "no longer needed")})
		return message.Message{}, context.Cause(ctx)
	}
}
