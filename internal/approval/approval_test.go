package approval

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve"
)

func ask(b *Broker, ctx context.Context, q Question) <-chan Answer {
	out := make(chan Answer, 1)
	if q.Expires.IsZero() {
		q.Expires = time.Now().Add(time.Minute)
	}
	go func() { out <- b.Ask(ctx, q) }()
	return out
}

func TestSilenceIsNeverConsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		timeout := ask(b, t.Context(), Question{ID: "late", Session: "s"})
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := ask(b, ctx, Question{ID: "cancelled", Session: "s", Expires: time.Now().Add(time.Hour)})
		closed := ask(b, t.Context(), Question{ID: "closed", Session: "other", Expires: time.Now().Add(time.Hour)})
		synctest.Wait()
		cancel()
		b.CloseSession("other")
		for name, c := range map[string]struct {
			ch   <-chan Answer
			want State
		}{"time-out": {timeout, Expired}, "cancel": {cancelled, Withdrawn}, "session end": {closed, Withdrawn}} {
			a := <-c.ch
			if a.Yes() || a.State != c.want {
				t.Errorf("%s: %+v, want state %s", name, a, c.want)
			}
		}
		events, _, stop := b.Watch(true)
		began := time.Now()
		if a := b.Ask(t.Context(), Question{ID: "after", Session: "other", Expires: began.Add(time.Hour)}); a.Yes() || a.State != Withdrawn || time.Now() != began {
			t.Errorf("an ended session's question: %+v after %s, want withdrawn at once", a, time.Since(began))
		}
		stop()
		for e := range events {
			t.Errorf("an ended session's question was put: %+v", e)
		}
		if err := b.Settle("late", Answer{State: Allowed, Scope: Once}); !errors.Is(err, reeve.ErrNotFound) {
			t.Errorf("an answer after the time-out: %v, want not found", err)
		}
	})
}

func TestFirstAnswerWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		got := ask(b, t.Context(), Question{ID: "q", Session: "s", Standing: true})
		synctest.Wait()
		var yes, no atomic.Int32
		var wg sync.WaitGroup
		for i := range 32 {
			state := Allowed
			if i%2 == 0 {
				state = Denied
			}
			wg.Go(func() {
				if b.Settle("q", Answer{State: state, Scope: Once}) == nil {
					if state == Allowed {
						yes.Add(1)
					} else {
						no.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if yes.Load()+no.Load() != 1 {
			t.Errorf("%d answers were taken, want one", yes.Load()+no.Load())
		}
		if a := <-got; a.Yes() != (yes.Load() == 1) {
			t.Errorf("the caller heard %v, the winner said %v", a.Yes(), yes.Load() == 1)
		}
	})
}

func TestAnAnswerSettlesItsOwnQuestionOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		first := ask(b, ctx, Question{ID: "1", Session: "s"})
		second := ask(b, t.Context(), Question{ID: "2", Session: "s"})
		synctest.Wait()
		cancel()
		<-first
		if qs := b.Questions(); len(qs) != 1 || qs[0].ID != "2" {
			t.Fatalf("pending: %+v, want only question 2", qs)
		}
		if err := b.Settle("2", Answer{State: Allowed, Scope: Once}); err != nil {
			t.Fatal(err)
		}
		if a := <-second; !a.Yes() || a.ID != "2" {
			t.Errorf("second: %+v", a)
		}
	})
}

func TestStandingGrantCoversTheExactCallInItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		got := ask(b, t.Context(), Question{ID: "q", Session: "s", Content: [32]byte{1}, Standing: true})
		synctest.Wait()
		if err := b.Settle("q", Answer{State: Allowed, Scope: Session}); err != nil {
			t.Fatal(err)
		}
		<-got
		for _, c := range []struct {
			session string
			content [32]byte
			want    string
		}{{"s", [32]byte{1}, "q"}, {"s", [32]byte{2}, ""}, {"t", [32]byte{1}, ""}} {
			if got := b.Granted(c.session, c.content); got != c.want {
				t.Errorf("Granted(%s, %v) = %q, want %q", c.session, c.content[0], got, c.want)
			}
		}
		if err := b.Revoke("q"); err != nil || b.Granted("s", [32]byte{1}) != "" {
			t.Errorf("revoke: %v; still granted: %v", err, b.Granted("s", [32]byte{1}))
		}
	})
}

