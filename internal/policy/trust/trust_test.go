package trust

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
)

func TestWhatIsTrustedIsTheExactContentInItsWorkspace(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	one, other := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	if err := b.Set("/w", one, true); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir, nil)
	if err != nil || !again.Has("/w", one) || again.Has("/w", other) || again.Has("/v", one) {
		t.Errorf("read again: %+v, %v", again, err)
	}
	if err := again.Set("/w", one, false); err != nil || again.Has("/w", one) {
		t.Errorf("forgotten: %v", err)
	}
	spoil := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spoil("trust.json")
	note := ""
	if b, err := Open(dir, func(n string) { note = n }); err != nil || b.Has("/w", one) || note == "" {
		t.Errorf("taken from its backup, which trusts no more than it did: %v, note %q", err, note)
	}
	spoil("trust.json")
	spoil("trust.json.bak")
	if b, err := Open(dir, nil); err == nil {
		t.Errorf("a book that is cut off is read as %+v", b)
	}
}

func TestNothingChangesWhereItCannotBeKept(t *testing.T) {
	b, err := Open(filepath.Join(t.TempDir(), "none"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if one := sha256.Sum256(nil); b.Set("/w", one, true) == nil || b.Has("/w", one) {
		t.Error("it is trusted, and not kept")
	}
}
