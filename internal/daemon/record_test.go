package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/note"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/holder"
	"github.com/reeve-gate/reeve/internal/vault/ref"
	"github.com/reeve-gate/reeve/internal/wire"
)

// TestTheKeyOfTheRecordIsInTheVaultAndNobodysToSee: no name that a person can
// say reaches it, no list, copy or mask has it, and a new key of the vault
// leaves it as it is.
func TestTheKeyOfTheRecordIsInTheVaultAndNobodysToSee(t *testing.T) {
	b := withVault(t, plainVector())
	first, err := b.c.Record(t.Context(), wire.Record{Do: "checkpoint"})
	must(t, err)
	v, err := note.NewVerifier(first.Key)
	must(t, err)
	if _, err := note.Open([]byte(first.Note), note.VerifierList(v)); err != nil {
		t.Errorf("what it gave is no signed note: %v", err)
	}
	secret, err := b.d.vault.Kept(t.Context(), "record-key")
	must(t, err)
	for _, name := range []string{".reeve/record-key", ".reeve/record", "./record-key", "reeve/record-key"} {
		_, got, err := b.c.Vault(t.Context(), wire.Vault{Do: "get", Name: name}, nil, true)
		if err == nil || len(got) > 0 {
			t.Errorf("get %s: %q, %v", name, got, err)
		}
		for _, do := range []string{"remove", "rotate", "set"} {
			if _, _, err := b.c.Vault(t.Context(), wire.Vault{Do: do, Name: name}, []byte("another value"), false); do != "set" && err == nil || strings.HasPrefix(name, ".") && err == nil {
				t.Errorf("%s %s went through", do, name)
			}
		}
	}
	if _, ok, err := ref.Parse("reeve://.reeve/record-key"); !ok || err == nil {
		t.Error("a reference to it is one")
	}
	if v := b.vault(wire.Vault{Do: "ls"}, ""); len(v.Entries) != 2 || v.Entries[0].Name != "github/token" || v.Entries[1].Name != "reeve/record-key" {
		t.Errorf("the list has %+v", v.Entries)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if n, err := b.d.vault.Export(t.Context(), copied, []byte("a passphrase of its own")); err != nil || n != 2 {
		t.Fatalf("the copy has %d secrets, %v", n, err)
	}
	in, err := vault.Open(vault.Options{File: copied, Now: time.Now})
	must(t, err)
	defer in.Close()
	must(t, in.Unlock(t.Context(), &holder.Passphrase{Text: []byte("a passphrase of its own")}, false))
	if _, err := in.Get(ref.Name{Service: vault.Own, Key: "record-key"}); !errors.Is(err, vault.ErrAbsent) {
		t.Errorf("a copy has the key: %v", err)
	}
	b.vault(wire.Vault{Do: "rekey", Holder: "key file", Path: filepath.Join(t.TempDir(), "another")}, "")
	again, err := b.d.vault.Kept(t.Context(), "record-key")
	if err != nil || string(again) != string(secret) {
		t.Errorf("after rekey it is another one (%v)", err)
	}
	next, err := b.c.Record(t.Context(), wire.Record{Do: "checkpoint"})
	if err != nil || next.Key != first.Key || seal.SizeOf(next.Note) <= seal.SizeOf(first.Note) {
		t.Errorf("after rekey: %+v, %v; want the next checkpoint by the same key", next, err)
	}
	private, _, _ := strings.Cut(string(secret), "\n")
	b.noneReadable(strings.SplitN(private, "+", 5)[4]) // base64 has the plus too
}

// TestTheRecordIsPrunedByAPersonAtATerminalAlone: not as a tool, not by an
// agent's process, not without a terminal; whoever looks on may verify.
func TestTheRecordIsPrunedByAPersonAtATerminalAlone(t *testing.T) {
	b := withVault(t, plainVector())
	for _, as := range []string{"agent:a", ""} {
		x, err := b.c.Exec(t.Context(), wire.Exec{Tool: "audit", Args: jsontext.Value(`{"do":"prune","keep":"24h"}`), Workspace: b.ws, Dir: b.ws, As: as}, nil)
		if err != nil || x.Result.Status != "denied" {
			t.Errorf("as a tool of %q: %+v, %v", as, x, err)
		}
	}
	if d, _ := b.event("claude", "Bash", map[string]any{"command": "reeve audit prune --keep 1d"}); d.Decision != "deny" || d.Step != "guard" {
		t.Errorf("by a hook: %+v", d)
	}
	prune := wire.Record{Do: "prune", KeepS: int64(24 * time.Hour / time.Second)}
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
	} else {
		for _, w := range []wire.Record{prune, {Do: "accept"}, {Do: "accept", DryRun: true}, {Do: "anything", DryRun: true}} {
			if _, err := b.c.Record(t.Context(), w); !errors.Is(err, reeve.ErrPresence) {
				t.Errorf("without a terminal, %+v: %v", w, err)
			}
		}
	}
	b.d.api.Governed.Add(os.Getpid(), false)
	dry := prune
	dry.DryRun = true
	for _, w := range []wire.Record{prune, dry, {Do: "accept"}, {Do: "accept", DryRun: true}, {Do: "checkpoint"}} {
		if _, err := b.c.Record(t.Context(), w); !errors.Is(err, reeve.ErrPresence) {
			t.Errorf("from an agent's process, %s: %v", w.Do, err)
		}
	}
	if r, err := b.c.Record(t.Context(), wire.Record{Do: "status"}); err != nil || r.Note != "" || r.Line != "" {
		t.Errorf("looking on: %+v, %v", r, err)
	}
}

