// Package kernel is the hall of the house: the one path that every act of
// every actor takes (DESIGN 3, contract A35 to A53, G8 to G12).
//
// [Kernel.Do] decides and carries out one invocation. Where another program
// has the hand (a client's own tools, seen through its hooks), [Kernel.Decide]
// decides and records the intent, and [Kernel.Report] records what came of it.
// No other code runs a tool: every hand demands a permit, and only the kernel
// mints one.
//
// The steps stand in order in [steps]; each may end the call. The kernel fails
// closed: an error or a panic in any step is a denial with that reason.
package kernel

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Session is what the kernel needs to know of a session at this moment.
type Session struct {
	ID        string
	Workspace string
	Home      string
	Profile   string
	Mode      reeve.Mode
	Sandbox   reeve.Sandbox // state of the wall that our own tools run in
	Parent    string        // a delegated child: its policy meets its parent's (A2, A41)
	Policy    *policy.Set   // every layer joined; nil denies

	Only    map[string]bool // the actor's own tool set by canonical name; nil = no restriction
	OnlyWhy string          // which restriction Only is: an active skill, a role
}

// Sessions finds sessions and keeps what grows with them.
type Sessions interface {
	Find(id string) (Session, error)
	Catalog(session, tool string) reeve.Catalog // the stricter of the person's setting and the session's (Y27)
	Taint(session string) flow.Taint
	AddTaint(session string, t flow.Taint)
	Spend(session string) error // one more call; an error when the budget is used up
}

// Tools finds a tool by name, without regard to case.
type Tools interface {
	Find(name string) (tool.Tool, bool)
}

// Checker tests arguments: one strict JSON object that matches the schema.
type Checker interface {
	Check(t tool.Tool, raw []byte) error
}

// Disk answers what the policy must know of files, at this moment.
type Disk interface {
	Facts(workspace, path string) reeve.PathFacts
	RepoRuns(dir string) string // the repository setting that starts a program; "" = none
	Holds(path string) string   // a place below path that the guards close, as far as it is there; "" = none
	FoldsCase(workspace string) bool
	Contents(path string) (string, bool) // what a regular file holds; false = there is none, or it cannot be read whole
}

// Broker reaches a person.
type Broker interface {
	Ask(ctx context.Context, q approval.Question) approval.Answer
	Granted(session string, content [32]byte) string
	Take(session string, content [32]byte, risk string) string // a yes that came when the caller no longer waited
	Watched() bool
}

// Recorder is the audit. Append returns nil only when the record is durable.
type Recorder interface {
	Append(ctx context.Context, r reeve.Record) error
}

// Cleaner masks what is secret and makes what is invisible visible.
type Cleaner interface {
	Text(s string) string
	JSON(b []byte) []byte
	Show(s string) string // Text, with control and bidi characters made visible
}

// Hook is a person's own code before and after a call (A57). Hooks run by
// ascending priority.
type Hook interface {
	Name() string
	Priority() int
	// Pre may deny, may ask, may rewrite the arguments; Allow is no opinion.
	Pre(ctx context.Context, inv reeve.Invocation) (HookAnswer, error)
	// Post sees the outcome; it cannot change it.
	Post(ctx context.Context, inv reeve.Invocation, r reeve.Result)
}

// HookAnswer is what a hook says before a call.
type HookAnswer struct {
	Verdict reeve.Verdict
	Reason  string
	Args    []byte // nil = unchanged
}

// Config is everything a kernel stands on. Every field but Hooks and Broker is
// required; a nil Broker refuses whatever would be asked (A4).
type Config struct {
	Tools    Tools
	Check    Checker
	Sessions Sessions
	Disk     Disk
	Broker   Broker
	Audit    Recorder
	Clean    Cleaner
	Hooks    []Hook
	Now      func() time.Time
	NewID    func() string
	Limits   Limits
}

// Limits bound time and nesting.
type Limits struct {
	Question time.Duration // how long a question stands
	Hook     time.Duration // one hook
	Intent   time.Duration // the intent must be durable within
	Run      time.Duration // one execution
	Depth    int           // nesting of calls
}

// Kernel decides and acts. It is safe for concurrent use.
type Kernel struct {
	Config
	permits *permit.Issuer

	mu   sync.Mutex
	live map[string]*call // calls that run here, or that a client runs, by invocation id
}

// New returns a kernel. A missing part is a programmer's mistake and panics.
func New(c Config) *Kernel {
	if c.Tools == nil || c.Check == nil || c.Sessions == nil || c.Disk == nil || c.Audit == nil || c.Clean == nil || c.Now == nil || c.NewID == nil {
		panic("kernel: a required part is missing")
	}
	c.Hooks = sortedHooks(c.Hooks)
	return &Kernel{Config: c, permits: permit.NewIssuer(c.Now), live: map[string]*call{}}
}

// steps is the one path. Each step is named by what it settles; a step that
// denies ends the call.
var steps = [...]struct {
	name reeve.Step
	do   func(*Kernel, context.Context, *call)
}{
	{reeve.StepShape, (*Kernel).shape},     // 1  known tool, well-formed arguments, known effects
	{reeve.StepGuard, (*Kernel).guard},     // 2  what no rule can lift
	{reeve.StepHook, (*Kernel).hook},       // 3  pre_tool_use
	{reeve.StepOrigin, (*Kernel).origin},   // 4  the caller's authority
	{reeve.StepPolicy, (*Kernel).policy},   // 5  rules, catalog, read-only table, tier, default
	{reeve.StepTool, (*Kernel).escalate},   // 6  the tool's own question
	{reeve.StepFlow, (*Kernel).flow},       // 7  untrusted text and private data
	{reeve.StepMode, (*Kernel).mode},       // 7a the matrix
	{reeve.StepConfirm, (*Kernel).confirm}, // 8  a person's word
	{reeve.StepBudget, (*Kernel).budget},   // 8a calls and nesting
	{reeve.StepIntent, (*Kernel).intent},   // 9  durable before the hand moves
}

