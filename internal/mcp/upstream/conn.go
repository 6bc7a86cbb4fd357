package upstream

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Era is which of the two protocols a server speaks.
type Era uint8

const (
	EraUnknown Era = iota
	EraLegacy      // initialize, sessions, requests by the server
	EraModern      // every request stands alone
)

var eraNames = [...]string{"unknown", "legacy", "modern"}

func (e Era) String() string {
	if int(e) < len(eraNames) {
		return eraNames[e]
	}
	return eraNames[0]
}

// Bounds and times, where Options leave them open.
const (
	DefaultProbe   = 2500 * time.Millisecond // for the answer to server/discover
	DefaultStart   = 30 * time.Second        // for the handshake
	DefaultTimeout = 30 * time.Second        // without an answer or progress (G20)
	DefaultLimit   = 10 * time.Minute        // for an answer, progress or not
	MaxCalls       = 256                     // in flight at once
	MaxRounds      = 10                      // of asking back in one call
	maxAsks        = 16                      // in one round
	maxAsking      = 8                       // requests of a legacy server at once
	maxState       = 1 << 20                 // bytes of a requestState
)

// Options are how a connection is opened. Name and Dial are required.
type Options struct {
	Name         string // of the server, for people
	Dial         Dialer
	Known        Era    // what was learnt before; Unknown = try
	Only         Era    // speak this one and try no other
	Client       []byte // who we are: an Implementation object
	Capabilities []byte // what we declare, the same for every connection: a ClientCapabilities object
	Probe, Start time.Duration
	Events       Events
}

// Events is what a server says on its own. Each may be nil; none may block.
type Events struct {
	Changed func(list string)   // "tools", "prompts" or "resources"
	Updated func(uri string)    // a resource that was subscribed to
	Log     func(params []byte) // a log message that belongs to no call
	// Ask answers a request of a legacy server that belongs to no call. It may
	// block until ctx ends.
	Ask func(ctx context.Context, a Ask) Answer
}

// Info is what a server says of itself. None of it is verified.
type Info struct {
	Server       []byte         // an Implementation object, or nil
	Capabilities message.Object // what it offers
	Instructions string
}

// Conn is one live connection to one server. It is safe for concurrent use.
type Conn struct {
	opt     Options
	t       Transport
	gone    chan struct{} // closed when t has ended and so have the calls
	era     atomic.Uint32 // an Era
	version string
	info    Info
	watch   watcher
	life    context.Context // ends with the connection
	die     context.CancelFunc

	mu     sync.Mutex // guards what follows
	next   int64
	calls  map[string]*call // by the key of our id
	asking map[string]context.CancelFunc
	odd    Oddities
	ended  error // why no call is taken any more

	replies atomic.Int32 // that are on their way to the server
}

// call is one request in flight.
type call struct {
	id     message.ID
	seq    int64
	r      *Request
	ctx    context.Context
	done   chan struct{} // closed when result or err is set
	result []byte
	err    error
	acked  chan struct{} // of a listen request

	timer  *time.Timer
	quiet  time.Duration // it may be silent for
	until  time.Time     // and must have ended by
	paused int           // answers that are being given to the server
	still  time.Time     // since when it is paused
}

func newConn(o Options) *Conn {
	c := &Conn{opt: o, calls: map[string]*call{}, asking: map[string]context.CancelFunc{}}
	c.life, c.die = context.WithCancel(context.Background())
	return c
}

// dial opens the transport and watches for its end.
func (c *Conn) dial(ctx context.Context) error {
	t, err := c.opt.Dial(ctx, c)
	if err != nil {
		return &unreached{err}
	}
	gone := make(chan struct{})
	c.t, c.gone = t, gone
	go func() {
		<-t.Done()
		c.end(&Gone{c.opt.Name, t.Err()})
		close(gone)
	}()
	return nil
}

// unreached: there was no connection to try anything on.
type unreached struct{ cause error }

func (u *unreached) Error() string { return u.cause.Error() }
func (u *unreached) Unwrap() error { return u.cause }

// Era is what the server speaks, Version its exact version.
func (c *Conn) Era() Era        { return Era(c.era.Load()) }
func (c *Conn) Version() string { return c.version }

// Info is what the server said of itself when the connection was opened.
func (c *Conn) Info() Info { return c.info }

// Done is closed when the connection has ended and [Conn.Ended] says why.
func (c *Conn) Done() <-chan struct{} { return c.gone }

// Ended is why the connection takes no call any more, or nil.
func (c *Conn) Ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Oddities is what the server did so far that it should not.
func (c *Conn) Oddities() Oddities {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.odd
}

// Close ends the connection and every call in it; it returns when nothing is
// left of it.
func (c *Conn) Close() {
	c.end(&Gone{c.opt.Name, ErrClosed})
	c.t.Stop()
}

// end fails everything in flight.
func (c *Conn) end(why error) {
	c.die()
	c.mu.Lock()
	if c.ended == nil {
		c.ended = why
	}
	left := make([]*call, 0, len(c.calls))
	for key, k := range c.calls {
		delete(c.calls, key)
		left = append(left, k)
	}
	for key, cancel := range c.asking {
		delete(c.asking, key)
		cancel()
	}
	c.mu.Unlock()
	for _, k := range left {
		k.finish(nil, why)
	}
}

