// Package run is the door of reeve run: it makes a session for one program,
// lays the boundary over its workspace, hands both to the kernel, and ends
// with a receipt.
package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/creack/pty"
	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/plant"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/launch"
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
	// Running tells the daemon which tree belongs to the session.
	Running(id string, p jail.Process)
	// ServeNetwork serves the one way out of the session's boundary; it owns ln.
	ServeNetwork(id string, ln *os.File) error
	// Network says what went out of the session and what was refused, in lines
	// for a person.
	Network(id string) []string
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
	Now      func() time.Time
	NewID    func() string

	Home       string
	Own        []string // Reeve's own directories, hidden inside
	Cache      string   // below Own: what tools keep between runs
	Quarantine string   // below Own: where what a run planted is moved
	Runs       string   // where runs are noted while they last, for a start after a kill
	Write      []string // configured for every run
	Pass       []string
	Limits     jail.Limits // configured for every run
	Profile    string
	Mode       reeve.Mode
	Program    string // this program, shown inside for the hook

	Remote  Remote // starts programs on other machines; nil = none are set up
	Nowhere string // below Own: an empty directory, where sessions on other machines stand here
}

// Run starts r and returns when its tree is gone. streams are the caller's
// three; with r.TTY the program gets a pseudo-terminal whose other end goes
// out with started.
func (d *Door) Run(ctx context.Context, r wire.Run, streams []*os.File, started func(wire.Started, *os.File) error) (wire.Ran, error) {
	if len(r.Argv) == 0 {
		return wire.Ran{}, fmt.Errorf("%w: no program was named; write reeve run -- CMD", reeve.ErrUsage)
	}
	if len(streams) != 3 {
		return wire.Ran{}, fmt.Errorf("%w: a run needs its three streams, got %d", reeve.ErrUsage, len(streams))
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
	one, err := d.open(r)
	if err != nil {
		return wire.Ran{}, err
	}
	defer d.Host.Ended(one.ID)
	return d.in(ctx, one, r, streams, started)
}

// open makes the session: workspace = the one named, else the repository
// around the working directory, else that directory.
func (d *Door) open(r wire.Run) (session.Session, error) {
	mode := d.Mode
	if r.Mode != "" {
		m, err := reeve.ParseMode(r.Mode)
		if err != nil || m == reeve.ModeDangerous {
			return session.Session{}, fmt.Errorf("%w: mode %q: it is plan, auto or default", reeve.ErrUsage, r.Mode)
		}
		mode = m
	}
	ws := r.Workspace
	if ws == "" {
		ws = session.Repository(r.Dir)
		if _, err := session.Workspace(ws, d.Home); err != nil {
			ws = r.Dir
		}
	}
	profile := r.Profile
	if profile == "" {
		profile = d.Profile
	}
	p, err := jail.ProfileNamed(profile)
	if err != nil {
		return session.Session{}, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	net, err := netMode(r.Net, p)
	if err != nil {
		return session.Session{}, err
	}
	hosts, err := allowed(r, p, net)
	if err != nil {
		return session.Session{}, err
	}
	return d.Sessions.Create(session.Session{Name: r.Name, Client: "run", Workspace: ws, Mode: mode, Profile: profile,
		Agent: programName(r.Argv), Allowed: hosts}, d.Home)
}

func (d *Door) in(ctx context.Context, one session.Session, r wire.Run, streams []*os.File, started func(wire.Started, *os.File) error) (wire.Ran, error) {
	begin := d.Now()
	plan, args, err := d.plan(ctx, one, r)
	if err != nil {
		return wire.Ran{}, err
	}
	way := &wayOut{host: d.Host, id: one.ID, needed: plan.Net == jail.ProxiedNetwork}
	job := &launch.Job{Plan: plan, Cmd: jail.Cmd{Argv: r.Argv, Stdin: streams[0], Stdout: streams[1], Stderr: streams[2], Umask: r.Umask, Listener: way.listener}}
	var master *os.File
	if r.TTY {
		if master, job.Cmd.TTY, err = terminal(r.Rows, r.Cols); err != nil {
			return wire.Ran{}, err
		}
		defer master.Close()
		defer job.Cmd.TTY.Close()
	}
	job.Started = func(p jail.Process) error {
		if job.Cmd.TTY != nil {
			job.Cmd.TTY.Close() // or the end of the program would never reach the master
		}
		d.Host.Running(one.ID, p)
		if err := way.check(); err != nil {
			job.Fault = err
			return err
		}
		return started(wire.Started{Session: one.ID, PID: p.PID()}, master)
	}
	inv := &reeve.Invocation{ID: d.NewID(), Session: one.ID, Actor: reeve.ActorUser, Channel: reeve.ChannelCLI, Origin: reeve.OriginHost,
		Tool: launch.Name, Args: args, Dir: plan.Dir}
	defer d.Launch.Give(inv.ID, job)()
	before := plant.Snapshot(plan, begin)
	forget, err := before.Note(d.Runs)
	if err != nil {
		return wire.Ran{}, err
	}
	dec, res := d.Kernel.Do(ctx, inv)
	after := before.Compare(context.WithoutCancel(ctx)) // of a run that was interrupted too
	forget()
	switch {
	case job.Fault != nil:
		return wire.Ran{}, fmt.Errorf("%w: %v", reeve.ErrBoundary, job.Fault)
	case dec.Verdict != reeve.Allow:
		return wire.Ran{}, fmt.Errorf("%w: %s (%s, %s)", reeve.ErrDenied, res.Error, dec.Rule, dec.Source)
	case res.Status == reeve.StatusDenied:
		return wire.Ran{}, fmt.Errorf("%w: %s", reeve.ErrBoundary, res.Error)
	case res.ExitCode == launch.NotFound && job.Exit.Code == 0, res.ExitCode == launch.NotRunnable && job.Exit.Code == 0:
		return wire.Ran{Session: one.ID, Code: res.ExitCode, Receipt: []string{res.Error}}, nil
	case job.Exit.Code == 0 && res.Status != reeve.StatusSuccess:
		return wire.Ran{}, fmt.Errorf("%w: %s", reeve.ErrBoundary, res.Error)
	}
	end := wire.Ran{Session: one.ID, Code: job.Exit.Code}
	if !r.NoReceipt {
		end.Receipt = receipt(d.Now().Sub(begin), plan, job.Exit, after, d.Sessions.Tally(one.ID), d.Host.Network(one.ID))
	}
	return end, nil
}

// plan lays the session's profile over its workspace.
func (d *Door) plan(ctx context.Context, one session.Session, r wire.Run) (jail.Plan, []byte, error) {
	profile, err := jail.ProfileNamed(one.Profile)
	if err != nil {
		return jail.Plan{}, nil, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	opts := jail.Options{Argv: r.Argv, Write: slices.Concat(absolute(r.Write, r.Dir), d.Write), ReadOnly: r.ReadOnly,
		Pass: append(r.PassEnv[:len(r.PassEnv):len(r.PassEnv)], d.Pass...), Set: []string{"REEVE_SESSION=" + one.ID}}
	opts.Limits = d.Limits
	if r.Memory < 0 || r.Processes < 0 || r.Memory > 0 && r.Memory < minMemory || r.Processes > 0 && r.Processes < minProcesses {
		return jail.Plan{}, nil, fmt.Errorf("%w: no program starts with less than 16MiB of memory or %d processes", reeve.ErrUsage, minProcesses)
	}
	if r.Memory > 0 {
		opts.Limits.Memory = r.Memory
	}
	if r.Processes > 0 {
		opts.Limits.Processes = r.Processes
	}
	net, err := netMode(r.Net, profile)
	if err != nil {
		return jail.Plan{}, nil, err
	}
	opts.Net = &net
	if net == jail.ProxiedNetwork {
		opts.Set = append(opts.Set, "GIT_SSH_COMMAND="+proxyCommand(d.Program))
		opts.Loopback = loopback(one.Allowed)
	}
	opts.Expose = []jail.Expose{{From: d.Program, To: d.Program}}
	if !profile.NoUnix {
		sock, err := d.Host.OpenHook(ctx, one.ID)
		if err != nil {
			return jail.Plan{}, nil, fmt.Errorf("open the session's socket: %w", err)
		}
		opts.Set = append(opts.Set, "REEVE_HOOK_SOCK="+wire.InsideHook)
		opts.Expose = append(opts.Expose, jail.Expose{From: sock, To: wire.InsideHook})
	}
	plan, err := profile.Plan(jail.Place{Workspace: one.Workspace, Dir: r.Dir, Home: d.Home, State: d.Own, Cache: d.Cache, Quarantine: d.Quarantine, Env: r.Env}, opts)
	if err != nil {
		return jail.Plan{}, nil, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	args, err := json.Marshal(launch.Args{Argv: r.Argv, Profile: plan.Profile, Net: plan.Net.String(), Write: r.Write})
	if err != nil {
		return jail.Plan{}, nil, fmt.Errorf("%w: the command line is not valid text: %v", reeve.ErrUsage, err)
	}
	return plan, args, nil
}

// Bounds below these stop every program at its start.
const (
	minMemory    = 16 << 20
	minProcesses = 4
)

// absolute reads the paths that a person typed from where they typed them.
func absolute(paths []string, dir string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		if out[i] = p; p != "" && !filepath.IsAbs(p) {
			out[i] = filepath.Join(dir, p)
		}
	}
	return out
}

// terminal opens a pseudo-terminal of the caller's size.
func terminal(rows, cols uint16) (master, slave *os.File, err error) {
	master, slave, err = pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal for the program: %w", err)
	}
	if rows > 0 && cols > 0 {
		if err := pty.Setsize(master, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
			master.Close()
			slave.Close()
			return nil, nil, fmt.Errorf("size the program's terminal: %w", err)
		}
	}
	return master, slave, nil
}

// decided says how the gate decided. Most programs ask it nothing; the boundary
// contains them all the same, and a zero would read as if it had refused.
func decided(t session.Tally) string {
	if t.Allowed+t.Asked+t.Denied == 0 {
		return "no calls were decided by the gate: nothing inside used the hook"
	}
	return fmt.Sprintf("decided: %d allowed, %d asked, %d denied", t.Allowed, t.Asked, t.Denied)
}

// receipt says what happened, in lines for a person.
func receipt(took time.Duration, plan jail.Plan, exit jail.Exit, after plant.Changes, t session.Tally, network []string) []string {
	lines := []string{
		fmt.Sprintf("%s in profile %s, exit %d", took.Round(10*time.Millisecond), plan.Profile, exit.Code),
		decided(t),
		"files changed: " + after.String(),
	}
	if plan.Net == jail.UnrestrictedNetwork {
		network = []string{"network: open, as this machine's own; nothing in it was decided or recorded"}
	}
	lines = append(lines, network...)
	for _, r := range t.Refusals {
		lines = append(lines, "refused: "+r)
	}
	lines = append(lines, after.Lines(plan.Workspace)...)
	if l := plan.Limits; l.Memory > 0 || l.Processes > 0 || l.Processors > 0 {
		lines = append(lines, "limits held: "+strings.Join(exit.Held, ", "))
	}
	if len(exit.Unheld) > 0 {
		lines = append(lines, "limits not held here: "+strings.Join(exit.Unheld, ", "))
	}
	return append(lines, plan.Notes...)
}
