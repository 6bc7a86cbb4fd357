package chain

import (
	"context"
	"database/sql/driver"

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
