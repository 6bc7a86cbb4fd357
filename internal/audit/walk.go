package audit

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// Each gives one row for each call that the filter chooses, oldest first, in
// constant memory. An error of each ends it and is returned.
func (r *Reader) Each(ctx context.Context, f Filter, each func(chain.Row) error) error {
	sql, args := executions(f, "")
	if f.Limit > 0 {
		// The newest so many, and still the oldest of them first.
		first, firstArgs := executions(f, "")
		sql += " AND t.id >= (SELECT coalesce(min(id), 0) FROM (SELECT id FROM (" + first + ") ORDER BY id DESC LIMIT " + strconv.Itoa(f.Limit) + "))"
		args = append(args, firstArgs...)
	}
	return r.each(ctx, sql+" ORDER BY id", args, each)
}

// After gives the rows themselves, at most limit of those that follow row id,
// in their order.
func (r *Reader) After(ctx context.Context, id int64, limit int, each func(chain.Row) error) error {
	return r.each(ctx, "SELECT "+chain.AllColumns+" FROM tool_executions WHERE id > ? ORDER BY id LIMIT ?", []driver.Value{id, int64(limit)}, each)
}

// Newest is the newest row; the zero Row where there is none.
func (r *Reader) Newest(ctx context.Context) (newest chain.Row, err error) {
	err = r.each(ctx, "SELECT "+chain.AllColumns+" FROM tool_executions ORDER BY id DESC LIMIT 1", nil, func(row chain.Row) error {
		newest = row
		return nil
	})
	return newest, err
}

// HashAt is the hash of row id; the zero Hash where there is no such row.
func (r *Reader) HashAt(ctx context.Context, id int64) (chain.Hash, error) {
	return r.snap.HashAt(ctx, id)
}

// briefColumns are what counting needs of a call.
const briefColumns = `t.tool_name, t.risk_tier, t.decision, CASE t.phase WHEN 'intent' THEN 'unknown' ELSE t.result_status END,
  t.duration_ms, t.approval_id, t.user_confirmed, t.actor, t.session_id, t.timestamp`

// Brief gives what counting needs of each call that the filter chooses, in no
// order and in constant memory: the tool, tier, decision, status, duration,
// approval, confirmation, actor, session and time of it, and nothing else. It
// reads a third of what [Reader.Each] does. A limit does not count.
func (r *Reader) Brief(ctx context.Context, f Filter, each func(*reeve.Record) error) error {
	where, args := f.where()
	var rec reeve.Record
	err := r.snap.Query(ctx, "SELECT "+briefColumns+" FROM tool_executions t WHERE "+where+" AND "+chain.LastOfCall, args, func(v []driver.Value) error {
		str := func(i int) string { s, _ := v[i].(string); return s }
		num := func(i int) int64 { n, _ := v[i].(int64); return n }
		rec = reeve.Record{Phase: reeve.PhaseOutcome, Tool: str(0), Status: reeve.Status(str(3)), Duration: time.Duration(num(4)) * time.Millisecond,
			Approval: str(5), Confirmed: num(6) != 0, Actor: reeve.Actor(str(7)), Session: str(8)}
		rec.Tier, _ = reeve.ParseTier(str(1))
		rec.Decision, _ = reeve.ParseVerdict(str(2))
		rec.Time, _ = time.Parse(chain.TimeLayout, str(9))
		return each(&rec)
	})
	if moved := r.snap.Moved(); moved != nil {
		return moved
	}
	if err != nil {
		return fmt.Errorf("read the record: %w", err)
	}
	return nil
}
