package chain

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/reeve-gate/reeve"
)

// Checker walks the chain; its results stand in its fields.
type Checker struct {
	Conn   *Conn
	Anchor Anchor // the row it names must be there, with its hash; the zero Anchor asks for nothing

	Broken  *Break // the first row that does not hold; nil = all do
	Rows    int64  // rows that hold
	Intents int64
	Open    map[string]int64 // rows of intents whose outcome was not met yet, by call; nil = not kept

	Each func(id int64, hash Hash) // called with each row that holds; nil = nobody

	head int64
}

var errStop = errors.New("stop")

// Run checks the rows with low <= id <= high. The first must have the id first
// and follow the hash prev. The error says why they could not be read; what is
// wrong with them is k.Broken.
func (k *Checker) Run(ctx context.Context, low, first int64, prev Hash, high int64) error {
	want := first
	err := k.Conn.Query(ctx, "SELECT "+AllColumns+" FROM tool_executions WHERE id >= ? AND id <= ? ORDER BY id",
		[]driver.Value{low, high}, func(v []driver.Value) error {
			b, err := k.row(ctx, v, want, prev)
			if err != nil {
				return err
			}
			if b != nil {
				k.Broken = b
				return errStop
			}
			prev = HashOf(v[ColHash])
			k.count(v)
			want++
			return nil
		})
	if err != nil && !errors.Is(err, errStop) {
		return err
	}
	if k.Broken == nil && high >= k.Anchor.ID && want <= k.Anchor.ID {
		k.Broken = &Break{want, KindCut, fmt.Sprintf("the record ends at row %d; the anchor names row %d", want-1, k.Anchor.ID)}
	}
	return nil
}

// Whole checks the record from where it begins to row high. Rows before its
// start, which a prune that was cut off left behind, must lead to it.
func (k *Checker) Whole(ctx context.Context, start Start, high int64) error {
	low := int64(math.MinInt64)
	left, prev, err := k.Conn.lowest(ctx)
	if err != nil {
		return err
	}
	if start.ID > 0 && left <= start.ID {
		rest := Checker{Conn: k.Conn, Anchor: start.anchor()}
		if err := rest.Run(ctx, low, max(left, 1), prev, start.ID); err != nil {
			return err
		}
		if k.Broken = rest.Broken; k.Broken != nil {
			return nil
		}
		low = start.ID + 1
	}
	return k.Run(ctx, low, start.ID+1, start.Hash, high)
}

// count takes a row that holds into the tally.
func (k *Checker) count(v []driver.Value) {
	k.Rows++
	k.head, _ = v[ColID].(int64)
	if k.Each != nil {
		k.Each(k.head, HashOf(v[ColHash]))
	}
	call, _ := v[ColCall].(string)
	if v[ColPhase] == string(reeve.PhaseIntent) {
		k.Intents++
		if k.Open != nil {
			k.Open[call] = k.head
		}
	} else if k.Open != nil {
		delete(k.Open, call)
	}
}

// Head is the newest row that holds; the zero Row where there is none.
func (k *Checker) Head(ctx context.Context) (Row, error) { return k.Conn.RowAt(ctx, k.head) }

