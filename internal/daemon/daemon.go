// Package daemon is the wiring: every list of tools, walls and doors is here
// to read. One daemon serves one state directory for one person; it decides,
// asks and records, and owns every process that it starts.
//
// [Run] takes the lock on the state directory, opens the record, binds the
// sockets, says "ok" on its ready pipe, and serves until a signal or the
// command down. It ends by refusing what is pending, stopping what runs, and
// flushing the record within three seconds.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/notary"
	"github.com/reeve-gate/reeve/internal/boundary"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/ingress/api"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/ingress/outbound"
	"github.com/reeve-gate/reeve/internal/ingress/review"
	rundoor "github.com/reeve-gate/reeve/internal/ingress/run"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/keeper"
	"github.com/reeve-gate/reeve/internal/jail/limit"
	"github.com/reeve-gate/reeve/internal/jail/plant"
	"github.com/reeve-gate/reeve/internal/jail/probe"
	"github.com/reeve-gate/reeve/internal/kernel"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/localsock/spare"
	"github.com/reeve-gate/reeve/internal/policy/layers"
	"github.com/reeve-gate/reeve/internal/policy/trust"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/telemetry"
	"github.com/reeve-gate/reeve/internal/vault/warden"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Options place a daemon.
type Options struct {
	Paths  config.Paths
	Build  string
	Getenv func(string) string
	Ready  io.WriteCloser // told "ok", or why not; may be nil
	Log    io.Writer
	Wall   jail.Wall // nil = the boundary of this machine
}

// ErrServed: another daemon holds this state directory.
var ErrServed = errors.New("another daemon serves this state directory")

// flushLimit bounds the last flush (contract Y106).
const flushLimit = 3 * time.Second

// Daemon is one running daemon.
type Daemon struct {
	opt      Options
	conf     *config.Config
	started  time.Time
	log      *audit.Log
	clean    *redact.Redactor
	broker   *approval.Broker
	store    *session.Store
	layers   *layers.Layers
	disk     *safepath.Disk
	wall     jail.Wall
	boundary *boundary.Wall
	tools    *toolbox
	gateway  *gateway
	kernel   *kernel.Kernel
	outbound *outbound.Door
	api      *api.Server
	runs     *rundoor.Door
	vault    *warden.Warden
	tele     *telemetry.Room
	masks    *keeper.Masks
	notary   *notary.Notary
	work     context.Context // of what is done for callers; ends when serving ends
	socket   string
	exe      string
	exeStat  os.FileInfo
	trust    *trust.Trust
	hooks    *spare.Sockets

	stop      context.CancelFunc
	endNotary context.CancelFunc
	stopping  chan struct{}
	stopOnce  sync.Once

	hooked func(reeve.Decision) // tests look at a hook's decision here; nil otherwise

	mu    sync.Mutex // guards trees
	trees map[string]tree
}

// tree is what runs in one session.
type tree struct {
	hook    *localsock.Listener
	proc    jail.Process // nil until started
	network *network     // nil without a way out
	plan    jail.Plan    // of its boundary; without a workspace where it is not known
}

// kept reports whether the tree outlives this daemon.
func (t tree) kept() bool {
	_, kept := t.proc.(*keeper.Link)
	return kept
}

// Run serves until ctx ends, a signal comes or a client says down.
func Run(ctx context.Context, opt Options) error { return run(ctx, opt, nil) }

