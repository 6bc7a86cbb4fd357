// Package approval is the bell: it puts a question to whoever can answer and
// waits. The first answer wins; time-out, cancellation and the end of the
// session are all a denial (contract A3, A4, A6, A50, A53, Y25, Y33, Y34).
//
// A [Question] is bound to the digest of one exact invocation and settles that
// invocation only. A standing grant ("this exact call, this session") is bound
// to the digest of the call's content, is listed, can be revoked, and dies
// with its session or with the process, whichever ends first. Nothing in the
// package ever turns silence into consent.
package approval

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
)

// State is where a question stands. It moves once, from pending to one of the
// others.
type State string

const (
	Pending   State = "pending"
	Allowed   State = "allowed"
	Denied    State = "denied"
	Expired   State = "expired"   // nobody answered in time
	Withdrawn State = "withdrawn" // the caller or its session went away
)

// Scope is how far a yes reaches.
type Scope string

const (
	Once    Scope = "once"    // this invocation
	Session Scope = "session" // this exact call, in this session
	Rule    Scope = "rule"    // once, and the suggested rule is saved by the person's face
)

// Question is what a person is asked: the operation, why it is asked, how far
// the answer reaches, what could go wrong, and exactly what would run (A6).
// All text is redacted before a Question is made.
type Question struct {
	ID        string      `json:"id"`
	Session   string      `json:"session"`
	Call      string      `json:"call"`
	Actor     reeve.Actor `json:"actor"`
	Tool      string      `json:"tool"`
	Operation string      `json:"operation"` // one line: what it would do
	Reason    string      `json:"reason"`    // why it is asked, with the rule and its place
	Scope     string      `json:"scope"`     // where: workspace, sandbox or host
	Risk      string      `json:"risk"`      // tier, and a warning where one is due
	Preview   string      `json:"preview"`   // the exact call
	Warn      bool        `json:"warn"`      // destructive
	Standing  bool        `json:"standing"`  // session and rule may be offered
	Suggest   string      `json:"suggest"`   // the rule that "rule" would save; may be empty
	Workspace string      `json:"workspace"`
	Asked     time.Time   `json:"asked"`
	Expires   time.Time   `json:"expires"`
	Again     bool        `json:"again,omitzero"` // the caller may come back with the same call: the question stands when it no longer waits
	Digest    [32]byte    `json:"-"`              // of the exact invocation
	Content   [32]byte    `json:"-"`              // of the call without its id
}

// Answer is how a question ended.
type Answer struct {
	ID    string
	State State
	Scope Scope
	Word  string // a person's word to the agent, with a denial
	By    string // which face answered
}

// Yes reports whether the answer lets the one invocation with this digest run.
func (a Answer) Yes() bool { return a.State == Allowed }

// Event tells a watcher that a question appeared or ended.
type Event struct {
	Question Question `json:"question"`
	State    State    `json:"state"`
}

// Grant is a standing yes.
type Grant struct {
	ID      string    `json:"id"` // the approval it came from
	Session string    `json:"session"`
	Tool    string    `json:"tool"`
	Preview string    `json:"preview"`
	Since   time.Time `json:"since"`
	content [32]byte
}

// Broker holds the pending questions of one daemon.
type Broker struct {
	now func() time.Time

	mu       sync.Mutex // guards everything below
	pending  map[string]*waiting
	grants   map[string][]Grant  // by session
	tickets  map[string][]ticket // by session
	closed   map[string]bool     // sessions that have ended
	watchers map[int]watcher
	nextW    int
}

// ticket is a yes that came when its caller no longer waited: good for the same
// call, once.
type ticket struct {
	id, risk string
	content  [32]byte
	until    time.Time
}

// TicketTime is how long such a yes waits for the call to be made again.
const TicketTime = 10 * time.Minute

type waiting struct {
	q      Question
	left   bool          // nobody waits, and somebody may come back
	answer Answer        // valid once done is closed
	done   chan struct{} // closed by settle, under mu
}

// MaxPending bounds the questions that may stand at once; one more is denied.
const MaxPending = 256

