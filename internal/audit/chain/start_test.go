package chain

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestAStartIsReadBackAsWritten(t *testing.T) {
	f := In(t.TempDir())
	if s, err := f.ReadStart(); err != nil || s.ID != 0 {
		t.Errorf("without a file: %+v, %v", s, err)
	}
	s := Start{ID: 5, Hash: Hash{1}, Nodes: []Hash{{2}, {3}}, Note: "a\n5\nb\n\n— a c\n"}
	if err := f.WriteStart(s); err != nil {
		t.Fatal(err)
	}
	if got, err := f.ReadStart(); err != nil || got.String() != s.String() {
		t.Errorf("read back: %+v, %v", got, err)
	}
	s.Nodes = s.Nodes[:1] // of four rows
	if err := f.WriteStart(s); err != nil {
		t.Fatal(err)
	}
	var b *Break
	if _, err := f.ReadStart(); !errors.As(err, &b) || b.Kind != KindPrune {
		t.Errorf("with too few nodes: %v, want %s", err, KindPrune)
	}
	if f.Start != filepath.Join(f.Dir, "audit.start") {
		t.Errorf("it stands in %s", f.Start)
	}
}

func FuzzStartsAreReadAsTheyAreWritten(f *testing.F) {
	f.Add(Start{ID: 5, Hash: Hash{1}, Nodes: []Hash{{2}, {3}}, Note: "x\n\n— y\n"}.String())
	f.Add("reeve-audit-start v1 1 00\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseStart(text); err == nil && s.String() != text {
			t.Errorf("%q is read as %q", text, s)
		}
	})
}
