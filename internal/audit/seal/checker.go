package seal

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// Checker holds checkpoints against the rows of a record, which pass by in
// their order. What is wrong with rows counts before what is wrong with the
// checkpoints: whoever changes a row can spoil those as well, and the row is what
// a person has to know of.
type Checker struct {
	Key     Key // zero = no signature is verified, and Odd says why
	Start   chain.Start
	Book    Book
	Memory  *Memory      // nil = the vault was not asked
	Against []string     // signed checkpoints that were kept elsewhere
	Tree    *Tree        // says which row it was; nil = only between which checkpoints
	Odd     *chain.Break // what is wrong with the checkpoints at first sight

	rows   *Range
	marks  []mark            // what the tree was, the smallest first
	good   int64             // rows of the newest one that held
	since  []tlog.Hash       // leaves behind it
	broken *chain.Break      // by a checkpoint
	unlike *mark             // what the vault remembers, where the rows are others
	signed chan *chain.Break // what is wrong with the signatures
	newest int64             // rows of the newest checkpoint in the book
}

// mark is what the tree was at one size, and who says so.
type mark struct {
	size int64
	root string
	who  string
	kind chain.Kind // of what is wrong where the rows are others; KindUnsealed = the vault says it
}

// longest is how many leaves are kept to find the one that was changed.
const longest = 1 << 20

// Begin reads the checkpoints and begins to verify their signatures.
func (k *Checker) Begin() {
	k.rows = From(k.Start)
	k.signed = make(chan *chain.Break, 1)
	for i, n := range k.Book.Notes {
		c, err := parseNote(n)
		if err != nil {
			k.odd(chain.Found(0, chain.KindCheckpoint, "number %d of them: %v", i+1, err))
			break
		}
		if i > 0 && c.Size <= k.newest {
			k.odd(chain.Found(0, chain.KindCheckpoint, "number %d of them is of %d rows, and the one before of %d: they only grow", i+1, c.Size, k.newest))
			break
		}
		k.newest = c.Size
		k.mark(c, "a signed checkpoint", chain.KindCheckpoint)
	}
	if k.Start.ID > 0 {
		c, err := parseNote(k.Start.Note)
		if err != nil || c.Size != k.Start.ID {
			k.odd(chain.Found(0, chain.KindPrune, "what stands at the cut behind row %d is no checkpoint of so many rows", k.Start.ID))
		} else {
			k.mark(c, "the signed checkpoint at the cut", chain.KindPrune)
		}
	}
	if m := k.Memory; m != nil && m.Size > 0 && m.Size >= k.Start.ID {
		k.marks = append(k.marks, mark{m.Size, m.Root, "the checkpoint that the vault remembers", chain.KindUnsealed})
	}
	for i, signed := range k.Against {
		if i < len(k.Against)-1 && SizeOf(signed) < k.Start.ID && !k.Tree.whole() {
			continue // nothing proves it any more, and the newest one has those rows too
		}
		k.against(signed)
	}
	slices.SortStableFunc(k.marks, func(a, b mark) int { return cmp.Compare(a.size, b.size) })
	go func() { k.signed <- k.signatures() }()
	k.compare()
}

// odd keeps the first thing that is wrong with the checkpoints.
func (k *Checker) odd(b *chain.Break) {
	if k.Odd == nil {
		k.Odd = b
	}
}

func parseNote(signed string) (Checkpoint, error) {
	body, _, found := strings.Cut(signed, "\n\n")
	if !found {
		return Checkpoint{}, ErrCheckpoint
	}
	return ParseCheckpoint(body + "\n")
}

func (k *Checker) mark(c Checkpoint, who string, kind chain.Kind) {
	if c.Size < k.Start.ID {
		return // of rows that were pruned; it goes with them
	}
	k.marks = append(k.marks, mark{c.Size, base64.StdEncoding.EncodeToString(c.Root[:]), who, kind})
}

// against takes a checkpoint that was kept elsewhere. One of fewer rows than
// were pruned is proven by the tree.
func (k *Checker) against(signed string) {
	c, err := k.Key.Open(signed)
	if err != nil {
		k.odd(chain.Found(0, chain.KindElsewhere, "the checkpoint that was kept elsewhere is not signed by %s: %v", k.Key, err))
		return
	}
	if c.Size >= k.Start.ID {
		k.mark(c, "the checkpoint that was kept elsewhere", chain.KindElsewhere)
		return
	}
	if k.Tree != nil {
		_, err = k.Tree.Consistent(c, Checkpoint{Size: k.Start.ID, Root: k.rows.Root()})
	}
	if k.Tree == nil || err != nil {
		k.odd(chain.Found(0, chain.KindElsewhere, "the checkpoint that was kept elsewhere is of %d rows, and the record does not prove that it began with them: rows up to %d were pruned", c.Size, k.Start.ID))
	}
}

