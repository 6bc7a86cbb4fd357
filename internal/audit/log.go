package audit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/durable"
)

// Log is the writing end of the record. Its methods may be called by any
// number of goroutines.
//
// A Log whose record does not verify is broken: it holds no lock and no file,
// Append fails and names the row, and everything that only reads still works.
type Log struct {
	files chain.Files
	now   func() time.Time

	broken atomic.Pointer[chain.Break]
	newest atomic.Pointer[chain.Anchor] // the newest durable row
	news   chan struct{}                // capacity 1: there are more rows than before

	mu     sync.Mutex // guards queue, order and closed
	queue  []*entry
	order  *cut
	closed bool
	wake   chan struct{} // capacity 1: the queue is not empty, or the log was closed

	// entries are used again: one is 1.5 KiB, and the collector would run on
	// the core that the callers need.
	entries sync.Pool

	ended    chan struct{}      // closed when the writer has ended
	cancel   context.CancelFunc // stops the check of the older rows
	verified chan struct{}      // closed when every row there was at the start has been checked
}

// entry is one record on its way to the writer.
type entry struct {
	intent bool
	args   [chain.TableColumns]driver.NamedValue // all but id, prev_hash and hash
	leaf   chain.Hash
	done   chan error // capacity 1
}

func newEntry() any {
	e := &entry{done: make(chan error, 1)}
	for i := range e.args {
		e.args[i].Ordinal = i + 1
	}
	return e
}

// newestAtStart is how many rows Open checks before it returns, the newest
// first of all; about 0.1 s on one core. The older ones are checked in the background and
// break the log when they do not hold.
const newestAtStart = 10_000

// anchorEvery is the longest time that a durable row waits for its anchor.
const anchorEvery = 200 * time.Millisecond

// closeWithin bounds the flush at the end.
const closeWithin = 3 * time.Second

