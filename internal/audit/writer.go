package audit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/durable"
)

// writer owns the database. Only its goroutine uses it.
type writer struct {
	log   *Log
	files chain.Files
	lock  *durable.Lock
	conn  *chain.Conn
	begin, insert, commit,
	rollback *chain.Stmt

	db, wal, anchorID chain.FileID // what was opened; checked on each commit
	anchorFile        *os.File     // written in place
	head              chain.Anchor // newest durable row
	start             chain.Start  // where the record begins
	lowest            int64        // a row up to the start may still be there while this is no greater
	anchored          int64        // id in audit.head
	anchorDue         *time.Timer
	low               bool // the reserve was given up
}

// maxBatch bounds the records that share one commit.
const maxBatch = 64

// pragmas of the writing connection. fullfsync makes a sync a barrier on
// macOS; elsewhere it does nothing.
const pragmas = "mode=rw&_defensive=1&_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
	"&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)&_pragma=temp_store(MEMORY)&_pragma=journal_size_limit(16777216)" +
	"&_pragma=trusted_schema(0)"

// openWriter opens or makes the record and checks its newest rows. old names
// the row up to which the rows are still unchecked. A [*chain.Break] as the error means
// that the record does not verify. The lock is given up on any error.
func openWriter(l *Log, lock *durable.Lock) (w *writer, old chain.Anchor, err error) {
	w = &writer{log: l, files: l.files, lock: lock}
	defer func() {
		if err != nil {
			w.release()
			w = nil
		}
	}()
	at, err := w.prepareFiles()
	if err != nil {
		return w, old, err
	}
	if w.conn, err = chain.Dial(w.files.DB, pragmas); err != nil {
		if chain.Damaged(err) {
			err = chain.Found(0, chain.KindDamaged, "%s", err.Error())
		}
		return w, old, err
	}
	if old, err = w.checkNewest(at); err != nil {
		return w, old, err
	}
	if err := w.prepareStatements(); err != nil {
		return w, old, err
	}
	if w.db, err = chain.Identify(w.files.DB); err != nil {
		return w, old, err
	}
	if w.anchorFile, err = os.OpenFile(w.files.Head, os.O_WRONLY, 0); err != nil {
		return w, old, err
	}
	if w.anchorID, err = chain.Identify(w.files.Head); err != nil {
		return w, old, err
	}
	w.wal, _ = chain.Identify(w.files.WAL) // the first commit makes it where it is missing
	w.low = w.files.MakeReserve() != nil
	return w, old, w.files.Private()
}

// prepareFiles finds the files, or makes them where there never was a record.
func (w *writer) prepareFiles() (chain.Anchor, error) {
	f := w.files
	have, err := chain.Exists(f.DB)
	if err != nil {
		return chain.Anchor{}, err
	}
	at, err := chain.ReadAnchor(f.Head)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !have:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, chain.ErrAnchor):
		return chain.Anchor{}, chain.Found(0, chain.KindAnchor, "%s: %v", f.Head, err)
	case err != nil:
		return chain.Anchor{}, err
	}
	if !have {
		if b := missingDatabase(f, at); b != nil {
			return chain.Anchor{}, b
		}
		return at, f.Create()
	}
	return at, f.Private()
}

// checkNewest makes the tables in an empty database, else checks the
// definitions, the newest rows and the anchor, and finds the head.
func (w *writer) checkNewest(at chain.Anchor) (old chain.Anchor, err error) {
	ctx := context.Background()
	broken, empty, err := chain.Definitions(ctx, w.conn)
	switch {
	case err == nil && broken == nil && empty && at.ID == 0:
		return chain.Anchor{}, w.createTables()
	case empty && at.ID > 0:
		broken = chain.Found(1, chain.KindCut, "the database is empty; the anchor names row %d", at.ID)
	}
	if broken != nil {
		return chain.Anchor{}, broken
	}
	if err == nil {
		old, err = w.checkRows(ctx, at)
	}
	if err != nil && chain.Damaged(err) {
		err = chain.Found(0, chain.KindDamaged, "%s", err.Error())
	}
	return old, err
}

