package seal

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// rowHash is the hash of row id in these tests.
func rowHash(id int64) chain.Hash { return sha256.Sum256([]byte(strconv.FormatInt(id, 10))) }

func newSigner(t testing.TB) *Signer {
	t.Helper()
	secret, err := NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newTree(t testing.TB) *Tree {
	t.Helper()
	tree, err := OpenTree(filepath.Join(t.TempDir(), "audit.tree"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

// naive is RFC 6962, section 2.1, word by word.
func naive(rows []chain.Hash) [32]byte {
	switch n := len(rows); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(append([]byte{0}, rows[0][:]...))
	default:
		k := 1
		for 2*k < n {
			k *= 2
		}
		left, right := naive(rows[:k]), naive(rows[k:])
		return sha256.Sum256(slices.Concat([]byte{1}, left[:], right[:]))
	}
}

func TestTheTreeIsThatOfRFC6962AtEverySize(t *testing.T) {
	tree, r := newTree(t), &Range{}
	var rows []chain.Hash
	for n := int64(0); n <= 130; n++ {
		if r.Root() != naive(rows) {
			t.Fatalf("%d rows: the range has another root", n)
		}
		if got, err := tree.At(n); err != nil || got.Root() != naive(rows) || !slices.Equal(got.Nodes(), r.Nodes()) {
			t.Fatalf("%d rows: the file has another root (%v)", n, err)
		}
		if got, err := tlog.TreeHash(n, tree); err != nil || got != naive(rows) {
			t.Fatalf("%d rows: sumdb/tlog has another root (%v)", n, err)
		}
		if again := From(chain.Start{ID: n, Nodes: r.Nodes()}); again.Root() != r.Root() {
			t.Fatalf("%d rows: from its nodes alone it has another root", n)
		}
		rows = append(rows, rowHash(n+1))
		if err := tree.Push(r, rowHash(n+1)); err != nil {
			t.Fatal(err)
		}
		if err := tree.Flush(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheFileOfTheTreeGoesOnWhereItWasCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.tree")
	whole := &Range{}
	var sizes []int64 // of the file, by rows
	tree, err := OpenTree(path)
	if err != nil {
		t.Fatal(err)
	}
	for id := int64(1); id <= 40; id++ {
		sizes = append(sizes, tlog.StoredHashCount(id-1)*tlog.HashSize)
		tree.Push(whole, rowHash(id))
	}
	if err := errors.Join(tree.Flush(whole), tree.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range int64(len(content)) {
		if cut%7 != 0 && !slices.Contains(sizes, cut) {
			continue
		}
		if err := os.WriteFile(path, content[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		tree, err := OpenTree(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := tree.Range()
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want := int64(0)
		for want < 40 && tlog.StoredHashCount(want+1)*tlog.HashSize <= cut {
			want++
		}
		if r.Size() != want {
			t.Fatalf("cut at %d: %d rows, want %d", cut, r.Size(), want)
		}
		for id := r.Size() + 1; id <= 40; id++ {
			tree.Push(r, rowHash(id))
		}
		if err := errors.Join(tree.Flush(r), tree.Close()); err != nil {
			t.Fatal(err)
		}
		if r.Root() != whole.Root() {
			t.Fatalf("cut at %d: another root", cut)
		}
		if now, _ := os.ReadFile(path); !slices.Equal(now, content) {
			t.Fatalf("cut at %d: another file", cut)
		}
	}
}

// TestATreeWithoutItsFirstRowsProvesTheRest: what was pruned stays as a few nodes.
func TestATreeWithoutItsFirstRowsProvesTheRest(t *testing.T) {
	for cut := int64(1); cut < 40; cut++ {
		before, whole := &Range{}, &Range{}
		for id := int64(1); id <= 60; id++ {
			if id <= cut {
				before.Push(rowHash(id), nil)
			}
			whole.Push(rowHash(id), nil)
		}
		tree := newTree(t)
		r := From(chain.Start{ID: cut, Nodes: before.Nodes()})
		if err := tree.Begin(r); err != nil {
			t.Fatal(err)
		}
		for id := cut + 1; id <= 60; id++ {
			tree.Push(r, rowHash(id))
		}
		if err := tree.Flush(r); err != nil {
			t.Fatal(err)
		}
		if r.Root() != whole.Root() {
			t.Fatalf("cut behind row %d: another root", cut)
		}
		for older := cut; older <= 60; older++ {
			was, err := tree.At(older)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tree.Consistent(Checkpoint{Size: older, Root: was.Root()}, Checkpoint{Size: 60, Root: r.Root()}); err != nil {
				t.Fatalf("cut behind row %d: %v", cut, err)
			}
		}
	}
}

// TestASignedCheckpointIsAPublicNote reads one as the specifications say,
// with nothing of ours nor of the library that made it (c2sp.org/signed-note,
// c2sp.org/tlog-checkpoint).
func TestASignedCheckpointIsAPublicNote(t *testing.T) {
	s := newSigner(t)
	r := &Range{}
	var rows []chain.Hash
	for id := int64(1); id <= 11; id++ {
		rows = append(rows, rowHash(id))
		r.Push(rowHash(id), nil)
	}
	signed, c, err := s.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	root := naive(rows)
	text, sig, _ := strings.Cut(signed, "\n\n— ")
	if want := s.Name() + "\n11\n" + base64.StdEncoding.EncodeToString(root[:]); text != want {
		t.Errorf("text %q, want %q", text, want)
	}
	name, encoded, _ := strings.Cut(strings.TrimSuffix(sig, "\n"), " ")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || name != s.Name() {
		t.Fatalf("signature line of %q: %v", name, err)
	}
	parts := strings.SplitN(s.Key.String(), "+", 3)
	public, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || public[0] != 1 {
		t.Fatalf("verifier key %q: %v", s.Key, err)
	}
	id := sha256.Sum256(append([]byte(parts[0]+"\n"), public...))
	if fmt.Sprintf("%x", id[:4]) != parts[1] || string(id[:4]) != string(raw[:4]) {
		t.Errorf("the id of the key is %x, in the key %s, in the signature %x", id[:4], parts[1], raw[:4])
	}
	if !ed25519.Verify(public[1:], []byte(text+"\n"), raw[4:]) {
		t.Error("Ed25519 does not verify")
	}
	if got, err := s.Key.Open(signed); err != nil || got != c {
		t.Errorf("read back: %+v, %v, want %+v", got, err, c)
	}
	if _, err := newSigner(t).Key.Open(signed); err == nil {
		t.Error("another key takes it")
	}
	if _, err := s.Key.Open(strings.Replace(signed, "\n11\n", "\n12\n", 1)); err == nil {
		t.Error("another size is taken")
	}
}

func TestABookIsReadAsFarAsItWasWritten(t *testing.T) {
	s, r := newSigner(t), &Range{}
	path := filepath.Join(t.TempDir(), "audit.checkpoints")
	var b Book
	var ends []int64
	for id := int64(1); id <= 4; id++ {
		r.Push(rowHash(id), nil)
		signed, _, err := s.Sign(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Append(path, signed); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, b.whole)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(content) + 1 {
		if err := os.WriteFile(path, content[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		whole := 0
		for _, end := range ends {
			if int64(cut) >= end {
				whole++
			}
		}
		got, err := ReadBook(path)
		if err != nil || len(got.Notes) != whole || got.Torn != (whole == 0 && cut > 0 || whole > 0 && int64(cut) > ends[whole-1]) {
			t.Fatalf("cut at %d of %d: %d whole, torn %v, %v; want %d", cut, len(content), len(got.Notes), got.Torn, err, whole)
		}
		if whole < 4 && cut%11 == 0 { // the next one takes the place of the piece
			if err := got.Append(path, b.Notes[whole]); err != nil {
				t.Fatal(err)
			}
			if now, _ := os.ReadFile(path); string(now) != string(content[:ends[whole]]) {
				t.Fatalf("cut at %d: the next one was written to another place", cut)
			}
		}
	}
	// A change in the middle is no piece at the end.
	for _, at := range []int64{0, ends[0] / 2, ends[0] - 5, ends[0] + 40} {
		changed := slices.Clone(content)
		changed[at] = '\n'
		if got, err := ParseBook(string(changed)); err == nil && len(got.Notes) == 4 {
			if _, err := s.Key.Open(got.Notes[0]); err == nil && at < ends[0] {
				t.Errorf("a change at %d is not seen", at)
			}
		} else if err == nil {
			t.Errorf("a change at %d counts as a piece at the end: %d notes", at, len(got.Notes))
		}
	}
	for _, junk := range []string{"x", "\n", "reev\n", "a letter\n\nto somebody", "reeve/" + strings.Repeat("x", maxNote)} {
		if got, err := ParseBook(string(content) + junk); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("%.20q behind the last one counts as a piece of one: %+v, %v", junk, got.Torn, err)
		}
	}
	for _, left := range []string{"reeve/ab\x00\x00\x00", "\x00\x00", "ree"} { // a file system after a power cut
		if got, err := ParseBook(string(content) + left); err != nil || !got.Torn || len(got.Notes) != 4 {
			t.Errorf("%q behind the last one: %d, torn %v, %v", left, len(got.Notes), got.Torn, err)
		}
	}
	if err := b.Drop(path, 3); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadBook(path); err != nil || len(got.Notes) != 2 || SizeOf(got.Notes[0]) != 3 || got.whole != b.whole {
		t.Errorf("after a drop: %+v, %v", got, err)
	}
}

func TestMemoryOfFormerRecordsIsBounded(t *testing.T) {
	m := Memory{Key: "k"}
	for n := int64(1); n <= 40; n++ {
		m = m.Note(Checkpoint{Size: n}).Anew()
	}
	if len(m.Former) != maxFormer || m.Former[0].Size != 40-maxFormer+1 || m.Former[maxFormer-1].Size != 40 || m.Size != 0 {
		t.Errorf("remembered: %+v", m)
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ParseMemory(b); err != nil || !slices.Equal(again.Former, m.Former) || again.Key != "k" {
		t.Errorf("read back: %+v, %v", again, err)
	}
}

func FuzzCheckpointsAreReadAsTheyAreWritten(f *testing.F) {
	f.Add("reeve/x\n11\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	f.Add("reeve/x\n011\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nmore\n")
	f.Add("\n\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCheckpoint(text)
		if err == nil && !strings.HasPrefix(text, c.Text()) {
			t.Errorf("%q is read as %q", text, c.Text())
		}
	})
}

func FuzzBooksKeepEveryByteOfTheirNotes(f *testing.F) {
	note := "reeve/x\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— reeve/x abc\n\n"
	f.Add(note + note)
	f.Add(note + note[:40])
	f.Add(note[:60] + note)
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBook(text)
		if err != nil {
			return
		}
		all := ""
		for _, n := range b.Notes {
			all += n + "\n"
		}
		if !strings.HasPrefix(text, all) || b.whole != int64(len(all)) || b.Torn != (len(all) < len(text)) {
			t.Errorf("%q is read as %q, torn %v", text, all, b.Torn)
		}
	})
}
