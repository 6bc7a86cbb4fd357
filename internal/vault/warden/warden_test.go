package warden

import (
	"path/filepath"
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
