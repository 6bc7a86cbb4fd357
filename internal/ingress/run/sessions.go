package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/keeper"
	"github.com/reeve-gate/reeve/internal/scroll"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/wire"
)

// minPart is how much of an id stands for it.
const minPart = 4

// find gives the session that a person means: by its name while it lives, by
// its id, or by a beginning or an end of one that no other has; an ended one
// by its name only where none that lives has it, the newest then.
func (d *Door) find(ref string) (*kept, error) {
	var named, parts []*kept
	for _, k := range d.runs.list() {
		if k.one.ID == ref {
			return k, nil
		}
		if k.one.Name == ref && ref != "" {
			named = append(named, k)
		}
		if len(ref) >= minPart && (strings.HasPrefix(k.one.ID, ref) || strings.HasSuffix(k.one.ID, ref)) {
			parts = append(parts, k)
		}
	}
	for _, k := range named {
		if k.living() {
			return k, nil
		}
	}
	switch {
	case len(named) > 0:
		return named[len(named)-1], nil
	case len(parts) == 1:
		return parts[0], nil
	case len(parts) > 1:
		return nil, fmt.Errorf("%w: %d sessions have an id with %q; write more of it", reeve.ErrUsage, len(parts), ref)
	}
	return nil, fmt.Errorf("%w: no session %q is kept; reeve sessions ls lists them", reeve.ErrNotFound, ref)
}

// alive is find for a session that runs and is reached.
func (d *Door) alive(ref string) (*kept, *keeper.Link, error) {
	k, err := d.find(ref)
	if err != nil {
		return nil, nil, err
	}
	d.runs.mu.Lock()
	link, fault := k.link, k.fault
	d.runs.mu.Unlock()
	switch {
	case !k.living():
		return k, nil, fmt.Errorf("%w: session %s has ended; reeve sessions logs %s shows what it showed, reeve sessions resume %[2]s starts it again", reeve.ErrNotFound, k.one.ID, ref)
	case link == nil:
		return k, nil, fmt.Errorf("session %s is not reached: %s", k.one.ID, fault)
	}
	return k, link, nil
}

// List is every kept session, as reeve sessions ls shows it.
func (d *Door) List() []wire.Session {
	var out []wire.Session
	for _, k := range d.runs.list() {
		d.runs.mu.Lock()
		rec, link, fault := k.rec, k.link, k.fault
		d.runs.mu.Unlock()
		w := Listed(k.one)
		w.Kept, w.Command, w.State = true, strings.Join(rec.Layout.Argv, " "), "running"
		w.Review = rec.View != nil
		if rec.Tree != nil {
			w.Branch, w.Into = rec.Tree.Branch, rec.Tree.Repo
		}
		switch {
		case !k.living() && rec.End != nil:
			w.State, w.Ended, w.Code, w.Receipt = "ended", rec.End.At, &rec.End.Code, rec.Receipt
			switch rec.End.Error {
			case "":
			case keeper.ErrLost.Error():
				w.State, w.Code = "lost", nil
			default:
				w.State, w.Code = "failed", nil
			}
		case link != nil:
			w.PID = link.PID()
			w.Attached, _ = link.Attached()
		case fault != "":
			w.State, w.Fault = "unreached", fault
		}
		out = append(out, w)
	}
	return out
}

// Listed is one session in the form of the wire.
func Listed(one session.Session) wire.Session {
	return wire.Session{ID: one.ID, Name: one.Name, Client: one.Client, Workspace: one.Workspace,
		Mode: one.Mode.String(), Profile: one.Profile, Started: one.Started, State: "running"}
}

// Attach gives one more terminal a session that runs and waits for its end.
func (d *Door) Attach(ctx context.Context, a wire.Attach, started func(wire.Started, *os.File) error) (wire.Ran, error) {
	k, link, err := d.alive(a.ID)
	if err != nil {
		return wire.Ran{}, err
	}
	f, err := link.Attach(attach.Size{Rows: a.Rows, Cols: a.Cols})
	if err != nil {
		return wire.Ran{}, err
	}
	err = started(wire.Started{Session: k.one.ID, PID: link.PID(), Kept: true}, f)
	f.Close()
	if err != nil {
		return wire.Ran{}, err
	}
	return d.await(ctx, k)
}

// Stop ends a session's program, kept or not, and returns when its end was
// dealt with.
func (d *Door) Stop(ctx context.Context, ref string) (wire.Ran, error) {
	k, link, err := d.alive(ref)
	switch {
	case k == nil && errors.Is(err, reeve.ErrNotFound) && d.Host.StopRun(ref):
		return wire.Ran{Session: ref}, nil
	case k == nil:
		return wire.Ran{}, err
	case !k.living():
		return d.runs.ran(k), nil // it is what was wanted
	case link == nil:
		return d.force(k)
	}
	go link.Stop(jail.StopGrace)
	ctx, cancel := context.WithTimeoutCause(ctx, stopFor, fmt.Errorf("session %s does not end", k.one.ID))
	defer cancel()
	return d.await(ctx, k)
}

// force ends a session that is not reached by the end of its keeper.
func (d *Door) force(k *kept) (wire.Ran, error) {
	place, err := keeper.Find(k.folder)
	if err != nil {
		return wire.Ran{}, err
	}
	if err := keeper.Kill(place); err != nil {
		return wire.Ran{}, err
	}
	if k.rec.Call == "" {
		return wire.Ran{}, fmt.Errorf("session %s was ended; its record cannot be read: %s", k.one.ID, k.fault)
	}
	d.settle(k, keeper.EndOf(k.folder, d.Now()))
	return d.runs.ran(k), nil
}

