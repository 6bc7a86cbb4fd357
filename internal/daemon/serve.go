package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/ingress/api"
	rundoor "github.com/reeve-gate/reeve/internal/ingress/run"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/keeper"
	"github.com/reeve-gate/reeve/internal/jail/limit"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/launch"
	"github.com/reeve-gate/reeve/internal/wire"
)

var (
	_ api.Daemon   = (*Daemon)(nil)
	_ rundoor.Host = (*Daemon)(nil)
)

const jailGrace = launch.StopGrace

// Status tells how the daemon is.
func (d *Daemon) Status() wire.Status {
	ready := d.wall.Ready(context.Background())
	signed, published := d.notary.Lines()
	return wire.Status{PID: os.Getpid(), Build: d.opt.Build, Started: d.started, Socket: d.socket,
		Sessions: len(d.store.List()), Questions: len(d.broker.Questions()), Audit: d.auditState(), Signed: signed, Published: published,
		Sandbox: ready.State.String() + ", " + ready.Engine, Telemetry: d.tele.State(),
		Notes: slices.Concat(d.conf.Stale(d.opt.Paths.Config), d.layers.Faults())}
}

// Stop begins to end the daemon.
func (d *Daemon) Stop() { d.stopOnce.Do(func() { close(d.stopping) }) }

// Down begins to end the daemon, on request after the sessions that would go on
// without it, and tells which do.
func (d *Daemon) Down(ctx context.Context, w wire.Down) wire.Downed {
	if w.StopSessions {
		d.runs.StopAll(ctx)
	}
	var out wire.Downed
	for _, s := range d.runs.List() {
		if s.State == "running" {
			out.Sessions = append(out.Sessions, s.ID)
		}
	}
	d.Stop()
	return out
}

// Yield ends the daemon for a client of another build: only where the program
// on disk has really changed and nothing is going on.
func (d *Daemon) Yield(string) bool {
	now, err := os.Stat(d.exe)
	changed := err != nil || d.exeStat == nil || !os.SameFile(now, d.exeStat) || now.Size() != d.exeStat.Size() || !now.ModTime().Equal(d.exeStat.ModTime())
	d.mu.Lock()
	busy := false
	for _, t := range d.trees {
		busy = busy || !t.kept()
	}
	d.mu.Unlock()
	if !changed || busy || d.api.Live() > 0 || len(d.broker.Questions()) > 0 {
		return false
	}
	d.Stop()
	return true
}

// Tools lists the tools with the person's settings.
func (d *Daemon) Tools() []wire.Tool {
	set := d.store.Settings()
	var out []wire.Tool
	for _, t := range d.tools.All() {
		s := t.Spec()
		out = append(out, wire.Tool{Name: s.Name, Tier: s.Tier.String(), Source: s.Source, State: set[s.Name].String(), Description: s.Description})
		delete(set, s.Name)
	}
	for name, c := range set { // settings for tools that are not here now
		out = append(out, wire.Tool{Name: name, State: c.String()})
	}
	return out
}

