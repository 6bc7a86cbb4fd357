package seal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// Range is the tree over rows 1 to Size, as little of it as is needed to go on
// and to know its root. The zero Range has no row.
type Range struct {
	size  int64
	nodes []tlog.Hash // whole subtrees, the largest first
}

// From is the range over the rows before a start.
func From(s chain.Start) *Range {
	r := &Range{size: s.ID}
	for _, n := range s.Nodes {
		r.nodes = append(r.nodes, tlog.Hash(n))
	}
	return r
}

// Size is the number of rows.
func (r *Range) Size() int64 { return r.size }

// Nodes are the hashes that [From] takes.
func (r *Range) Nodes() (all []chain.Hash) {
	for _, n := range r.nodes {
		all = append(all, chain.Hash(n))
	}
	return all
}

// leaf is tlog.RecordHash without its allocation: one for each row of the record.
func leaf(row chain.Hash) tlog.Hash {
	var b [1 + len(row)]byte
	copy(b[1:], row[:])
	return sha256.Sum256(b[:])
}

// Push adds the next row. store, where it is not nil, is told the hashes to be
// stored, in the order of their places.
func (r *Range) Push(row chain.Hash, store func(tlog.Hash)) {
	h := leaf(row)
	if store != nil {
		store(h)
	}
	for n := r.size; n&1 == 1; n >>= 1 {
		last := len(r.nodes) - 1
		h = tlog.NodeHash(r.nodes[last], h)
		r.nodes = r.nodes[:last]
		if store != nil {
			store(h)
		}
	}
	r.nodes = append(r.nodes, h)
	r.size++
}

// Root is the root of the tree.
func (r *Range) Root() tlog.Hash {
	if len(r.nodes) == 0 {
		return sha256.Sum256(nil)
	}
	last := len(r.nodes) - 1
	h := r.nodes[last]
	for i := last - 1; i >= 0; i-- {
		h = tlog.NodeHash(r.nodes[i], h)
	}
	return h
}

// Tree is audit.tree. One goroutine uses it at a time.
type Tree struct {
	file *os.File
	size int64 // rows in it
	out  []byte
}

// OpenTree opens the file and makes it where it is missing. A row that was
// being written when the power went is dropped.
func OpenTree(path string) (*Tree, error) { return openTree(path, os.O_RDWR|os.O_CREATE) }

// ReadTree opens the file for reading alone.
func ReadTree(path string) (*Tree, error) { return openTree(path, os.O_RDONLY) }

func openTree(path string, flag int) (*Tree, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	t := &Tree{file: f, size: rowsIn(info.Size() / tlog.HashSize)}
	return t, nil
}

// rowsIn is how many whole rows so many stored hashes are.
func rowsIn(hashes int64) int64 {
	n := (hashes + 1) / 2 // no more than there are: n rows have at most 2n-1
	for tlog.StoredHashCount(n+1) <= hashes {
		n++
	}
	return n
}

// Size is the number of rows in the tree.
func (t *Tree) Size() int64 { return t.size }

// Begin makes the file hold the rows of r and nothing else: what stood there is
// dropped. Where r is no empty range, what its nodes are made of is not known.
func (t *Tree) Begin(r *Range) error {
	t.out = t.out[:0]
	if err := t.file.Truncate(0); err != nil {
		return err
	}
	at := int64(0)
	for _, n := range r.nodes {
		level := bits.Len64(uint64(r.size-at)) - 1
		if _, err := t.file.WriteAt(n[:], tlog.StoredHashIndex(level, at>>level)*tlog.HashSize); err != nil {
			return err
		}
		at += 1 << level
	}
	t.size = r.size
	return t.file.Truncate(tlog.StoredHashCount(r.size) * tlog.HashSize)
}

// whole reports whether the file has the first row: one that was made anew after
// a prune does not.
func (t *Tree) whole() bool {
	if t == nil {
		return false
	}
	first, err := t.ReadHashes([]int64{0})
	return err == nil && first[0] != tlog.Hash{}
}

// Range is the tree over all its rows.
func (t *Tree) Range() (*Range, error) { return t.rangeAt(t.size) }

// At is the tree as it was with so many rows.
func (t *Tree) At(size int64) (*Range, error) {
	if size > t.size {
		return nil, fmt.Errorf("the tree has %d rows, and %d were asked for", t.size, size)
	}
	return t.rangeAt(size)
}

func (t *Tree) rangeAt(size int64) (*Range, error) {
	var indexes []int64
	for at := int64(0); at < size; {
		level := bits.Len64(uint64(size-at)) - 1
		indexes = append(indexes, tlog.StoredHashIndex(level, at>>level))
		at += 1 << level
	}
	nodes, err := t.ReadHashes(indexes)
	if err != nil {
		return nil, err
	}
	return &Range{size: size, nodes: nodes}, nil
}

// buffered is how many bytes wait at most to be written.
const buffered = 64 << 10

// Push adds the next row to r, which is the tree's range, and to the file.
func (t *Tree) Push(r *Range, row chain.Hash) error {
	r.Push(row, func(h tlog.Hash) { t.out = append(t.out, h[:]...) })
	if len(t.out) < buffered {
		return nil
	}
	return t.Flush(r)
}

// Flush writes what waits; the tree then holds the rows of r.
func (t *Tree) Flush(r *Range) error {
	end := tlog.StoredHashCount(r.size) * tlog.HashSize
	if len(t.out) > 0 {
		if _, err := t.file.WriteAt(t.out, end-int64(len(t.out))); err != nil {
			return err
		}
	}
	t.out = t.out[:0]
	t.size = r.size
	return nil
}

var _ tlog.HashReader = (*Tree)(nil)

// ReadHashes reads stored hashes by their places.
func (t *Tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	all := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		if _, err := t.file.ReadAt(all[i][:], at*tlog.HashSize); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("read %s: %w", t.file.Name(), err)
		}
	}
	return all, nil
}

// Consistent proves that the tree of now began with the one of an older size,
// and has checked the proof.
func (t *Tree) Consistent(older, newer Checkpoint) (tlog.TreeProof, error) {
	if older.Size == 0 {
		return nil, nil
	}
	proof, err := tlog.ProveTree(newer.Size, older.Size, t)
	if err == nil {
		err = tlog.CheckTree(proof, newer.Size, newer.Root, older.Size, older.Root)
	}
	if err != nil {
		return nil, fmt.Errorf("prove that %d rows began with %d: %w", newer.Size, older.Size, err)
	}
	return proof, nil
}

// Close gives the file up.
func (t *Tree) Close() error { return t.file.Close() }
