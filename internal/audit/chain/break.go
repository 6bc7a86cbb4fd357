package chain

import (
	"fmt"

	"github.com/reeve-gate/reeve"
)

// Kind is what was done to a record that does not verify.
type Kind string

const (
	KindAltered    Kind = "altered"        // a row's content, link or hash was changed
	KindMissing    Kind = "missing"        // a row was removed
	KindInserted   Kind = "inserted"       // a row was put in that was never written
	KindReordered  Kind = "reordered"      // a row stands at another's place
	KindCut        Kind = "tail cut"       // the newest rows are gone, or an older copy was put back
	KindReplaced   Kind = "replaced"       // another chain stands in the file
	KindAnchor     Kind = "anchor missing" // audit.head is gone or is no anchor
	KindDefinition Kind = "definition"     // the table, an index or the view was changed, or a trigger added
	KindDamaged    Kind = "damaged"        // the file is no database any more

	KindCheckpoint Kind = "checkpoint wrong"   // a signed checkpoint is of other rows, or is none
	KindUnsealed   Kind = "checkpoint missing" // checkpoints that were signed are gone, or older ones were put back
	KindSignature  Kind = "signature wrong"    // a checkpoint was signed by another key than the record's
	KindElsewhere  Kind = "kept elsewhere"     // a signed checkpoint that was kept elsewhere is of other rows, or of another key
	KindPrune      Kind = "prune not proven"   // rows are gone from the front, and nothing signed says that a person pruned them
)

// Break is the first thing that is wrong with a record. It wraps
// reeve.ErrBroken.
type Break struct {
	Row  int64 // the first broken row; 0 where it is no row
	Kind Kind
	Why  string // one sentence for a person
}

func (b *Break) Error() string {
	if b.Row == 0 {
		return fmt.Sprintf("%v (%s: %s)", reeve.ErrBroken, b.Kind, b.Why)
	}
	return fmt.Sprintf("%v at row %d (%s: %s)", reeve.ErrBroken, b.Row, b.Kind, b.Why)
}

func (b *Break) Unwrap() error { return reeve.ErrBroken }

// Found makes a Break.
func Found(row int64, kind Kind, format string, args ...any) *Break {
	return &Break{row, kind, fmt.Sprintf(format, args...)}
}