// run tells built of the daemon before it serves.
func run(ctx context.Context, opt Options, built func(*Daemon)) (err error) {
	told := false
	tell := func(word string) {
		if opt.Ready != nil && !told {
			io.WriteString(opt.Ready, word)
			opt.Ready.Close()
			told = true
		}
	}
	defer func() {
		if err != nil {
			tell(err.Error())
		}
	}()
	syscall.Umask(0o077)
	if err := noCore(); err != nil {
		return fmt.Errorf("turn core files off: %w", err)
	}
	if err := durable.MkdirAll(opt.Paths.State); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	lock, err := durable.TryLock(filepath.Join(opt.Paths.State, "daemon.lock"))
	if err != nil {
		if held, lerr := durable.Locked(filepath.Join(opt.Paths.State, "daemon.lock")); lerr == nil && held {
			return ErrServed
		}
		return fmt.Errorf("take the lock on the state directory: %w", err)
	}
	defer lock.Close()
	d, err := open(opt)
	if err != nil {
		return err
	}
	defer d.log.Close()
	defer d.vault.Close()
	if built != nil {
		built(d)
	}
	return d.serve(ctx, tell)
}

// open builds every room, the innermost first.
func open(opt Options) (*Daemon, error) {
	d := &Daemon{opt: opt, started: time.Now(), stopping: make(chan struct{}), trees: map[string]tree{}}
	var err error
	if d.exe, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("find the reeve program: %w", err)
	}
	d.exeStat, _ = os.Stat(d.exe)
	if err := durable.MkdirAll(cacheDir(opt.Paths)); err != nil {
		return nil, fmt.Errorf("make the cache of the sandbox: %w", err)
	}
	if d.conf, err = config.Load(opt.Paths.Config); err != nil {
		return nil, err
	}
	if err = makeNowhere(opt.Paths); err != nil {
		return nil, err
	}
	if d.clean, err = cleaner(d.conf, opt.Getenv, opt.Log); err != nil {
		return nil, err
	}
	d.vault = newWarden(opt.Paths, d.clean)
	d.vault.Mask, d.masks = d.mask, &keeper.Masks{Values: d.clean.Secrets, Key: d.clean.Key()}
	if d.trust, err = trust.Open(opt.Paths.State, d.note); err != nil {
		return nil, err
	}
	if d.store, err = session.Open(opt.Paths.State, d.conf.Gate.MaxCalls, time.Now, newID, d.note); err != nil {
		return nil, err
	}
	if d.log, err = audit.Open(opt.Paths.State, time.Now); err != nil {
		return nil, err
	}
	d.broker = approval.New(time.Now)
	d.layers = layers.New(opt.Paths.Config, d.trust.Has)
	d.disk = safepath.NewDisk(safepath.Options{Home: opt.Paths.Home, State: own(opt.Paths)})
	d.vault.KeyAt = d.disk.Close
	if d.wall = opt.Wall; d.wall == nil {
		if d.wall, err = boundary.Of(d.conf, probe.Kept(opt.Paths.State, d.cacheKey, d.note)); err != nil {
			d.log.Close()
			return nil, err
		}
	}
	d.boundary = &boundary.Wall{Wall: d.wall}
	if err := d.wire(); err != nil {
		d.log.Close()
		return nil, err
	}
	d.unlockVault()
	return d, nil
}

