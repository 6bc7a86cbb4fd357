package audit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/seal"
)

// MaxOpen bounds the open intents that a [Report] lists.
const MaxOpen = 1000

// Report is what [Verify] found.
type Report struct {
	Broken  *chain.Break // nil where everything holds
	Pruned  int64        // the rows up to this one were pruned
	Rows    int64        // rows that hold, before the first broken one
	Intents int64        // of them, intents
	Head    chain.Row    // the newest row that holds; the zero Row where there is none
	Anchor  int64        // the row that the anchor names
	Ahead   int64        // rows newer than the anchor
	Open    []chain.Row  // the oldest intents without an outcome, at most MaxOpen: their outcome is unknown
	OpenAll int64        // how many there are
	Sealed  Sealed       // what is signed of it
}

// Sealed tells what signed checkpoints say of a record. Where it holds, the rows
// up to Rows are those that were signed.
type Sealed struct {
	Count  int    // checkpoints
	Rows   int64  // of the newest one
	Newest string // the newest one as it was signed; empty = none, and the record is not signed
	Key    string // the verifier key that signed it
	By     KeyFrom
	Torn   bool        // a piece of a checkpoint stands at the end: the power went
	Former []seal.Mark // what the vault remembers of records that were put aside
}

// KeyFrom says who vouches for the key.
type KeyFrom string

// A key from the file beside the record proves only that one key signed all:
// whoever can rewrite the record can write that file too.
const (
	KeyGiven KeyFrom = "given"
	KeyVault KeyFrom = "vault"
	KeyFile  KeyFrom = "file"
)

// Known is what whoever verifies knows of the record from elsewhere. The zero
// Known knows nothing.
type Known struct {
	Key     string       // the verifier key, as it was written down
	Against string       // a signed checkpoint that was kept
	Memory  *seal.Memory // what the vault remembers; nil = it was not asked
}

// Verify reads the whole record in dir and says whether it is as it was
// written: its rows and their chain, the anchor, and then the signed
// checkpoints. It needs no writer, waits for none, and changes no file. The error
// says why it could not be read; what is wrong with it is Report.Broken.
func Verify(ctx context.Context, dir string, known Known) (Report, error) {
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
		rep, err = examineFiles(ctx, f, at, known)
		if !errors.Is(err, chain.ErrMoved) {
			return rep, err
		}
	}
	return Report{}, fmt.Errorf("verify the record: %w", err)
}

func examineFiles(ctx context.Context, f chain.Files, at chain.Anchor, known Known) (Report, error) {
	start, err := f.ReadStart() // before the rows: they are removed behind it
	if err != nil {
		return damage(Report{Anchor: at.ID}, err)
	}
	marks, sealed, err := known.checker(f, start)
	if err != nil {
		return damage(Report{Anchor: at.ID, Sealed: sealed}, err)
	}
	if marks != nil && marks.Tree != nil {
		defer marks.Tree.Close()
	}
	s, err := chain.OpenSnapshot(f)
	if err != nil {
		return damage(Report{Anchor: at.ID}, err)
	}
	defer s.Close()
	x := examiner{files: f, conn: s.Conn, at: at, start: start, marks: marks}
	rep, err := x.examine(ctx)
	rep.Sealed = sealed
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
	var b *chain.Break
	if errors.As(err, &b) {
		rep.Broken = b
		return rep, nil
	}
	if chain.Damaged(err) {
		rep.Broken = chain.Found(rep.Pruned+rep.Rows+1, chain.KindDamaged, "%s", err.Error())
		return rep, nil
	}
	return rep, fmt.Errorf("verify the record: %w", err)
}

// examiner reads one record.
type examiner struct {
	files chain.Files
	conn  *chain.Conn
	at    chain.Anchor
	start chain.Start
	marks *seal.Checker // nil = nothing is signed
}

