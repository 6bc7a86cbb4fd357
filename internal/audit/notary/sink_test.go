package notary

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/reeve-gate/reeve/internal/audit/seal"
)

// place is a publisher.
type place struct {
	given chan int64
	err   error
	stuck bool
}

func (p *place) Name() string { return "place" }

func (p *place) Publish(ctx context.Context, signed string, prove func(int64) (tlog.TreeProof, error)) error {
	if p.stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := cmp.Or(ctx.Err(), p.err); err != nil {
		return err
	}
	size := seal.SizeOf(signed)
	if older := size - 2; older > 0 {
		if _, err := prove(older); err != nil {
			return err
		}
	}
	p.given <- size
	return nil
}

// TestWhoCannotBeReachedHoldsUpNothingAndItsLagIsTold: a place that never
// answers, one that refuses and one that takes everything.
func TestWhoCannotBeReachedHoldsUpNothingAndItsLagIsTold(t *testing.T) {
	h := newHouse(t)
	takes := &place{given: make(chan int64, 10)}
	for _, p := range []*place{takes, {err: errors.New("it is full")}, {stuck: true}} {
		h.n.Sinks = append(h.n.Sinks, &Sink{To: p})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, s := range h.n.Sinks {
		s.start(ctx, h.n)
	}
	for _, want := range []int64{2, 4} {
		h.call()
		h.sign()
		select {
		case got := <-takes.given:
			if got != want {
				t.Errorf("given %d rows, want %d", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("nothing was given")
		}
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		_, lines := h.n.Lines()
		if strings.Join(lines, "; ") == "place: up to row 4; place: up to row 0, 4 rows behind: it is full; place: up to row 0, 4 rows behind" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("status says %q", lines)
		}
	}
	cancel()
	for _, s := range h.n.Sinks {
		<-s.done
	}
}

// TestTheLastCheckpointIsGivenAtTheEnd to whoever takes it, while others do not
// answer.
func TestTheLastCheckpointIsGivenAtTheEnd(t *testing.T) {
	h := newHouse(t)
	takes := &place{given: make(chan int64, 10)}
	h.n.Sinks = []*Sink{{To: &place{stuck: true}}, {To: takes}}
	ctx, cancel := context.WithCancel(t.Context())
	for _, s := range h.n.Sinks {
		s.start(ctx, h.n)
	}
	h.call()
	h.sign()
	if got := <-takes.given; got != 2 {
		t.Errorf("given %d rows, want 2", got)
	}
	h.call()
	cancel()
	for _, s := range h.n.Sinks {
		<-s.done
	}
	if len(h.said) > 0 {
		t.Errorf("the end is told as a fault: %q", h.said)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	h.n.Close(ctx)
	select {
	case got := <-takes.given:
		if got != 4 {
			t.Errorf("given %d rows at the end, want 4", got)
		}
	default:
		t.Error("the last one was not given")
	}
}

// hung is a medium that answers nobody, not even the end.
type hung struct{ begun, end chan struct{} }

func (h hung) Name() string { return "hung" }

func (h hung) Publish(context.Context, string, func(int64) (tlog.TreeProof, error)) error {
	close(h.begun)
	<-h.end
	return nil
}

func TestAMediumThatHangsDoesNotHoldUpTheEnd(t *testing.T) {
	h := newHouse(t)
	p := hung{make(chan struct{}), make(chan struct{})}
	h.n.Sinks = []*Sink{{To: p}}
	ctx, cancel := context.WithCancel(t.Context())
	h.n.Sinks[0].start(ctx, h.n)
	h.call()
	h.sign()
	<-p.begun
	cancel()
	ended := make(chan struct{})
	go func() {
		h.n.Close(ctx) // whose time is over
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the end waits for it")
	}
	close(p.end)
	<-h.n.Sinks[0].done
}
