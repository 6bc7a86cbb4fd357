// Package outbound is the door of the network of a run: each host and port that
// the programs of a session want becomes an invocation of the tool connect, so
// that rules, modes, questions, grants and the record hold for it as for any
// other act. Nothing here decides.
//
// One allowed invocation is a way out that later connections to the same host
// and port share, as long as the kernel would still say yes to it; each of them
// asks the kernel anew what it would decide, which asks nobody and writes
// nothing. The outcome is recorded when the way was not used for a minute or
// the session ends, with the number of connections and bytes; what a person
// allowed once is allowed until then.
//
// Equal questions are one: who comes while a question stands waits for its
// answer. A refusal is remembered for a little while, so that a program that
// tries again and again neither asks nor writes each time; it is counted.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/egress"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/tool/connect"
)

// Kernel is the part of the kernel this door uses.
type Kernel interface {
	Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result)
	Explain(ctx context.Context, inv *reeve.Invocation) reeve.Decision
	Report(ctx context.Context, id string, r reeve.Result) error
}

// Door makes the gates of sessions.
type Door struct {
	Kernel  Kernel
	Connect *connect.Tool
	Granted func(session string, call [32]byte) string // the standing grant for a call, or ""
	Clean   func(string) string                        // masks secrets in what a person is shown
	NewID   func() string
	Now     func() time.Time
	Askable bool // a question may wait for a person at any terminal
}

// Bounds of one session.
const (
	idle     = time.Minute      // a way that no connection uses is ended after
	remember = 30 * time.Second // a person's no, and a host that leads where none may
	maxSites = 1000             // hosts and ports that are refused on record; further ones are refused without
	maxFault = 100              // kinds of faults on record
)

// site is a host and port.
type site struct {
	host string
	port uint16
}

func (s site) String() string {
	if s.port == 0 {
		return s.host
	}
	if literal(s.host) {
		return netip.AddrPortFrom(netip.MustParseAddr(s.host), s.port).String()
	}
	return fmt.Sprintf("%s:%d", s.host, s.port)
}

// Session is the gate of one session.
type Session struct {
	d     *Door
	id    string
	actor reeve.Actor
	own   map[site]bool
	ctx   context.Context // ends with the session
	end   context.CancelFunc

	asking sync.WaitGroup // calls of the kernel that have not returned

	mu      sync.Mutex // guards what follows and every way
	ways    map[site]*way
	all     map[*way]bool // every way that is owed a report, also those that are in ways no more
	refused map[site]*refusal
	counts  counts
	closed  bool
}

var _ egress.Gate = (*Session)(nil)

