package audit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// PruneTool is the name of the row that tells of a prune.
const PruneTool = "reeve.audit.prune"

// Pruned is the content of that row: the last row that is gone, and its hash.
func Pruned(id int64, hash chain.Hash) string {
	return fmt.Sprintf(`{"through":%d,"hash":"%s"}`, id, hash)
}

// attested looks for the row that says that a person pruned what is before the
// start. It must itself be signed, by a checkpoint of so many rows.
func attested(ctx context.Context, c *chain.Conn, start chain.Start, signed int64) (b *chain.Break, err error) {
	if start.ID == 0 {
		return nil, nil
	}
	b = chain.Found(0, chain.KindPrune, "rows 1 to %d are gone, and no row up to the newest checkpoint, of %d rows, says that they were pruned", start.ID, signed)
	err = c.Query(ctx, "SELECT id FROM tool_executions WHERE tool_name = ? AND tool_source = 'native' AND session_id = ? AND arguments = ? AND result_status = ? AND id > ? AND id <= ? LIMIT 1",
		[]driver.Value{PruneTool, uuid.Nil.String(), Pruned(start.ID, start.Hash), string(reeve.StatusSuccess), start.ID, signed}, func([]driver.Value) error {
			b = nil
			return nil
		})
	return b, err
}

// Attested is a Break where the rows before the start were not pruned by a
// person, as far as signed says, the rows of the newest checkpoint.
func (l *Log) Attested(ctx context.Context, start chain.Start, signed int64) error {
	s, err := chain.OpenSnapshot(l.files)
	if err != nil {
		return err
	}
	defer s.Close()
	b, err := attested(ctx, s.Conn, start, signed)
	if b != nil {
		return b
	}
	return err
}

// Prunable is the last row that may go where everything older than before is
// not kept: no row behind it is as old, it is among the first signed rows, and
// no call that began up to it is still open. 0 = none.
func (l *Log) Prunable(ctx context.Context, before time.Time, signed int64) (last chain.Anchor, err error) {
	s, err := chain.OpenSnapshot(l.files)
	if err != nil {
		return last, fmt.Errorf("look for rows to prune: %w", err)
	}
	defer s.Close()
	first := int64(math.MaxInt64)
	for _, q := range []struct {
		sql string
		arg driver.Value
	}{
		{"SELECT min(id) FROM tool_executions WHERE timestamp >= ?", before.UTC().Format(chain.TimeLayout)},
		{"SELECT min(id) FROM tool_executions t WHERE t.phase = ? AND " + chain.LastOfCall, string(reeve.PhaseIntent)},
	} {
		err := s.Query(ctx, q.sql, []driver.Value{q.arg}, func(v []driver.Value) error {
			if id, ok := v[0].(int64); ok {
				first = min(first, id)
			}
			return nil
		})
		if err != nil {
			return last, fmt.Errorf("look for rows to prune: %w", err)
		}
	}
	last.ID = min(first-1, signed)
	if last.Hash, err = s.HashAt(ctx, last.ID); err != nil {
		return last, fmt.Errorf("look for rows to prune: %w", err)
	}
	if last.Hash == (chain.Hash{}) {
		return chain.Anchor{}, nil
	}
	return last, nil
}

// cut is an order to the writer: the record begins behind start from now on.
type cut struct {
	start chain.Start
	done  chan error // capacity 1
}

// Cut makes the record begin behind start, durably, and removes the rows before
// it. The caller has a signed checkpoint of them, and a signed row that tells of
// it. Records are taken meanwhile. Rows that a crash leaves behind are removed
// by the next writer.
func (l *Log) Cut(ctx context.Context, start chain.Start) error {
	c := &cut{start, make(chan error, 1)}
	l.mu.Lock()
	err := l.takes()
	if err == nil && l.order != nil {
		err = errors.New("the record is being pruned already")
	}
	if err != nil {
		l.mu.Unlock()
		return fmt.Errorf("prune the record: %w", err)
	}
	l.order = c
	l.mu.Unlock()
	l.signal()
	select {
	case err := <-c.done:
		return err
	case <-l.ended:
		return errors.New("prune the record: the record was closed meanwhile; the next daemon goes on with it")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Files are those of the record.
func (l *Log) Files() chain.Files { return l.files }

// prune takes an order, or removes the next rows before the start.
func (w *writer) prune() {
	w.log.mu.Lock()
	c := w.log.order
	w.log.mu.Unlock()
	switch {
	case w.conn == nil:
		w.ordered(w.log.Broken())
		return
	case c == nil && w.start.ID == 0:
		return
	}
	if c != nil && c.start.ID > w.start.ID {
		if err := w.moveStart(c.start); err != nil {
			w.ordered(fmt.Errorf("prune the record: %w", err))
			return
		}
	}
	if w.lowest > w.start.ID {
		w.ordered(nil)
		return
	}
	if err := w.removeSome(); err != nil {
		w.ordered(fmt.Errorf("prune the record: %w", err))
		w.lowest = math.MaxInt64 // the next writer tries again
		return
	}
	w.log.signal()
}

// ordered answers the order there is.
func (w *writer) ordered(err error) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.log.order != nil {
		w.log.order.done <- err
		w.log.order = nil
	}
}

// moveStart writes the start first: rows before it are then left-overs and not
// a part of the record.
func (w *writer) moveStart(s chain.Start) error {
	if s.ID > w.head.ID {
		return fmt.Errorf("row %d was never written", s.ID)
	}
	w.setAnchor()
	if w.anchored < s.ID {
		return errors.New("the anchor could not be moved behind the cut")
	}
	if err := w.files.WriteStart(s); err != nil {
		return err
	}
	w.start, w.lowest = s, 0
	return nil
}

// someRows are removed in one transaction: records wait no longer than that.
const someRows = 500

// removeSome removes the oldest rows before the start; what stood in their
// pages is overwritten.
func (w *writer) removeSome() error {
	if err := w.ready(); err != nil {
		return err
	}
	ctx := context.Background()
	low, err := w.conn.Lowest(ctx)
	if err != nil {
		return err
	}
	if w.lowest = low; low > w.start.ID {
		w.conn.Exec("PRAGMA wal_checkpoint(TRUNCATE)") // what a reader holds back goes with the next one
		return nil
	}
	if err := w.conn.Exec("PRAGMA secure_delete = ON"); err != nil {
		return err
	}
	if err := w.begin.Run(nil); err != nil {
		return err
	}
	err = w.conn.Do("DELETE FROM tool_executions WHERE id < ?", min(low+someRows, w.start.ID+1))
	if err == nil {
		err = w.commit.Run(nil)
	}
	if err != nil {
		w.rollback.Run(nil) // fails where SQLite has rolled back by itself
	}
	return err
}