func (w *writer) checkRows(ctx context.Context, at chain.Anchor) (old chain.Anchor, err error) {
	newest, err := w.lastRow(ctx)
	if err != nil {
		return old, err
	}
	if w.start, err = w.files.ReadStart(); err != nil {
		return old, err
	}
	k := chain.Checker{Conn: w.conn, Anchor: at}
	if first := newest.ID - newestAtStart; first > w.start.ID {
		old.ID = first
		if old.Hash, err = w.conn.HashAt(ctx, first); err == nil {
			err = k.Run(ctx, old.ID+1, old.ID+1, old.Hash, 1<<63-1)
		}
	} else {
		old.ID = w.start.ID
		err = k.Whole(ctx, w.start, 1<<63-1)
	}
	if err != nil {
		return old, err
	}
	switch {
	case k.Broken != nil:
	case at.ID < w.start.ID:
		k.Broken = chain.Found(at.ID, chain.KindAnchor, "the anchor names a row before the record begins, behind row %d", w.start.ID)
	case at.ID > w.start.ID && at.ID <= old.ID:
		k.Broken, err = w.checkAnchored(ctx, at)
	}
	if k.Broken != nil {
		return old, k.Broken
	}
	w.head, w.anchored = newest, at.ID
	return old, err
}

// checkAnchored looks at the anchored row alone, where it is not among the newest.
func (w *writer) checkAnchored(ctx context.Context, at chain.Anchor) (*chain.Break, error) {
	hash, err := w.conn.HashAt(ctx, at.ID)
	if err != nil || hash == at.Hash {
		return nil, err
	}
	return chain.Found(at.ID, chain.KindReplaced, "the row that the anchor names is gone or has another hash"), nil
}

func (w *writer) lastRow(ctx context.Context) (last chain.Anchor, err error) {
	err = w.conn.Query(ctx, "SELECT id, hash FROM tool_executions ORDER BY id DESC LIMIT 1", nil, func(v []driver.Value) error {
		last.ID, _ = v[0].(int64)
		last.Hash = chain.HashOf(v[1])
		return nil
	})
	return last, err
}

func (w *writer) createTables() error {
	if err := w.conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, o := range chain.Schema {
		if err := w.conn.Exec(o.SQL); err != nil {
			return errors.Join(err, w.conn.Exec("ROLLBACK"))
		}
	}
	return w.conn.Exec("COMMIT")
}

func (w *writer) prepareStatements() error {
	for _, p := range []struct {
		to  **chain.Stmt
		sql string
	}{{&w.begin, "BEGIN IMMEDIATE"}, {&w.insert, chain.InsertRow}, {&w.commit, "COMMIT"}, {&w.rollback, "ROLLBACK"}} {
		s, err := w.conn.Prepare(p.sql)
		if err != nil {
			return err
		}
		*p.to = s
	}
	return nil
}

// run serves the queue until the log is closed.
func (w *writer) run() {
	defer close(w.log.ended)
	defer w.release()
	w.anchorDue = time.NewTimer(anchorEvery)
	defer w.anchorDue.Stop()
	for {
		select {
		case <-w.log.wake:
		case <-w.anchorDue.C:
			w.setAnchor()
		}
		if closed := w.serve(); closed {
			w.setAnchor()
			return
		}
		w.prune()
		if w.log.broken.Load() != nil {
			w.release()
		}
	}
}

// serve writes what is queued, a batch at a time.
func (w *writer) serve() (closed bool) {
	for {
		batch, closed := w.log.take(maxBatch)
		if len(batch) == 0 {
			return closed
		}
		if w.anchored == w.head.ID { // the first row that the anchor will lack
			w.anchorDue.Reset(anchorEvery)
		}
		w.write(batch)
		select {
		case <-w.anchorDue.C:
			w.setAnchor()
		default:
		}
		w.log.gather(maxBatch)
	}
}

// write makes a batch durable and answers it.
func (w *writer) write(batch []*entry) {
	err := w.ready()
	if err == nil && w.low {
		batch = w.refuseIntents(batch)
	}
	if err == nil && len(batch) > 0 {
		err = w.store(batch)
	}
	if err != nil && chain.DiskFull(err) && !w.low {
		w.giveUpReserve(batch, err)
		return
	}
	for _, e := range batch {
		e.done <- err
	}
}

// ready refuses to write to a record that is broken or that is no longer the
// one at its path: rows in a removed file would be lost.
func (w *writer) ready() error {
	if err := w.log.Broken(); err != nil {
		return err
	}
	now, err := chain.Identify(w.files.DB)
	if err != nil || now != w.db {
		return w.breakOff(chain.KindReplaced, w.files.DB)
	}
	if w.wal != (chain.FileID{}) {
		if now, err = chain.Identify(w.files.WAL); err != nil || now != w.wal {
			return w.breakOff(chain.KindReplaced, w.files.WAL)
		}
	}
	return nil
}

func (w *writer) breakOff(kind chain.Kind, path string) error {
	w.log.breakOff(chain.Found(w.head.ID+1, kind, "%s was removed or replaced while it was written", path))
	return w.log.Broken()
}