// SetTool changes the person's setting for one tool.
func (d *Daemon) SetTool(t wire.SetTool) error {
	c, err := reeve.ParseCatalog(t.State)
	if err != nil {
		return fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	if t.Name == "" || len(t.Name) > 200 {
		return fmt.Errorf("%w: name a tool; reeve tools ls lists them", reeve.ErrUsage)
	}
	return d.store.SetTool(t.Name, c)
}

// Trust accepts or forgets the exact content of a project's policy file.
func (d *Daemon) Trust(t wire.Trust) error {
	ws, err := session.Workspace(t.Workspace, d.opt.Paths.Home)
	if err != nil {
		return err
	}
	if len(t.Digest) != 32 {
		return fmt.Errorf("%w: a digest has 32 bytes, got %d", reeve.ErrUsage, len(t.Digest))
	}
	return d.trust.Set(ws, [32]byte(t.Digest), !t.Forget)
}

// SaveRule appends an allow rule to the user policy, after checking that the
// file still reads with it.
func (d *Daemon) SaveRule(rule string) error {
	file := filepath.Join(d.opt.Paths.Config, "policy.toml")
	_, err := config.Edit(file, func(src []byte) ([]byte, error) { return policy.AddAllow(file, src, rule) })
	if err != nil {
		return fmt.Errorf("save the rule: %w", err)
	}
	return nil
}

// OpenHook serves the session's own socket: one that was made ready before.
func (d *Daemon) OpenHook(ctx context.Context, id string) (string, error) {
	l, err := d.hooks.Open()
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	t := d.trees[id]
	t.hook = l
	d.trees[id] = t
	d.mu.Unlock()
	go d.api.Serve(context.WithoutCancel(ctx), l, id)
	return l.Path(), nil
}

// Sockets says where the sockets of a kept session stand.
func (d *Daemon) Sockets(id string) (hook, keeperSocket, control string, err error) {
	if hook, err = localsock.Path(d.store.Dir(id), wire.HookSocket, d.opt.Getenv); err != nil {
		return "", "", "", err
	}
	keeperSocket, err = localsock.Path(d.store.Dir(id), keeper.SocketName, d.opt.Getenv)
	return hook, keeperSocket, d.socket, err
}

// ServeHook serves a kept session's own socket, which its keeper listens on.
func (d *Daemon) ServeHook(id string, f *os.File) error {
	l, err := localsock.ListenerFrom(f)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.trees[id]
	t.hook = l
	d.trees[id] = t
	go d.api.Serve(d.work, l, id)
	return nil
}

// StopRun ends the tree of a session that is not kept.
func (d *Daemon) StopRun(id string) bool {
	d.mu.Lock()
	p := d.trees[id].proc
	d.mu.Unlock()
	if p == nil {
		return false
	}
	p.Stop(jailGrace)
	return true
}

// Report records what came of a run that was left open, by this daemon or by
// an earlier one. A run that has its outcome already is not reported twice.
func (d *Daemon) Report(ctx context.Context, id, call string, r reeve.Result) error {
	err := d.kernel.Report(ctx, call, r)
	if !errors.Is(err, reeve.ErrNotFound) {
		return err
	}
	open, err := d.log.OpenIntents(id, time.Time{})
	if err != nil {
		return err
	}
	for _, intent := range open {
		if intent.CallID == call {
			return d.kernel.ReportLate(ctx, intent, r)
		}
	}
	return nil
}

// Running tells which tree belongs to a session, and the plan of its boundary as
// far as that is known: it is governed from now on.
func (d *Daemon) Running(id string, p jail.Process, plan jail.Plan) {
	d.api.Governed.Add(p.PID(), true)
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.trees[id]
	t.proc, t.plan = p, plan
	d.trees[id] = t
}

// sweepIn is when what a killed keeper left behind is old enough to be nobody's.
const sweepIn = 3 * time.Second

// Lost sweeps up after a keeper that was killed.
func (d *Daemon) Lost(string) { time.AfterFunc(sweepIn, limit.Sweep) }

// Ended takes a session down.
func (d *Daemon) Ended(id string) {
	d.mu.Lock()
	t := d.trees[id]
	delete(d.trees, id)
	d.mu.Unlock()
	if t.hook != nil {
		d.hooks.Drop(t.hook)
	}
	t.network.stop() // its connections are on record before the session ends
	d.EndSession(id)
}

// EndSession ends a session: what it asks is denied, what nobody reported is
// unknown.
func (d *Daemon) EndSession(id string) {
	d.broker.CloseSession(id)
	d.gateway.end(id)
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	d.kernel.EndSession(ctx, id)
	if err := d.store.End(id); err != nil {
		fmt.Fprintf(d.opt.Log, "%s end session %s: %v\n", time.Now().UTC().Format(time.RFC3339), id, err)
	}
}

// inside reports whether a process runs inside the session's boundary.
func (d *Daemon) inside(id string, pid int) bool {
	d.mu.Lock()
	p := d.trees[id].proc
	d.mu.Unlock()
	return p != nil && p.Contains(pid)
}
