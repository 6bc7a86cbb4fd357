package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/ingress/checkout"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/plant"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/launch"
	"github.com/reeve-gate/reeve/internal/wire"
)

// ownTree makes a checkout for a run that asks for one, and moves the run into
// it; nil where it asks for none.
func (d *Door) ownTree(ctx context.Context, r *wire.Run) (*checkout.Checkout, []string, error) {
	if !r.Worktree {
		return nil, nil, nil
	}
	ws := d.workspace(*r)
	real, err := session.Workspace(ws, d.Home)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(filepath.Join(real, ".git")); err != nil {
		return nil, nil, fmt.Errorf("%w: --worktree needs a git repository, and %s is none", reeve.ErrUsage, real)
	}
	id := d.NewID()
	name := id[len(id)-12:]
	if r.Name != "" {
		if err := durable.Name(r.Name); err != nil {
			return nil, nil, badName(err)
		}
		name = r.Name
	}
	c, notes, err := checkout.Make(ctx, d.git, real, d.Checkouts, name, id)
	if err != nil {
		return nil, nil, err
	}
	r.Workspace = c.Dir
	if r.Dir, err = checkout.Below(r.Dir, real, c.Dir); err != nil {
		r.Dir = c.Dir
	}
	return &c, notes, nil
}

// unmade drops the checkout of a run that did not start.
func (d *Door) unmade(ctx context.Context, tree *checkout.Checkout, err error) error {
	if tree == nil {
		return err
	}
	return errors.Join(err, tree.Drop(context.WithoutCancel(ctx), d.git))
}

// Bounds of what one git of ours may say.
const (
	maxSaid  = 1 << 20
	maxCause = 4 << 10
)

// git runs a script of ours in a boundary of its own over one workspace, as a
// run like any other: judged, recorded, without a network, and with the look
// at what it left. It implements [checkout.Git].
func (d *Door) git(ctx context.Context, workspace, beside, script string, args ...string) (string, error) {
	out, errs, code, err := d.shell(ctx, workspace, beside, script, args, nil)
	if err != nil {
		return "", err
	}
	if code != 0 {
		if why := strings.TrimSpace(errs); why != "" {
			return "", errors.New(why)
		}
		return "", fmt.Errorf("git ended with %d", code)
	}
	return out, nil
}

// shell is git for any end of the script. Where into is given it takes the
// standard output in place of out.
func (d *Door) shell(ctx context.Context, workspace, beside, script string, args []string, into *os.File) (out, errs string, code int, err error) {
	if ready := d.Wall.Ready(ctx); !ready.Usable() {
		return "", "", 0, fmt.Errorf("%w: %s", reeve.ErrBoundary, ready.Fix)
	}
	one, err := d.Sessions.ForClient(session.Session{Client: "cli", Foreign: "git\x00" + workspace, Workspace: workspace, Mode: reeve.ModeDefault, Profile: d.Profile}, d.Home)
	if err != nil {
		return "", "", 0, err
	}
	lay := layout.Layout{Argv: slices.Concat([]string{"sh", "-c", script, "reeve"}, args), Dir: workspace, Profile: jail.Profile{Name: "checkout"}, Net: jail.NetNone.String(), Limits: d.Limits}
	if beside != "" {
		lay.Read = []string{beside}
	}
	plan, raw, err := d.Plan(one, lay, os.Environ(), "")
	if err != nil {
		return "", "", 0, err
	}
	stdout, err := listen(maxSaid)
	if err != nil {
		return "", "", 0, err
	}
	stderr, err := listen(maxCause)
	if err != nil {
		stdout.end()
		return "", "", 0, err
	}
	job := &launch.Job{Plan: plan, Cmd: jail.Cmd{Argv: lay.Argv, Stdout: stdout.w, Stderr: stderr.w}}
	if into != nil {
		job.Cmd.Stdout = into
	}
	job.Started = func(jail.Process) error { return nil }
	inv := d.invocation(one, workspace, raw)
	defer d.Launch.Give(inv.ID, job)()
	before := plant.Snapshot(plan, d.Now())
	forget, err := before.Note(d.Runs)
	if err != nil {
		stdout.end()
		stderr.end()
		return "", "", 0, err
	}
	dec, res := d.Kernel.Do(ctx, inv)
	left := before.Quarantine()
	forget()
	out, errs = stdout.end(), stderr.end()
	if _, err := refused(one, dec, res, job); err != nil {
		return out, errs, 0, err
	}
	if lines := left.Lines(workspace); len(lines) > 0 && res.ExitCode == 0 {
		d.Log("git in %s: %s", workspace, strings.Join(lines, "; "))
	}
	return out, errs, res.ExitCode, nil
}

// listener keeps the beginning of what is written to a pipe.
type listener struct {
	w    *os.File
	said chan string
}

