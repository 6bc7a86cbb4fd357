// Package boundary makes of the settings the boundary that runs stand behind:
// its walls, its bounds and a person's own profiles.
package boundary

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/cache"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/keeper"
	"github.com/reeve-gate/reeve/internal/jail/probe"
)

// Of is the boundary that the settings ask for, tried before it is trusted;
// disk remembers what was tried (see [probe.Kept]).
func Of(c *config.Config, disk *cache.Cache) (jail.Wall, error) {
	all, err := Walls(c.Sandbox.Engine)
	if err != nil {
		return nil, err
	}
	return probe.Among(all, disk), nil
}

// Keep is the process that keeps one session (see jail/keeper). It knows every
// wall by its name; which one is ready was settled by the daemon.
func Keep() int {
	return keeper.Main(func(name string) (jail.Wall, error) {
		all, err := Walls(name)
		if err == nil && (len(all) != 1 || all[0].Name() != name) {
			err = fmt.Errorf("%w: %q is no wall by its name", reeve.ErrBoundary, name)
		}
		if err != nil {
			return nil, err
		}
		return all[0], nil
	})
}

// Limits are the configured bounds of every run; config has checked them.
func Limits(c *config.Config) jail.Limits {
	memory, processes, processors, _ := config.Limits(c.Sandbox.Memory, c.Sandbox.Processes, c.Sandbox.Processors)
	return jail.Limits{Memory: memory, Processes: processes, Processors: processors}
}

// readyFor is how long an answer about the boundary is taken as it was: a
// decision does not look at the disk for it each time, and whatever starts
// behind the wall is checked by the wall itself.
const readyFor = 5 * time.Second

// Wall is a wall that remembers its state for a moment.
type Wall struct {
	jail.Wall
	mu  sync.Mutex // guards what follows
	was reeve.Sandbox
	at  time.Time
}

// Ready asks the wall itself. What it says now is the state from now on: a run
// that was told ready is not judged by an older answer.
func (w *Wall) Ready(ctx context.Context) jail.Readiness {
	r := w.Wall.Ready(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.was, w.at = r.State, time.Now()
	return r
}

// State is what Ready said, at most five seconds ago.
func (w *Wall) State() reeve.Sandbox {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.at.IsZero() || now.Sub(w.at) > readyFor {
		w.was, w.at = w.Wall.Ready(context.Background()).State, now
	}
	return w.was
}
