// Package notary signs the record while it grows, with a key that lies in the
// vault, and gives the signed checkpoints to whoever keeps them elsewhere.
//
// [Notary] is the daemon's one. It makes a checkpoint for every 1,000 rows, a
// minute after a row that has none, when the daemon ends and before a prune; it
// looks at the whole record before the first, and signs nothing that differs from
// what the vault remembers. It never stands in the way of a record: where there is no
// key, rows stay unsigned, the [State] says why, and the next checkpoint has
// them all.
package notary

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// Vault is the part of the vault that keeps the key.
type Vault interface {
	Kept(ctx context.Context, key string) ([]byte, error)
	Keep(ctx context.Context, key string, value []byte) error
}

// Names of what the vault keeps.
const (
	keySecret = "record-key"
	keyMemory = "record"
)

const (
	everyRows = 1000
	everyTime = time.Minute
)

// Notary signs one record. Log, Vault, Now, NewID and Say are required.
type Notary struct {
	Log   *audit.Log
	Vault Vault
	Now   func() time.Time
	NewID func() string
	Say   func(format string, args ...any) // writes to the daemon's log
	Keep  time.Duration                    // rows older than this are pruned each day; 0 = none
	Sinks []*Sink                          // who is given each checkpoint

	wake chan struct{}
	done chan struct{}

	mu     sync.Mutex // one look, checkpoint or prune at a time; guards what follows
	known  bool       // the record was looked at, and is the one that the vault remembers
	book   seal.Book
	tree   *seal.Tree
	rows   *seal.Range // the tree so far
	start  chain.Start
	key    seal.Key
	memory seal.Memory
	first  string // the hash of row 1, where that was read

	told  sync.Mutex // guards state
	state State
}

// State is how far the record is signed.
type State struct {
	Key  string    // the verifier key
	Rows int64     // of the newest checkpoint
	At   time.Time // when it was made
	Why  string    // why newer rows are not signed; empty = they will be
}

// errNoRecord: nothing was ever recorded.
var errNoRecord = errors.New("nothing is recorded yet")

// ErrAnew says that a person must say so before a record is signed that a
// reseal began.
var ErrAnew = errors.New("the record was begun anew by a reseal, and the vault remembers another; if that was you, reeve audit accept has it signed")

// Start begins, until ctx ends.
func (n *Notary) Start(ctx context.Context) {
	n.wake, n.done = make(chan struct{}, 1), make(chan struct{})
	for _, s := range n.Sinks {
		s.start(ctx, n)
	}
	go n.run(ctx)
}

// Wake makes a checkpoint soon: the vault was opened.
func (n *Notary) Wake() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *Notary) run(ctx context.Context) {
	defer close(n.done)
	due := time.NewTimer(0) // the record is looked at when the daemon begins
	defer due.Stop()
	armed := true
	var pruned time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-n.Log.News():
			s := n.State()
			if s.Why != "" || n.Log.Newest().ID-s.Rows < everyRows {
				if !armed {
					due.Reset(everyTime)
					armed = true
				}
				continue
			}
		case <-due.C:
			armed = false
		}
		if _, err := n.Checkpoint(ctx); err == nil && n.Keep > 0 && n.Now().Sub(pruned) > 24*time.Hour {
			pruned = n.Now()
			if p, err := n.Prune(ctx, n.Keep, false); err != nil {
				n.Say("prune the record: %v", err)
			} else if p.Rows() > 0 {
				n.Say("pruned the record: %s", p)
			}
		}
		if n.Log.Newest().ID > n.State().Rows && !armed { // the vault may be open by then
			due.Reset(everyTime)
			armed = true
		}
	}
}

// Wait waits for the end that ctx of Start has brought.
func (n *Notary) Wait() { <-n.done }

