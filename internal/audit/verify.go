package audit

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"

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
	Anew    bool         // it is another record than the one that the vault remembers, and says that a reseal began it
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
	Against string       // signed checkpoints that were kept, one or a file of them
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
	x := examiner{files: f, conn: s.Conn, beside: s.Beside, at: at, start: start, marks: marks}
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
	files  chain.Files
	conn   *chain.Conn
	beside func() (*chain.Conn, error) // one more, of its own
	at     chain.Anchor
	start  chain.Start
	marks  *seal.Checker // nil = nothing is signed
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
	intact := x.indexes(ctx)
	defer intact.end()
	k := chain.Checker{Conn: x.conn, Anchor: x.at, Open: map[string]int64{}}
	if x.marks != nil {
		x.marks.Begin()
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
		} else {
			err = x.unlike(ctx, &rep)
		}
	}
	if err != nil || rep.Broken != nil || empty {
		return rep, err
	}
	rep.Broken, err = intact.wait()
	return rep, err
}

// unlike completes the report of a record whose chain holds and whose
// checkpoints do not.
func (x *examiner) unlike(ctx context.Context, rep *Report) (err error) {
	if row := rep.Broken.Row; row > 0 {
		rep.Rows = max(0, min(rep.Rows, row-1-x.start.ID))
		if rep.Head, err = x.conn.RowAt(ctx, row-1); err != nil {
			return err
		}
	}
	if m := x.marks.Memory; m != nil && m.Size > 0 && rep.Broken.Kind != chain.KindElsewhere {
		if rep.Anew, err = Anew(ctx, x.conn, *m); err == nil && rep.Anew {
			rep.Broken = chain.Found(1, chain.KindReplaced, "a record stands here that says a reseal began it, and the vault remembers another, of %d signed rows", m.Size)
			rep.Rows, rep.Head = 0, chain.Row{}
		}
	}
	return err
}

// Anew reports whether the first row says that a reseal began the record, and
// is not the first one of the record that the vault remembers.
func Anew(ctx context.Context, c *chain.Conn, m seal.Memory) (anew bool, err error) {
	first, err := c.RowAt(ctx, 1)
	return first.Tool == ResealTool && first.Hash.String() != m.First, err
}

// checker is what holds the checkpoints against the rows; nil where nothing is
// signed and nothing says that anything was. What is wrong with the checkpoints
// at first sight is told behind what is wrong with the rows.
func (n Known) checker(f chain.Files, start chain.Start) (*seal.Checker, Sealed, error) {
	k := &seal.Checker{Start: start, Memory: n.Memory}
	book, err := seal.ReadBook(f.Book)
	if err != nil && !errors.As(err, &k.Odd) {
		return nil, Sealed{}, err
	}
	k.Book = book
	out := Sealed{Count: len(book.Notes), Newest: book.Newest(), Torn: book.Torn, Rows: seal.SizeOf(book.Newest())}
	if n.Memory != nil {
		out.Former = n.Memory.Former
	}
	text, by, err := n.key(f)
	if err != nil {
		return nil, out, err
	}
	switch {
	case text != "":
		if k.Key, err = seal.ParseKey(text); err != nil && by == KeyGiven {
			return nil, out, fmt.Errorf("%w: --key: %w", reeve.ErrUsage, err)
		}
		if err != nil {
			k.Odd = chain.Found(0, chain.KindSignature, "%s: %v", f.Key, err)
		}
	case out.Count > 0 || start.ID > 0:
		k.Odd = chain.Found(0, chain.KindUnsealed, "%s is missing, which has the key that the checkpoints were signed with", f.Key)
	case k.Odd == nil && n.Against == "":
		return nil, out, nil
	}
	if k.Against, err = n.against(k.Key); err != nil {
		return nil, out, err
	}
	out.Key, out.By = k.Key.String(), by
	if have, _ := chain.Exists(f.Tree); have {
		if k.Tree, err = seal.ReadTree(f.Tree); err != nil {
			return nil, out, err
		}
	}
	return k, out, nil
}

// key is the verifier key and who vouches for it; "" = there is none.
func (n Known) key(f chain.Files) (text string, by KeyFrom, err error) {
	if n.Key != "" {
		return n.Key, KeyGiven, nil
	}
	if n.Memory != nil {
		return n.Memory.Key, KeyVault, nil
	}
	b, err := os.ReadFile(f.Key)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(b), KeyFile, err
}

// against takes the checkpoints of this key out of those that were kept
// elsewhere: a file there may have those of several records.
func (n Known) against(key seal.Key) ([]string, error) {
	if n.Against == "" {
		return nil, nil
	}
	if key.String() == "" {
		return nil, errors.New("the record is not signed, so that no checkpoint can be held against it")
	}
	book, err := seal.ParseBook(n.Against)
	if err == nil && len(book.Notes) == 0 { // one alone, without the empty line behind it
		book, err = seal.ParseBook(strings.TrimRight(n.Against, "\n") + "\n\n")
	}
	if err != nil || len(book.Notes) == 0 {
		return nil, fmt.Errorf("%w: --against: %w", reeve.ErrUsage, cmp.Or(err, seal.ErrCheckpoint))
	}
	all := book.Of(key.Name())
	if len(all) == 0 {
		all = book.Notes[len(book.Notes)-1:] // of another record: said as what is wrong
	}
	return all, nil
}

// looking is a look at the indexes that goes on beside that at the rows.
type looking struct {
	end    func() // gives it up
	done   chan struct{}
	broken *chain.Break
	err    error
}

// indexes lets SQLite compare the indexes with the table: a row that only
// the indexes have lost would be missing from every filtered list.
func (x *examiner) indexes(ctx context.Context) *looking {
	ctx, stop := context.WithCancel(ctx)
	l := &looking{done: make(chan struct{})}
	l.end = func() {
		stop()
		<-l.done
	}
	go func() {
		defer close(l.done)
		c, err := x.beside()
		if err != nil {
			l.err = err
			return
		}
		defer c.Close()
		l.err = c.Query(ctx, "PRAGMA integrity_check(1)", nil, func(v []driver.Value) error {
			if s, _ := v[0].(string); s != "ok" {
				l.broken = chain.Found(0, chain.KindDamaged, "%s", s)
			}
			return nil
		})
	}()
	return l
}

func (l *looking) wait() (*chain.Break, error) {
	<-l.done
	return l.broken, l.err
}
