package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/ingress/review"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/view"
	"github.com/reeve-gate/reeve/internal/wire"
)

// ownView makes a view of a session's workspace and lays the run over it.
func (d *Door) ownView(ctx context.Context, one session.Session, lay *layout.Layout, env []string) (*view.View, []string, error) {
	plan, _, err := d.Plan(one, *lay, env, "")
	if err != nil {
		return nil, nil, err
	}
	v, notes, err := review.Make(ctx, plan, filepath.Join(d.Folder(one.ID), review.Folder))
	if err == nil {
		lay.View = v.Tree()
	}
	return v, notes, err
}

// runInView is a run without a terminal in a view: the session is kept when it
// has ended, as long as its view is.
func (d *Door) runInView(ctx context.Context, one session.Session, r wire.Run, run func(*view.View) (wire.Ran, error)) (wire.Ran, error) {
	lay, err := d.Layout(one, r)
	if err != nil {
		return wire.Ran{}, err
	}
	v, notes, err := d.ownView(ctx, one, &lay, r.Env)
	if err != nil {
		return wire.Ran{}, err
	}
	k := d.newKept(one, record{Layout: lay, View: v, Notes: notes})
	if err := k.rec.save(k.folder); err != nil { // or a daemon that is killed meanwhile would lose it
		return wire.Ran{}, errors.Join(err, v.Drop())
	}
	ran, runErr := run(v)
	stays, lines := review.Leave(v, short(one.ID))
	if runErr == nil && !r.NoReceipt {
		ran.Receipt = slices.Concat(ran.Receipt, notes, lines)
	}
	if ran.Review = stays; !stays {
		_ = recordOf(k.folder, nil).Remove()
		return ran, runErr
	}
	return ran, errors.Join(runErr, d.runs.ended(k, ran.Code, d.Now(), ran.Receipt))
}

// claim finds a session that has ended and whose view is kept, and keeps every
// other act on it away until release is called.
func (d *Door) claim(ref string) (k *kept, release func(), err error) {
	if k, err = d.find(ref); err != nil {
		return nil, nil, err
	}
	if err := d.runs.claim(k, true); err != nil {
		return nil, nil, err
	}
	return k, func() { d.runs.release(k) }, nil
}

// claim takes a session that has ended for one act, with view on its view.
func (r *runs) claim(k *kept, view bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case view && k.rec.View == nil:
		return fmt.Errorf("%w: session %s has no view: it was started without --review, or all of it is settled", reeve.ErrUsage, k.one.ID)
	case k.living() || r.all[k.one.ID] != k:
		return fmt.Errorf("%w: session %s runs; its view is looked at when it has ended", reeve.ErrUsage, k.one.ID)
	case k.busy:
		return fmt.Errorf("%w: session %s is begun again, or its view is looked at or taken over, at this moment; try again", reeve.ErrUsage, k.one.ID)
	}
	k.busy = true
	return nil
}

func (r *runs) release(k *kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.busy = false
}

// Review writes what a session's view changes to out, unless that is nil, and
// lists it. paths narrow it; none is everything.
func (d *Door) Review(ctx context.Context, w wire.Review, out *os.File) (wire.Reviewed, error) {
	k, release, err := d.claim(w.ID)
	if err != nil {
		return wire.Reviewed{}, err
	}
	told, text, err := d.Desk.Look(ctx, k.one.ID, *k.rec.View, w, out != nil)
	release()
	if err == nil && out != nil {
		_, err = out.Write(text) // when nothing is held any more: who reads may take their time
	}
	return told, err
}

// Apply takes changes of a session's view over, and drops it when nothing is
// left in it.
func (d *Door) Apply(ctx context.Context, w wire.Apply) (wire.Applied, error) {
	k, release, err := d.claim(w.ID)
	if err != nil {
		return wire.Applied{}, err
	}
	defer release()
	told, empty, err := d.Desk.Apply(ctx, k.one.ID, *k.rec.View, w)
	if err == nil && empty {
		told.Dropped = true
		err = d.forgetView(k)
	}
	return told, err
}

// dropView forgets a session's view; one with changes in it only where force
// says so.
func (d *Door) dropView(ctx context.Context, ref string, force bool) error {
	k, release, err := d.claim(ref)
	if err != nil {
		return err
	}
	defer release()
	if !force {
		found, err := k.rec.View.Changes(ctx, view.MaxChanges)
		if err != nil {
			return fmt.Errorf("%w; --force drops it all the same", err)
		}
		if n := len(found.Changes); n > 0 || len(found.Git) > 0 {
			return fmt.Errorf("%w: %d changes of session %s were not taken over; --force drops them", reeve.ErrUsage, n, k.one.ID)
		}
	}
	return d.forgetView(k)
}

func (d *Door) forgetView(k *kept) error {
	if err := k.rec.View.Drop(); err != nil {
		return err
	}
	return d.runs.workGone(k)
}