// Close makes the last checkpoint, where the record was ever looked at: of the
// rows that the log, which is closed by then, took last.
func (n *Notary) Close(ctx context.Context) {
	n.mu.Lock()
	known := n.known
	n.mu.Unlock()
	if known {
		n.Checkpoint(ctx)
	}
	var all sync.WaitGroup
	for _, s := range n.Sinks { // at once: the time is that of all
		all.Go(func() { s.end(ctx) })
	}
	all.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget()
}

// forget makes the next checkpoint begin with a look. The caller holds n.mu.
func (n *Notary) forget() {
	if n.tree != nil {
		n.tree.Close()
		n.tree = nil
	}
	n.known = false
}

// State tells how far the record is signed.
func (n *Notary) State() State {
	n.told.Lock()
	defer n.told.Unlock()
	return n.state
}

func (n *Notary) tell(err error) {
	n.told.Lock()
	defer n.told.Unlock()
	n.state.Why = ""
	if err != nil {
		n.state.Why = err.Error()
		if errors.Is(err, vault.ErrNone) {
			n.state.Why = "there is no vault to keep a key in; reeve vault init makes one, and the record is signed from then on"
		}
	}
	if n.key.String() != "" {
		n.state.Key = n.key.String()
	}
}

// Checkpoint signs what is recorded by now, and gives the newest checkpoint,
// which is one that was made before where nothing was recorded since.
func (n *Notary) Checkpoint(ctx context.Context) (signed string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.checkpoint(ctx)
}

func (n *Notary) checkpoint(ctx context.Context) (string, error) {
	err := n.Log.Broken()
	if err == nil && !n.known {
		err = n.look(ctx)
	}
	switch {
	case err == nil && n.Log.Newest().ID == 0:
		n.tell(nil)
		return "", errNoRecord
	case err == nil:
		err = n.sign(ctx)
	}
	if ctx.Err() == nil {
		n.tell(err)
	}
	return n.book.Newest(), err
}

// sign makes the checkpoint of the newest row. The caller holds n.mu and has looked.
func (n *Notary) sign(ctx context.Context) error {
	head := n.Log.Newest()
	if head.ID > n.rows.Size() {
		if err := n.grow(ctx, head); err != nil {
			return err
		}
	}
	if seal.SizeOf(n.book.Newest()) == n.rows.Size() {
		if n.memory.Is(n.rows) {
			return nil
		}
		return n.remember(ctx, n.memory.Note(seal.Checkpoint{Size: n.rows.Size(), Root: n.rows.Root()})) // it could not be before
	}
	s, err := n.signer(ctx)
	if err != nil {
		return err
	}
	signed, c, err := s.Sign(n.rows)
	if err != nil {
		return err
	}
	f := n.Log.Files()
	if err := n.book.Append(f.Book, signed); err != nil {
		n.forget() // what stands there now is read before the next one
		return fmt.Errorf("keep a checkpoint: %w", err)
	}
	// The vault comes last: what it remembers is always in the file.
	if err := n.remember(ctx, n.memory.Note(c)); err != nil {
		return err
	}
	n.told.Lock()
	n.state.Rows, n.state.At = c.Size, n.Now()
	n.told.Unlock()
	for _, s := range n.Sinks {
		s.offer(signed)
	}
	return nil
}

// grow takes the rows up to head into the tree, as they lie on disk.
func (n *Notary) grow(ctx context.Context, head chain.Anchor) error {
	s, err := chain.OpenSnapshot(n.Log.Files())
	if err != nil {
		return fmt.Errorf("read the record to sign it: %w", err)
	}
	defer s.Close()
	first := n.rows.Size() + 1
	last, err := feed(ctx, s.Conn, first, head.ID, func(id int64, hash chain.Hash) error {
		n.begins(id, hash)
		return n.tree.Push(n.rows, hash)
	})
	if err == nil {
		err = n.tree.Flush(n.rows)
	}
	if err != nil {
		n.forget()
		return fmt.Errorf("read the record to sign it: %w", err)
	}
	if last != head {
		n.forget()
		b := chain.Found(last.ID+1, chain.KindReplaced, "the rows on disk do not end with the one that was written last, row %d", head.ID)
		n.Log.Break(b)
		return b
	}
	return nil
}

