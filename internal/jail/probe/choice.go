package probe

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/cache"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Choice is the first of several walls that is usable here: one after the
// other is tried, and a later one is taken only where those before it cannot be
// built or do not bite. It stays with the one that it took for as long as that
// is usable, so that what runs at the same time runs behind one wall.
type Choice struct {
	walls []*Wall

	mu    sync.Mutex // guards taken
	taken *Wall      // nil until one was usable
}

var _ jail.Wall = (*Choice)(nil)

// Among chooses among walls, the best one first; there is at least one. Good
// answers are kept as [New] does.
func Among(walls []Prober, disk *cache.Cache) *Choice {
	c := &Choice{}
	for _, w := range walls {
		c.walls = append(c.walls, New(w, disk))
	}
	return c
}

// choose returns the wall that is taken and its readiness; where none is
// usable, the first one, and what is wrong with each.
func (c *Choice) choose(ctx context.Context) (*Wall, jail.Readiness) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken != nil {
		if r := c.taken.Ready(ctx); r.Usable() {
			return c.taken, r
		}
		c.taken = nil
	}
	var first jail.Readiness
	var wrong []string
	for i, w := range c.walls {
		r := w.Ready(ctx)
		if r.Usable() {
			c.taken = w
			return w, r
		}
		if i == 0 {
			first = r
		}
		wrong = append(wrong, w.Name()+": "+r.Fix)
	}
	if len(wrong) > 1 {
		first.Fix = strings.Join(wrong, "; ")
	}
	return c.walls[0], first
}

// Name is that of the wall that is taken; before one was, of the first.
func (c *Choice) Name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken != nil {
		return c.taken.Name()
	}
	return c.walls[0].Name()
}

// Ready implements [jail.Wall] for the wall that is taken.
func (c *Choice) Ready(ctx context.Context) jail.Readiness {
	_, r := c.choose(ctx)
	return r
}

// Start implements [jail.Wall]. What one wall could not start is not tried
// behind another (A14, Y70).
func (c *Choice) Start(ctx context.Context, p permit.Permit, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	w, r := c.choose(ctx)
	if !r.Usable() {
		if err := p.Spend(digest); err != nil {
			return nil, fmt.Errorf("start in sandbox: %w", err)
		}
		return nil, fmt.Errorf("%w: %s", reeve.ErrBoundary, r.Fix)
	}
	return w.Start(ctx, p, digest, plan, cmd)
}