// Session makes the gate of a session that has begun. own are the hosts of the
// service that its agent is made of, each as HOST (port 443) or HOST:PORT.
func (d *Door) Session(id string, actor reeve.Actor, own []string) *Session {
	s := &Session{d: d, id: id, actor: actor, own: map[site]bool{}, ways: map[site]*way{}, all: map[*way]bool{}, refused: map[site]*refusal{}}
	for _, o := range own {
		if host, port, err := netguard.HostPort(o, 443); err == nil {
			s.own[site{host, port}] = true
		}
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.counts.faults = map[string]int{}
	return s
}

// way is one invocation: asked, then open or not.
type way struct {
	site
	inv     *reeve.Invocation
	began   time.Time
	cancel  context.CancelFunc // withdraws the question
	settled chan struct{}      // closed when the kernel has answered

	no   *egress.Refusal // valid once settled; nil: open
	dial connect.Dial
	once bool // a person allowed this call, and no further one

	waiting  int // for the answer
	users    int // connections and requests that go by it
	retired  bool
	quiet    *time.Timer // ends it when nobody uses it
	conns    int
	sent     int64
	received int64
	fault    error // it led where no connection goes
	leads    bool  // a connection was made
}

// refusal is an answer that is given again.
type refusal struct {
	no     *egress.Refusal
	rule   string // by which it was denied
	inward bool   // it is allowed, and leads where no connection goes
	until  time.Time
}

// holds reports whether a refusal is given again, now being what the kernel
// would decide: always while the same rule denies, for a little while where a
// person said no or nobody answered, and not where a rule allows it by now.
func (r *refusal) holds(now reeve.Decision, at time.Time) bool {
	switch {
	case now.Verdict == reeve.Deny:
		return now.Rule == r.rule
	case now.Verdict == reeve.Allow && !r.inward:
		return false
	}
	return at.Before(r.until)
}

// Allow implements egress.Gate.
func (s *Session) Allow(ctx context.Context, a egress.Asked) (egress.Pass, error) {
	at := site{a.Host, a.Port}
	inv, err := s.invocation(at, "")
	if err != nil {
		return nil, &egress.Refusal{Host: a.Host, Port: a.Port, Why: err.Error()}
	}
	now := s.d.Kernel.Explain(ctx, inv)
	w, err := s.join(at, inv, now)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.settled:
	case <-ctx.Done():
		return nil, s.leave(w)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.waiting--
	if w.no != nil {
		s.counts.refuse(at, w.no)
		return nil, w.no
	}
	w.users++
	w.quiet.Stop()
	return &pass{s: s, w: w, inv: inv, named: now.Port || a.Port != 80 && a.Port != 443}, nil
}

// join finds the way that a connection shares, or begins one. now is what the
// kernel would decide.
func (s *Session) join(at site, inv *reeve.Invocation, now reeve.Decision) (*way, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &egress.Refusal{Host: at.host, Port: at.port, Why: "the session has ended"}
	}
	if w := s.ways[at]; w != nil {
		if !w.isSettled() || s.still(w, now) {
			w.waiting++
			return w, nil
		}
		s.retire(w)
	}
	if r := s.refused[at]; r != nil {
		if r.holds(now, s.d.Now()) {
			s.counts.refuse(at, r.no)
			return nil, r.no
		}
		delete(s.refused, at)
	}
	if len(s.refused) >= maxSites && now.Verdict != reeve.Allow {
		s.counts.refuse(site{host: "further hosts"}, nil)
		return nil, &egress.Refusal{Host: at.host, Port: at.port, Why: fmt.Sprintf("%d hosts were refused to this session already", maxSites)}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	w := &way{site: at, inv: inv, began: s.d.Now(), cancel: cancel, settled: make(chan struct{}), waiting: 1}
	s.ways[at] = w
	s.asking.Go(func() { s.ask(ctx, w) })
	return w, nil
}

func (w *way) isSettled() bool {
	select {
	case <-w.settled:
		return true
	default:
		return false
	}
}

// still reports whether a decision lets a connection go by a way that is open:
// the kernel would allow it, or a person's answer covers it.
func (s *Session) still(w *way, now reeve.Decision) bool {
	switch now.Verdict {
	case reeve.Allow:
		return true
	case reeve.Ask:
		return w.once || now.Standing() && s.d.Granted(s.id, w.inv.CallDigest()) != ""
	}
	return false
}

// ask puts the invocation to the kernel and settles the way.
func (s *Session) ask(ctx context.Context, w *way) {
	defer w.cancel()
	var dial connect.Dial
	defer s.d.Connect.Give(w.inv.ID, func(d connect.Dial) { dial = d })()
	d, r := s.d.Kernel.Do(ctx, w.inv)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(w.settled)
	if dial == nil || !r.Open {
		w.no = s.said(w.site, d, r)
		s.unlist(w)
		if ctx.Err() == nil { // else nobody was there for the answer
			s.refused[w.site] = &refusal{no: w.no, rule: d.Rule, until: s.d.Now().Add(remember)}
		}
		return
	}
	w.dial = dial
	w.once = d.Approval != "" && s.d.Granted(s.id, w.inv.CallDigest()) == ""
	w.quiet = time.AfterFunc(idle, func() { s.retireIdle(w) })
	s.all[w] = true
	s.counts.sites++
	if s.closed {
		s.retire(w)
	}
}

// leave takes a client that went away off a way; the last one takes the
// question along.
func (s *Session) leave(w *way) *egress.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	no := &egress.Refusal{Host: w.host, Port: w.port, Why: "the program gave up before anybody answered"}
	s.counts.refuse(w.site, no)
	if w.waiting--; w.waiting == 0 && w.users == 0 {
		if !w.isSettled() {
			s.unlist(w)
			w.cancel()
			return no
		}
		s.finish(w)
	}
	return no
}

// retire takes a way out of reach of new connections. mu is held.
func (s *Session) retire(w *way) {
	s.unlist(w)
	w.retired = true
	s.finish(w)
}

func (s *Session) unlist(w *way) {
	if s.ways[w.site] == w {
		delete(s.ways, w.site)
	}
}