// examine checks definitions, every row, the anchor, the checkpoints and the
// indexes.
func (x *examiner) examine(ctx context.Context) (Report, error) {
	rep := Report{Anchor: x.at.ID, Pruned: x.start.ID}
	if err := x.conn.Exec("BEGIN"); err != nil {
		return rep, err
	}
	defer x.conn.Exec("ROLLBACK")
	broken, empty, err := chain.Definitions(ctx, x.conn)
	if empty && x.at.ID > 0 {
		broken = chain.Found(1, chain.KindCut, "the database is empty; the anchor names row %d", x.at.ID)
	}
	if broken != nil || err != nil || empty && x.marks == nil {
		rep.Broken = broken
		return rep, err
	}
	if now, err := x.files.ReadStart(); err != nil || now.ID != x.start.ID {
		return rep, errors.Join(err, chain.ErrMoved) // it was pruned in this moment
	}
	k := chain.Checker{Conn: x.conn, Anchor: x.at, Open: map[string]int64{}}
	if x.marks != nil {
		if rep.Broken = x.marks.Begin(); rep.Broken != nil {
			return rep, nil
		}
		k.Each = x.marks.Row
	}
	if !empty {
		err = k.Whole(ctx, x.start, math.MaxInt64)
	}
	rep.Broken, rep.Rows, rep.Intents, rep.OpenAll = k.Broken, k.Rows, k.Intents, int64(len(k.Open))
	if err == nil {
		rep.Head, err = k.Head(ctx)
	}
	if err == nil {
		rep.Open, err = k.OpenIntents(ctx, MaxOpen)
	}
	rep.Ahead = max(0, rep.Head.ID-x.at.ID)
	if err == nil && rep.Broken == nil && x.marks != nil {
		if rep.Broken = x.marks.End(); rep.Broken == nil {
			rep.Broken, err = attested(ctx, x.conn, x.start, x.marks.Newest())
		}
	}
	if err != nil || rep.Broken != nil || empty {
		return rep, err
	}
	rep.Broken, err = integrity(ctx, x.conn)
	return rep, err
}

// checker is what holds the checkpoints against the rows; nil where nothing is
// signed and nothing says that anything was.
func (n Known) checker(f chain.Files, start chain.Start) (*seal.Checker, Sealed, error) {
	book, err := seal.ReadBook(f.Book)
	if err != nil {
		return nil, Sealed{}, err
	}
	text, by := n.Key, KeyGiven
	if text == "" && n.Memory != nil {
		text, by = n.Memory.Key, KeyVault
	}
	if text == "" {
		b, err := os.ReadFile(f.Key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, Sealed{}, err
		}
		text, by = string(b), KeyFile
	}
	out := Sealed{Count: len(book.Notes), Newest: book.Newest(), Torn: book.Torn}
	if n.Memory != nil {
		out.Former = n.Memory.Former
	}
	if text == "" {
		switch {
		case out.Count > 0 || start.ID > 0:
			return nil, out, chain.Found(0, chain.KindUnsealed, "%s is missing, which has the key that the checkpoints were signed with", f.Key)
		case n.Against != "":
			return nil, out, errors.New("the record is not signed, so that no checkpoint can be held against it")
		}
		return nil, out, nil
	}
	key, err := seal.ParseKey(text)
	if err != nil {
		if by == KeyGiven {
			return nil, out, fmt.Errorf("%w: --key: %w", reeve.ErrUsage, err)
		}
		return nil, out, chain.Found(0, chain.KindSignature, "%s: %v", f.Key, err)
	}
	out.Key, out.By = key.String(), by
	if out.Count == 0 && (n.Memory == nil || n.Memory.Size > 0) {
		return nil, out, chain.Found(0, chain.KindUnsealed, "there is a key of this record, %s, and no checkpoint that it signed", key)
	}
	k := &seal.Checker{Key: key, Start: start, Book: book, Memory: n.Memory, Against: n.Against}
	if have, _ := chain.Exists(f.Tree); have {
		if k.Tree, err = seal.ReadTree(f.Tree); err != nil {
			return nil, out, err
		}
	}
	if out.Count > 0 {
		out.Rows = seal.SizeOf(out.Newest)
	}
	return k, out, nil
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
