package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
)

// schema changes with the acts and with how plans are made.
const schema = "1"

// Wall is a wall whose readiness is tried. It starts nothing through a
// boundary that did not bite.
type Wall struct {
	inner Prober
	state string

	mu    sync.Mutex // guards what follows
	known string     // what the answer depends on
	ready jail.Readiness
}

var _ jail.Wall = (*Wall)(nil)

// New wraps a wall. The answer is kept in the state directory, in a file of the
// wall's own (probe-bwrap.json); with an empty one it is kept in memory only.
func New(inner Prober, state string) *Wall { return &Wall{inner: inner, state: state} }

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
	parts := []string{schema, boot(), engine, fmt.Sprint(os.Getuid())}
	if exe, err := os.Executable(); err == nil {
		if info, err := os.Stat(exe); err == nil {
			st, _ := info.Sys().(*syscall.Stat_t)
			parts = append(parts, exe, stamp(st))
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// kept is the file.
type kept struct {
	Key   string
	Time  time.Time
	Ready jail.Readiness
}

func (w *Wall) file() string { return filepath.Join(w.state, "probe-"+w.inner.Name()+".json") }

func (w *Wall) load(key string) (jail.Readiness, bool) {
	if w.state == "" {
		return jail.Readiness{}, false
	}
	info, err := os.Lstat(w.file())
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || info.Size() > 1<<20 {
		return jail.Readiness{}, false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return jail.Readiness{}, false
	}
	text, err := os.ReadFile(w.file())
	if err != nil {
		return jail.Readiness{}, false
	}
	var k kept
	if json.Unmarshal(text, &k) != nil || k.Key != key || !k.Ready.Usable() {
		return jail.Readiness{}, false
	}
	return k.Ready, true
}

// save keeps a good answer; where that fails the next start tries again.
func (w *Wall) save(key string) {
	if w.state == "" {
		return
	}
	text, err := json.Marshal(kept{key, time.Now().UTC(), w.ready})
	if err != nil {
		return
	}
	tmp, err := os.CreateTemp(w.state, ".probe-")
	if err != nil {
		return
	}
	_, err = tmp.Write(text)
	if tmp.Close() != nil || err != nil || os.Rename(tmp.Name(), w.file()) != nil {
		os.Remove(tmp.Name())
	}
}
