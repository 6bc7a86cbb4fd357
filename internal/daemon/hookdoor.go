package daemon

import (
	"context"
	"strings"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/ingress/hook"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/foreign"
	"github.com/reeve-gate/reeve/internal/wire"
)

// hookDoor joins the hook's door to the local socket.
type hookDoor struct {
	door  *hook.Door
	limit time.Duration
}

func newHookDoor(d *Daemon, mode reeve.Mode) hookDoor {
	return hookDoor{
		limit: config.Duration(d.conf.Gate.HookDeadline),
		door: hook.New(hook.Options{
			Gate:     hookGate{d, d.conf.Approval.Unattended == "wait"},
			Sessions: hookSessions{d, mode},
			Plan:     d.store.SetPlan,
			Redact:   d.clean.Text,
			Refused:  d.untold,
			Reach:    d.reach,
		}),
	}
}

// Hook answers one event.
func (h hookDoor) Hook(ctx context.Context, w wire.Hook, inSession string) wire.Hooked {
	a := h.door.Handle(ctx, hook.Request{Client: w.Client, Event: w.Event, ProjectDir: w.ProjectDir, Start: w.Dir, InSession: inSession, Deadline: time.Now().Add(h.limit)})
	return wire.Hooked{Stdout: a.Stdout, Stderr: a.Stderr, Exit: a.Exit}
}

// hookGate is the kernel for calls of clients: a question waits for a person
// at any terminal unless the settings say otherwise.
type hookGate struct {
	*Daemon
	wait bool
}

func (g hookGate) Decide(ctx context.Context, inv *reeve.Invocation) reeve.Decision {
	inv.Askable = g.wait
	inv.Tool = foreign.Canonical(strings.TrimPrefix(string(inv.Actor), "hook:"), inv.Tool)
	d := g.kernel.Decide(ctx, inv)
	if g.hooked != nil {
		g.hooked(d)
	}
	return d
}

func (g hookGate) Report(ctx context.Context, id string, r reeve.Result) error {
	return g.kernel.Report(ctx, id, r)
}

// hookSessions keeps (client, its session) and ours together.
type hookSessions struct {
	d    *Daemon
	mode reeve.Mode
}

// ForClient's workspace is the client's project, else the repository around
// its working directory, else that directory; it is fixed for the session's
// life.
func (h hookSessions) ForClient(client, foreign, projectDir, cwd string, plan bool) (string, error) {
	ws := projectDir
	if ws == "" {
		ws = session.Repository(cwd)
		if _, err := session.Workspace(ws, h.d.opt.Paths.Home); err != nil {
			ws = cwd
		}
	}
	one, err := h.d.store.ForClient(session.Session{Client: client, Foreign: foreign, Workspace: ws, Mode: h.mode, Profile: h.d.conf.Sandbox.Profile}, h.d.opt.Paths.Home)
	if err != nil {
		return "", err
	}
	return one.ID, h.d.store.SetPlan(one.ID, plan)
}

func (h hookSessions) End(id string) { h.d.EndSession(id) }
