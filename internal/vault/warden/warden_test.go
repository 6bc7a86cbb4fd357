package warden

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/holder"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// TestACopyWithNamesThatAreNoneIsNotTakenOver: nothing of it is, since whoever made
// it did not use Reeve.
func TestACopyWithNamesThatAreNoneIsNotTakenOver(t *testing.T) {
	pass := []byte("five words are long enough")
	made := filepath.Join(t.TempDir(), "copy")
	copied, err := vault.Create(t.Context(), vault.Options{File: made, Now: time.Now}, &holder.Passphrase{Text: pass})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []ref.Name{{Service: "a", Key: "good"}, {Service: "z", Key: "\x1b[2Jbad"}} {
		if _, err := copied.Put(n, []byte("a value of the copy"), vault.New, "typed"); err != nil {
			t.Fatal(err)
		}
	}
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := &Warden{Options: vault.Options{File: filepath.Join(dir, vault.File), Now: time.Now}, Mask: func(...string) int { return 0 }}
	t.Cleanup(w.Close)
	if err := w.Init(t.Context(), holder.KindKeyFile, filepath.Join(t.TempDir(), "key"), nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Import(t.Context(), made, pass, false); err == nil || !strings.Contains(err.Error(), `"z/\x1b[2Jbad" names no secret`) {
		t.Errorf("taken over: %v", err)
	}
	if all, err := w.List(); err != nil || len(all) != 0 {
		t.Errorf("the vault holds %v, %v", all, err)
	}
}

// fresh is a warden with a vault in a directory of its own; masked gathers what it has
// masked.
func fresh(t *testing.T) (w *Warden, masked *[]string) {
	t.Helper()
	dir := t.TempDir()
	masked = new([]string)
	w = &Warden{Options: vault.Options{File: filepath.Join(dir, vault.File), Now: time.Now}, Mask: func(v ...string) int { *masked = append(*masked, v...); return 0 }}
	t.Cleanup(w.Close)
	if err := w.Init(t.Context(), holder.KindKeyFile, filepath.Join(t.TempDir(), "key"), nil); err != nil {
		t.Fatal(err)
	}
	return w, masked
}

// TestACopyThatIsPutBackIsTheVaultFromThenOn: although the daemon has the file before
// it open, whose secrets are not those of the vault any more.
func TestACopyThatIsPutBackIsTheVaultFromThenOn(t *testing.T) {
	w, _ := fresh(t)
	copied := w.Options.File + ".copy"
	raw, err := os.ReadFile(w.Options.File)
	if err == nil {
		err = os.WriteFile(copied, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string) {
		t.Helper()
		if _, _, err := w.Put(t.Context(), ref.Name{Service: "a", Key: key}, []byte("a value"), vault.New, ""); err != nil {
			t.Fatal(err)
		}
	}
	put("before")
	if err := os.Rename(copied, w.Options.File); err != nil {
		t.Fatal(err)
	}
	put("after")
	w.Close()
	all, err := w.List()
	if err != nil || len(all) != 1 || all[0].Name.Key != "after" {
		t.Errorf("the vault holds %v, %v; want what was kept after the copy was put back", all, err)
	}
	if err := os.Remove(w.Options.File); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Resolve(ref.Name{Service: "a", Key: "after"}); !errors.Is(err, vault.ErrNone) {
		t.Errorf("a vault that was removed gives: %v", err)
	}
}

// TestADaemonThatStartsTakesAwayWhatOneThatWasKilledLeft: the copy that it was making
// or taking over.
func TestADaemonThatStartsTakesAwayWhatOneThatWasKilledLeft(t *testing.T) {
	w, _ := fresh(t)
	dir := filepath.Dir(w.Options.File)
	left := filepath.Join(dir, copies+"1234")
	if err := errors.Join(os.Mkdir(left, 0o700), os.WriteFile(filepath.Join(left, vault.File), []byte("x"), 0o600), os.Mkdir(filepath.Join(dir, "mine"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Errorf("what is not Reeve's was removed: %v", err)
	}
}

// TestACopyIsMaskedBeforeItIsKept: also where it is not taken over to its end.
func TestACopyIsMaskedBeforeItIsKept(t *testing.T) {
	from, _ := fresh(t)
	pass, made := []byte("five words are long enough"), filepath.Join(t.TempDir(), "copy")
	for _, key := range []string{"one", "two"} {
		if _, _, err := from.Put(t.Context(), ref.Name{Service: "a", Key: key}, []byte("value "+key), vault.New, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := from.Export(t.Context(), made, pass); err != nil {
		t.Fatal(err)
	}
	w, masked := fresh(t)
	first := func() {
		if all, err := w.v.List(); err != nil || len(all) != 0 {
			t.Errorf("masked when the vault holds %v, %v", all, err)
		}
	}
	mask := w.Mask
	w.Mask = func(v ...string) int { first(); first = func() {}; return mask(v...) }
	if _, _, err := w.Import(t.Context(), made, pass, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"value one", "value two"} {
		if !slices.Contains(*masked, want) {
			t.Errorf("%q is not masked", want)
		}
	}
}
