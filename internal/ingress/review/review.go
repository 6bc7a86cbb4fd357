// Package review is the part of the run door that looks at the view a session
// worked in (package view), shows it to a person, and takes over of it what they
// chose: as calls of the tool take_over, through the kernel.
package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/viewed"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/takeover"
	"github.com/reeve-gate/reeve/internal/view"
	"github.com/reeve-gate/reeve/internal/view/shown"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Kernel is the part of the kernel this door uses.
type Kernel interface {
	Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result)
}

// Desk is where views are looked at. It does not keep two callers apart that
// act on one view.
type Desk struct {
	Kernel   Kernel
	Sessions *session.Store
	Tool     *takeover.Tool
	Show     func(string) string // masks a text and makes visible what steers a terminal
	NewID    func() string
	Home     string
	Profile  string
}

// Sweep removes the view that a kill left in a session's folder without the
// file record beside it, by which the session would know of it.
func Sweep(folder, record string) {
	dir := filepath.Join(folder, Folder)
	if _, err := os.Lstat(dir); err != nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(folder, record)); errors.Is(err, fs.ErrNotExist) {
		_ = view.View{Folder: dir}.Drop()
	}
}

// Folder is a session's view, in the session's own folder.
const Folder = "view"

// Refuses says why a run that asks for a view cannot have one.
func Refuses(r wire.Run, wall string) error {
	switch {
	case !r.Review:
		return nil
	case r.Host != "":
		return fmt.Errorf("%w: --review shows a view of a workspace of this machine, and --host runs on another one: leave one of them out", reeve.ErrUsage)
	case r.Worktree:
		return fmt.Errorf("%w: --worktree and --review each keep the work apart: choose one of them", reeve.ErrUsage)
	case r.ReadOnly:
		return fmt.Errorf("%w: with --read-only there is nothing to review: leave --review out", reeve.ErrUsage)
	case !viewed.By(wall):
		return fmt.Errorf("%w: the boundary of this machine (%s) mounts nothing, so that it cannot show a view of the workspace: leave --review out, or install bubblewrap and allow user namespaces", reeve.ErrBoundary, wall)
	}
	return nil
}

// Make makes a view of a plan's workspace in folder, which must not exist. The
// notes are for a receipt.
func Make(ctx context.Context, plan jail.Plan, folder string) (*view.View, []string, error) {
	v := view.View{Root: plan.Workspace, Folder: folder}
	if _, err := viewed.Through(plan, v.Tree()); err != nil {
		return nil, nil, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	made, err := view.Make(ctx, v, viewed.Guarded(plan), viewed.Hidden(plan))
	if err != nil {
		return nil, nil, err
	}
	notes := []string{fmt.Sprintf("the run saw a view of the workspace: %d files and directories, %s", made.Entries, sizes(made))}
	for _, left := range made.Left {
		notes = append(notes, "not in the view: "+view.Name(left))
	}
	if outside := slices.DeleteFunc(slices.Clone(plan.Write), func(w string) bool { return strings.HasPrefix(w, plan.Workspace+"/") }); len(outside) > 0 {
		notes = append(notes, "written directly, not through the view: "+few(outside))
	}
	return &v, notes, nil
}

func sizes(m view.Made) string {
	const mib = 1 << 20
	switch {
	case m.Shared == 0:
		return fmt.Sprintf("%d MiB copied", (m.Copied+mib-1)/mib)
	case m.Copied == 0:
		return fmt.Sprintf("%d MiB shared", (m.Shared+mib-1)/mib)
	}
	return fmt.Sprintf("%d MiB shared and %d MiB copied", (m.Shared+mib-1)/mib, (m.Copied+mib-1)/mib)
}

func few(all []string) string {
	if len(all) > 5 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:5], ", "), len(all)-5)
	}
	return strings.Join(all, ", ")
}

// Leave looks at a run's view when it has ended: one without changes is
// dropped, else the lines say how a person goes on.
func Leave(v *view.View, ref string) (kept bool, lines []string) {
	found, err := changes(context.Background(), *v, ref, false)
	switch {
	case errors.Is(err, view.ErrMany):
		return true, []string{fmt.Sprintf("the workspace is as it was, and the view is kept: %v", err), fmt.Sprintf("reeve sessions drop --force %s forgets it", ref)}
	case err != nil:
		return true, []string{fmt.Sprintf("attention: %v; nothing in %s was changed, and the view stands in %s", err, v.Root, v.Tree())}
	case len(found.Changes) == 0 && len(found.Git) == 0:
		if err := v.Drop(); err != nil {
			return true, []string{fmt.Sprintf("attention: nothing was changed in the view, and it is still there: %v", err)}
		}
		return false, []string{"nothing was changed in the view, so it was dropped"}
	}
	lines = []string{"the workspace is as it was, and the view is kept: " + tally(found)}
	lines = append(lines, gitLines(found)...)
	return true, append(lines, fmt.Sprintf("reeve sessions review %s shows it, reeve sessions apply %[1]s [PATH...] takes it over, reeve sessions drop --force %[1]s forgets it", ref))
}

