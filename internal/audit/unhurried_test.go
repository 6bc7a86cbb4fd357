package audit

import (
	"context"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
)

// TestWhatNobodyWaitsForIsWrittenToo: soon, with what comes next, and when the
// log is closed; its place in the order is the one in which it came.
func TestWhatNobodyWaitsForIsWrittenToo(t *testing.T) {
	state := t.TempDir()
	l := mustOpen(t, state)
	slow := reeve.Unhurried(context.Background())
	if err := l.Append(slow, intent(1)); err != nil { // an intent is never kept waiting, but it is taken
		t.Fatal(err)
	}
	began := time.Now()
	if err := l.Append(slow, outcome(1)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("written after %s", took)
	}
	pending := make(chan error, 1)
	if err := l.Append(context.Background(), intent(2)); err != nil {
		t.Fatal(err)
	}
	go func() { pending <- l.Append(slow, outcome(2)) }()
	for queued := 0; queued == 0 && len(pending) == 0; { // it stands in the queue, or is written already
		l.mu.Lock()
		queued = len(l.queue)
		l.mu.Unlock()
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-pending; err != nil {
		t.Error(err)
	}
	again := mustOpen(t, state)
	open, err := again.OpenIntents("", time.Now().Add(time.Hour))
	if err != nil || len(open) != 0 {
		t.Errorf("left open: %v %v", open, err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