// store commits a batch as the next rows. On error nothing of it is stored
// and the head is unchanged.
func (w *writer) store(batch []*entry) error {
	if err := w.begin.Run(nil); err != nil {
		return fmt.Errorf("record not written: %w", err)
	}
	head := w.head
	for _, e := range batch {
		id, prev := head.ID+1, head.Hash
		head = chain.Anchor{ID: id, Hash: chain.Link(prev, id, e.leaf)}
		e.args[chain.ColID].Value = id
		e.args[chain.ColPrev].Value = prev[:]
		e.args[chain.ColHash].Value = head.Hash[:]
		if err := w.insert.Run(e.args[:]); err != nil {
			return w.undo(err)
		}
	}
	if err := w.commit.Run(nil); err != nil {
		return w.undo(err)
	}
	w.head = head
	w.log.newest.Store(&head)
	select {
	case w.log.news <- struct{}{}:
	default:
	}
	if w.wal == (chain.FileID{}) {
		w.wal, _ = chain.Identify(w.files.WAL)
	}
	return nil
}

// undo ends a failed transaction and makes sure that the head is still what
// the database says.
func (w *writer) undo(cause error) error {
	w.rollback.Run(nil) // fails where SQLite has rolled back by itself
	cause = fmt.Errorf("record not written: %w", cause)
	last, err := w.lastRow(context.Background())
	if err != nil {
		return errors.Join(cause, err)
	}
	if last != w.head {
		w.log.breakOff(chain.Found(w.head.ID+1, chain.KindReplaced, "the database does not end where the last commit did"))
	}
	return cause
}

// giveUpReserve frees the space set aside, so that the failure is recorded
// and calls that already ran can have their outcome. New intents are refused
// until the reserve can be set aside again.
func (w *writer) giveUpReserve(batch []*entry, cause error) {
	w.low = true
	os.Remove(w.files.Reserve)
	w.store([]*entry{w.failure(cause)}) // best effort: the callers are told in any case
	for _, e := range batch {
		if e.intent {
			e.done <- w.lowError(cause)
			continue
		}
		e.done <- w.store([]*entry{e})
	}
}

// refuseIntents answers the intents of a batch while the disk is full and
// returns the rest.
func (w *writer) refuseIntents(batch []*entry) []*entry {
	if w.files.MakeReserve() == nil {
		w.low = false
		return batch
	}
	var rest []*entry
	for _, e := range batch {
		if e.intent {
			e.done <- w.lowError(nil)
		} else {
			rest = append(rest, e)
		}
	}
	return rest
}

func (w *writer) lowError(cause error) error {
	err := fmt.Errorf("record not written: the disk of %s is full; free at least %d MiB there", w.files.Dir, 2*chain.ReserveSize>>20)
	if cause != nil {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	return err
}

// failure is the row that tells of a failed write. Its session is the nil
// UUID: it belongs to no session.
func (w *writer) failure(cause error) *entry {
	return w.log.entry(reeve.Record{
		CallID: uuid.Must(uuid.NewV7()).String(), Session: uuid.Nil.String(), Phase: reeve.PhaseOutcome,
		Tool: "reeve.audit", Source: "native", Tier: reeve.TierRead, Status: reeve.StatusError,
		Summary: fmt.Sprintf("%v; new calls are denied until there is space", cause),
		Channel: reeve.ChannelCLI, Actor: reeve.ActorUser, Origin: reeve.OriginHost, Step: reeve.StepIntent,
	})
}

// setAnchor writes the head to audit.head in place. The file may be behind
// after a crash, never ahead: the row is durable already.
func (w *writer) setAnchor() {
	if w.conn == nil || w.anchored == w.head.ID || w.log.broken.Load() != nil {
		return
	}
	if now, err := chain.Identify(w.files.Head); err != nil || now != w.anchorID {
		w.breakOff(chain.KindAnchor, w.files.Head)
		return
	}
	if _, err := w.anchorFile.WriteAt([]byte(w.head.String()), 0); err != nil {
		w.anchorDue.Reset(anchorEvery)
		return
	}
	w.anchored = w.head.ID
}

// release gives everything up; it may be called again.
func (w *writer) release() {
	if w.anchorFile != nil {
		w.anchorFile.Close()
		w.anchorFile = nil
	}
	if w.conn != nil {
		for _, s := range []*chain.Stmt{w.begin, w.insert, w.commit, w.rollback} {
			if s != nil {
				s.Close()
			}
		}
		w.conn.Close()
		w.conn = nil
	}
	if w.lock != nil {
		w.lock.Close()
		w.lock = nil
	}
}