// explained is how many of the steps an explanation walks: up to the matrix,
// which is the last that asks nobody and writes nothing.
const explained = 8

// Do decides inv, carries it out where it is allowed, and returns what was
// decided and what came of it, redacted. Where the result is Open the act goes
// on, and the caller owes a Report when it ends; where another daemon is there
// by then, a [Kernel.ReportLate].
func (k *Kernel) Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result) {
	c := k.open(inv)
	defer k.close(c)
	if k.walk(ctx, c, len(steps)); c.d.Verdict != reeve.Allow {
		return k.refuse(ctx, c)
	}
	r := k.execute(ctx, c) // 10 in the jail, with the permit
	r = k.redact(r)        // 11 nothing secret leaves
	if r.Open {
		k.Sessions.AddTaint(c.inv.Session, flow.From(c.spec.Source, c.in.Effects)) // what it brings, it brings before its outcome
		k.leave(c)
		return c.d, r
	}
	k.outcome(ctx, c, r) // 12 written, hooks, taint
	return c.d, r
}

// Decide settles an invocation that another program will carry out. When it
// allows, the intent is durable and the caller owes a Report.
func (k *Kernel) Decide(ctx context.Context, inv *reeve.Invocation) reeve.Decision {
	c := k.open(inv)
	c.foreign = true
	defer k.close(c)
	if k.walk(ctx, c, len(steps)); c.d.Verdict != reeve.Allow {
		d, _ := k.refuse(ctx, c)
		return d
	}
	k.Sessions.AddTaint(inv.Session, flow.From(c.spec.Source, c.in.Effects))
	return c.d
}

// Report records what came of a call that Decide allowed. Each call is
// reported once.
func (k *Kernel) Report(ctx context.Context, id string, r reeve.Result) error {
	k.mu.Lock()
	c := k.live[id]
	if c == nil || !c.foreign {
		k.mu.Unlock()
		return fmt.Errorf("%w: no call %s is waiting for its outcome", reeve.ErrNotFound, id)
	}
	delete(k.live, id)
	k.mu.Unlock()
	return k.outcome(ctx, c, k.redact(r))
}

// ReportLate records what came of a call whose intent was written by a daemon
// that is gone, and whose act outlived it. intent is that row of the record.
func (k *Kernel) ReportLate(ctx context.Context, intent reeve.Record, r reeve.Result) error {
	if intent.Phase != reeve.PhaseIntent {
		return fmt.Errorf("%w: call %s has its outcome already", reeve.ErrUsage, intent.CallID)
	}
	r = k.redact(r)
	intent.Phase, intent.Time = reeve.PhaseOutcome, k.Now()
	intent.Status, intent.Duration, intent.Summary = r.Status, r.Duration, summary(r)
	return k.write(ctx, intent)
}

// Explain tells what would be decided and why, step by step. It asks nobody,
// runs nothing and writes nothing.
func (k *Kernel) Explain(ctx context.Context, inv *reeve.Invocation) reeve.Decision {
	c := &call{inv: *inv, explain: true}
	k.walk(ctx, c, explained)
	return c.d
}

// EndSession gives every call of the session that nobody reported an outcome:
// unknown.
func (k *Kernel) EndSession(ctx context.Context, session string) {
	k.mu.Lock()
	var left []*call
	for id, c := range k.live {
		if c.inv.Session == session && c.foreign {
			left = append(left, c)
			delete(k.live, id)
		}
	}
	k.mu.Unlock()
	for _, c := range left {
		k.outcome(ctx, c, reeve.Result{Status: reeve.StatusUnknown, Error: "the session ended before an outcome was reported"})
	}
}

// walk takes the call through the first n steps. A panic in a step is a denial.
func (k *Kernel) walk(ctx context.Context, c *call, n int) {
	at := reeve.StepShape
	defer func() {
		if p := recover(); p != nil {
			c.deny(at, "internal fault", fmt.Sprintf("Reeve itself failed in step %s (%v); nothing was run", at, p))
		}
	}()
	for i := range steps[:n] {
		at = steps[i].name
		if steps[i].do(k, ctx, c); c.over {
			return
		}
	}
}

func (k *Kernel) open(inv *reeve.Invocation) *call {
	c := &call{inv: *inv, started: k.Now()}
	k.mu.Lock()
	if _, twice := k.live[inv.ID]; twice {
		c.clash = true
	} else {
		k.live[inv.ID] = c
	}
	k.mu.Unlock()
	return c
}

// leave keeps a call that goes on until its outcome is reported.
func (k *Kernel) leave(c *call) {
	k.mu.Lock()
	c.foreign = true
	k.mu.Unlock()
}

// close forgets a call that is over; one that is owed a report is not.
func (k *Kernel) close(c *call) {
	if c.clash || c.foreign && c.d.Verdict == reeve.Allow {
		return
	}
	k.mu.Lock()
	delete(k.live, c.inv.ID)
	k.mu.Unlock()
}
