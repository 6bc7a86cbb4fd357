// Package sqlite is one connection to one SQLite file, for the rooms that keep a
// database: the record and the vault. It speaks to the driver itself, since one
// writer has no use for the pool of database/sql.
//
// [Dial] opens, [Conn.Exec], [Conn.Query] and [Conn.Prepare] run statements,
// [DiskFull], [Damaged] and [Busy] say what an error means.
package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Conn is one connection, used by one goroutine at a time.
type Conn struct{ c driver.Conn }

// Dial opens the database at path. params are those of an SQLite URI and the
// driver's own; mode=rw never creates the file.
func Dial(path, params string) (*Conn, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	uri := "file://" + (&url.URL{Path: abs}).EscapedPath() + "?" + params
	c, err := new(sqlite.Driver).Open(uri)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &Conn{c}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.c.Close() }

// Exec runs one statement that returns nothing.
func (c *Conn) Exec(sql string) error {
	_, err := c.c.(driver.ExecerContext).ExecContext(context.Background(), sql, nil)
	return err
}

// Query calls f for each row. The slice is the same every time; what it holds
// is f's to keep.
func (c *Conn) Query(ctx context.Context, sql string, args []driver.Value, f func([]driver.Value) error) (err error) {
	rows, err := c.c.(driver.QueryerContext).QueryContext(ctx, sql, named(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	dest := make([]driver.Value, len(rows.Columns()))
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch err := rows.Next(dest); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := f(dest); err != nil {
			return err
		}
	}
}

func named(args []driver.Value) []driver.NamedValue {
	all := make([]driver.NamedValue, len(args))
	for i, v := range args {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return all
}

// Stmt is a prepared statement.
type Stmt struct {
	s    driver.Stmt
	exec func(context.Context, []driver.NamedValue) (driver.Result, error)
}

// Prepare compiles one statement.
func (c *Conn) Prepare(sql string) (*Stmt, error) {
	s, err := c.c.Prepare(sql)
	if err != nil {
		return nil, err
	}
	return &Stmt{s, s.(driver.StmtExecContext).ExecContext}, nil
}

// Run executes the statement with all of its arguments.
func (s *Stmt) Run(args []driver.NamedValue) error {
	_, err := s.exec(context.Background(), args)
	return err
}

// Close frees the statement.
func (s *Stmt) Close() error { return s.s.Close() }

// resultCode is SQLite's primary result code of an error, 0 where there is none.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// DiskFull: SQLite reports ENOSPC and EDQUOT as FULL; a write past a limit on
// the size of files is an I/O error.
func DiskFull(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return true
	}
	return false
}

// Damaged: the file is no database any more, or its pages contradict.
func Damaged(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH:
		return true
	}
	return false
}

// Busy: another connection holds the lock that was asked for, and did not give it
// up in the time that the connection waits.
func Busy(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return true
	}
	return false
}

// Do runs one statement with arguments that returns nothing.
func (c *Conn) Do(sql string, args ...driver.Value) error {
	_, err := c.c.(driver.ExecerContext).ExecContext(context.Background(), sql, named(args))
	return err
}

// Query runs the statement and calls f for each row, as [Conn.Query] does.
func (s *Stmt) Query(args []driver.Value, f func([]driver.Value) error) (err error) {
	rows, err := s.s.(driver.StmtQueryContext).QueryContext(context.Background(), named(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(dest); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := f(dest); err != nil {
			return err
		}
	}
}