// signatures verifies all of them, the newest first.
func (k *Checker) signatures() *chain.Break {
	if k.Key.Verifier == nil {
		return nil
	}
	for i := len(k.Book.Notes) - 1; i >= 0; i-- {
		if _, err := k.Key.Open(k.Book.Notes[i]); err != nil {
			c, _ := parseNote(k.Book.Notes[i])
			return chain.Found(0, chain.KindSignature, "the checkpoint of %d rows is not signed by %s: %v", c.Size, k.Key, err)
		}
	}
	if k.Start.ID > 0 {
		if _, err := k.Key.Open(k.Start.Note); err != nil {
			return chain.Found(0, chain.KindPrune, "the checkpoint at the cut behind row %d is not signed by %s: %v", k.Start.ID, k.Key, err)
		}
	}
	return nil
}

// Row takes the next row.
func (k *Checker) Row(_ int64, hash chain.Hash) {
	if len(k.marks) == 0 {
		return
	}
	k.rows.Push(hash, nil)
	if k.Tree != nil && k.broken == nil && len(k.since) < longest {
		k.since = append(k.since, leaf(hash))
	}
	k.compare()
}

// compare holds the rows so far against the marks of this size.
func (k *Checker) compare() {
	held := false
	for len(k.marks) > 0 && k.marks[0].size == k.rows.Size() {
		m := k.marks[0]
		k.marks = k.marks[1:]
		root := k.rows.Root()
		switch same := base64.StdEncoding.EncodeToString(root[:]) == m.root; {
		case same:
			held = true
		case m.kind == chain.KindUnsealed:
			k.unlike = &m
			fallthrough
		case k.broken == nil:
			k.broken = k.place(m)
		}
	}
	if held && k.broken == nil {
		k.good, k.since = k.rows.Size(), k.since[:0]
	}
}

// place says which row is not the one that was signed, as well as it is known.
func (k *Checker) place(m mark) *chain.Break {
	if k.broken != nil {
		return k.broken
	}
	first := max(k.good, k.Start.ID) + 1
	if m.size <= k.Start.ID {
		return chain.Found(0, chain.KindPrune, "%s, of %d rows, is not of what was cut off", m.who, m.size)
	}
	if row := k.changed(m, first); row > 0 {
		kind := chain.KindAltered
		if m.kind == chain.KindElsewhere {
			kind = m.kind
		}
		return chain.Found(row, kind, "it is not the row that %s, of %d rows, has: it was changed, and the chain rewritten behind it", m.who, m.size)
	}
	return k.between(m, first)
}

// between says between which rows one was changed.
func (k *Checker) between(m mark, first int64) *chain.Break {
	kind := m.kind
	if kind == chain.KindUnsealed {
		kind = chain.KindCheckpoint
	}
	return chain.Found(first, kind, "rows %d to %d are not those of %s: one was changed, removed or put in, and the chain rewritten behind it", first, m.size, m.who)
}

// changed finds the first leaf that is another one in the file of the tree,
// where that is still the tree that was signed.
func (k *Checker) changed(m mark, first int64) (row int64) {
	if k.Tree == nil || int64(len(k.since)) != m.size-first+1 {
		return 0
	}
	was, err := k.Tree.At(m.size)
	if err != nil {
		return 0
	}
	if root := was.Root(); base64.StdEncoding.EncodeToString(root[:]) != m.root {
		return 0
	}
	for i, now := range k.since {
		was, err := k.Tree.ReadHashes([]int64{tlog.StoredHashIndex(0, first-1+int64(i))})
		if err != nil {
			return 0
		}
		if was[0] != now {
			return first + int64(i)
		}
	}
	return 0
}

// End says what is wrong, or nil. Every row has passed by. Checkpoints whose
// signature is wrong prove nothing of the rows: then the vault alone does.
func (k *Checker) End() *chain.Break {
	unsigned, rows := <-k.signed, k.rows.Size()
	if unsigned == nil && k.broken != nil {
		return k.broken
	}
	if k.unlike != nil {
		return k.between(*k.unlike, k.Start.ID+1)
	}
	for _, m := range k.marks {
		if unsigned == nil || m.kind == chain.KindUnsealed {
			kind := chain.KindCut
			if m.kind == chain.KindElsewhere {
				kind = m.kind
			}
			return chain.Found(rows+1, kind, "the record ends at row %d; %s is of %d rows", rows, m.who, m.size)
		}
	}
	switch {
	case unsigned != nil:
		return unsigned
	case k.Odd != nil:
		return k.Odd
	case k.Memory != nil && k.Memory.Size > k.newest:
		had := "there are none"
		if k.newest > 0 {
			had = fmt.Sprintf("the newest is of %d rows", k.newest)
		}
		return chain.Found(0, chain.KindUnsealed, "%s, and the vault remembers one of %d rows", had, k.Memory.Size)
	case k.Memory == nil && k.newest == 0:
		return chain.Found(0, chain.KindUnsealed, "there is a key of this record, %s, and no checkpoint that it signed", k.Key)
	}
	return nil
}

// Newest is the number of rows of the newest checkpoint.
func (k *Checker) Newest() int64 { return k.newest }
