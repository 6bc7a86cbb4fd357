package hook

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/reeve-gate/reeve"
)

// Gate decides and records; the kernel is one.
type Gate interface {
	// Decide settles the call. It waits for a person where the decision is to
	// ask; what it returns is Allow or Deny. It obeys ctx.
	Decide(ctx context.Context, inv *reeve.Invocation) reeve.Decision
	// Report records what came of a call that Decide allowed, once.
	Report(ctx context.Context, callID string, r reeve.Result) error
}

// Sessions keeps which of Reeve's sessions answers for a client's.
type Sessions interface {
	// ForClient returns the session of (client, foreign), a new one on first
	// sight. projectDir is what the client calls its project, or "". plan says
	// that the client is in plan mode now: the session is then judged as one
	// in mode plan.
	ForClient(client, foreign, projectDir, cwd string, plan bool) (string, error)
	// End closes the session: what was never reported is unknown, what waits
	// is denied.
	End(session string)
}

// Options is what a door is made of.
type Options struct {
	Gate     Gate
	Sessions Sessions
	// Plan tightens a session that began elsewhere (reeve run) while a client
	// in it is in plan mode. Where it is nil, such a client's calls are denied.
	Plan func(session string, plan bool) error
	// Redact masks what leaves for the client; never nil.
	Redact func(string) string
	// Refused gives at most most connections that the boundary of a session
	// refused, each once. Nil where nothing is told.
	Refused func(session string, most int) []Refusal
	// Reach says what a session's run may do with a path. Nil where that is not
	// known.
	Reach func(session, path string) Reach
}

// Door answers a client's hook events. It is safe for concurrent use.
type Door struct {
	opt  Options
	open open
	told told
}

// New makes a door. A missing gate, session keeper or filter is a
// programmer's mistake and panics.
func New(o Options) *Door {
	if o.Gate == nil || o.Sessions == nil || o.Redact == nil {
		panic("hook.New: Gate, Sessions and Redact are needed")
	}
	return &Door{opt: o}
}

// Request is one event as it came from the client.
type Request struct {
	Client     string // "claude" or "codex"
	Event      []byte // one JSON object
	ProjectDir string // CLAUDE_PROJECT_DIR, or ""
	Start      string // where the client started the hook, or ""
	InSession  string // the session whose boundary provably holds the caller, or ""
	Deadline   time.Time
}

// Answer is what the client must see.
type Answer struct {
	Stdout []byte
	Stderr string
	Exit   int // 0 or 2
}

// The exit codes of a hook; no other is ever given.
const (
	exitAnswered = 0
	exitRefused  = 2
)

// grace is how long the gate may take to end a call whose time is up before
// the door answers without it.
const grace = 2 * time.Second

// Handle answers one event. It always answers: at the latest a moment after
// r.Deadline, where one is set, and with a denial wherever something is not
// certain.
func (d *Door) Handle(ctx context.Context, r Request) Answer {
	c := clients[r.Client]
	if c == nil {
		return refuse("it has no door for this client; there are reeve hook claude and reeve hook codex")
	}
	e, err := parse(r.Event)
	if err != nil {
		return refuse(err.Error())
	}
	if !r.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.Deadline)
		defer cancel()
	}
	switch c.events[e.name] {
	case decided:
		return d.decide(ctx, r, c, e)
	case confirmed:
		return d.confirm(r, c, e)
	case reported:
		return d.explained(r, e, d.report(ctx, r, e))
	case ending:
		return d.end(r, c, e)
	case passive:
		return Answer{}
	}
	return refuse("the event's hook_event_name is none that this version knows")
}

// decide asks the gate about one call.
func (d *Door) decide(ctx context.Context, r Request, c *client, e *event) Answer {
	if err := e.check(); err != nil {
		return refuse(err.Error())
	}
	session, err := d.session(r, c, e)
	if err != nil {
		return refuse("no session for the call: " + d.quote(err.Error(), maxReason))
	}
	id, err := uuid.NewV7()
	if err != nil {
		return refuse("no id for the call could be made")
	}
	inv := &reeve.Invocation{
		ID:        id.String(),
		Session:   session,
		Actor:     reeve.Actor("hook:" + r.Client),
		Channel:   reeve.ChannelHook,
		Origin:    reeve.OriginAgent,
		Tool:      e.tool,
		Args:      e.input,
		Dir:       e.dir,
		Contained: r.InSession != "",
	}
	dec := d.ask(ctx, inv)
	if dec.Verdict == reeve.Allow {
		d.open.put(keyOf(r, e), call{id: inv.ID, input: digest(e.input), asked: asked(e)})
	}
	return d.verdict(c, e.name, dec)
}

