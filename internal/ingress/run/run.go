// Package run is the door of reeve run: it makes a session for one program,
// lays the boundary over its workspace, hands both to the kernel, and ends
// with a receipt.
package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/ingress/receipt"
	"github.com/reeve-gate/reeve/internal/ingress/review"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/keeper"
	"github.com/reeve-gate/reeve/internal/jail/plant"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/launch"
	"github.com/reeve-gate/reeve/internal/vault/ref"
	"github.com/reeve-gate/reeve/internal/view"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Kernel is the part of the kernel this door uses.
type Kernel interface {
	Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result)
}

// Host is what the daemon does for a running session.
type Host interface {
	// OpenHook serves the session's own socket and returns its path outside.
	OpenHook(ctx context.Context, id string) (path string, err error)
	// Sockets says where a kept session's two sockets stand, and the daemon's.
	Sockets(id string) (hook, keeper, control string, err error)
	// ServeHook serves a session's own socket that another process listens on.
	ServeHook(id string, f *os.File) error
	// Running tells the daemon which tree belongs to the session, and what is
	// known of its boundary.
	Running(id string, p jail.Process, plan jail.Plan)
	// StopRun ends the tree of a session that is not kept; false where none
	// runs.
	StopRun(id string) bool
	// Report records what came of a run that was left open, perhaps by another
	// daemon.
	Report(ctx context.Context, session, call string, r reeve.Result) error
	// ServeNetwork serves the one way out of the session's boundary; it owns ln.
	ServeNetwork(id string, ln *os.File) error
	// Network says what went out of the session and what was refused, in lines
	// for a person.
	Network(id string) []string
	// Lost says that what kept the session was killed, and may have left
	// something of its boundary on the machine.
	Lost(id string)
	// Ended takes the session down: questions, sockets, tree.
	Ended(id string)
}

// Door starts programs in sessions of their own.
type Door struct {
	Kernel   Kernel
	Host     Host
	Sessions *session.Store
	Wall     jail.Wall
	Launch   *launch.Tool
	Desk     review.Desk // where views are looked at
	Now      func() time.Time
	NewID    func() string

	// Of the sessions that are kept.
	Folder  func(id string) string
	Vault   ref.Resolver
	Clean   func(string) string // masks what a record of a session must not hold
	Log     func(format string, args ...any)
	Secrets *keeper.Masks // values that are masked in what a session shows

	Checkouts string // where checkouts of sessions stand; not below Own

	layout.Ground
	Runs    string // where runs are noted while they last, for a start after a kill
	Profile string
	Mode    reeve.Mode
	Hosts   func([]session.Allowed) error // what is wrong with hosts as rules, or nil

	Remote  Remote // starts programs on other machines; nil = none are set up
	Nowhere string // below Own: an empty directory, where sessions on other machines stand here

	runs runs
}