func listen(most int64) (*listener, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("listen to git: %w", err)
	}
	l := &listener{w: w, said: make(chan string, 1)}
	go func() {
		defer r.Close()
		text, _ := io.ReadAll(io.LimitReader(r, most))
		io.Copy(io.Discard, r)
		l.said <- string(text)
	}()
	return l, nil
}

// end gives what was said; nobody writes any more.
func (l *listener) end() string {
	l.w.Close()
	return <-l.said
}

// short is an id's end, by which a person may call a session.
func short(id string) string { return id[len(id)-min(8, len(id)):] }

// runInTree is a run without a terminal in a checkout of its own: the session
// is kept when it has ended, as long as its checkout is.
func (d *Door) runInTree(ctx context.Context, one session.Session, r wire.Run, tree *checkout.Checkout, notes []string, run func() (wire.Ran, error)) (wire.Ran, error) {
	lay, err := d.Layout(one, r)
	if err != nil {
		return wire.Ran{}, errors.Join(err, tree.Drop(ctx, d.git))
	}
	lay.Read = []string{tree.Repo}
	k := d.newKept(one, record{Layout: lay, Tree: tree})
	ran, runErr := run()
	stays, lines := tree.Leave(context.WithoutCancel(ctx), d.git, short(one.ID))
	if runErr == nil && !r.NoReceipt {
		ran.Receipt = slices.Concat(ran.Receipt, notes, lines)
	}
	if !stays {
		return ran, runErr
	}
	return ran, errors.Join(runErr, d.runs.ended(k, ran.Code, d.Now(), ran.Receipt))
}

// tree finds a session that has ended and whose checkout is kept.
func (d *Door) tree(ref string) (*kept, error) {
	k, err := d.find(ref)
	if err != nil {
		return nil, err
	}
	switch {
	case k.rec.Tree == nil:
		return nil, fmt.Errorf("%w: session %s has no checkout of its own", reeve.ErrUsage, k.one.ID)
	case k.living():
		return nil, fmt.Errorf("%w: session %s runs; its checkout is merged or dropped when it has ended", reeve.ErrUsage, k.one.ID)
	}
	return k, nil
}

// Diff prints the work in a session's checkout to out, as a patch.
func (d *Door) Diff(ctx context.Context, ref string, out *os.File) error {
	k, err := d.find(ref)
	if err != nil {
		return err
	}
	if k.rec.View != nil {
		return fmt.Errorf("%w: session %s worked in a view: reeve sessions review %s shows it", reeve.ErrUsage, k.one.ID, ref)
	}
	if k.rec.Tree == nil {
		return fmt.Errorf("%w: session %s has no checkout of its own", reeve.ErrUsage, k.one.ID)
	}
	script, args := k.rec.Tree.Diff()
	_, errs, code, err := d.shell(ctx, k.rec.Tree.Dir, k.rec.Tree.Repo, script, args, out)
	if err == nil && code != 0 {
		err = fmt.Errorf("show the work of session %s: %s", k.one.ID, strings.TrimSpace(errs))
	}
	return err
}

// Merge brings the work in a session's checkout into the branch that it began
// from, and forgets the checkout.
func (d *Door) Merge(ctx context.Context, ref string) ([]string, error) {
	k, err := d.tree(ref)
	if err != nil {
		return nil, err
	}
	said, err := k.rec.Tree.Merge(ctx, d.git, func(changed []string) []string {
		return checkout.Steering(k.rec.Tree.Repo, d.Home, jail.ProtectedNames(), changed)
	})
	if err != nil {
		return nil, err
	}
	return append([]string{"merged " + k.rec.Tree.Branch + " into " + k.rec.Tree.Into}, strings.Split(said, "\n")...), d.forgetTree(ctx, k)
}

// Drop forgets a session's checkout or view; one with work only where force
// says so.
func (d *Door) Drop(ctx context.Context, ref string, force bool) error {
	if k, err := d.find(ref); err == nil && k.rec.View != nil {
		return d.dropView(ctx, ref, force)
	}
	k, err := d.tree(ref)
	if err != nil {
		return err
	}
	if !force {
		state, err := k.rec.Tree.State(ctx, d.git)
		if err != nil {
			return fmt.Errorf("%w; --force drops it all the same", err)
		}
		if !state.Empty() {
			return fmt.Errorf("%w: %d changed files of session %s were not merged; --force drops them", reeve.ErrUsage, len(state.Changed), k.one.ID)
		}
	}
	return d.forgetTree(ctx, k)
}

func (d *Door) forgetTree(ctx context.Context, k *kept) error {
	if err := k.rec.Tree.Drop(ctx, d.git); err != nil {
		return err
	}
	return d.runs.workGone(k)
}