// OpenIntents gives the oldest intents left open, at most limit.
func (k *Checker) OpenIntents(ctx context.Context, limit int) (rows []Row, err error) {
	ids := slices.Sorted(maps.Values(k.Open))
	for _, id := range ids[:min(limit, len(ids))] {
		row, err := k.Conn.RowAt(ctx, id)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// RowAt is one row; the zero Row where there is none.
func (c *Conn) RowAt(ctx context.Context, id int64) (row Row, err error) {
	err = c.Query(ctx, "SELECT "+AllColumns+" FROM tool_executions WHERE id = ?", []driver.Value{id}, func(v []driver.Value) error {
		row = Of(v)
		return nil
	})
	return row, err
}

// row judges one row that should have the id want and follow the hash prev.
func (k *Checker) row(ctx context.Context, v []driver.Value, want int64, prev Hash) (*Break, error) {
	id, _ := v[ColID].(int64)
	switch {
	case id < want:
		return &Break{id, KindInserted, fmt.Sprintf("rows count from 1, this one is row %d", id)}, nil
	case id > want:
		return k.gap(ctx, want, id, prev)
	}
	sum := Leaf(v[ColFirst:ColPrev])
	hash := HashOf(v[ColHash])
	if HashOf(v[ColPrev]) != prev || Link(prev, id, sum) != hash {
		return k.classify(ctx, v, sum, prev)
	}
	if id == k.Anchor.ID && hash != k.Anchor.Hash {
		return &Break{id, KindReplaced, "the anchor has another hash for this row: the chain was rewritten, or another file was put here"}, nil
	}
	return nil, nil
}

// gap names what is missing before row id. The row that followed prev may
// stand elsewhere.
func (k *Checker) gap(ctx context.Context, want, id int64, prev Hash) (*Break, error) {
	moved, err := k.follower(ctx, prev)
	switch {
	case err != nil:
		return nil, err
	case moved > want:
		return &Break{want, KindReordered, fmt.Sprintf("it stands at row %d", moved)}, nil
	case id == want+1:
		return &Break{want, KindMissing, "it was removed"}, nil
	}
	return &Break{want, KindMissing, fmt.Sprintf("rows %d to %d were removed", want, id-1)}, nil
}

// span is how far classify looks for the place a row was written for.
const span = 64

// classify says what was done to a row whose link or hash is wrong. The id is
// part of the hash, so a row that is as it was written tells its own number.
func (k *Checker) classify(ctx context.Context, v []driver.Value, sum, prev Hash) (*Break, error) {
	id, _ := v[ColID].(int64)
	ownPrev, hash := HashOf(v[ColPrev]), HashOf(v[ColHash])
	written := int64(0)
	for n := max(1, id-span); n <= id+span; n++ {
		if Link(ownPrev, n, sum) == hash {
			written = n
			break
		}
	}
	follower, err := k.follower(ctx, prev)
	if err != nil {
		return nil, err
	}
	twin, err := k.Conn.HashAt(ctx, written)
	if err != nil {
		return nil, err
	}
	switch {
	case written != 0 && written < id && twin == hash:
		return &Break{id, KindInserted, fmt.Sprintf("it is a copy of row %d", written)}, nil
	case written == id && id > 1 && ownPrev != prev:
		// The row is whole and names another predecessor: the one before it
		// was rewritten, hash and all.
		return &Break{id - 1, KindAltered, fmt.Sprintf("its hash was recomputed; row %d was chained to another", id)}, nil
	case written != 0 && written < id:
		return &Break{written, KindInserted, fmt.Sprintf("row %d was written as row %d", id, written)}, nil
	case written > id && follower > id:
		return &Break{id, KindReordered, fmt.Sprintf("row %d stands here and this one at row %d", written, follower)}, nil
	case written > id:
		return &Break{id, KindMissing, fmt.Sprintf("it was removed; row %d was renumbered to stand here", written)}, nil
	case follower > id:
		return &Break{id, KindInserted, fmt.Sprintf("the row that followed row %d stands at row %d", id-1, follower)}, nil
	case ownPrev != prev && Link(prev, id, sum) == hash:
		return &Break{id, KindAltered, "its link to the row before was changed"}, nil
	}
	return &Break{id, KindAltered, "its content does not have its hash"}, nil
}

// follower finds the row that names hash as its predecessor; 0 = none. It
// reads the table; only a broken record pays for it.
func (k *Checker) follower(ctx context.Context, hash Hash) (id int64, err error) {
	err = k.Conn.Query(ctx, "SELECT id FROM tool_executions WHERE prev_hash = ? ORDER BY id DESC LIMIT 1",
		[]driver.Value{hash[:]}, func(v []driver.Value) error {
			id, _ = v[0].(int64)
			return nil
		})
	return id, err
}
