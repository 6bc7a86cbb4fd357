package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/cache"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
)

// schema changes with the acts and with how plans are made.
const schema = 1

// Wall is a wall whose readiness is tried. It starts nothing through a
// boundary that did not bite.
type Wall struct {
	inner Prober
	disk  *cache.Cache // nil = answers are kept in memory only

	mu    sync.Mutex // guards what follows
	known string     // what the answer depends on
	ready jail.Readiness
}

var _ jail.Wall = (*Wall)(nil)

// New wraps a wall. A good answer is kept in a cache (see [Kept]), under a name
// of the wall's own; without one it is kept in memory only.
func New(inner Prober, disk *cache.Cache) *Wall { return &Wall{inner: inner, disk: disk} }

// Kept is the cache of answers in the state directory. Whoever could write one
// could have a wall believed that holds nothing: an answer counts only with the
// key that it was written with.
func Kept(state string, key func() ([]byte, error), told func(note string)) *cache.Cache {
	return &cache.Cache{Dir: state, Purpose: "what a boundary was found to hold", Version: schema, Max: 1 << 20, Key: key, Told: told}
}

// Name is the name of the wall that is tried.
func (w *Wall) Name() string { return w.inner.Name() }

// Start implements [jail.Wall]. Where the boundary is not ready nothing
// starts: there is no silent retry without it (A14, Y70).
func (w *Wall) Start(ctx context.Context, p permit.Permit, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if r := w.Ready(ctx); !r.Usable() {
		if err := p.Spend(digest); err != nil {
			return nil, fmt.Errorf("start in sandbox: %w", err)
		}
		return nil, fmt.Errorf("%w: %s", reeve.ErrBoundary, r.Fix)
	}
	return w.inner.Start(ctx, p, digest, plan, cmd)
}

// Ready implements [jail.Wall]: missing unless every act failed inside as it
// must. It is tried at most once for this boot, wall program, binary and
// account; a bad answer is not kept on disk and is tried again after a while.
func (w *Wall) Ready(ctx context.Context) jail.Readiness {
	base := w.inner.Ready(ctx)
	if base.State == reeve.SandboxMissing {
		return base
	}
	key := identity(base.Engine)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == key && w.ready.Usable() {
		return w.ready
	}
	if kept, ok := w.load(key); ok {
		w.known, w.ready = key, kept
		return kept
	}
	w.known, w.ready = key, Run(ctx, w.inner, base)
	if w.ready.Usable() {
		w.save(key)
	}
	return w.ready
}

// Run tries the wall now, without any memory of earlier answers.
func Run(ctx context.Context, wall Prober, base jail.Readiness) jail.Readiness {
	var profiles []jail.Profile
	for _, p := range jail.Profiles() {
		if !p.ReadOnly && p.Hosts == nil && Holds(wall, p.Name) { // build is the boundary of agent, with hosts
			profiles = append(profiles, p)
		}
	}
	checks, err := Try(ctx, wall, Trial{Acts: Acts(), Profiles: profiles, Bound: Bound})
	if err != nil {
		checks, err = Try(ctx, wall, Trial{Acts: Acts(), Profiles: profiles, Bound: Patience})
	}
	r := jail.Readiness{State: reeve.SandboxReady, Engine: base.Engine, Checks: checks, Probed: true}
	if _, ok := wall.(Partial); ok {
		r.State = reeve.SandboxReduced
	}
	if err != nil {
		r.Probed, r.State, r.Fix = false, reeve.SandboxMissing, fmt.Sprintf("the sandbox does not start here: %v; %s", err, advice(wall.Name(), err.Error()))
		return r
	}
	var open []string
	for _, c := range checks {
		if !c.Held {
			open = append(open, c.Name)
		}
	}
	if len(open) > 0 {
		r.Probed, r.State, r.Fix = false, reeve.SandboxMissing, "the sandbox does not hold: "+strings.Join(open, "; ")
	}
	return r
}

// identity is what a kept answer depends on.
func identity(engine string) string {
	parts := []string{boot(), engine, fmt.Sprint(os.Getuid())}
	if exe, err := os.Executable(); err == nil {
		if info, err := os.Stat(exe); err == nil {
			st, _ := info.Sys().(*syscall.Stat_t)
			parts = append(parts, exe, stamp(st))
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// kept is what stands in the cache.
type kept struct {
	Key   string
	Time  time.Time
	Ready jail.Readiness
}

func (w *Wall) name() string { return "probe-" + w.inner.Name() }

func (w *Wall) load(key string) (jail.Readiness, bool) {
	var k kept
	if w.disk == nil || !w.disk.Get(w.name(), &k) || k.Key != key || !k.Ready.Usable() {
		return jail.Readiness{}, false
	}
	return k.Ready, true
}

// save keeps a good answer; where that fails the next start tries again.
func (w *Wall) save(key string) {
	if w.disk != nil {
		_ = w.disk.Put(w.name(), kept{key, time.Now().UTC(), w.ready})
	}
}
