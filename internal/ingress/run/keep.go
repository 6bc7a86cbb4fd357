package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/ingress/checkout"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/ingress/receipt"
	"github.com/reeve-gate/reeve/internal/ingress/review"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/keeper"
	"github.com/reeve-gate/reeve/internal/jail/plant"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/launch"
	"github.com/reeve-gate/reeve/internal/view"
	"github.com/reeve-gate/reeve/internal/wire"
)

// runs are the sessions that are kept, those that have ended too until a
// person removes them.
type runs struct {
	mu  sync.Mutex // guards all, and what changes in each
	all map[string]*kept
}

// kept is one of them.
type kept struct {
	one    session.Session
	folder string
	rec    record
	link   *keeper.Link  // nil: it has ended, or is not reached
	fault  string        // why it is not reached
	done   chan struct{} // closed when its end was dealt with
	once   sync.Once     // it is dealt with once
	busy   bool          // a person acts on its view, or begins it again
}

// living reports whether its end is not dealt with yet.
func (k *kept) living() bool {
	select {
	case <-k.done:
		return false
	default:
		return true
	}
}

// shape says what a terminal's program is started with.
type shape struct {
	size   attach.Size
	detach bool // nobody is attached
	quiet  bool // no receipt
	tree   *checkout.Checkout
	view   *view.View
	notes  []string // for the receipt
}

// keep starts r in a session that is kept.
func (d *Door) keep(ctx context.Context, one session.Session, r wire.Run, tree *checkout.Checkout, notes []string, started func(wire.Started, *os.File) error) (wire.Ran, error) {
	lay, err := d.Layout(one, r)
	if err != nil {
		d.Host.Ended(one.ID)
		return wire.Ran{}, err
	}
	if tree != nil {
		lay.Read = []string{tree.Repo}
	}
	how := shape{size: attach.Size{Rows: r.Rows, Cols: r.Cols}, detach: r.Detach, quiet: r.NoReceipt, tree: tree, notes: notes}
	if !r.Review {
		return d.start(ctx, one, lay, r.Env, how, started)
	}
	if how.view, how.notes, err = d.ownView(ctx, one, &lay, r.Env); err != nil {
		d.Host.Ended(one.ID)
		return wire.Ran{}, err
	}
	ran, err := d.start(ctx, one, lay, r.Env, how, started)
	if d.runs.get(one.ID) == nil { // nothing was started
		err = errors.Join(err, how.view.Drop())
	}
	return ran, err
}

// start starts a session's program in a keeper, gives the caller its terminal
// and waits for the end; a caller that goes away leaves the session to its
// keeper, which knows what that means.
func (d *Door) start(ctx context.Context, one session.Session, lay layout.Layout, env []string, how shape, started func(wire.Started, *os.File) error) (wire.Ran, error) {
	k := d.newKept(one, record{Layout: lay, Quiet: how.quiet, Tree: how.tree, View: how.view, Notes: how.notes})
	if err := d.runs.add(k); err != nil {
		d.Host.Ended(one.ID)
		return wire.Ran{}, err
	}
	link, ran, err := d.begin(ctx, k, lay, env, how)
	if link == nil {
		d.runs.drop(one.ID)
		_ = recordOf(k.folder, nil).Remove()
		d.Host.Ended(one.ID)
		return ran, err
	}
	screen := link.Screen()
	go d.watch(k, link)
	if how.detach {
		return wire.Ran{Session: k.one.ID}, nil
	}
	if screen == nil {
		return wire.Ran{}, errors.New("the session's keeper gave no terminal")
	}
	err = started(wire.Started{Session: k.one.ID, PID: link.PID(), Kept: true}, screen)
	screen.Close() // the caller has its own
	if err != nil {
		return wire.Ran{}, err
	}
	return d.await(ctx, k)
}

// newKept is a session that begins now, with what its record holds of it.
func (d *Door) newKept(one session.Session, rec record) *kept {
	rec.Began = d.Now()
	if clean, secret := d.masked(rec.Layout.Argv); secret {
		rec.Layout.Argv, rec.Secret = clean, true
	}
	return &kept{one: one, folder: d.Folder(one.ID), done: make(chan struct{}), rec: rec}
}