// confirm answers a client that asks, before it runs a call, whether it may. A
// call that the gate has allowed and that has not ended may: the person has
// decided it already, by a rule or an answer. Of anything else the door knows
// nothing, and leaves it to the client's own question.
func (d *Door) confirm(r Request, c *client, e *event) Answer {
	if err := e.check(); err != nil {
		return refuse(err.Error())
	}
	if !d.open.holds(keyOf(r, e), asked(e)) {
		return Answer{}
	}
	return c.confirm
}

// ask waits for the gate, but not beyond the call's time. An allow that comes
// when nobody waits for it any more is undone: the client will not run the
// call, and the record says so.
func (d *Door) ask(ctx context.Context, inv *reeve.Invocation) reeve.Decision {
	answers := make(chan reeve.Decision, 1)
	go func() { answers <- d.opt.Gate.Decide(ctx, inv) }() // ends with Decide, which obeys ctx
	select {
	case dec := <-answers:
		return d.inTime(ctx, inv.ID, dec)
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case dec := <-answers:
		return d.inTime(ctx, inv.ID, dec)
	case <-late.C:
		go func() { d.inTime(ctx, inv.ID, <-answers) }()
		return outOfTime(ctx)
	}
}

// inTime is dec, or a denial where the call's time is over.
func (d *Door) inTime(ctx context.Context, id string, dec reeve.Decision) reeve.Decision {
	if dec.Verdict != reeve.Allow || ctx.Err() == nil {
		return dec
	}
	over := outOfTime(ctx)
	// The gate keeps its own account of an outcome it could not write; the
	// answer is a denial either way.
	_ = d.opt.Gate.Report(context.WithoutCancel(ctx), id, reeve.Result{Status: reeve.StatusDenied, Error: over.Reason})
	return over
}

func outOfTime(ctx context.Context) reeve.Decision {
	reason := "the client no longer waits for the answer"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = "no answer within the time that the hook has"
	}
	return reeve.Decision{Verdict: reeve.Deny, Step: reeve.StepConfirm, Rule: "hook deadline", Source: "built-in", Reason: reason}
}

// session finds the session that answers for the event.
func (d *Door) session(r Request, c *client, e *event) (string, error) {
	if r.InSession == "" {
		return d.opt.Sessions.ForClient(r.Client, e.session, r.ProjectDir, c.dir(r, e), e.plan)
	}
	switch {
	case d.opt.Plan != nil:
		return r.InSession, d.opt.Plan(r.InSession, e.plan)
	case e.plan:
		return "", errors.New("the client is in plan mode, which this session cannot follow")
	}
	return r.InSession, nil
}

// explained adds what the boundary refused to the answer to an outcome. An
// answer that says something already is left as it is: it is told with the next
// one.
func (d *Door) explained(r Request, e *event, a Answer) Answer {
	if a.Exit != exitAnswered || len(a.Stdout) > 0 {
		return a
	}
	if text := d.tell(r, e); text != "" {
		a.Stdout = withContext(e.name, text)
	}
	return a
}

// report records what came of a call. A call that this door did not see
// decided, because the daemon began in between, stays without outcome.
func (d *Door) report(ctx context.Context, r Request, e *event) Answer {
	c, found := d.open.take(keyOf(r, e))
	if !found {
		return Answer{}
	}
	res := outcome(e)
	var told Answer
	if digest(e.input) != c.input {
		res.Status = reeve.StatusError
		res.Error = "the call ran with other arguments than those that were judged: another hook of the client rewrote them"
		told = Answer{Stderr: "Reeve: " + res.Error + ". It is recorded.\n", Exit: exitRefused}
	}
	err := d.opt.Gate.Report(ctx, c.id, res)
	if err != nil && !errors.Is(err, reeve.ErrNotFound) { // not found: the session ended, its outcome stands as unknown
		return Answer{Stderr: "Reeve could not record the outcome of this call: " + d.quote(err.Error(), maxReason) + "\n", Exit: exitRefused}
	}
	return told
}

// end closes the client's session. A session that began elsewhere outlives
// the clients in it.
func (d *Door) end(r Request, c *client, e *event) Answer {
	d.open.forget(r.Client, e.session)
	if r.InSession != "" || e.session == "" {
		return Answer{}
	}
	if id, err := d.opt.Sessions.ForClient(r.Client, e.session, r.ProjectDir, c.dir(r, e), false); err == nil {
		d.opt.Sessions.End(id)
	}
	return Answer{}
}
