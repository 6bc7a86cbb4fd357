package audit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// Filter chooses executions. The zero Filter chooses all. Every field that is
// set must match.
type Filter struct {
	Session string
	Tool    string
	Tier    string       // read, write, destructive, denied
	Status  reeve.Status // unknown also means: no outcome yet
	Since   time.Time    // first moment
	Until   time.Time    // first moment that is not meant
	Limit   int          // the newest so many; 0 = all
}

// where is the filter as SQL over tool_executions t.
func (f Filter) where() (sql string, args []driver.Value) {
	terms := []string{"TRUE"}
	add := func(term string, arg driver.Value) {
		terms, args = append(terms, term), append(args, arg)
	}
	if f.Session != "" {
		add("t.session_id = ?", f.Session)
	}
	if f.Tool != "" {
		add("t.tool_name = ?", f.Tool)
	}
	if f.Tier != "" {
		add("t.risk_tier = ?", f.Tier)
	}
	switch f.Status {
	case "":
	case reeve.StatusUnknown:
		terms = append(terms, "(t.phase = 'intent' OR t.result_status = 'unknown')")
	default:
		add("t.result_status = ?", string(f.Status))
	}
	if !f.Since.IsZero() {
		add("t.timestamp >= ?", f.Since.UTC().Format(chain.TimeLayout))
	}
	if !f.Until.IsZero() {
		add("t.timestamp < ?", f.Until.UTC().Format(chain.TimeLayout))
	}
	return strings.Join(terms, " AND "), args
}

// Reader reads the record of one directory, with a writer or without one. It
// makes, changes and repairs nothing there. One goroutine uses it at a time.
type Reader struct {
	files chain.Files
	snap  *chain.Snapshot
}

// OpenRead opens the record in dir. Where there is none the error wraps
// reeve.ErrNotFound.
func OpenRead(dir string) (*Reader, error) {
	r := &Reader{files: chain.In(dir)}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Reader) open() error {
	if have, err := chain.Exists(r.files.DB); err != nil {
		return fmt.Errorf("read the record: %w", err)
	} else if !have {
		return fmt.Errorf("read the record: %w: there is none in %s", reeve.ErrNotFound, r.files.Dir)
	}
	s, err := chain.OpenSnapshot(r.files)
	if err != nil {
		return fmt.Errorf("read the record: %w", err)
	}
	r.snap = s
	return nil
}

// Close gives up what OpenRead took.
func (r *Reader) Close() error { return r.snap.Close() }

// each calls f for every row that sql gives.
func (r *Reader) each(ctx context.Context, sql string, args []driver.Value, f func(chain.Row) error) error {
	err := r.snap.Query(ctx, sql, args, func(v []driver.Value) error {
		row := chain.Of(v)
		return f(row)
	})
	if moved := r.snap.Moved(); moved != nil {
		return moved
	}
	if err != nil {
		return fmt.Errorf("read the record: %w", err)
	}
	return nil
}

// again runs f, and once more on a fresh view where a writer started meanwhile.
func (r *Reader) again(f func() error) error {
	err := f()
	for range 3 {
		if !errors.Is(err, chain.ErrMoved) {
			break
		}
		r.snap.Close()
		if err := r.open(); err != nil {
			return err
		}
		err = f()
	}
	return err
}

// executions is one row for each call that the filter chooses, newest first.
func executions(f Filter, extra string, args ...driver.Value) (string, []driver.Value) {
	where, all := f.where()
	if extra != "" {
		where, all = where+" AND "+extra, append(all, args...)
	}
	sql := "SELECT " + chain.ExecutionColumns() + " FROM tool_executions t WHERE " + where + " AND " + chain.LastOfCall
	return sql, all
}

// List gives one row for each call, oldest first.
func (r *Reader) List(ctx context.Context, f Filter) ([]chain.Row, error) {
	sql, args := executions(f, "")
	sql += " ORDER BY id DESC"
	if f.Limit > 0 {
		sql += " LIMIT " + strconv.Itoa(f.Limit)
	}
	var all []chain.Row
	err := r.again(func() error {
		all = nil
		return r.each(ctx, sql, args, func(row chain.Row) error {
			all = append(all, row)
			return nil
		})
	})
	slices.Reverse(all)
	return all, err
}