// wire joins the rooms to the kernel and the kernel to the doors.
func (d *Daemon) wire() error {
	profiles, err := boundary.Profiles(d.conf, d.opt.Paths.Home)
	if err != nil {
		return err
	}
	if d.tele, err = newTelemetry(d); err != nil {
		return err
	}
	if _, err := jail.ProfileNamed(d.conf.Sandbox.Profile, profiles...); err != nil {
		return fmt.Errorf("sandbox.profile: %w", err)
	}
	if d.gateway, err = newGateway(d); err != nil {
		return err
	}
	if d.tools, err = newToolbox(d.wall, d.opt.Paths, d.disk, d.conf, profiles, d.gateway.judge.Facts); err != nil {
		return err
	}
	d.kernel = kernel.New(kernel.Config{
		Tools: d.tools, Check: d.tools, Sessions: sessions{d}, Disk: d.disk, Broker: d.broker,
		Audit: counted{d.log, d.store, d.tele}, Clean: cleaned{d.clean}, Now: time.Now, NewID: newID,
		Limits: kernel.Limits{
			Question: config.Duration(d.conf.Approval.Deadline), Hook: 30 * time.Second,
			Intent: config.Duration(d.conf.Audit.IntentTimeout), Run: 15 * time.Minute, Depth: d.conf.Gate.MaxDepth,
		},
	})
	if d.notary, err = newNotary(d); err != nil {
		return err
	}
	d.gateway.open()
	d.outbound = newOutbound(d)
	mode, err := reeve.ParseMode(d.conf.Gate.Mode)
	if err != nil {
		return err
	}
	d.runs = &rundoor.Door{
		Kernel: d.kernel, Host: d, Sessions: d.store, Wall: d.boundary, Launch: d.tools.launch, Now: time.Now, NewID: newID,
		Ground: layout.Ground{Home: d.opt.Paths.Home, Own: d.disk.Own, Cache: cacheDir(d.opt.Paths), Quarantine: quarantineDir(d.opt.Paths),
			Write: d.conf.Sandbox.Write, Pass: d.conf.Sandbox.PassEnv, Limits: boundary.Limits(d.conf), Profiles: profiles, Program: d.exe},
		Runs: runsDir(d.opt.Paths), Profile: d.conf.Sandbox.Profile, Mode: mode, Hosts: layers.BadHosts,
		Remote: remote(d.conf), Nowhere: nowhere(d.opt.Paths), Checkouts: cmp.Or(d.conf.Sandbox.Checkouts, d.opt.Paths.Work),
		Folder: d.store.Dir, Vault: d.vault, Clean: d.clean.Text, Secrets: d.masks, Log: d.logf,
	}
	d.runs.Desk = review.Desk{Kernel: d.kernel, Sessions: d.store, Tool: d.tools.take, Show: d.clean.Show, NewID: newID, Home: d.opt.Paths.Home, Profile: d.conf.Sandbox.Profile}
	d.api = &api.Server{
		Kernel: d.kernel, Sessions: d.store, Broker: d.broker, Daemon: d, Governed: &api.Governed{},
		Home: d.opt.Paths.Home, NewID: newID, Build: d.opt.Build, Inside: d.inside,
		Hook: newHookDoor(d, mode),
		MCP:  d.gateway, Roster: newRoster(d), Vault: newVaultDoor(d), Record: newRecordDoor(d),
		Run: d.runs,
	}
	d.api.Config.Mode, d.api.Config.Profile = mode, d.conf.Sandbox.Profile
	return nil
}

// own are Reeve's own directories, hidden from every session.
func own(p config.Paths) []string { return []string{p.Config, p.State, p.Data, "/etc/reeve"} }

// cacheDir is where tools inside a boundary may keep what they build.
func cacheDir(p config.Paths) string { return filepath.Join(p.State, "cache") }

// quarantineDir is where things are moved that a run planted.
func quarantineDir(p config.Paths) string { return filepath.Join(p.State, "quarantine") }

// runsDir is where runs are noted while they last.
func runsDir(p config.Paths) string { return filepath.Join(p.State, "runs") }

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// serve binds the control socket and waits for the end.
func (d *Daemon) serve(ctx context.Context, tell func(string)) error {
	ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	ctx, unsignal := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer unsignal()
	// Caught and dropped, not ignored: what is ignored stays so in the programs
	// that are started.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGPIPE)
	var err error
	if d.socket, err = localsock.Path(d.opt.Paths.State, wire.ControlSocket, d.opt.Getenv); err != nil {
		return err
	}
	l, err := localsock.Listen(d.socket)
	if err != nil {
		return err
	}
	work, endWork := context.WithCancel(context.WithoutCancel(ctx))
	defer endWork()
	d.work = work
	d.hooks = spare.New(d.opt.Paths.State, d.opt.Getenv)
	defer d.hooks.End()
	d.runs.Adopt()
	d.closeLeftovers(ctx)
	signing, endNotary := context.WithCancel(context.WithoutCancel(ctx))
	d.endNotary = endNotary
	d.notary.Start(signing)
	limit.Sweep()
	time.AfterFunc(sweepIn, limit.Sweep)                        // for an earlier daemon that was to do it and was killed
	for _, left := range plant.Leftover(runsDir(d.opt.Paths)) { // before anything can run there again
		for _, line := range left.Lines("") {
			fmt.Fprintf(d.opt.Log, "%s after a run that was cut off: %s\n", time.Now().UTC().Format(time.RFC3339), redact.Visible(line))
		}
	}
	var accepting sync.WaitGroup
	accepting.Go(func() { d.api.Serve(work, l, "") })
	d.tele.Start()
	defer d.tele.Stop()
	tell("ok")
	go d.boundary.State() // tried now, so that the first call need not wait
	fmt.Fprintf(d.opt.Log, "%s serving %s, build %s, audit %s\n", time.Now().UTC().Format(time.RFC3339), d.socket, d.opt.Build, d.auditState())
	select {
	case <-ctx.Done():
	case <-d.stopping:
	}
	return d.end(l, endWork, &accepting)
}

