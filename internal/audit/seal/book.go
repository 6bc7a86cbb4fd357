package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/durable"
)

// Book is audit.checkpoints as it was read: signed checkpoints, the oldest
// first. Nothing of what they say is known to be true.
type Book struct {
	Notes []string
	whole int64 // bytes of whole notes
	Torn  bool  // a piece of one stands at the end
}

// ReadBook reads the file; an empty Book where there is none.
func ReadBook(path string) (Book, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Book{}, nil
	}
	if err != nil {
		return Book{}, err
	}
	b, err := ParseBook(string(text))
	if err != nil {
		return Book{}, chain.Found(0, chain.KindCheckpoint, "%s: %v", path, err)
	}
	return b, nil
}

// signature begins each line of a note that carries one.
const signature = "— "

// ParseBook reads the text of the file.
func ParseBook(text string) (b Book, err error) {
	for rest := text; rest != ""; {
		note, more, ok := cutNote(rest)
		if !ok {
			if !piece(rest) {
				return Book{}, fmt.Errorf("number %d: %w", len(b.Notes)+1, ErrCheckpoint)
			}
			b.Torn = true
			return b, nil
		}
		b.Notes = append(b.Notes, note)
		b.whole += int64(len(rest) - len(more))
		rest = more
	}
	return b, nil
}

// piece reports whether s is what a write that was cut off leaves: the beginning
// of a note, which has no whole signature with an end behind it, and bytes that
// were not written yet.
func piece(s string) bool {
	s = strings.TrimRight(s, "\x00")
	n := min(len(s), len(origin))
	i := strings.Index(s, "\n\n"+signature)
	return len(s) <= maxNote && s[:n] == origin[:n] && (i < 0 || !strings.Contains(s[i+2:], "\n\n"))
}

// cutNote takes the first note: lines, an empty line, signatures, an empty line.
func cutNote(s string) (note, rest string, ok bool) {
	body, tail, found := strings.Cut(s, "\n\n")
	if !found {
		return "", "", false
	}
	signed, rest, found := strings.Cut(tail, "\n\n")
	if !found || len(body)+len(signed) > maxNote {
		return "", "", false
	}
	if _, err := ParseCheckpoint(body + "\n"); err != nil {
		return "", "", false
	}
	for line := range strings.SplitSeq(signed, "\n") {
		if !strings.HasPrefix(line, signature) {
			return "", "", false
		}
	}
	return body + "\n\n" + signed + "\n", rest, true
}

// Newest is the last of them; "" where there is none.
func (b Book) Newest() string {
	if len(b.Notes) == 0 {
		return ""
	}
	return b.Notes[len(b.Notes)-1]
}

// Of leaves the checkpoints of one installation.
func (b Book) Of(origin string) (own []string) {
	for _, n := range b.Notes {
		if strings.HasPrefix(n, origin+"\n") {
			own = append(own, n)
		}
	}
	return own
}

// SizeOf is the number of rows that a signed checkpoint names; 0 where it is none.
func SizeOf(signed string) int64 {
	c, _ := parseNote(signed)
	return c.Size
}

// Append adds a signed checkpoint to the file that b was read from, durable when
// it returns. A piece that stands at the end is dropped; a file that has less
// than was read is left as it is.
func (b *Book) Append(path, signed string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < b.whole {
		err = fmt.Errorf("%s has %d bytes, and had %d of whole checkpoints", path, info.Size(), b.whole)
	}
	if err == nil {
		err = f.Truncate(b.whole)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(signed+"\n"), b.whole)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if b.whole == 0 {
		if err := durable.SyncDir(filepath.Dir(path)); err != nil {
			return err
		}
	}
	b.Notes, b.whole, b.Torn = append(b.Notes, signed), b.whole+int64(len(signed))+1, false
	return nil
}

// Drop leaves out the checkpoints of fewer rows than size: those of rows that
// were pruned.
func (b *Book) Drop(path string, size int64) error {
	var kept []string
	for _, n := range b.Notes {
		if SizeOf(n) >= size {
			kept = append(kept, n)
		}
	}
	var text strings.Builder
	for _, n := range kept {
		text.WriteString(n + "\n")
	}
	if err := durable.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return err
	}
	*b = Book{Notes: kept, whole: int64(text.Len())}
	return nil
}