// Open opens the record in dir for writing and makes what is missing: the
// directory 0700, the files 0600, under any umask (contract M27). now gives
// the time of records that carry none.
//
// A second writer is refused. A record that does not verify gives a broken
// Log and no error; see [Log.Broken].
func Open(dir string, now func() time.Time) (*Log, error) {
	l := &Log{
		files: chain.In(dir), now: now,
		news: make(chan struct{}, 1), wake: make(chan struct{}, 1), ended: make(chan struct{}), verified: make(chan struct{}),
		cancel: func() {}, entries: sync.Pool{New: newEntry},
	}
	if err := durable.Private(dir); err != nil {
		return nil, fmt.Errorf("open the record: %w", err)
	}
	lock, err := durable.TryLock(l.files.Lock)
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("open the record: another reeve writes the record in %s; stop it with reeve down", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open the record: %w", err)
	}
	w, old, err := openWriter(l, lock)
	var b *chain.Break
	if errors.As(err, &b) {
		l.broken.Store(b)
		close(l.ended)
		close(l.verified)
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the record: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	start := w.start
	head := w.head
	l.newest.Store(&head)
	go w.run()
	if start.ID > 0 {
		l.signal() // rows may be left of a prune that was cut off
	}
	go l.checkOlder(ctx, start, old)
	return l, nil
}

// checkOlder verifies the rows up to old.
func (l *Log) checkOlder(ctx context.Context, start chain.Start, old chain.Anchor) {
	defer close(l.verified)
	if old.ID <= start.ID {
		return
	}
	s, err := chain.OpenSnapshot(l.files)
	if err != nil {
		return // the writer's own checks stand; a reader that cannot open proves nothing
	}
	defer s.Close()
	k := chain.Checker{Conn: s.Conn, Anchor: old}
	err = k.Whole(ctx, start, old.ID)
	if now, serr := l.files.ReadStart(); serr == nil && now.ID != start.ID && k.Broken != nil {
		return // it was pruned meanwhile, and what is gone was checked by the one who did
	}
	if err != nil && chain.Damaged(err) {
		k.Broken = chain.Found(k.Rows+1, chain.KindDamaged, "%s", err.Error())
	}
	if k.Broken != nil && ctx.Err() == nil {
		l.breakOff(k.Broken)
	}
}

// Newest is the newest durable row; the zero Anchor where there is none, and
// where the log was broken when it was opened.
func (l *Log) Newest() chain.Anchor {
	if at := l.newest.Load(); at != nil {
		return *at
	}
	return chain.Anchor{}
}

// News is told when there are more rows than before; it does not count them.
func (l *Log) News() <-chan struct{} { return l.news }

// Break makes the log broken: somebody else has found that the record is not
// what it was.
func (l *Log) Break(b *chain.Break) { l.breakOff(b) }

// breakOff makes the log broken. The first break counts.
func (l *Log) breakOff(b *chain.Break) {
	l.broken.CompareAndSwap(nil, b)
	l.signal()
}

// Broken is why the record takes nothing more, or nil. The error is a
// [*chain.Break] with what to do.
func (l *Log) Broken() error {
	if b := l.broken.Load(); b != nil {
		return brokenError{b}
	}
	return nil
}

// brokenError is a Break as the one who wanted to write is told it.
type brokenError struct{ *chain.Break }

func (e brokenError) Error() string {
	at := ""
	if e.Row != 0 {
		at = fmt.Sprintf(" at row %d", e.Row)
	}
	return fmt.Sprintf("record broken%s (%s); run reeve audit verify, then reeve audit reseal --keep-broken", at, e.Kind)
}

func (e brokenError) Unwrap() error { return e.Break }

// Verified waits until every row that there was at the start has been
// checked, and says whether they hold.
func (l *Log) Verified(ctx context.Context) error {
	select {
	case <-l.verified:
		return l.Broken()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Append writes one record and returns nil when it is durable. Whoever waits
// at the same time shares one commit and its sync, up to 64 records.
//
// On any error the caller must act as if nothing was written. A record whose
// context ends while it waits may still be written; an intent of that kind
// shows as unknown.
func (l *Log) Append(ctx context.Context, r reeve.Record) error {
	if err := chain.Check(&r); err != nil {
		return fmt.Errorf("record not written: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("record not written: %w", err)
	}
	e := l.entry(r)
	l.mu.Lock()
	if err := l.takes(); err != nil {
		l.mu.Unlock()
		return err
	}
	l.queue = append(l.queue, e)
	l.mu.Unlock()
	if !e.intent && reeve.IsUnhurried(ctx) {
		defer time.AfterFunc(unhurriedFor, l.signal).Stop() // unless another has it written before
	} else {
		l.signal()
	}
	select {
	case err := <-e.done:
		l.entries.Put(e) // the writer has let go of it
		return err
	case <-ctx.Done():
		return fmt.Errorf("record not known to be written: %w", ctx.Err())
	}
}

// unhurriedFor is how long a record that nobody waits for may wait for others.
const unhurriedFor = 3 * time.Millisecond

// takes says why no record is taken; l.mu is held.
func (l *Log) takes() error {
	if err := l.Broken(); err != nil {
		return err
	}
	if l.closed {
		return errors.New("record not written: the record is closed")
	}
	return nil
}

func (l *Log) entry(r reeve.Record) *entry {
	if r.Time.IsZero() {
		r.Time = l.now()
	}
	e := l.entries.Get().(*entry)
	e.intent = r.Phase == reeve.PhaseIntent
	vals := chain.Values(&r)
	e.leaf = chain.Leaf(vals[:])
	for i, v := range vals {
		e.args[chain.ColFirst+i].Value = v
	}
	return e
}

func (l *Log) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take empties the queue up to a batch.
func (l *Log) take(limit int) (batch []*entry, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(limit, len(l.queue))
	batch = l.queue[:n:n]
	if l.queue = l.queue[n:]; len(l.queue) == 0 {
		l.queue = nil
	}
	return batch, l.closed
}

const patience = 128

// gather lets the callers that were just answered, and are about to ask
// again, fill the queue: it yields until [patience] turns have added nothing.
// It waits for no clock. With 64 callers a batch holds 53 records instead of
// 40 (two cores, measured); a lone caller loses about 10 µs to a sync of 400.
func (l *Log) gather(limit int) {
	for last, idle := 0, 0; idle < patience; {
		runtime.Gosched()
		l.mu.Lock()
		n := len(l.queue)
		l.mu.Unlock()
		if n >= limit {
			return
		}
		if n > last {
			last, idle = n, 0
		} else {
			idle++
		}
	}
}

// Close writes what is queued, sets the anchor on the last row and gives the
// files up. It takes at most 3 s; an error says that records may be missing.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.signal()
	limit := time.NewTimer(closeWithin)
	defer limit.Stop()
	select {
	case <-l.ended:
		return nil
	case <-limit.C:
		return fmt.Errorf("close the record: the last rows were not on disk within %v", closeWithin)
	}
}

// OpenIntents lists intents without an outcome, oldest first: those of one
// session, or with session empty those of every session, that are older than
// olderThan; the zero time means all. The kernel gives each an outcome with
// status unknown at the end of its session or after a day.
func (l *Log) OpenIntents(session string, olderThan time.Time) ([]reeve.Record, error) {
	s, err := chain.OpenSnapshot(l.files)
	if err != nil {
		return nil, fmt.Errorf("list open intents: %w", err)
	}
	defer s.Close()
	where, args := "t.phase = 'intent'", []driver.Value{}
	if session != "" {
		where, args = where+" AND t.session_id = ?", append(args, session)
	}
	if !olderThan.IsZero() {
		where, args = where+" AND t.timestamp < ?", append(args, olderThan.UTC().Format(chain.TimeLayout))
	}
	var all []reeve.Record
	err = s.Query(context.Background(), "SELECT "+chain.AllColumns+" FROM tool_executions t WHERE "+where+" AND "+chain.LastOfCall+" ORDER BY id", args,
		func(v []driver.Value) error {
			all = append(all, chain.Of(v).Record)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("list open intents: %w", err)
	}
	return all, nil
}
