package chain

import (
	"context"
	"database/sql/driver"
	"math"

	"github.com/reeve-gate/reeve/internal/sqlite"
)

// Conn is one connection to a record's database.
type Conn struct{ *sqlite.Conn }

// Dial opens the database at path; see [sqlite.Dial].
func Dial(path, params string) (*Conn, error) {
	c, err := sqlite.Dial(path, params)
	if err != nil {
		return nil, err
	}
	return &Conn{c}, nil
}

// Stmt is a prepared statement.
type Stmt = sqlite.Stmt

// DiskFull reports whether an error says that the disk is full.
func DiskFull(err error) bool { return sqlite.DiskFull(err) }

// Damaged reports whether an error says that the file is no database any more.
func Damaged(err error) bool { return sqlite.Damaged(err) }

// HashAt is the hash of row id as it stands; the zero Hash where there is no
// such row.
func (c *Conn) HashAt(ctx context.Context, id int64) (h Hash, err error) {
	err = c.Query(ctx, "SELECT hash FROM tool_executions WHERE id = ?", []driver.Value{id}, func(v []driver.Value) error {
		h = HashOf(v[0])
		return nil
	})
	return h, err
}

// lowest is the first row there is, and the hash that it says it follows;
// a number that no row has where there is none.
func (c *Conn) lowest(ctx context.Context) (id int64, prev Hash, err error) {
	id = math.MaxInt64
	err = c.Query(ctx, "SELECT id, prev_hash FROM tool_executions ORDER BY id LIMIT 1", nil, func(v []driver.Value) error {
		id, _ = v[0].(int64)
		prev = HashOf(v[1])
		return nil
	})
	return id, prev, err
}

// Lowest is the first row there is; a number that no row has where there is none.
func (c *Conn) Lowest(ctx context.Context) (id int64, err error) {
	id, _, err = c.lowest(ctx)
	return id, err
}

// Hashes calls each with the number and the hash of rows first to last, in
// their order.
func (c *Conn) Hashes(ctx context.Context, first, last int64, each func(id int64, hash Hash) error) error {
	return c.Query(ctx, "SELECT id, hash FROM tool_executions WHERE id >= ? AND id <= ? ORDER BY id", []driver.Value{first, last}, func(v []driver.Value) error {
		id, _ := v[0].(int64)
		return each(id, HashOf(v[1]))
	})
}