func (s *Session) retireIdle(w *way) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.users == 0 && w.waiting == 0 {
		s.retire(w)
	}
}

// finish reports a retired way that nobody goes by any more. mu is held; the
// record is written without it.
func (s *Session) finish(w *way) {
	if !w.retired || w.users > 0 || w.waiting > 0 || !s.all[w] {
		return
	}
	delete(s.all, w)
	w.quiet.Stop()
	r := reeve.Result{Status: reeve.StatusSuccess, Duration: s.d.Now().Sub(w.began),
		Output: fmt.Sprintf("%s, %s sent, %s received", plural(w.conns, "connection"), size(w.sent), size(w.received))}
	switch {
	case w.fault != nil && !w.leads:
		r.Status, r.Error = reeve.StatusDenied, w.fault.Error()
	case !w.leads:
		r.Status, r.Error = reeve.StatusError, "no connection could be made"
	}
	id := w.inv.ID
	s.asking.Go(func() {
		// The outcome of what is over; there is nobody to tell that it could
		// not be written, and the intent shows as unknown then.
		_ = s.d.Kernel.Report(context.Background(), id, r)
	})
}

// Close ends the session's ways: questions are withdrawn, and what went is on
// record when it returns. The connections must have ended before.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	s.end()
	for w := range s.all {
		w.users, w.waiting = 0, 0
		s.retire(w)
	}
	s.mu.Unlock()
	s.asking.Wait()
}

// invocation is the call for a site; fault is what is wrong with the request.
func (s *Session) invocation(at site, fault string) (*reeve.Invocation, error) {
	args, err := json.Marshal(connect.Args{Host: at.host, Port: at.port, Own: s.own[at], Fault: fault})
	if err != nil {
		return nil, fmt.Errorf("write down the host: %w", err)
	}
	return &reeve.Invocation{ID: s.d.NewID(), Session: s.id, Actor: s.actor, Channel: reeve.ChannelCLI, Origin: reeve.OriginAgent,
		Tool: connect.Name, Args: args, Contained: true, Askable: s.d.Askable}, nil
}

// Fault implements egress.Gate: what is wrong with a request goes on record as
// a call that is refused, each kind of it once for a site.
func (s *Session) Fault(ctx context.Context, a egress.Asked, why string) {
	at := site{a.Host, a.Port}
	s.mu.Lock()
	key := at.String() + " " + why
	s.counts.faults[key]++
	first := s.counts.faults[key] == 1 && len(s.counts.faults) <= maxFault
	if len(s.counts.faults) > maxFault {
		delete(s.counts.faults, key)
		s.counts.moreFaults++
	}
	closed := s.closed
	s.mu.Unlock()
	if !first || closed {
		return
	}
	if inv, err := s.invocation(at, why); err == nil {
		s.d.Kernel.Do(ctx, inv)
	}
}

// pass is one connection or request by a way.
type pass struct {
	s     *Session
	w     *way
	inv   *reeve.Invocation
	named bool
}

// Dial implements egress.Pass.
func (p *pass) Dial(ctx context.Context) (netguard.Conn, error) {
	c, err := p.w.dial(ctx)
	var refused *netguard.Refused
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	switch {
	case err == nil:
		p.w.conns++
		p.w.leads = true
		return c, nil
	case errors.As(err, &refused):
		p.w.fault = err
		no := p.s.inward(p.w.site, refused)
		if !p.w.retired {
			p.s.unlist(p.w)
			p.w.retired = true
			p.s.refused[p.w.site] = &refusal{no: no, inward: true, until: p.s.d.Now().Add(remember)}
		}
		p.s.counts.refuse(p.w.site, no)
		return nil, no
	}
	return nil, err
}

// Named implements egress.Pass.
func (p *pass) Named() bool { return p.named }

// Holds implements egress.Pass.
func (p *pass) Holds(ctx context.Context) error {
	now := p.s.d.Kernel.Explain(ctx, p.inv)
	if p.s.still(p.w, now) {
		return nil
	}
	return errors.New("it would not be allowed any more")
}

// Done implements egress.Pass.
func (p *pass) Done(sent, received int64) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	p.w.sent += sent
	p.w.received += received
	s.counts.sent += sent
	s.counts.received += received
	if p.w.users--; p.w.users > 0 {
		return
	}
	if p.w.retired {
		s.finish(p.w)
		return
	}
	p.w.quiet.Reset(idle)
}