// StopAll ends every session that runs.
func (d *Door) StopAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, k := range d.runs.list() {
		if k.living() {
			all.Go(func() {
				if _, err := d.Stop(ctx, k.one.ID); err != nil {
					d.Log("stop session %s: %v", k.one.ID, err)
				}
			})
		}
	}
	all.Wait()
}

// Remove forgets a session that has ended: its log, its record and its folder.
// What it did stays in the record of the daemon.
func (d *Door) Remove(ref string) error {
	k, err := d.find(ref)
	if err != nil {
		return err
	}
	if k.living() {
		return fmt.Errorf("%w: session %s runs; reeve sessions stop %s ends it", reeve.ErrUsage, k.one.ID, ref)
	}
	if k.rec.View != nil {
		return fmt.Errorf("%w: session %s has a view with changes: reeve sessions apply %s takes it over, reeve sessions drop --force %[3]s forgets it", reeve.ErrUsage, k.one.ID, ref)
	}
	if k.rec.Tree != nil {
		return fmt.Errorf("%w: session %s has a checkout of its own: reeve sessions merge %s takes it over, reeve sessions drop --force %[3]s forgets it", reeve.ErrUsage, k.one.ID, ref)
	}
	// Its name is gone at once: a folder that a kill left half removed would
	// be nobody's.
	away := d.Folder(gonePrefix + k.one.ID)
	if err := os.Rename(k.folder, away); err != nil {
		return fmt.Errorf("remove session %s: %w", k.one.ID, err)
	}
	d.runs.drop(k.one.ID)
	if err := os.RemoveAll(away); err != nil {
		return fmt.Errorf("remove session %s: %w", k.one.ID, err)
	}
	return nil
}

// gonePrefix begins the name of a folder that is being removed.
const gonePrefix = "gone-"

// Logs hands out what a session has shown, masked: its files, or with follow
// and while it runs a connection on which it comes, and then the end. It
// returns when the caller has everything that Logs itself can give.
func (d *Door) Logs(ctx context.Context, l wire.Logs, give func(wire.Log, []*os.File) error) (wire.Ran, error) {
	k, err := d.find(l.ID)
	if err != nil {
		return wire.Ran{}, err
	}
	link := d.runs.linked(k)
	if l.Follow && link != nil && k.living() {
		if f, err := link.Follow(); err == nil {
			defer f.Close()
			if err := give(wire.Log{Session: k.one.ID, Live: true}, []*os.File{f}); err != nil {
				return wire.Ran{}, err
			}
			return d.await(ctx, k)
		}
		if _, err := d.await(ctx, k); err != nil { // it is ending
			return wire.Ran{}, err
		}
	}
	files, err := scroll.Files(k.folder)
	if err != nil {
		return wire.Ran{}, err
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err := give(wire.Log{Session: k.one.ID}, files); err != nil {
		return wire.Ran{}, err
	}
	if k.living() {
		return wire.Ran{Session: k.one.ID}, nil
	}
	return d.runs.ran(k), nil
}

// Resume starts a session that has ended again: the same program behind the
// same boundary, built from what was kept and nothing else, with the caller's
// environment. It fails before anything starts where a piece is missing (Y70,
// Y72).
func (d *Door) Resume(ctx context.Context, r wire.Resume, started func(wire.Started, *os.File) error) (wire.Ran, error) {
	k, err := d.find(r.ID)
	if err != nil {
		return wire.Ran{}, err
	}
	switch {
	case k.living() && k.fault != "":
		return wire.Ran{}, fmt.Errorf("%w: session %s is not resumed: %s", reeve.ErrBoundary, k.one.ID, k.fault)
	case k.living():
		return wire.Ran{}, fmt.Errorf("%w: session %s runs; reeve sessions attach %s shows it", reeve.ErrUsage, k.one.ID, r.ID)
	case k.rec.Secret:
		return wire.Ran{}, fmt.Errorf("%w: the command line of session %s holds what looks like a secret, so it was not kept; start it anew with reeve run", reeve.ErrUsage, k.one.ID)
	}
	if ready := d.Wall.Ready(ctx); !ready.Usable() {
		return wire.Ran{}, fmt.Errorf("%w: the sandbox does not hold on this machine (%s); nothing was started: %s", reeve.ErrBoundary, ready.Engine, ready.Fix)
	}
	rec, err := readRecord(recordOf(k.folder, d.note)) // as it is on the disk: what is resumed is what was kept
	if err != nil {
		return wire.Ran{}, fmt.Errorf("%w: session %s is not resumed: %v", reeve.ErrBoundary, k.one.ID, err)
	}
	if rec.Layout.View != "" && rec.View == nil {
		return wire.Ran{}, fmt.Errorf("%w: the view of session %s is settled and dropped; start it anew with reeve run --review", reeve.ErrUsage, k.one.ID)
	}
	if err := d.runs.claim(k, false); err != nil {
		return wire.Ran{}, err
	}
	defer d.runs.release(k)
	one, err := d.Sessions.Reopen(k.one.ID, d.Home)
	if err != nil {
		return wire.Ran{}, err
	}
	how := shape{size: attach.Size{Rows: r.Rows, Cols: r.Cols}, detach: r.Detach, quiet: r.NoReceipt, tree: rec.Tree, view: rec.View, notes: rec.Notes}
	ran, err := d.start(ctx, one, rec.Layout, r.Env, how, started)
	if d.runs.get(one.ID) == nil { // nothing was started: it is what it was
		d.runs.put(k)
		if err := rec.save(k.folder); err != nil {
			d.Log("session %s: %v", one.ID, err)
		}
	}
	return ran, err
}