// Show gives every row of one call, named by the number of any of its rows
// or by its call id.
func (r *Reader) Show(ctx context.Context, name string) ([]chain.Row, error) {
	where, arg := "call_id = ?", driver.Value(name)
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		where, arg = "(session_id, call_id) = (SELECT session_id, call_id FROM tool_executions WHERE id = ?)", id
	}
	var all []chain.Row
	err := r.again(func() error {
		all = nil
		return r.each(ctx, "SELECT "+chain.AllColumns+" FROM tool_executions WHERE "+where+" ORDER BY id", []driver.Value{arg}, func(row chain.Row) error {
			all = append(all, row)
			return nil
		})
	})
	if err == nil && len(all) == 0 {
		return nil, fmt.Errorf("%w: no row or call %q in the record", reeve.ErrNotFound, name)
	}
	return all, err
}

// pollEvery is how often Tail looks for new rows.
const pollEvery = 200 * time.Millisecond

// maxSkips is how many looks in a row trust that files which look as they did are
// as they were: a write within one tick of the file system's clock, into a log of
// the same length, changes nothing that stat(2) tells.
const maxSkips = 5

// Tail calls f for the newest calls that the filter chooses (f.Limit of them,
// 0 = none) and then for every row as it is written, intents too, until ctx
// ends; that is no error.
func (r *Reader) Tail(ctx context.Context, f Filter, each func(chain.Row)) error {
	last, err := r.startTail(ctx, f, each)
	if err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var seen [2]chain.FileState
	skipped := 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := chain.Stamp(r.files)
		if errors.Is(err, fs.ErrNotExist) || err == nil && now == seen && skipped < maxSkips {
			skipped++
			continue
		}
		skipped = 0
		if err == nil {
			last, err = r.newRows(ctx, f, last, each)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, chain.ErrMoved):
			continue
		case err != nil:
			return err
		}
		seen = now
	}
}

// startTail shows the newest calls and finds the row to go on from.
func (r *Reader) startTail(ctx context.Context, f Filter, each func(chain.Row)) (last int64, err error) {
	var rows []chain.Row
	if f.Limit > 0 {
		if rows, err = r.List(ctx, f); err != nil {
			return 0, err
		}
	}
	err = r.again(func() error {
		return r.each(ctx, "SELECT "+chain.AllColumns+" FROM tool_executions ORDER BY id DESC LIMIT 1", nil, func(row chain.Row) error {
			last = row.ID
			return nil
		})
	})
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		each(row)
		last = max(last, row.ID)
	}
	return last, nil
}

// newRows opens a view of its own: the file may have been put away by a
// reseal, and a view at rest never sees anything new.
func (r *Reader) newRows(ctx context.Context, f Filter, last int64, each func(chain.Row)) (int64, error) {
	fresh := &Reader{files: r.files}
	if err := fresh.open(); err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, reeve.ErrNotFound) {
			return last, nil
		}
		return last, err
	}
	defer fresh.Close()
	var newest int64
	err := fresh.each(ctx, "SELECT "+chain.AllColumns+" FROM tool_executions ORDER BY id DESC LIMIT 1", nil, func(row chain.Row) error {
		newest = row.ID
		return nil
	})
	if err != nil {
		return last, err
	}
	if newest < last { // another record stands here now: from its start
		last = 0
	}
	where, args := f.where()
	sql := "SELECT " + chain.AllColumns + " FROM tool_executions t WHERE id > ? AND id <= ? AND " + where + " ORDER BY id"
	var rows []chain.Row
	err = fresh.each(ctx, sql, append([]driver.Value{last, newest}, args...), func(row chain.Row) error {
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return last, err
	}
	for _, row := range rows {
		each(row)
	}
	return newest, nil
}