// New returns an empty broker.
func New(now func() time.Time) *Broker {
	return &Broker{now: now, pending: map[string]*waiting{}, grants: map[string][]Grant{}, tickets: map[string][]ticket{}, closed: map[string]bool{}, watchers: map[int]watcher{}}
}

// Ask puts the question and waits for the first answer, the question's expiry
// or the end of ctx, whichever comes first. It returns a yes only if somebody
// said yes to this question.
//
// A question with Again stands when ctx has ended: the same call, made again,
// waits for it and no second one is put, and a yes that comes meanwhile waits
// for the call (see [Broker.Take]).
func (b *Broker) Ask(ctx context.Context, q Question) Answer {
	w, refused := b.open(q)
	if w == nil {
		return refused
	}
	q = w.q
	timer := time.NewTimer(q.Expires.Sub(b.now()))
	defer timer.Stop()
	select {
	case <-w.done:
	case <-ctx.Done():
		if q.Again && b.leave(w) {
			return Answer{ID: q.ID, State: Withdrawn, Word: "nobody has answered yet; the question stands until " + q.Expires.Format(time.TimeOnly)}
		}
		b.settle(q.ID, Answer{State: Withdrawn, Word: "the caller went away before anybody answered"})
	case <-timer.C:
		b.settle(q.ID, Answer{State: Expired, Word: "nobody answered in time"})
	}
	<-w.done
	return w.answer
}

func (b *Broker) open(q Question) (*waiting, Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	no := func(word string) (*waiting, Answer) {
		return nil, Answer{ID: q.ID, State: Withdrawn, Word: word}
	}
	if q.Again {
		for _, w := range b.pending {
			if w.left && w.q.Session == q.Session && w.q.Content == q.Content && w.q.Risk == q.Risk {
				w.left = false
				return w, Answer{}
			}
		}
	}
	switch {
	case b.closed[q.Session]:
		return no("the session has ended")
	case len(b.pending) >= MaxPending:
		return no(fmt.Sprintf("%d questions are waiting already; answer some with reeve approvals", MaxPending))
	case b.pending[q.ID] != nil:
		return no("a question with this id is pending")
	}
	w := &waiting{q: q, done: make(chan struct{})}
	b.pending[q.ID] = w
	b.tell(Event{q, Pending})
	return w, Answer{}
}

// leave lets a question stand for which nobody waits; false where it has ended
// by now.
func (b *Broker) leave(w *waiting) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending[w.q.ID] != w {
		return false
	}
	w.left = true
	time.AfterFunc(w.q.Expires.Sub(b.now()), func() { b.expire(w) })
	return true
}

// expire ends a question that nobody came back for.
func (b *Broker) expire(w *waiting) {
	b.mu.Lock()
	left := w.left
	b.mu.Unlock()
	if left {
		b.settle(w.q.ID, Answer{State: Expired, Word: "nobody answered in time"})
	}
}

// Take uses up the yes that a person gave to a call after its caller had gone:
// the same call, of the same risk, once. It returns the approval's id, or "".
func (b *Broker) Take(session string, content [32]byte, risk string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.tickets[session]
	for i, t := range all {
		if t.content == content && t.risk == risk {
			b.tickets[session] = append(all[:i:i], all[i+1:]...)
			if b.now().Before(t.until) {
				return t.id
			}
			return ""
		}
	}
	return ""
}

// maxTickets bounds those of one session; the oldest give way.
const maxTickets = 64

// Settle gives an answer from outside. It fails where the question is not
// pending any more, or the answer is one that the question does not offer.
func (b *Broker) Settle(id string, a Answer) error {
	if a.State != Allowed && a.State != Denied {
		return fmt.Errorf("%w: an answer is allowed or denied, not %q", reeve.ErrUsage, a.State)
	}
	b.mu.Lock()
	w := b.pending[id]
	b.mu.Unlock()
	if w != nil && a.State == Allowed && a.Scope != Once && !w.q.Standing {
		return fmt.Errorf("%w: this call can be allowed once only (destructive, escalated or tainted)", reeve.ErrUsage)
	}
	if !b.settle(id, a) {
		return fmt.Errorf("%w: no question %s is pending; it may have been answered, timed out or withdrawn", reeve.ErrNotFound, id)
	}
	return nil
}

