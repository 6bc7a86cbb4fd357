package permit

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestPermitOpensOnceForItsInvocationOnly(t *testing.T) {
	clock := time.Unix(1000, 0)
	iss := NewIssuer(func() time.Time { return clock })
	mine, other := [32]byte{1}, [32]byte{2}

	if err := (Permit{}).Spend(mine); !errors.Is(err, ErrZero) {
		t.Errorf("zero permit: got %v, want %v", err, ErrZero)
	}
	if err := (Permit{}).Spend([32]byte{}); !errors.Is(err, ErrZero) {
		t.Errorf("zero permit, zero digest: got %v, want %v", err, ErrZero)
	}
	p := iss.Mint(mine, time.Minute)
	if err := p.Spend(other); !errors.Is(err, ErrOther) {
		t.Errorf("other invocation: got %v, want %v", err, ErrOther)
	}
	if err := p.Spend(mine); err != nil {
		t.Errorf("first use: %v", err)
	}
	if err := p.Spend(mine); !errors.Is(err, ErrSpent) {
		t.Errorf("second use: got %v, want %v", err, ErrSpent)
	}
	copied := iss.Mint(mine, time.Minute)
	again := copied
	if err := errors.Join(copied.Spend(mine)); err != nil {
		t.Error(err)
	}
	if err := again.Spend(mine); !errors.Is(err, ErrSpent) {
		t.Errorf("a copy opened again: %v", err)
	}
	late := iss.Mint(mine, time.Minute)
	clock = clock.Add(time.Minute)
	if err := late.Spend(mine); !errors.Is(err, ErrExpired) {
		t.Errorf("expired: got %v, want %v", err, ErrExpired)
	}
}

func TestPermitOpensOnceUnderRace(t *testing.T) {
	p := NewIssuer(time.Now).Mint([32]byte{7}, time.Minute)
	var opened atomic.Int32
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if p.Spend([32]byte{7}) == nil {
				opened.Add(1)
			}
		})
	}
	wg.Wait()
	if n := opened.Load(); n != 1 {
		t.Errorf("opened %d times, want once", n)
	}
}