// masked is a command line as a record may hold it, and whether that differs.
func (d *Door) masked(argv []string) ([]string, bool) {
	whole := strings.Join(argv, " ")
	clean := d.Clean(whole)
	if clean == whole {
		return argv, false
	}
	return []string{d.Clean(argv[0]), strings.TrimPrefix(clean, argv[0]+" ")}, true
}

// begin takes the run through the kernel and links the session where it runs.
// Else it says how a program ended that could not be started, or why nothing
// was.
func (d *Door) begin(ctx context.Context, k *kept, lay layout.Layout, env []string, how shape) (*keeper.Link, wire.Ran, error) {
	hook, socket, control, err := d.Host.Sockets(k.one.ID)
	if err != nil {
		return nil, wire.Ran{}, fmt.Errorf("find a place for the session's sockets: %w", err)
	}
	if lay.Profile.NoUnix {
		hook = ""
	}
	plan, args, err := d.Plan(k.one, lay, env, hook)
	if err != nil {
		return nil, wire.Ran{}, err
	}
	job := &launch.Job{Plan: plan, Cmd: jail.Cmd{Argv: lay.Argv, Umask: lay.Umask},
		Keeper: &keeper.Starter{Wall: d.Wall, Session: k.one.ID, Folder: k.folder, Socket: socket, Hook: hook, Control: control,
			Size: how.size, Attach: !how.detach, Kept: how.detach, Secrets: d.Secrets}}
	job.Secrets = func() ([]string, error) { return lay.Resolved(d.Vault) }
	var link *keeper.Link
	job.Started = func(p jail.Process) error {
		link = p.(*keeper.Link) // what a keeper.Starter starts
		job.Fault = d.serve(k, link, plan)
		return job.Fault
	}
	inv := d.invocation(k.one, plan.Dir, args)
	defer d.Launch.Give(inv.ID, job)()
	before := plant.Snapshot(plan, k.rec.Began)
	forget, err := before.Note(k.folder)
	if err != nil {
		return nil, wire.Ran{}, err
	}
	k.rec.Call = inv.ID
	if err := keeper.Forget(k.folder); err != nil { // or its end would be taken for this run's
		forget()
		return nil, wire.Ran{}, err
	}
	if err := k.rec.save(k.folder); err != nil {
		forget()
		return nil, wire.Ran{}, err
	}
	dec, res := d.Kernel.Do(ctx, inv)
	if res.Open {
		return link, wire.Ran{}, nil
	}
	before.Quarantine()
	forget()
	ran, err := refused(k.one, dec, res, job)
	return nil, *cmp.Or(ran, &wire.Ran{}), err
}

// serve makes this daemon the one that a running session belongs to. An error
// says that the session lacks what its boundary promises.
func (d *Door) serve(k *kept, link *keeper.Link, plan jail.Plan) error {
	d.runs.link(k, link)
	d.Host.Running(k.one.ID, link, plan)
	if f := link.Hook(); f != nil {
		if err := d.Host.ServeHook(k.one.ID, f); err != nil {
			return fmt.Errorf("%w: serve the session's socket: %v", reeve.ErrBoundary, err)
		}
	}
	way := &wayOut{host: d.Host, id: k.one.ID, needed: plan.Net == jail.ProxiedNetwork}
	ln := link.Proxy()
	switch {
	case ln != nil:
		if err := way.listener(ln); err != nil {
			return fmt.Errorf("%w: serve the session's network: %v", reeve.ErrBoundary, err)
		}
	case link.Over():
		return nil // its program was gone at once: nobody wants a way out
	}
	return way.check()
}

// await waits until the end of a session was dealt with.
func (d *Door) await(ctx context.Context, k *kept) (wire.Ran, error) {
	select {
	case <-k.done:
	case <-ctx.Done():
		return wire.Ran{}, context.Cause(ctx)
	}
	return d.runs.ran(k), nil
}

// watch waits for the end of a session and deals with it. A link that the
// daemon let go of is somebody else's to deal with.
func (d *Door) watch(k *kept, link *keeper.Link) {
	_, err := link.Wait()
	if errors.Is(err, keeper.ErrUnlinked) {
		return
	}
	d.settle(k, link.End())
}

// settle does what is to be done when a session has ended: what it planted is
// moved away, the outcome is recorded, the receipt is kept, the session ends.
// Each step may have been done by a daemon that was killed right after.
func (d *Door) settle(k *kept, end attach.End) {
	k.once.Do(func() { d.settleOnce(k, end) })
}