// settle is the one place where a question ends: the first caller wins.
func (b *Broker) settle(id string, a Answer) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.pending[id]
	if w == nil {
		return false
	}
	delete(b.pending, id)
	a.ID = id
	w.answer = a
	if a.State == Allowed && a.Scope == Session {
		b.grants[w.q.Session] = append(b.grants[w.q.Session], Grant{id, w.q.Session, w.q.Tool, w.q.Preview, b.now(), w.q.Content})
	}
	if w.left && a.State == Allowed && a.Scope != Session {
		all := append(b.tickets[w.q.Session], ticket{id, w.q.Risk, w.q.Content, b.now().Add(TicketTime)})
		b.tickets[w.q.Session] = all[max(0, len(all)-maxTickets):]
	}
	close(w.done)
	b.tell(Event{w.q, a.State})
	return true
}

// Granted returns the id of the standing grant that covers a call in a
// session, or "".
func (b *Broker) Granted(session string, content [32]byte) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.grants[session] {
		if g.content == content {
			return g.ID
		}
	}
	return ""
}

// Grants lists every standing grant.
func (b *Broker) Grants() []Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Grant
	for _, gs := range b.grants {
		all = append(all, gs...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Since.Before(all[j].Since) })
	return all
}

// Revoke takes a standing grant back.
func (b *Broker) Revoke(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s, gs := range b.grants {
		for i, g := range gs {
			if g.ID == id {
				b.grants[s] = append(gs[:i:i], gs[i+1:]...)
				return nil
			}
		}
	}
	return fmt.Errorf("%w: no standing grant %s", reeve.ErrNotFound, id)
}

// Questions lists what is pending, oldest first.
func (b *Broker) Questions() []Question {
	b.mu.Lock()
	defer b.mu.Unlock()
	qs := make([]Question, 0, len(b.pending))
	for _, w := range b.pending {
		qs = append(qs, w.q)
	}
	sort.Slice(qs, func(i, j int) bool { return qs[i].Asked.Before(qs[j].Asked) })
	return qs
}

// CloseSession denies what the session still asks and drops its grants.
func (b *Broker) CloseSession(session string) {
	b.mu.Lock()
	b.closed[session] = true
	delete(b.grants, session)
	delete(b.tickets, session)
	var ids []string
	for id, w := range b.pending {
		if w.q.Session == session {
			ids = append(ids, id)
		}
	}
	b.mu.Unlock()
	for _, id := range ids {
		b.settle(id, Answer{State: Withdrawn, Word: "the session has ended"})
	}
}

// Close denies everything that is pending.
func (b *Broker) Close() {
	for _, q := range b.Questions() {
		b.settle(q.ID, Answer{State: Withdrawn, Word: "Reeve is stopping"})
	}
}

// Watch returns a channel of events and the pending questions at that moment;
// stop ends it. A face shows every question to a person and counts for
// [Broker.Watched]; a prompt for one call does not. A watcher that falls more
// than 64 events behind is cut off: its channel is closed and it must watch
// again.
func (b *Broker) Watch(face bool) (events <-chan Event, pending []Question, stop func()) {
	b.mu.Lock()
	id := b.nextW
	b.nextW++
	ch := make(chan Event, 64)
	b.watchers[id] = watcher{ch, face}
	b.mu.Unlock()
	return ch, b.Questions(), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if w, ok := b.watchers[id]; ok {
			delete(b.watchers, id)
			close(w.ch)
		}
	}
}

type watcher struct {
	ch   chan Event
	face bool
}

// Watched reports whether a face is open.
func (b *Broker) Watched() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.watchers {
		if w.face {
			return true
		}
	}
	return false
}

// tell is called under mu.
func (b *Broker) tell(e Event) {
	for id, w := range b.watchers {
		select {
		case w.ch <- e:
		default:
			delete(b.watchers, id)
			close(w.ch)
		}
	}
}
