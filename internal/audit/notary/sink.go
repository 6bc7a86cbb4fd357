package notary

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/reeve-gate/reeve/internal/audit/seal"
)

// Publisher keeps checkpoints elsewhere.
type Publisher interface {
	Name() string
	// Publish gives a signed checkpoint away. prove proves that its tree began
	// with that of fewer rows.
	Publish(ctx context.Context, signed string, prove func(older int64) (tlog.TreeProof, error)) error
}

// Sink gives the newest checkpoint to one publisher, in its own time: whoever is
// slow or gone misses what lies between, and holds up nothing.
type Sink struct {
	To Publisher

	wake chan struct{}
	done chan struct{}
	n    *Notary

	mu     sync.Mutex // guards what follows
	newest string
	given  int64
	fault  string
}

// SinkState is how far one publisher is.
type SinkState struct {
	Name  string
	Given int64  // rows of the newest checkpoint that it has taken since the daemon began
	Lag   int64  // rows of newer ones
	Fault string // why not; empty = it takes them
}

func (s *Sink) start(ctx context.Context, n *Notary) {
	s.n, s.wake, s.done = n, make(chan struct{}, 1), make(chan struct{})
	go s.run(ctx)
}

// offer makes a checkpoint the one to be given.
func (s *Sink) offer(signed string) {
	s.mu.Lock()
	s.newest = signed
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Times between tries that fail.
const (
	firstRetry = 30 * time.Second
	lastRetry  = 10 * time.Minute
	giveWithin = 30 * time.Second
)

func (s *Sink) run(ctx context.Context) {
	defer close(s.done)
	again := time.NewTimer(firstRetry)
	again.Stop()
	defer again.Stop()
	wait := firstRetry
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-again.C:
		}
		if s.give(ctx) {
			wait = firstRetry
			continue
		}
		again.Reset(wait)
		wait = min(2*wait, lastRetry)
	}
}

// give tries the newest one.
func (s *Sink) give(ctx context.Context) bool {
	s.mu.Lock()
	signed, given := s.newest, s.given
	s.mu.Unlock()
	if size := seal.SizeOf(signed); size <= given {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, giveWithin)
	defer cancel()
	err := s.To.Publish(ctx, signed, func(older int64) (tlog.TreeProof, error) { return s.n.prove(older, seal.SizeOf(signed)) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, context.Canceled) { // the daemon ends, and tries once more
		return false
	}
	if err != nil {
		if text := err.Error(); text != s.fault {
			s.fault = text
			s.n.Say("publish a checkpoint to %s: %v", s.To.Name(), err)
		}
		return false
	}
	s.given, s.fault = seal.SizeOf(signed), ""
	return true
}

// end gives the last one, where there is time.
func (s *Sink) end(ctx context.Context) {
	select {
	case <-s.done:
		s.give(ctx)
	case <-ctx.Done(): // a medium that hangs
	}
}

// Published tells how far every publisher is.
func (n *Notary) Published() (all []SinkState) {
	for _, s := range n.Sinks {
		s.mu.Lock()
		all = append(all, SinkState{s.To.Name(), s.given, max(0, seal.SizeOf(s.newest)-s.given), s.fault})
		s.mu.Unlock()
	}
	return all
}

// prove proves that the tree of so many rows began with that of fewer.
func (n *Notary) prove(older, newer int64) (tlog.TreeProof, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tree == nil || older > newer {
		return nil, fmt.Errorf("nothing proves that %d rows come after %d", newer, older)
	}
	if older == 0 || older == newer {
		return nil, nil
	}
	was, err := n.tree.At(older)
	if err != nil {
		return nil, err
	}
	now, err := n.tree.At(newer)
	if err != nil {
		return nil, err
	}
	return n.tree.Consistent(seal.Checkpoint{Size: older, Root: was.Root()}, seal.Checkpoint{Size: newer, Root: now.Root()})
}
