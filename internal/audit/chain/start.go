package chain

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/durable"
)

// Start is where a record begins whose oldest rows were pruned: behind row ID.
// The zero Start is that of a record with every row.
type Start struct {
	ID    int64
	Hash  Hash   // of row ID, which row ID+1 follows
	Nodes []Hash // of the tree over rows 1 to ID: its whole subtrees, the largest first
	Note  string // the signed checkpoint of ID rows
}

const startForm = "reeve-audit-start v1 %d %s\n"

// ErrStart says that a text is no start of a record.
var ErrStart = errors.New("it does not say where a record begins")

// maxStart bounds the file, in bytes.
const maxStart = 64 << 10

func (s Start) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, startForm, s.ID, s.Hash)
	for _, n := range s.Nodes {
		b.WriteString(n.String() + "\n")
	}
	return b.String() + "\n" + s.Note
}

// ParseStart reads the file and accepts nothing but the very text that String
// gives. What the note says is not looked at.
func ParseStart(text string) (s Start, err error) {
	head, note, found := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	f := strings.Split(lines[0], " ")
	if !found || len(text) > maxStart || len(f) != 4 {
		return Start{}, ErrStart
	}
	if s.ID, err = strconv.ParseInt(f[2], 10, 64); err != nil || s.ID < 1 {
		return Start{}, ErrStart
	}
	for i, h := range append([]string{f[3]}, lines[1:]...) {
		b, err := hex.DecodeString(h)
		switch {
		case err != nil || len(b) != len(Hash{}):
			return Start{}, ErrStart
		case i == 0:
			s.Hash = Hash(b)
		default:
			s.Nodes = append(s.Nodes, Hash(b))
		}
	}
	s.Note = note
	if len(s.Nodes) != bits.OnesCount64(uint64(s.ID)) || s.String() != text {
		return Start{}, ErrStart
	}
	return s, nil
}

// ReadStart reads the file; the zero Start where there is none.
func (f Files) ReadStart() (Start, error) {
	text, err := os.ReadFile(f.Start)
	if errors.Is(err, fs.ErrNotExist) {
		return Start{}, nil
	}
	if err != nil {
		return Start{}, err
	}
	s, err := ParseStart(string(text))
	if err != nil {
		return Start{}, Found(0, KindPrune, "%s: %v", f.Start, err)
	}
	return s, nil
}

// WriteStart makes s durable. The rows before it are removed afterwards.
func (f Files) WriteStart(s Start) error {
	return durable.WriteFile(f.Start, []byte(s.String()), 0o600)
}

// anchor is the start as the row that the first one follows.
func (s Start) anchor() Anchor { return Anchor{s.ID, s.Hash} }