// Run starts r and returns when its tree is gone. streams are the caller's
// three. With r.TTY the program gets a terminal of its own in a session that is
// kept, and the connection to it goes out with started (package attach); with
// r.Detach nobody is attached, and Run returns as soon as the program runs.
func (d *Door) Run(ctx context.Context, r wire.Run, streams []*os.File, started func(wire.Started, *os.File) error) (wire.Ran, error) {
	if len(r.Argv) == 0 {
		return wire.Ran{}, fmt.Errorf("%w: no program was named; write reeve run -- CMD", reeve.ErrUsage)
	}
	if !r.TTY && !r.Detach && len(streams) != 3 {
		return wire.Ran{}, fmt.Errorf("%w: a run needs its three streams, got %d", reeve.ErrUsage, len(streams))
	}
	if err := review.Refuses(r, d.Wall.Name()); err != nil {
		return wire.Ran{}, err
	}
	if r.Host != "" && r.Detach {
		return wire.Ran{}, fmt.Errorf("%w: a program on another machine is not kept there: leave --detach out", reeve.ErrUsage)
	}
	if r.Host != "" {
		return d.remote(ctx, r, streams, started)
	}
	if r.HostDir != "" {
		return wire.Ran{}, fmt.Errorf("%w: --dir names a directory of another machine; name the machine with --host", reeve.ErrUsage)
	}
	ready := d.Wall.Ready(ctx)
	if !ready.Usable() {
		return wire.Ran{}, fmt.Errorf("%w: the sandbox does not hold on this machine (%s); nothing was started: %s", reeve.ErrBoundary, ready.Engine, ready.Fix)
	}
	tree, notes, err := d.ownTree(ctx, &r)
	if err != nil {
		return wire.Ran{}, err
	}
	one, err := d.open(r)
	if err != nil {
		return wire.Ran{}, d.unmade(ctx, tree, err)
	}
	if r.TTY || r.Detach || tree != nil || r.Review {
		if err := d.Sessions.Keep(one.ID); err != nil {
			d.Host.Ended(one.ID)
			return wire.Ran{}, d.unmade(ctx, tree, err)
		}
	}
	if r.TTY || r.Detach {
		ran, err := d.keep(ctx, one, r, tree, notes, started)
		if d.runs.get(one.ID) == nil { // nothing was started
			err = d.unmade(ctx, tree, err)
		}
		return ran, err
	}
	defer d.Host.Ended(one.ID)
	if tree != nil {
		return d.runInTree(ctx, one, r, tree, notes, func() (wire.Ran, error) {
			return d.in(ctx, one, r, shown{read: []string{tree.Repo}}, streams, started)
		})
	}
	if r.Review {
		return d.runInView(ctx, one, r, func(v *view.View) (wire.Ran, error) {
			return d.in(ctx, one, r, shown{view: v.Tree()}, streams, started)
		})
	}
	return d.in(ctx, one, r, shown{}, streams, started)
}

// workspace is the one named, else the repository around the working
// directory, else that directory.
func (d *Door) workspace(r wire.Run) string {
	if r.Workspace != "" {
		return r.Workspace
	}
	ws := session.Repository(r.Dir)
	if _, err := session.Workspace(ws, d.Home); err != nil {
		ws = r.Dir
	}
	return ws
}