func (d *Door) settleOnce(k *kept, end attach.End) {
	after, forget := plant.Changes{}, func() {}
	plan := jail.Plan{Profile: k.one.Profile, Workspace: k.one.Workspace}
	before, forgetRun, err := plant.Recall(k.folder)
	switch {
	case err == nil:
		after, forget, plan = before.Compare(context.Background()), forgetRun, before.Plan
	case !errors.Is(err, os.ErrNotExist):
		after.Problems = append(after.Problems, fmt.Sprintf("%v: look at what the run left", err))
	}
	took := max(end.At.Sub(k.rec.Began), 0)
	exit := jail.Exit{Code: end.Code, Held: end.Held, Unheld: end.Unheld}
	lines := receipt.Lines(took, plan, exit, after, d.Sessions.Tally(k.one.ID), d.Host.Network(k.one.ID))
	if end.Error != "" {
		lines = append(lines, "attention: "+end.Error)
	}
	lines = append(lines, k.rec.Notes...)
	if k.rec.Tree != nil {
		stays, said := k.rec.Tree.Leave(context.Background(), d.git, short(k.one.ID))
		if lines = append(lines, said...); !stays {
			k.rec.Tree = nil
		}
	}
	if k.rec.View != nil {
		stays, said := review.Leave(k.rec.View, short(k.one.ID))
		if lines = append(lines, said...); !stays {
			k.rec.View = nil
		}
	}
	res := reeve.Result{Status: reeve.StatusSuccess, ExitCode: end.Code, Duration: took}
	switch {
	case end.Error == keeper.ErrLost.Error():
		d.Host.Lost(k.one.ID)
		res.Status, res.Error, res.ExitCode = reeve.StatusUnknown, end.Error, 0
	case end.Error != "":
		res.Status, res.Error = reeve.StatusError, end.Error
	case end.Code != 0:
		res.Status, res.Error = reeve.StatusError, fmt.Sprintf("%s ended with %d", filepath.Base(k.rec.Layout.Argv[0]), end.Code)
	}
	if err := d.Host.Report(context.Background(), k.one.ID, k.rec.Call, res); err != nil {
		lines = append(lines, fmt.Sprintf("attention: the outcome could not be recorded: %v", err))
	}
	d.runs.end(k, end, lines)
	if err := k.rec.save(k.folder); err != nil {
		d.Log("%v", err)
	}
	forget()
	d.Host.Ended(k.one.ID)
	d.runs.close(k)
}

// Adopt finds the sessions that an earlier daemon left: those that run are
// served again, those that ended meanwhile are dealt with, and those whose
// keeper is gone end as unknown. The daemon's control socket must be open: a
// keeper speaks with nobody else. It returns when every session that runs is
// served; whatever ended before is dealt with by then too.
func (d *Door) Adopt() {
	entries, err := os.ReadDir(filepath.Dir(d.Folder("any")))
	if err != nil {
		d.Log("look for sessions: %v", err)
		return
	}
	var all sync.WaitGroup
	for _, e := range entries {
		folder := d.Folder(e.Name())
		if strings.HasPrefix(e.Name(), gonePrefix) {
			os.RemoveAll(folder)
			continue
		}
		b, err := recordOf(folder, d.note).Read() // one that is missing is put back from its backup first
		review.Sweep(folder, recordFile)
		if b != nil || err != nil {
			all.Go(func() { d.adopt(folder) })
		}
	}
	all.Wait()
	for _, one := range d.Sessions.List() {
		if one.Client == Client && d.runs.get(one.ID) == nil {
			d.Host.Ended(one.ID) // it ended with the daemon that ran it
		}
	}
}

func (d *Door) note(text string) { d.Log("%s", text) }

