package notary

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/seal"
)

// Bounds on what a prune keeps.
const (
	MinKeep = 24 * time.Hour
	MaxKeep = 36500 * 24 * time.Hour
)

// Pruning says which rows are gone, or would go.
type Pruning struct{ From, Through int64 }

// Rows is their number.
func (p Pruning) Rows() int64 { return p.Through - p.From + 1 }

func (p Pruning) String() string {
	if p.Rows() == 0 {
		return "no row is old enough, signed and of a call that is over"
	}
	return fmt.Sprintf("rows %d to %d (%d rows)", p.From, p.Through, p.Rows())
}

// Prune removes the rows that are older than keep, from the front and as far
// as every one of them is: none behind the newest checkpoint, and none from the
// first call on that is still open. What stays is provable: a checkpoint is
// signed at the cut, and a row that is signed too tells of it. With dry nothing
// is removed.
func (n *Notary) Prune(ctx context.Context, keep time.Duration, dry bool) (p Pruning, err error) {
	if keep < MinKeep || keep > MaxKeep {
		return p, fmt.Errorf("%w: what is kept lies between 1d and 36500d", reeve.ErrUsage)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := n.checkpoint(ctx); err != nil {
		return p, fmt.Errorf("prune the record: without a key nobody could prove afterwards that it is the same one: %w", err)
	}
	last, err := n.Log.Prunable(ctx, n.Now().Add(-keep), n.rows.Size())
	if err != nil {
		return p, err
	}
	p = Pruning{n.start.ID + 1, max(last.ID, n.start.ID)}
	if dry || p.Rows() == 0 {
		return p, nil
	}
	start, err := n.startAt(ctx, last)
	if err == nil {
		err = n.Log.Append(ctx, n.row(audit.PruneTool, reeve.TierDestructive, audit.Pruned(last.ID, last.Hash), fmt.Sprintf("%s older than %s were removed", p, keep)))
	}
	if err == nil {
		err = n.sign(ctx) // before anything is gone: the row that tells of it
	}
	if err == nil {
		err = n.Log.Cut(ctx, start)
	}
	if err != nil {
		return p, fmt.Errorf("prune the record: %w", err)
	}
	n.start = start
	if err := n.book.Drop(n.Log.Files().Book, start.ID); err != nil {
		return p, fmt.Errorf("the rows are gone; drop their checkpoints: %w", err)
	}
	return p, nil
}

// startAt signs the tree up to one row, which is proven to be a part of the one
// that was signed last.
func (n *Notary) startAt(ctx context.Context, last chain.Anchor) (chain.Start, error) {
	s, err := n.signer(ctx)
	if err != nil {
		return chain.Start{}, err
	}
	rows, err := n.tree.At(last.ID)
	if err != nil {
		return chain.Start{}, err
	}
	older := seal.Checkpoint{Size: last.ID, Root: rows.Root()}
	if _, err := n.tree.Consistent(older, seal.Checkpoint{Size: n.rows.Size(), Root: n.rows.Root()}); err != nil {
		n.forget()
		return chain.Start{}, errors.Join(fmt.Errorf("%w; the tree is made anew, so prune again", err), os.Remove(n.Log.Files().Tree))
	}
	note, _, err := s.Sign(rows)
	return chain.Start{ID: last.ID, Hash: last.Hash, Nodes: rows.Nodes(), Note: note}, err
}