// changes are those of a view; more than a person looks at only where they ask
// for many. ref is how they name the session.
func changes(ctx context.Context, v view.View, ref string, many bool) (view.Found, error) {
	most := view.MaxChanges
	if many {
		most = view.AllChanges
	}
	found, err := v.Changes(ctx, most)
	if errors.Is(err, view.ErrMany) && !many {
		err = fmt.Errorf("%w; reeve sessions review --many %s [PATH...] shows them, reeve sessions apply --many %[2]s [PATH...] takes them over", err, ref)
	}
	return found, err
}

// tally counts changes for a person.
func tally(f view.Found) string {
	count := map[string]int{}
	held := 0
	for _, c := range f.Changes {
		if c.Held != "" {
			held++
			continue
		}
		count[c.Kind.String()]++
	}
	var parts []string
	for _, kind := range []string{"added", "modified", "deleted", "mode"} {
		if n := count[kind]; n > 0 {
			word := kind
			if kind == "mode" {
				word = "with other permissions"
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	if held > 0 {
		parts = append(parts, fmt.Sprintf("%d held back", held))
	}
	if len(parts) == 0 {
		return "no file was changed"
	}
	return strings.Join(parts, ", ")
}

// gitLines say what became of branches, which are never taken over.
func gitLines(f view.Found) []string {
	var lines []string
	for _, git := range f.Git {
		lines = append(lines, view.Name(git)+": branches or HEAD were changed; that is not taken over, the files are: commit them yourself, or use --worktree for work in commits")
	}
	return lines
}

// Bounds on one answer and on one call of the tool.
const (
	maxListed   = 5_000
	maxListSize = 2 << 20
	batchPaths  = 100
	batchBytes  = 64 << 10
)

// Look lists what a view changes at or below the paths, or everywhere, and with
// show writes it out.
func (d *Desk) Look(ctx context.Context, one string, v view.View, w wire.Review, show bool) (wire.Reviewed, []byte, error) {
	paths := w.Paths
	found, err := changes(ctx, v, w.ID, w.Many)
	if err != nil {
		return wire.Reviewed{}, nil, fmt.Errorf("%w; the view stands in %s", err, v.Tree())
	}
	told := wire.Reviewed{Session: one, Workspace: v.Root, View: v.Tree(), Summary: tally(found), Git: gitLines(found), Stamp: found.Stamp}
	chosen := found.Changes
	if len(paths) > 0 {
		if chosen, err = view.Choose(found.Changes, fromRoot(v.Root, paths)); err != nil {
			return wire.Reviewed{}, nil, err
		}
		slices.SortStableFunc(chosen, func(a, b view.Change) int { return strings.Compare(a.Path, b.Path) })
	}
	size := 0
	for _, c := range chosen {
		one := wire.Change{Path: strings.ToValidUTF8(c.Path, "\uFFFD"), Kind: c.Kind.String(), Line: d.Show(c.Line()), Held: c.Held}
		if size += len(one.Path) + len(one.Line) + 100; len(told.Changes) == maxListed || size > maxListSize {
			told.More = len(chosen) - len(told.Changes)
			break
		}
		told.Changes = append(told.Changes, one)
	}
	var text bytes.Buffer
	if show {
		err = shown.Diff(ctx, v, &text, chosen, d.Show)
	}
	return told, text.Bytes(), err
}

// fromRoot reads paths as they are listed, from the workspace's root, and
// absolute ones.
func fromRoot(root string, paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = filepath.Clean(p)
		if rel, err := filepath.Rel(root, out[i]); filepath.IsAbs(p) && err == nil {
			out[i] = rel
		}
	}
	return out
}

// Apply takes changes of a session's view over: at or below the paths, or all.
// With a stamp it does so only where exactly the changes stand that a person
// looked at. What cannot be taken is told by its name, and the others go on.
// empty says that nothing is left in the view.
func (d *Desk) Apply(ctx context.Context, ended string, v view.View, w wire.Apply) (told wire.Applied, empty bool, err error) {
	told.Session = ended
	found, err := changes(ctx, v, w.ID, w.Many)
	if err != nil {
		return told, false, err
	}
	if w.Stamp != "" && w.Stamp != found.Stamp {
		return told, false, fmt.Errorf("%w: the view or the workspace is not as it was when you looked; look again", reeve.ErrUsage)
	}
	chosen, err := view.Choose(found.Changes, fromRoot(v.Root, w.Paths))
	if err != nil {
		return told, false, err
	}
	taking, err := v.Begin()
	if err != nil {
		return told, false, err
	}
	// Nobody who goes away in the middle leaves a half: what began is ended.
	ctx = context.WithoutCancel(ctx)
	err = d.takeAll(ctx, ended, v.Root, taking, chosen, &told)
	if err := errors.Join(err, taking.End()); err != nil {
		return told, false, fmt.Errorf("take over the view of session %s: %w; what was taken over stays, the rest is in the view", ended, err)
	}
	if found, err = changes(ctx, v, w.ID, w.Many); err != nil {
		return told, false, err
	}
	told.Left = len(found.Changes)
	return told, told.Left == 0 && len(found.Git) == 0, nil
}

// takeAll takes changes over in calls of the tool: many at once, and each alone
// where a call with several was refused as a whole.
func (d *Desk) takeAll(ctx context.Context, ended, workspace string, taking *view.Taking, chosen []view.Change, told *wire.Applied) error {
	// The session has ended; the act is the person's own.
	one, err := d.Sessions.ForClient(session.Session{Client: "cli", Foreign: "review\x00" + workspace, Workspace: workspace, Mode: reeve.ModeDefault, Profile: d.Profile}, d.Home)
	if err != nil {
		return err
	}
	rest := make([]view.Change, 0, len(chosen))
	for _, c := range chosen {
		if c.Held != "" {
			d.refuse(told, c, c.Held)
			continue
		}
		rest = append(rest, c)
	}
	for len(rest) > 0 {
		n, size := 0, 0
		for n < len(rest) && n < batchPaths && size < batchBytes && (rest[n].Kind == view.Deleted) == (rest[0].Kind == view.Deleted) {
			size += len(rest[n].Path)
			n++
		}
		batch := rest[:n]
		rest = rest[n:]
		denied, err := d.takeSome(ctx, one, ended, taking, batch, told)
		if err != nil {
			return err
		}
		if denied == "" {
			continue
		}
		for i, c := range batch {
			why := denied
			if n > 1 {
				if why, err = d.takeSome(ctx, one, ended, taking, batch[i:i+1], told); err != nil {
					return err
				}
			}
			if why != "" {
				d.refuse(told, c, why)
			}
		}
	}
	return nil
}

// refuse notes a change that is not taken over.
func (d *Desk) refuse(told *wire.Applied, c view.Change, why string) {
	told.Failed++
	if room(told) {
		told.Refused = append(told.Refused, d.Show(view.Name(c.Path)+" "+why))
	}
}

// room reports whether one more line fits into an answer, and counts it where
// it does not.
func room(told *wire.Applied) bool {
	if len(told.Taken)+len(told.Refused) < maxListed {
		return true
	}
	told.More++
	return false
}

// takeSome takes a batch over in one call; denied says why none of it was.
func (d *Desk) takeSome(ctx context.Context, one session.Session, ended string, taking *view.Taking, batch []view.Change, told *wire.Applied) (denied string, err error) {
	args := takeover.Args{Session: ended}
	for _, c := range batch {
		if c.Kind == view.Deleted {
			args.Delete = append(args.Delete, c.Path)
		} else {
			args.Write = append(args.Write, c.Path)
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return "", fmt.Errorf("write down what is taken over: %w", err)
	}
	inv := &reeve.Invocation{ID: d.NewID(), Session: one.ID, Actor: reeve.ActorUser, Channel: reeve.ChannelCLI, Origin: reeve.OriginHost,
		Tool: takeover.Name, Args: raw, Dir: one.Workspace}
	acted := false
	defer d.Tool.Give(inv.ID, func() reeve.Result {
		acted = true
		return d.take(taking, batch, told)
	})()
	dec, res := d.Kernel.Do(ctx, inv)
	switch {
	case acted:
		return "", nil
	case dec.Verdict != reeve.Allow:
		return fmt.Sprintf("is denied: %s (%s, %s)", res.Error, dec.Rule, dec.Source), nil
	}
	return "", fmt.Errorf("%w: %s", reeve.ErrDenied, res.Error)
}

// take is the hand of one call.
func (d *Desk) take(taking *view.Taking, batch []view.Change, told *wire.Applied) reeve.Result {
	res := reeve.Result{Status: reeve.StatusSuccess}
	refused := 0
	for _, c := range batch {
		if err := taking.Take(c); err != nil {
			var conflict *view.Conflict
			why := "was not taken over: " + err.Error()
			if errors.As(err, &conflict) {
				why = conflict.Why
			}
			d.refuse(told, c, why)
			refused++
			continue
		}
		if room(told) {
			told.Taken = append(told.Taken, d.Show(c.Line()))
		}
		res.Changed = append(res.Changed, c.Path)
	}
	res.Output = fmt.Sprintf("took %d changes over", len(res.Changed))
	if refused > 0 {
		res.Output += fmt.Sprintf(", %d could not be taken", refused)
	}
	return res
}
