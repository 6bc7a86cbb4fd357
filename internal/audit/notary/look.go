package notary

import (
	"context"
	"errors"
	"fmt"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/vault"
)

// look reads the whole record and holds it against what the vault remembers,
// before anything of it is signed. The caller holds n.mu.
func (n *Notary) look(ctx context.Context) error {
	if err := n.Log.Verified(ctx); err != nil {
		return err
	}
	first, err := n.recall(ctx)
	if err != nil {
		return err
	}
	f := n.Log.Files()
	if n.start, err = f.ReadStart(); err != nil {
		return n.found(err)
	}
	remembered := n.memory
	odd := n.readBook(first)
	if err := n.readRows(ctx, f); err != nil {
		return n.found(err)
	}
	if err := n.checkStart(ctx, first, odd); err != nil {
		return n.found(err)
	}
	if n.memory.Size > remembered.Size { // the daemon was killed between the two
		if err := n.remember(ctx, n.memory); err != nil {
			return err
		}
	}
	if odd != "" {
		if err := n.begin(ctx, odd); err != nil {
			return err
		}
	}
	if n.start.ID > 0 && len(n.book.Notes) > 0 && seal.SizeOf(n.book.Notes[0]) < n.start.ID {
		if err := n.book.Drop(f.Book, n.start.ID); err != nil { // a prune was cut off
			return err
		}
	}
	if err := n.writeKey(); err != nil {
		return err
	}
	n.known = true
	n.told.Lock()
	n.state.Rows = seal.SizeOf(n.book.Newest())
	n.told.Unlock()
	for _, s := range n.Sinks {
		s.offer(n.book.Newest())
	}
	return nil
}

// found breaks the log where what was found is wrong with the record.
func (n *Notary) found(err error) error {
	var b *chain.Break
	if errors.As(err, &b) {
		n.Log.Break(b)
	}
	return err
}

// recall takes what the vault remembers; first says that it had nothing.
func (n *Notary) recall(ctx context.Context) (first bool, err error) {
	n.memory, err = Recall(ctx, n.Vault)
	if errors.Is(err, vault.ErrAbsent) {
		return true, n.newKey(ctx, seal.Memory{})
	}
	if err == nil {
		n.key, err = seal.ParseKey(n.memory.Key)
	}
	return false, err
}

// newKey makes a key and has it remembered.
func (n *Notary) newKey(ctx context.Context, m seal.Memory) error {
	secret, err := seal.NewSecret()
	if err != nil {
		return err
	}
	s, err := seal.ParseSecret(secret)
	if err != nil {
		return err
	}
	if err := n.Vault.Keep(ctx, keySecret, []byte(secret)); err != nil {
		return fmt.Errorf("have the vault keep the key of the record: %w", err)
	}
	n.key, m.Key = s.Key, s.Key.String()
	return n.remember(ctx, m)
}

// readBook reads the checkpoints and says what about them cannot be gone on
// from; "" = nothing. The rows are held against what the vault remembers in any case,
// so that this is no break of the record. A checkpoint of the vault's key that is
// newer is remembered too.
func (n *Notary) readBook(first bool) (odd string) {
	path := n.Log.Files().Book
	var err error
	n.book, err = seal.ReadBook(path)
	newest := seal.SizeOf(n.book.Newest())
	switch {
	case err != nil:
		return err.Error()
	case first && (len(n.book.Notes) > 0 || n.start.ID > 0):
		return fmt.Sprintf("%s has checkpoints of a key that the vault does not have", path)
	case newest < n.memory.Size:
		return fmt.Sprintf("the newest checkpoint in %s was of %d rows, and the vault remembers one of %d", path, newest, n.memory.Size)
	}
	if newest == 0 {
		return ""
	}
	var c seal.Checkpoint
	for i, signed := range n.book.Notes { // verify refuses all of them for one
		had := c.Size
		if c, err = n.key.Open(signed); err == nil && i > 0 && c.Size <= had {
			err = seal.ErrCheckpoint
		}
		if err != nil {
			return fmt.Sprintf("the checkpoint of %d rows in %s was not signed by the key that the vault has: %v", seal.SizeOf(signed), path, err)
		}
	}
	if c.Size > n.memory.Size {
		n.memory = n.memory.Note(c)
	}
	return ""
}

