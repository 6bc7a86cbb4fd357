package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// Bounds of asking servers that nobody has asked before.
const (
	askAtOnce = 4
	fewRun    = 4 // so many may stay running after they were only asked what they offer
	listWait  = 20 * time.Second
)

// fetch takes what a server offers and keeps it; listeners are told what has
// changed since the last time.
func (s *Session) fetch(ctx context.Context, one *ship, c *upstream.Conn) error {
	before := s.f.opt.Shelf.Offer(one.Name, one.hash)
	now, err := catalog.Fetch(ctx, c, one.Name, one.hash, s.f.opt.Now())
	if err != nil {
		return err
	}
	if err := s.f.opt.Shelf.Put(now); err != nil {
		return err
	}
	if err := s.f.opt.Seen(now); err != nil {
		return err
	}
	for _, note := range now.Notes {
		s.f.opt.Log("server %s offers what is not used: %s", one.Name, note)
	}
	if before == nil {
		return nil
	}
	for _, k := range catalog.Kinds() {
		if !now.Same(before, k) {
			s.tell(func(e Events) {
				if e.Changed != nil {
					e.Changed(k)
				}
			})
		}
	}
	return nil
}

// stale fetches a server's lists anew: one at a time, and once more after a pause
// where it changed meanwhile, however often it says so.
func (s *Session) stale(one *ship) {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.stale[0] = true
	if one.stale[1] {
		return
	}
	one.stale[1] = true
	s.beside(func() { s.refresh(one) })
}

// Between two refreshes of one server there is a pause, which grows as long as
// it goes on to say that it has changed.
const (
	pauseFirst = 500 * time.Millisecond
	pauseMost  = time.Minute
)

func (s *Session) refresh(one *ship) {
	one.mu.Lock()
	if !one.stale[0] {
		one.stale[1], one.pause = false, 0
		one.mu.Unlock()
		return
	}
	one.stale[0] = false
	one.pause = min(max(2*one.pause, pauseFirst), pauseMost)
	pause := one.pause
	one.mu.Unlock()
	if c := one.Running(); c != nil { // else it is fetched when it is started again
		ctx, cancel := context.WithTimeout(context.Background(), listWait)
		if err := s.fetch(ctx, one, c); err != nil {
			s.f.opt.Log("server %s says that it has changed: %v", one.Name, err)
		}
		cancel()
	}
	time.AfterFunc(pause, func() { s.beside(func() { s.refresh(one) }) })
}

// Offers is what every server offers, without what is held back. A server that
// nobody has asked before is started and asked, a few at a time and none for
// long; missing says, by name, why one could not be asked.
func (s *Session) Offers(ctx context.Context, only string) (offers []*catalog.Offer, missing map[string]error, err error) {
	set, err := s.f.opt.Servers()
	if err != nil {
		return nil, nil, fmt.Errorf("the servers cannot be read, so that none is used: %w", err)
	}
	var all []*servers.Server
	for i := range set.All {
		if one := &set.All[i]; !one.Disabled && (only == "" || one.Name == only) {
			all = append(all, one)
		}
	}
	found := make([]*catalog.Offer, len(all))
	faults := make([]error, len(all))
	s.askMissing(ctx, all, found, faults)
	missing = map[string]error{}
	for i, o := range found {
		if o == nil {
			missing[all[i].Name] = faults[i]
			continue
		}
		offers = append(offers, s.shown(all[i], o))
	}
	return offers, missing, nil
}

// askMissing fills in what is known, and asks for the rest.
func (s *Session) askMissing(ctx context.Context, all []*servers.Server, found []*catalog.Offer, faults []error) {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	turn := make(chan struct{}, askAtOnce)
	var asked sync.WaitGroup
	for i, one := range all {
		if found[i] = s.f.Offer(one); found[i] != nil {
			continue
		}
		asked.Go(func() {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
			case <-ctx.Done():
				faults[i] = fmt.Errorf("there was no time to ask it")
				return
			}
			if faults[i] = s.ask(ctx, one.Name, len(all) > fewRun); faults[i] == nil {
				found[i] = s.f.Offer(one)
			}
		})
	}
	asked.Wait()
}

// ask starts a server, which tells what it offers then. Where many are asked,
// one that is not in use is not left running.
func (s *Session) ask(ctx context.Context, name string, stop bool) error {
	u, release, err := s.Use(ctx, name)
	if err != nil {
		return err
	}
	u.Works()
	release()
	if stop {
		s.rest(name)
	}
	return nil
}

func (s *Session) rest(name string) {
	s.mu.Lock()
	one := s.ships[name]
	s.mu.Unlock()
	if one != nil {
		one.Rest()
	}
}

// shown is an offer without what is held back.
func (s *Session) shown(conf *servers.Server, o *catalog.Offer) *catalog.Offer {
	out := *o
	for _, k := range catalog.Kinds() {
		held := func(it catalog.Item) bool { return s.f.opt.Held(conf, k, it) != "" }
		if slices.ContainsFunc(o.Lists[k], held) {
			out.Lists[k] = slices.DeleteFunc(slices.Clone(o.Lists[k]), held)
		}
	}
	return &out
}
