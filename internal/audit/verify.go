package audit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// MaxOpen bounds the open intents that a [Report] lists.
const MaxOpen = 1000

// Report is what [Verify] found.
type Report struct {
	Broken  *chain.Break // nil where everything holds
	Rows    int64        // rows that hold, before the first broken one
	Intents int64        // of them, intents
	Head    chain.Row    // the newest row that holds; the zero Row where there is none
	Anchor  int64        // the row that the anchor names
	Ahead   int64        // rows newer than the anchor
	Open    []chain.Row  // the oldest intents without an outcome, at most MaxOpen: their outcome is unknown
	OpenAll int64        // how many there are
}

// Verify reads the whole record in dir and says whether it is as it was
// written. It needs no writer, waits for none, and changes no file. The error
// says why it could not be read; what is wrong with it is Report.Broken.
func Verify(ctx context.Context, dir string) (Report, error) {
	f := chain.In(dir)
	at, anchorErr := chain.ReadAnchor(f.Head) // first: the database may only grow behind it
	have, err := chain.Exists(f.DB)
	switch {
	case err != nil:
		return Report{}, fmt.Errorf("verify the record: %w", err)
	case !have && errors.Is(anchorErr, fs.ErrNotExist):
		return Report{}, fmt.Errorf("verify the record: %w: there is none in %s", reeve.ErrNotFound, dir)
	case anchorErr != nil && !errors.Is(anchorErr, fs.ErrNotExist) && !errors.Is(anchorErr, chain.ErrAnchor):
		return Report{}, fmt.Errorf("verify the record: %w", anchorErr)
	case anchorErr != nil:
		return Report{Broken: chain.Found(0, chain.KindAnchor, "%s: %v", f.Head, anchorErr)}, nil
	case !have:
		return Report{Anchor: at.ID, Broken: missingDatabase(f, at)}, nil
	}
	for range 3 {
		var rep Report
		rep, err = examineFiles(ctx, f, at)
		if !errors.Is(err, chain.ErrMoved) {
			return rep, err
		}
	}
	return Report{}, fmt.Errorf("verify the record: %w", err)
}

func examineFiles(ctx context.Context, f chain.Files, at chain.Anchor) (Report, error) {
	s, err := chain.OpenSnapshot(f)
	if err != nil {
		return damage(Report{Anchor: at.ID}, err)
	}
	defer s.Close()
	rep, err := examine(ctx, s.Conn, at)
	if rep.Broken != nil || err != nil {
		if err := s.Moved(); err != nil {
			return Report{}, err
		}
	}
	if err != nil {
		return damage(rep, err)
	}
	return rep, nil
}

// missingDatabase: an anchor that names no row is made before the database,
// so a crash between the two leaves it alone.
func missingDatabase(f chain.Files, at chain.Anchor) *chain.Break {
	if at.ID == 0 {
		return nil
	}
	return chain.Found(1, chain.KindCut, "%s is missing; the anchor names row %d", f.DB, at.ID)
}

// damage tells a file that cannot be a record from one that cannot be read.
func damage(rep Report, err error) (Report, error) {
	if chain.Damaged(err) {
		rep.Broken = chain.Found(rep.Rows+1, chain.KindDamaged, "%s", err.Error())
		return rep, nil
	}
	return rep, fmt.Errorf("verify the record: %w", err)
}

// examine checks definitions, every row, the anchor and the indexes.
func examine(ctx context.Context, c *chain.Conn, at chain.Anchor) (Report, error) {
	rep := Report{Anchor: at.ID}
	if err := c.Exec("BEGIN"); err != nil {
		return rep, err
	}
	defer c.Exec("ROLLBACK")
	broken, empty, err := chain.Definitions(ctx, c)
	if empty && at.ID > 0 {
		broken = chain.Found(1, chain.KindCut, "the database is empty; the anchor names row %d", at.ID)
	}
	if broken != nil || err != nil || empty {
		rep.Broken = broken
		return rep, err
	}
	k := chain.Checker{Conn: c, Anchor: at, Open: map[string]int64{}}
	err = k.Run(ctx, math.MinInt64, 1, chain.Hash{}, math.MaxInt64)
	rep.Broken, rep.Rows, rep.Intents, rep.OpenAll = k.Broken, k.Rows, k.Intents, int64(len(k.Open))
	if err == nil {
		rep.Head, err = k.Head(ctx)
	}
	if err == nil {
		rep.Open, err = k.OpenIntents(ctx, MaxOpen)
	}
	rep.Ahead = max(0, rep.Head.ID-at.ID)
	if err != nil || k.Broken != nil {
		return rep, err
	}
	rep.Broken, err = integrity(ctx, c)
	return rep, err
}

// integrity lets SQLite compare the indexes with the table: a row that only
// the indexes have lost would be missing from every filtered list.
func integrity(ctx context.Context, c *chain.Conn) (broken *chain.Break, err error) {
	err = c.Query(ctx, "PRAGMA integrity_check(1)", nil, func(v []driver.Value) error {
		if s, _ := v[0].(string); s != "ok" {
			broken = chain.Found(0, chain.KindDamaged, "%s", s)
		}
		return nil
	})
	return broken, err
}