// feed reads rows first to last and stops at the first that is missing.
func feed(ctx context.Context, c *chain.Conn, first, last int64, each func(int64, chain.Hash) error) (at chain.Anchor, err error) {
	gap := errors.New("a row is missing")
	at.ID = first - 1
	err = c.Hashes(ctx, first, last, func(id int64, hash chain.Hash) error {
		if id != at.ID+1 {
			return gap
		}
		at = chain.Anchor{ID: id, Hash: hash}
		return each(id, hash)
	})
	if errors.Is(err, gap) {
		err = nil
	}
	return at, err
}

// signer is the key, fetched anew each time: a vault that a person locked signs
// nothing.
func (n *Notary) signer(ctx context.Context) (*seal.Signer, error) {
	secret, err := n.Vault.Kept(ctx, keySecret)
	if errors.Is(err, vault.ErrAbsent) || errors.Is(err, vault.ErrNone) {
		n.forget() // another vault may come, which remembers something else
	}
	if err != nil {
		return nil, err
	}
	defer ref.Wipe(secret)
	s, err := seal.ParseSecret(string(secret))
	if err == nil && s.Key.String() != n.key.String() {
		n.forget()
		err = errors.New("the vault has another key than the one that signed this record; it is looked at anew")
	}
	return s, err
}

// begins notes what the record begins with.
func (n *Notary) begins(id int64, hash chain.Hash) {
	if id == 1 {
		n.first = hash.String()
	}
}

func (n *Notary) remember(ctx context.Context, m seal.Memory) error {
	if m.Size > 0 && m.First == "" { // of a record that was never pruned when it was first signed
		m.First = n.first
	}
	b, err := m.Encode()
	if err == nil {
		err = n.Vault.Keep(ctx, keyMemory, b)
	}
	if err != nil {
		return fmt.Errorf("have the vault remember a checkpoint: %w", err)
	}
	n.memory = m
	return nil
}

// Recall is what the vault remembers of the record; vault.ErrAbsent where the
// record was never signed.
func Recall(ctx context.Context, v Vault) (seal.Memory, error) {
	b, err := v.Kept(ctx, keyMemory)
	if err != nil {
		return seal.Memory{}, err
	}
	return seal.ParseMemory(b)
}

// writeKey keeps the verifier key beside the record, for whoever verifies.
func (n *Notary) writeKey() error {
	path, text := n.Log.Files().Key, n.key.String()+"\n"
	if now, err := os.ReadFile(path); err == nil && string(now) == text {
		return nil
	}
	if err := durable.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("keep the key that verifies the record: %w", err)
	}
	return nil
}

// aside puts the checkpoints aside that this record's key cannot go on from.
func (n *Notary) aside() (string, error) {
	path := n.Log.Files().Book
	to := path + ".former-" + n.Now().UTC().Format("20060102T150405.000000Z")
	err := os.Rename(path, to)
	n.book = seal.Book{}
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return to, err
}

// Accept has a record signed that a reseal began, from its first row on and
// with a new key: to others it is another log.
func (n *Notary) Accept(ctx context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known {
		return "", errors.New("the record is the one that the vault remembers; there is nothing to accept")
	}
	if err := n.look(ctx); !errors.Is(err, ErrAnew) {
		if err == nil {
			err = errors.New("the record is the one that the vault remembers; there is nothing to accept")
		}
		return "", err
	}
	m, err := Recall(ctx, n.Vault)
	if err != nil {
		return "", err
	}
	if err := n.newKey(ctx, m.Anew()); err != nil {
		return "", err
	}
	if _, err := n.aside(); err != nil {
		return "", err
	}
	signed, err := n.checkpoint(ctx)
	return strings.TrimSpace(signed), err
}