// TestARecordWithoutAKeyIsNotSignedAndTheStatusSaysWhatToDo: and it is signed
// as soon as a person opens the vault.
func TestARecordWithoutAKeyIsNotSignedAndTheStatusSaysWhatToDo(t *testing.T) {
	b := newBench(t, plainVector())
	says := func(what, want string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			s, err := b.c.Status(t.Context())
			must(t, err)
			if strings.Contains(s.Signed, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: the status says %q, want %q", what, s.Signed, want)
			}
		}
	}
	says("no vault", "reeve vault init")
	if _, err := b.c.Record(t.Context(), wire.Record{Do: "checkpoint"}); err == nil || !strings.Contains(err.Error(), "reeve vault init") {
		t.Errorf("no vault: %v", err)
	}
	b.vault(wire.Vault{Do: "init", Holder: "passphrase"}, "five words are long enough")
	says("a vault", "up to row ")
	b.vault(wire.Vault{Do: "lock"}, "")
	if _, err := b.c.Record(t.Context(), wire.Record{Do: "checkpoint"}); err == nil || !strings.Contains(err.Error(), "reeve vault unlock") {
		t.Errorf("a locked vault: %v", err)
	}
	says("a locked vault", "no further: the vault is locked; reeve vault unlock")
	b.vault(wire.Vault{Do: "unlock"}, "five words are long enough")
	says("an opened vault", ", by reeve/")
	r, err := b.c.Record(t.Context(), wire.Record{Do: "status"})
	must(t, err)
	m, err := seal.ParseMemory(r.Memory)
	must(t, err)
	rep, err := audit.Verify(t.Context(), b.c.Paths.State, audit.Known{Memory: &m})
	if err != nil || rep.Broken != nil || rep.Sealed.By != audit.KeyVault || rep.Sealed.Rows < m.Size {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

// TestADaemonThatEndsSignsWhatItWroteLast: the next one need not.
func TestADaemonThatEndsSignsWhatItWroteLast(t *testing.T) {
	b := withVault(t, plainVector())
	_, err := b.c.Record(t.Context(), wire.Record{Do: "checkpoint"})
	must(t, err)
	b.vault(wire.Vault{Do: "set", Name: "other/token", Origin: "typed"}, "another-value-entirely")
	b.d.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		rep, err := audit.Verify(t.Context(), b.c.Paths.State, audit.Known{})
		if err == nil && rep.Broken == nil && rep.Sealed.Rows == rep.Rows {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("signed: %+v of %d rows, %v", rep.Sealed, rep.Rows, err)
		}
	}
}