func TestAStandingGrantIsRefusedWhereItIsNotOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		got := ask(b, t.Context(), Question{ID: "q", Session: "s", Warn: true})
		synctest.Wait()
		for _, scope := range []Scope{Session, Rule} {
			if err := b.Settle("q", Answer{State: Allowed, Scope: scope}); !errors.Is(err, reeve.ErrUsage) {
				t.Errorf("scope %s: %v, want a usage error", scope, err)
			}
		}
		if err := b.Settle("q", Answer{State: Pending}); !errors.Is(err, reeve.ErrUsage) {
			t.Errorf("answer pending: %v", err)
		}
		b.Close()
		if (<-got).Yes() {
			t.Error("closing the broker allowed a call")
		}
	})
}

func TestASlowWatcherIsCutOffAndBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		events, _, stop := b.Watch(true)
		defer stop()
		for i := range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			got := ask(b, ctx, Question{ID: string(rune('a' + i)), Session: "s"})
			synctest.Wait()
			cancel()
			<-got
		}
		n := 0
		for range events {
			n++
		}
		if n != 64 {
			t.Errorf("saw %d events before being cut off, want 64", n)
		}
		if b.Watched() {
			t.Error("the watcher still counts as an open face")
		}
	})
}

// TestAYesThatComesWhenNobodyWaitsIsGoodForTheSameCallOnce: a client that gave
// up makes the call again.
func TestAYesThatComesWhenNobodyWaitsIsGoodForTheSameCallOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		put := func(ctx context.Context, id, session string, content byte) <-chan Answer {
			return ask(b, ctx, Question{ID: id, Session: session, Risk: "write", Content: [32]byte{content}, Again: true, Expires: time.Now().Add(9 * time.Minute)})
		}
		leave := func(id string, content byte) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if a := <-put(ctx, id, "s", content); a.Yes() || a.ID != id {
				t.Errorf("a caller that gave up: %+v", a)
			}
		}
		leave("one", 1)
		if qs := b.Questions(); len(qs) != 1 || qs[0].ID != "one" {
			t.Fatalf("what stands: %+v", qs)
		}
		again := put(t.Context(), "two", "s", 1) // comes back before the answer
		synctest.Wait()
		if qs := b.Questions(); len(qs) != 1 {
			t.Errorf("the same call was asked twice: %+v", qs)
		}
		if err := b.Settle("one", Answer{State: Allowed, Scope: Once}); err != nil {
			t.Error(err)
		}
		if a := <-again; !a.Yes() || a.ID != "one" {
			t.Errorf("the call that came back: %+v", a)
		}
		if id := b.Take("s", [32]byte{1}, "write"); id != "" {
			t.Error("a yes that was used is good again")
		}

		leave("three", 2)
		if err := b.Settle("three", Answer{State: Allowed, Scope: Once}); err != nil {
			t.Error(err)
		}
		for _, c := range []struct {
			session, risk string
			content       byte
			want          string
		}{{"other", "write", 2, ""}, {"s", "destructive", 2, ""}, {"s", "write", 3, ""}, {"s", "write", 2, "three"}, {"s", "write", 2, ""}} {
			if id := b.Take(c.session, [32]byte{c.content}, c.risk); id != c.want {
				t.Errorf("take %+v gives %q", c, id)
			}
		}

		leave("four", 4)
		b.Settle("four", Answer{State: Allowed, Scope: Once})
		time.Sleep(TicketTime)
		if id := b.Take("s", [32]byte{4}, "write"); id != "" {
			t.Error("a yes was good for longer than it says")
		}

		leave("five", 5) // and nobody comes back
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if qs := b.Questions(); len(qs) != 0 {
			t.Errorf("a question outlived its time: %+v", qs)
		}
		if err := b.Settle("five", Answer{State: Allowed, Scope: Once}); err == nil {
			t.Error("it could still be answered")
		}
	})
}
