// Package timely masks what a program shows while somebody looks on: what
// cannot be a part of a secret is there [Limit] after it came at the latest, a
// prompt too, which no end of a line follows.
//
// A [Writer] is a redact.Stream with a clock. What the stream keeps back since
// it may become a secret, it is made to judge again when the time is up; then
// what tells nothing of a secret goes out (see redact.Stream.Hasten). A secret
// that comes in slowly, byte by byte, stays masked: its bytes wait for the ones
// that show what they are, at most 8 KiB of them.
package timely

import (
	"io"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/redact"
)

// Limit is how long what is no part of a secret may be kept back.
const Limit = 50 * time.Millisecond

// Writer masks one stream in time. Every call but [New] is made under its lock.
type Writer struct {
	s     *redact.Stream
	lock  sync.Locker
	late  func()
	timer *time.Timer // nil = nothing waits
}

// New makes a Writer of a stream. lock guards the stream and what it writes to:
// the Writer takes it when the time is up, and calls late under it, which may be
// nil, after something went out.
func New(s *redact.Stream, lock sync.Locker, late func()) *Writer {
	return &Writer{s: s, lock: lock, late: late}
}

// Write masks p and what was kept back before it.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.s.Write(p)
	if w.timer == nil && w.s.Waits() {
		w.timer = time.AfterFunc(Limit, w.up)
	}
	return n, err
}

// up is called when the time of the oldest byte that waits is up.
func (w *Writer) up() {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.timer == nil {
		return // it was closed in this moment
	}
	w.timer = nil
	if w.s.Hasten() == nil && w.late != nil {
		w.late()
	}
}

// Close writes what is kept back, as redact.Stream does.
func (w *Writer) Close() error {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	return w.s.Close()
}

// Alone is a Writer with a lock of its own, for a stream that one goroutine writes.
func Alone(s *redact.Stream) io.WriteCloser {
	a := &alone{}
	a.w = New(s, &a.mu, nil)
	return a
}

type alone struct {
	mu sync.Mutex
	w  *Writer
}

func (a *alone) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.w.Write(p)
}

func (a *alone) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.w.Close()
}