// end stops in order: no new requests, every question denied, every tree
// stopped, every connection answered, the record flushed.
func (d *Daemon) end(l *localsock.Listener, endWork context.CancelFunc, accepting *sync.WaitGroup) error {
	l.Close()
	accepting.Wait()
	d.broker.Close()
	d.mu.Lock()
	var ways sync.WaitGroup
	for _, t := range d.trees {
		if !t.kept() {
			if t.proc != nil {
				go t.proc.Stop(jailGrace)
			}
			continue
		}
		ways.Go(t.network.stop) // what went is recorded; what asks now waits for the next daemon, as calls do
		if t.hook != nil {
			t.hook.Close()
		}
	}
	d.mu.Unlock()
	ways.Wait()
	endWork() // clients of the gateway are served as long as they like
	d.gateway.close()
	if on := d.runs.Release(); len(on) > 0 {
		d.logf("sessions go on: %s", strings.Join(on, ", "))
	}
	done := make(chan struct{})
	go func() { d.api.Wait(); close(done) }()
	timer := time.NewTimer(flushLimit)
	defer timer.Stop()
	endWork()
	select {
	case <-done:
	case <-timer.C:
		fmt.Fprintf(d.opt.Log, "%s stopped waiting for connections after %s\n", time.Now().UTC().Format(time.RFC3339), flushLimit)
	}
	if err := d.store.Close(flushLimit); err != nil {
		d.logf("%v", err)
	}
	d.tele.Stop() // its view of the record is given up before the record is closed
	return d.closeRecord()
}

// closeLeftovers gives calls of sessions that no daemon remembers an outcome:
// unknown, after 24 hours.
func (d *Daemon) closeLeftovers(ctx context.Context) {
	left, err := d.log.OpenIntents("", time.Now().Add(-24*time.Hour))
	if err != nil {
		fmt.Fprintf(d.opt.Log, "look for calls without an outcome: %v\n", err)
		return
	}
	open := d.runs.Open()
	for _, r := range left {
		if open[r.CallID] {
			continue // its session goes on
		}
		r.Phase, r.Time, r.Status, r.Summary = reeve.PhaseOutcome, time.Now(), reeve.StatusUnknown, "no outcome was ever reported"
		if err := d.log.Append(ctx, r); err != nil {
			fmt.Fprintf(d.opt.Log, "record an unknown outcome: %v\n", err)
			return
		}
	}
}

// logf writes one line to the daemon's log.
func (d *Daemon) logf(format string, args ...any) {
	fmt.Fprintf(d.opt.Log, "%s %s\n", time.Now().UTC().Format(time.RFC3339), redact.Visible(fmt.Sprintf(format, args...)))
}

// note is logf for what a room tells a person.
func (d *Daemon) note(n string) { d.logf("%s", n) }

func (d *Daemon) auditState() string {
	if err := d.log.Broken(); err != nil {
		return err.Error()
	}
	return "good"
}