// finish is called by whoever took the call out of the map, and so once.
func (k *call) finish(result []byte, err error) {
	if k.timer != nil {
		k.timer.Stop()
	}
	k.result, k.err = result, err
	close(k.done)
}

// begin makes room for one request.
func (c *Conn) begin(ctx context.Context, r *Request) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended != nil:
		return nil, c.ended
	case len(c.calls) >= MaxCalls:
		return nil, fmt.Errorf("it has %d calls to answer already; wait for some of them", MaxCalls)
	}
	c.next++
	k := &call{id: message.Number(c.next), seq: c.next, r: r, ctx: ctx, done: make(chan struct{})}
	c.calls[string(k.id)] = k
	if r.endless {
		k.acked = make(chan struct{})
		return k, nil
	}
	k.quiet, k.until = r.quiet(), time.Now().Add(r.limit())
	k.timer = time.AfterFunc(min(k.quiet, r.limit()), func() { c.late(k) })
	return k, nil
}

// take removes a call, where it is still in flight.
func (c *Conn) take(id message.ID) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.takeLocked(id)
}

func (c *Conn) takeLocked(id message.ID) *call {
	k := c.calls[id.Key()]
	if k != nil {
		delete(c.calls, id.Key())
	}
	return k
}

// late ends a call whose time is up.
func (c *Conn) late(k *call) {
	c.mu.Lock()
	if c.calls[string(k.id)] != k || k.paused > 0 {
		c.mu.Unlock()
		return
	}
	delete(c.calls, string(k.id))
	c.mu.Unlock()
	k.finish(nil, fmt.Errorf("%w (%s)", ErrLate, k.r.Method))
	c.t.Cancel(k.id, "time-out")
}

// pause stops the time of a call while the server gets an answer from us, and
// resume lets it go on. Both are called under mu.
func (k *call) pause() {
	if k.paused++; k.paused > 1 {
		return
	}
	k.still = time.Now()
	if k.timer != nil {
		k.timer.Stop()
	}
}

func (k *call) resume() {
	if k.paused--; k.paused > 0 {
		return
	}
	k.until = k.until.Add(time.Since(k.still))
	k.lively()
}

// lively gives a call its time again: the server has shown that it works on
// it. It is called under mu.
func (k *call) lively() {
	if k.timer == nil || k.paused > 0 {
		return
	}
	k.timer.Reset(min(k.quiet, time.Until(k.until)))
}

// owner is the call that something belongs to which the server sends beside
// its answers: the one it came with, where the transport knows; else, since
// the protocol does not say, the one in flight that began first. It is called
// under mu.
func (c *Conn) owner(about message.ID) *call {
	if about != "" {
		return c.calls[about.Key()]
	}
	var first *call
	for _, k := range c.calls {
		if !k.r.endless && k.r.Input != nil && (first == nil || k.seq < first.seq) {
			first = k
		}
	}
	return first
}

// meta is what every modern request says of us.
func (c *Conn) meta(r *Request) []message.Member {
	caps := r.Capabilities
	if caps == nil {
		caps = c.opt.Capabilities
	}
	own := []message.Member{message.OwnText(message.MetaVersion, message.Modern), message.Own(message.MetaCapabilities, caps)}
	if c.opt.Client != nil {
		own = append(own, message.Own(message.MetaClient, c.opt.Client))
	}
	if r.LogLevel != "" {
		own = append(own, message.OwnText(message.MetaLogLevel, r.LogLevel))
	}
	return own
}

// send gives one request to the server.
func (c *Conn) send(ctx context.Context, k *call, params message.Object) error {
	var own []message.Member
	if c.Era() == EraModern {
		own = c.meta(k.r)
	}
	if k.r.Progress != nil {
		own = append(own, message.Own(message.MetaProgress, []byte(k.id)))
	}
	p, err := params.Rewrite(own...)
	if err != nil {
		return fmt.Errorf("%s: %w", k.r.Method, err)
	}
	m := message.Message{Kind: message.Request, ID: k.id, Method: k.r.Method}
	if len(p) > 0 {
		m.Params = p.Bytes()
	}
	return c.t.Send(ctx, Outgoing{Message: m, Name: k.r.Name, Headers: k.r.Headers})
}

// named says whose error it is, where the error does not say so itself: an
// answer of the server's, the end of the connection, the caller's own end.
func (c *Conn) named(err error) error {
	switch err.(type) {
	case nil, *message.Error, *Gone:
		return err
	}
	if err == context.Canceled {
		return err
	}
	return fmt.Errorf("server %s: %w", c.opt.Name, err)
}

// notify gives one notification to the server.
func (c *Conn) notify(ctx context.Context, method string, params []byte) error {
	return c.t.Send(ctx, Outgoing{Message: message.Message{Kind: message.Notification, Method: method, Params: params}})
}

// Cancelled is the params of notifications/cancelled.
func Cancelled(id message.ID, reason string) []byte {
	return message.Object{message.Own("requestId", []byte(id)), message.OwnText("reason", reason)}.Bytes()
}

func (c *Conn) String() string {
	return "server " + c.opt.Name + " (" + c.Era().String() + ", " + strconv.Quote(c.version) + ")"
}