func (d *Door) adopt(folder string) {
	id := filepath.Base(folder)
	one, err := d.Sessions.Recall(id)
	if err != nil {
		d.Log("session %s: %v", id, err)
		return
	}
	k := &kept{one: one, folder: folder, done: make(chan struct{})}
	if k.rec, err = readRecord(recordOf(folder, d.note)); err != nil {
		k.fault = err.Error()
		d.runs.put(k)
		return
	}
	d.runs.put(k)
	if k.rec.End != nil {
		close(k.done)
		return
	}
	place, err := keeper.Find(folder)
	var link *keeper.Link
	if err == nil {
		link, err = keeper.Connect(place, d.Secrets)
	}
	switch {
	case err == nil:
		net, _ := layout.NetMode(k.rec.Layout.Net, k.rec.Layout.Profile)
		if err := d.serve(k, link, jail.Plan{Net: net}); err != nil { // it fails closed: what asks gets no answer
			d.Log("session %s: %v", id, err)
		}
		go d.watch(k, link)
	case errors.Is(err, os.ErrNotExist):
		d.settle(k, keeper.EndOf(folder, d.Now()))
	default:
		d.Log("session %s: %v", id, err)
		d.runs.blame(k, err)
	}
}

// Release lets go of every session, which go on without this daemon, and says
// which.
func (d *Door) Release() (ids []string) {
	var all sync.WaitGroup
	for _, k := range d.runs.list() {
		if link := d.runs.linked(k); link != nil && k.living() {
			ids = append(ids, k.one.ID)
			all.Go(link.Release)
		}
	}
	all.Wait()
	return ids
}

// Open are the calls whose outcome is still to come.
func (d *Door) Open() map[string]bool {
	open := map[string]bool{}
	for _, k := range d.runs.list() {
		if k.living() {
			open[k.rec.Call] = true
		}
	}
	return open
}

// Client is what the sessions of this door are listed as.
const Client = "run"

func badName(err error) error {
	return fmt.Errorf("%w: a session's name is one of letters, digits, dot, dash and underscore: %v", reeve.ErrUsage, err)
}

// workGone notes that a session's checkout or view is there no more.
func (r *runs) workGone(k *kept) error {
	r.mu.Lock()
	k.rec.Tree, k.rec.View = nil, nil
	rec := k.rec
	r.mu.Unlock()
	return rec.save(k.folder)
}

// add takes a new session in; its name must be free.
func (r *runs) add(k *kept) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.one.Name != "" {
		if err := durable.Name(k.one.Name); err != nil {
			return badName(err)
		}
		for _, other := range r.all {
			if other.one.Name == k.one.Name && other.one.ID != k.one.ID && other.living() {
				return fmt.Errorf("%w: session %s has the name %s; stop it, or take another name", reeve.ErrUsage, other.one.ID, k.one.Name)
			}
		}
	}
	if r.all == nil {
		r.all = map[string]*kept{}
	}
	r.all[k.one.ID] = k
	return nil
}

// put takes a session in as it was found.
func (r *runs) put(k *kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]*kept{}
	}
	r.all[k.one.ID] = k
}

func (r *runs) drop(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, id)
}

func (r *runs) get(id string) *kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[id]
}

func (r *runs) link(k *kept, l *keeper.Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.link = l
}

func (r *runs) linked(k *kept) *keeper.Link {
	r.mu.Lock()
	defer r.mu.Unlock()
	return k.link
}

func (r *runs) blame(k *kept, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.fault = err.Error()
}

// end notes how a session ended; its record is to be saved.
func (r *runs) end(k *kept, end attach.End, lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.rec.End, k.rec.Receipt = &end, lines
}

// ended takes a session in that ran to its end with the caller's own streams.
func (r *runs) ended(k *kept, code int, at time.Time, lines []string) error {
	r.put(k)
	r.end(k, attach.End{Code: code, At: at.UTC()}, slices.Clone(lines))
	r.close(k)
	return k.rec.save(k.folder)
}

// close says that a session's end was dealt with.
func (r *runs) close(k *kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.link, k.fault = nil, ""
	close(k.done)
}

// ran is the end of a session in the form of the wire.
func (r *runs) ran(k *kept) wire.Ran {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := wire.Ran{Session: k.one.ID, Review: k.rec.View != nil}
	if k.rec.End != nil {
		out.Code = k.rec.End.Code
	}
	if !k.rec.Quiet {
		out.Receipt = slices.Clone(k.rec.Receipt)
	}
	return out
}

// list gives every session, oldest first.
func (r *runs) list() []*kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*kept, 0, len(r.all))
	for _, k := range r.all {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *kept) int { return strings.Compare(a.one.ID, b.one.ID) })
	return all
}

// stopFor is how long a person waits for a session to end.
const stopFor = keeper.StopLimit + 5*time.Second