// open makes the session.
func (d *Door) open(r wire.Run) (session.Session, error) {
	mode := d.Mode
	if r.Mode != "" {
		m, err := reeve.ParseMode(r.Mode)
		if err != nil || m == reeve.ModeDangerous {
			return session.Session{}, fmt.Errorf("%w: mode %q: it is plan, auto or default", reeve.ErrUsage, r.Mode)
		}
		mode = m
	}
	ws := d.workspace(r)
	profile := r.Profile
	if profile == "" {
		profile = d.Profile
	}
	p, err := jail.ProfileNamed(profile, d.Profiles...)
	if err != nil {
		return session.Session{}, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	net, err := layout.NetMode(r.Net, p)
	if err != nil {
		return session.Session{}, err
	}
	hosts, err := layout.Allowed(r, p, net)
	if err != nil {
		return session.Session{}, err
	}
	if err := d.Hosts(hosts); err != nil {
		return session.Session{}, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	return d.Sessions.Begin(session.Session{Name: r.Name, Client: "run", Workspace: ws, Mode: mode, Profile: profile,
		Agent: layout.ProgramName(r.Argv), Allowed: hosts}, d.Home)
}

// shown is what a run sees beside, or in place of, its workspace.
type shown struct {
	read []string
	view string
}

// in runs r with the caller's own streams, to its end.
func (d *Door) in(ctx context.Context, one session.Session, r wire.Run, also shown, streams []*os.File, started func(wire.Started, *os.File) error) (wire.Ran, error) {
	begin := d.Now()
	lay, err := d.Layout(one, r)
	if err != nil {
		return wire.Ran{}, err
	}
	lay.Read, lay.View = also.read, also.view
	hook := ""
	if !lay.Profile.NoUnix {
		if hook, err = d.Host.OpenHook(ctx, one.ID); err != nil {
			return wire.Ran{}, fmt.Errorf("open the session's socket: %w", err)
		}
	}
	plan, args, err := d.Plan(one, lay, r.Env, hook)
	if err != nil {
		return wire.Ran{}, err
	}
	way := &wayOut{host: d.Host, id: one.ID, needed: plan.Net == jail.ProxiedNetwork}
	job := &launch.Job{Plan: plan, Cmd: jail.Cmd{Argv: r.Argv, Stdin: streams[0], Stdout: streams[1], Stderr: streams[2], Umask: r.Umask, Listener: way.listener}}
	job.Secrets = func() ([]string, error) { return lay.Resolved(d.Vault) }
	job.Started = func(p jail.Process) error {
		d.Host.Running(one.ID, p, plan)
		if err := way.check(); err != nil {
			job.Fault = err
			return err
		}
		return started(wire.Started{Session: one.ID, PID: p.PID()}, nil)
	}
	inv := d.invocation(one, plan.Dir, args)
	defer d.Launch.Give(inv.ID, job)()
	before := plant.Snapshot(plan, begin)
	var forget func()
	noted := make(chan error, 1)
	job.Ready = sync.OnceValue(func() error { return <-noted })
	go func() { // while the kernel decides
		var err error
		forget, err = before.Note(d.Runs)
		noted <- err
	}()
	dec, res := d.Kernel.Do(ctx, inv)
	after := before.Compare(context.WithoutCancel(ctx)) // of a run that was interrupted too
	if job.Ready() == nil {
		forget()
	}
	if end, err := refused(one, dec, res, job); end != nil || err != nil {
		return *cmp.Or(end, &wire.Ran{}), err
	}
	end := wire.Ran{Session: one.ID, Code: job.Exit.Code}
	if !r.NoReceipt {
		end.Receipt = receipt.Lines(d.Now().Sub(begin), plan, job.Exit, after, d.Sessions.Tally(one.ID), d.Host.Network(one.ID))
	}
	return end, nil
}

func (d *Door) invocation(one session.Session, dir string, args []byte) *reeve.Invocation {
	return &reeve.Invocation{ID: d.NewID(), Session: one.ID, Actor: reeve.ActorUser, Channel: reeve.ChannelCLI, Origin: reeve.OriginHost,
		Tool: launch.Name, Args: args, Dir: dir}
}

// refused says why nothing ran, or how a program ended that could not be
// started; neither where it ran.
func refused(one session.Session, dec reeve.Decision, res reeve.Result, job *launch.Job) (*wire.Ran, error) {
	switch {
	case job.Fault != nil:
		return nil, job.Fault
	case dec.Verdict != reeve.Allow:
		return nil, fmt.Errorf("%w: %s (%s, %s)", reeve.ErrDenied, res.Error, dec.Rule, dec.Source)
	case res.Status == reeve.StatusDenied:
		return nil, fmt.Errorf("%w: %s", reeve.ErrBoundary, res.Error)
	case job.Exit.Code != 0: // it ran
	case res.ExitCode == launch.NotFound, res.ExitCode == launch.NotRunnable:
		return &wire.Ran{Session: one.ID, Code: res.ExitCode, Receipt: []string{res.Error}}, nil
	case res.Status != reeve.StatusSuccess:
		return nil, fmt.Errorf("%w: %s", reeve.ErrBoundary, res.Error)
	}
	return nil, nil
}

// wayOut hands the listener of a boundary to the daemon and knows whether it
// did.
type wayOut struct {
	host   Host
	id     string
	needed bool
	served bool
}

func (w *wayOut) listener(ln *os.File) error {
	w.served = true
	return w.host.ServeNetwork(w.id, ln)
}

// check refuses a boundary that should have a way out and has handed over
// none: it would be one without a network, and nobody would know why.
func (w *wayOut) check() error {
	if w.needed && !w.served {
		return fmt.Errorf("%w: the boundary of this machine has no network by rule; use --net none or --net open", reeve.ErrBoundary)
	}
	return nil
}