// readRows makes the tree of every row and holds it against what the vault
// remembers; the file of the tree is made anew where it is another one.
func (n *Notary) readRows(ctx context.Context, f chain.Files) error {
	n.forget()
	s, err := chain.OpenSnapshot(f)
	if err != nil {
		return err
	}
	defer s.Close()
	tree, err := seal.OpenTree(f.Tree)
	if err != nil {
		return err
	}
	n.tree = tree
	head := n.Log.Newest()
	rows := seal.From(n.start)
	remembered := n.memory.Is(rows) || n.memory.Size < rows.Size()
	fits := false // the file is the tree of the rows up to its size
	fit := func() {
		if tree.Size() == rows.Size() {
			was, err := tree.Range()
			fits = err == nil && was.Root() == rows.Root()
		}
	}
	push := func(id int64, hash chain.Hash) (err error) {
		n.begins(id, hash)
		if fits {
			err = tree.Push(rows, hash)
		} else {
			rows.Push(hash, nil)
			fit()
		}
		remembered = remembered || n.memory.Is(rows)
		return err
	}
	fit()
	last, err := feed(ctx, s.Conn, n.start.ID+1, head.ID, push)
	switch {
	case err != nil:
		return err
	case last.ID < head.ID:
		return chain.Found(last.ID+1, chain.KindReplaced, "the rows on disk end before the one that was written last, row %d", head.ID)
	case !remembered:
		return n.another(ctx, s.Conn, last.ID)
	}
	if !fits {
		rows = seal.From(n.start)
		if err := tree.Begin(rows); err != nil {
			return err
		}
		if _, err := feed(ctx, s.Conn, n.start.ID+1, head.ID, func(_ int64, hash chain.Hash) error { return tree.Push(rows, hash) }); err != nil {
			return err
		}
	}
	n.rows = rows
	return tree.Flush(rows)
}

// another says what a record is that the vault does not remember: one that a
// reseal began, or a fault.
func (n *Notary) another(ctx context.Context, c *chain.Conn, rows int64) error {
	anew, err := audit.Anew(ctx, c, n.memory)
	switch {
	case err != nil:
		return err
	case anew:
		return ErrAnew
	case rows < n.memory.Size:
		return chain.Found(rows+1, chain.KindCut, "the record ends at row %d, and the vault remembers %d signed ones", rows, n.memory.Size)
	}
	return chain.Found(0, chain.KindReplaced, "the first %d rows are not those that were signed and that the vault remembers: one was changed, or another record stands there", n.memory.Size)
}

// checkStart proves that what is gone from the front was pruned. With a new
// key nobody can; the cut is then signed as it is found, and a row tells of it.
func (n *Notary) checkStart(ctx context.Context, first bool, odd string) error {
	if n.start.ID == 0 {
		return nil
	}
	if first {
		if err := n.Log.Attested(ctx, n.start, n.Log.Newest().ID); err != nil {
			return err
		}
		s, err := n.signer(ctx)
		if err != nil {
			return err
		}
		if n.start.Note, _, err = s.Sign(seal.From(n.start)); err != nil {
			return err
		}
		return n.Log.Files().WriteStart(n.start)
	}
	c, err := n.key.Open(n.start.Note)
	if err != nil || c.Size != n.start.ID || c.Root != seal.From(n.start).Root() {
		return chain.Found(0, chain.KindPrune, "rows 1 to %d are gone, and the checkpoint at the cut is not one that was signed for them", n.start.ID)
	}
	signed := max(seal.SizeOf(n.book.Newest()), n.memory.Size)
	if odd != "" {
		signed = n.memory.Size
	}
	return n.Log.Attested(ctx, n.start, signed)
}

// begin puts checkpoints aside that cannot be gone on from, and records it.
func (n *Notary) begin(ctx context.Context, odd string) error {
	to, err := n.aside()
	if err != nil {
		return fmt.Errorf("put checkpoints aside: %w", err)
	}
	if to != "" {
		odd += "; they are kept as " + to
	}
	n.Say("the record is signed anew: %s", odd)
	err = n.Log.Append(ctx, n.row("reeve.audit.checkpoints", reeve.TierRead, "", fmt.Sprintf("signed anew by %s, from row 1 on: %s", n.key, odd)))
	if err != nil {
		return err
	}
	return n.grow(ctx, n.Log.Newest())
}

// row is one that tells of the record itself.
func (n *Notary) row(tool string, tier reeve.Tier, args, told string) reeve.Record {
	return reeve.Record{
		CallID: n.NewID(), Session: nilSession, Phase: reeve.PhaseOutcome, Tool: tool, Source: "native", Tier: tier, Args: args,
		Status: reeve.StatusSuccess, Summary: told, Channel: reeve.ChannelCLI, Actor: reeve.ActorUser, Origin: reeve.OriginHost,
		Decision: reeve.Allow, Step: reeve.StepOutcome,
	}
}

// nilSession: the row belongs to no session.
const nilSession = "00000000-0000-0000-0000-000000000000"
