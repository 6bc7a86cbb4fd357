package daemon

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/vault/ref"
	"github.com/reeve-gate/reeve/internal/wire"
)

const kept = "correct-horse-battery-staple"

// withVault is a bench with a vault that holds github/token.
func withVault(t *testing.T, v *vector) *bench {
	t.Helper()
	b := newBench(t, v)
	b.vault(wire.Vault{Do: "init", Holder: "key file", Path: filepath.Join(t.TempDir(), "key")}, "")
	b.vault(wire.Vault{Do: "set", Name: "github/token", Origin: "typed"}, kept)
	return b
}

func (b *bench) vault(w wire.Vault, in string) wire.Vaulted {
	b.t.Helper()
	var secret []byte
	if in != "" {
		secret = []byte(in)
	}
	v, _, err := b.c.Vault(b.t.Context(), w, secret, false)
	must(b.t, err)
	return v
}

// TestAnAgentNeverOpensTheVault covers M25: from an agent's process, as an
// agent, in a session, and by its hook.
func TestAnAgentNeverOpensTheVault(t *testing.T) {
	b := withVault(t, plainVector())
	tool := func(as, args string) (wire.Executed, error) {
		return b.c.Exec(t.Context(), wire.Exec{Tool: "vault", Args: jsontext.Value(args), Workspace: b.ws, Dir: b.ws, As: as}, nil)
	}
	for _, do := range []string{"get", "set", "rotate", "remove", "rekey", "export", "import", "unlock", "lock", "init"} {
		x, err := tool("agent:a", `{"do":"`+do+`","name":"github/token","path":"`+b.ws+`/copy"}`)
		if err != nil || x.Decision.Decision != "deny" || x.Decision.Step != "guard" || strings.Contains(x.Result.Output+x.Result.Error, kept) {
			t.Errorf("as an agent, %s: %+v, %v", do, x, err)
		}
	}
	if x, err := tool("", `{"do":"get","name":"github/token"}`); err != nil || x.Result.Status != "denied" || strings.Contains(x.Result.Output, kept) {
		t.Errorf("as a tool of a person's: %+v, %v", x.Result, err)
	}
	for _, line := range []string{"reeve vault get github/token", "env X=1 reeve vault export x", "sh -c 'reeve vault ls'"} {
		if d, _ := b.event("claude", "Bash", map[string]any{"command": line}); d.Decision != "deny" || d.Step != "guard" {
			t.Errorf("by a hook, %s: %+v", line, d)
		}
	}
	for _, file := range []string{b.d.vault.Options.File, b.d.vault.Options.Head, b.d.vault.Options.File + "-wal"} {
		if d, _ := b.event("claude", "Read", map[string]any{"file_path": file}); d.Decision != "deny" || d.Step != "guard" {
			t.Errorf("reads %s: %+v", file, d)
		}
	}
	b.d.api.Governed.Add(os.Getpid(), false)
	for _, do := range []string{"status", "ls", "get", "set", "rotate", "remove", "rekey", "export", "import", "unlock", "lock", "init"} {
		_, got, err := b.c.Vault(t.Context(), wire.Vault{Do: do, Name: "github/token", Path: b.ws + "/copy"}, nil, true)
		if !errors.Is(err, reeve.ErrPresence) || len(got) > 0 {
			t.Errorf("from an agent's process, %s: %q, %v", do, got, err)
		}
	}
	if value, err := b.d.vault.Resolve(ref.Name{Service: "github", Key: "token"}); err != nil || string(value) != kept {
		t.Errorf("what is kept became %q, %v", value, err)
	}
}

// TestTheFileOfTheKeyIsClosedToAgents: wherever a person has put it, from the moment on
// that it is made, and by a daemon that starts.
func TestTheFileOfTheKeyIsClosedToAgents(t *testing.T) {
	b := newBench(t, plainVector())
	dir := t.TempDir()
	closed := func(when, key string) {
		t.Helper()
		for tool, args := range map[string]map[string]any{"Read": {"file_path": key}, "Bash": {"command": "cat " + key}, "Write": {"file_path": key, "content": "x"}} {
			if d, _ := b.event("claude", tool, args); d.Decision != "deny" || d.Rule != "own state" {
				t.Errorf("%s, %s of %s: %+v", when, tool, key, d)
			}
		}
		for what, own := range map[string][]string{"reeve run": b.d.runs.Ground.Own(), "an MCP server": b.d.gateway.yard.Place().State} {
			if !slices.Contains(own, key) {
				t.Errorf("%s, %s is not hidden from %s", when, key, what)
			}
		}
	}
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	b.vault(wire.Vault{Do: "init", Holder: "key file", Path: one}, "")
	closed("made", one)
	b.vault(wire.Vault{Do: "rekey", Holder: "key file", Path: two}, "")
	closed("moved", two)
	again, told := newWarden(b.c.Paths, b.d.clean), []string{}
	defer again.Close()
	again.KeyAt = func(path string) { told = append(told, path) }
	if err := again.Start(t.Context()); err != nil || !slices.Equal(told, []string{two}) {
		t.Errorf("a daemon that starts closes %q, %v", told, err)
	}
}

// TestAValueIsShownAtATerminalOnly: this test has none of its own.
func TestAValueIsShownAtATerminalOnly(t *testing.T) {
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		t.Skip("this test runs at a terminal, where a value may be shown")
	}
	b := withVault(t, plainVector())
	for _, do := range []string{"get", "export"} {
		_, got, err := b.c.Vault(t.Context(), wire.Vault{Do: do, Name: "github/token", Path: b.ws + "/copy"}, nil, true)
		if !errors.Is(err, reeve.ErrPresence) || len(got) > 0 {
			t.Errorf("%s: %q, %v", do, got, err)
		}
	}
}

// TestActsOnTheVaultAreRecordedByNameAndTheValueNowhere covers G39: what is
// kept is masked from then on, and every file of Reeve's is free of it.
func TestActsOnTheVaultAreRecordedByNameAndTheValueNowhere(t *testing.T) {
	v := plainVector()
	v.rules = `allow = ["read_file"]`
	b := withVault(t, v)
	b.vault(wire.Vault{Do: "rotate", Name: "github/token", Origin: "typed"}, kept+"-2")
	b.vault(wire.Vault{Do: "set", Name: "other/token", Origin: "env OTHER"}, "another-value-entirely")
	b.vault(wire.Vault{Do: "remove", Name: "other/token"}, "")
	_, _, err := b.c.Vault(t.Context(), wire.Vault{Do: "set", Name: "github/token", Origin: "typed"}, []byte("never-was-stored"), false)
	if !errors.Is(err, reeve.ErrUsage) {
		t.Errorf("a second one: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(b.ws, "notes"), []byte("token is "+kept+"-2 and was "+kept+", coded "+base64.StdEncoding.EncodeToString([]byte(kept))), 0o644))
	x, err := b.c.Exec(t.Context(), wire.Exec{Tool: "read_file", Args: jsontext.Value(`{"path":"notes"}`), Workspace: b.ws, Dir: b.ws, As: "agent:a"}, nil)
	if err != nil || x.Result.Status != "success" || strings.Contains(x.Result.Output, "horse") || !strings.Contains(x.Result.Output, "[REDACTED") {
		t.Errorf("an agent reads %q, %v", x.Result.Output, err)
	}
	x, err = b.c.Exec(t.Context(), wire.Exec{Tool: "read_file", Args: jsontext.Value(`{"path":"` + kept + `"}`), Workspace: b.ws, Dir: b.ws, As: "agent:a"}, nil)
	if err != nil || strings.Contains(x.Result.Error, kept) {
		t.Errorf("an error tells %q, %v", x.Result.Error, err)
	}
	r, err := audit.OpenRead(b.c.Paths.State)
	must(t, err)
	defer r.Close()
	rows, err := r.List(t.Context(), audit.Filter{Tool: "vault"})
	must(t, err)
	var told []string
	for _, row := range rows {
		told = append(told, row.Args)
	}
	all := strings.Join(told, "\n")
	for _, want := range []string{`"do":"init","holder":"key file"`, `"do":"set","name":"github/token"`, `"do":"rotate","name":"github/token"`, `"do":"remove","name":"other/token"`} {
		if !strings.Contains(all, want) {
			t.Errorf("the record has no %s:\n%s", want, all)
		}
	}
	b.noneReadable(kept, "another-value-entirely", "never-was-stored")
}

// noneReadable looks through the raw bytes of everything that is Reeve's.
func (b *bench) noneReadable(values ...string) {
	b.t.Helper()
	files := 0
	must(b.t, filepath.WalkDir(filepath.Dir(b.c.Paths.State), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, v := range values {
			for _, form := range []string{v, hex.EncodeToString([]byte(v)), base64.StdEncoding.EncodeToString([]byte(v))[:12]} {
				if bytes.Contains(raw, []byte(form)) {
					b.t.Errorf("%s holds %q", path, form)
				}
			}
		}
		return nil
	}))
	if files < 4 {
		b.t.Errorf("only %d files were looked at", files)
	}
}

// TestALockedVaultGivesNothingUntilAPersonUnlocks: and a passphrase that is not
// the vault's says so.
func TestALockedVaultGivesNothingUntilAPersonUnlocks(t *testing.T) {
	b := newBench(t, plainVector())
	b.vault(wire.Vault{Do: "init", Holder: "passphrase"}, "five words are long enough")
	b.vault(wire.Vault{Do: "set", Name: "github/token", Origin: "typed"}, kept)
	b.vault(wire.Vault{Do: "lock"}, "")
	token := ref.Name{Service: "github", Key: "token"}
	if _, err := b.d.vault.Resolve(token); err == nil || !strings.Contains(err.Error(), "reeve vault unlock") {
		t.Errorf("locked: %v", err)
	}
	if v := b.vault(wire.Vault{Do: "ls"}, ""); len(v.Entries) != 1 || v.Entries[0].Name != "github/token" {
		t.Errorf("the list of a locked vault: %+v", v)
	}
	_, _, err := b.c.Vault(t.Context(), wire.Vault{Do: "unlock"}, []byte("another passphrase"), false)
	if err == nil || !strings.Contains(err.Error(), "the passphrase is not the vault's; try again") {
		t.Errorf("a wrong passphrase: %v", err)
	}
	if _, err := b.d.vault.Resolve(token); err == nil {
		t.Error("a wrong passphrase opened it")
	}
	b.vault(wire.Vault{Do: "unlock"}, "five words are long enough")
	if got, err := b.d.vault.Resolve(token); err != nil || string(got) != kept {
		t.Errorf("unlocked: %q, %v", got, err)
	}
	b.noneReadable(kept, "five words are long")
}

// TestACopyOpensWithItsOwnPassphraseAlone: reeve vault export and import, as far as they need no
// terminal.
func TestACopyOpensWithItsOwnPassphraseAlone(t *testing.T) {
	b := withVault(t, plainVector())
	copy := filepath.Join(t.TempDir(), "copy")
	n, err := b.d.vault.Export(t.Context(), copy, []byte("the passphrase of the copy"))
	if err != nil || n != 1 {
		t.Fatalf("%d secrets, %v", n, err)
	}
	raw, err := os.ReadFile(copy)
	if info, serr := os.Stat(copy); err != nil || serr != nil || info.Mode().Perm() != 0o600 || bytes.Contains(raw, []byte(kept)) {
		t.Errorf("the copy: %v, %v, %v", err, serr, info)
	}
	if _, err := b.d.vault.Export(t.Context(), copy, []byte("the passphrase of the copy")); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("a file was written over: %v", err)
	}
	other := newBench(t, plainVector())
	other.vault(wire.Vault{Do: "init", Holder: "key file", Path: filepath.Join(t.TempDir(), "key")}, "")
	_, _, err = other.c.Vault(t.Context(), wire.Vault{Do: "import", Path: copy}, []byte("not the passphrase"), false)
	if err == nil || !strings.Contains(err.Error(), "the passphrase is not the copy's") {
		t.Errorf("a wrong passphrase: %v", err)
	}
	if v := other.vault(wire.Vault{Do: "import", Path: copy}, "the passphrase of the copy"); !strings.HasPrefix(v.Line, "1 secrets were taken over") {
		t.Errorf("it says %q", v.Line)
	}
	if got, err := other.d.vault.Resolve(ref.Name{Service: "github", Key: "token"}); err != nil || string(got) != kept {
		t.Errorf("taken over: %q, %v", got, err)
	}
	if got := other.d.clean.Text("x " + kept + " x"); strings.Contains(got, kept) {
		t.Errorf("what was taken over is not masked: %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(b.c.Paths.Data, "vault-copy-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestADaemonThatStartsMasksWhatTheVaultHolds: before it serves.
func TestADaemonThatStartsMasksWhatTheVaultHolds(t *testing.T) {
	b := withVault(t, plainVector())
	again := newWarden(b.c.Paths, b.d.clean)
	defer again.Close()
	var masked []string
	again.Mask = func(values ...string) int { masked = append(masked, values...); return 0 }
	if err := again.Start(t.Context()); err != nil || len(masked) != 1 || masked[0] != kept {
		t.Errorf("masked %q, %v", masked, err)
	}
	if s := again.State(); !s.Exists || s.Locked || s.Holder != "key file" || s.Weak == "" {
		t.Errorf("it is %+v", s)
	}
}

// TestTheDaemonLeavesNoCoreFile: nor does what it starts, which has its bounds.
func TestTheDaemonLeavesNoCoreFile(t *testing.T) {
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_CORE, &limit))
	if limit.Max == 0 {
		t.Skip("core files are off here for every process")
	}
	limit.Cur = limit.Max
	must(t, syscall.Setrlimit(syscall.RLIMIT_CORE, &limit))
	newBench(t, plainVector())
	must(t, syscall.Getrlimit(syscall.RLIMIT_CORE, &limit))
	if limit.Cur != 0 {
		t.Errorf("a core file may have %d bytes", limit.Cur)
	}
}

// TestCachesAreAuthenticatedByTheVaultOrTheInstallation covers G71: the key is
// the vault's where there is one, and none while that is locked.
func TestCachesAreAuthenticatedByTheVaultOrTheInstallation(t *testing.T) {
	b := newBench(t, plainVector())
	own, err := b.d.cacheKey()
	must(t, err)
	if on, err := os.ReadFile(filepath.Join(b.c.Paths.State, "cache.key")); err != nil || !bytes.Equal(on, own) {
		t.Errorf("without a vault: %x, the file has %x, %v", own, on, err)
	}
	path := filepath.Join(t.TempDir(), "key")
	b.vault(wire.Vault{Do: "init", Holder: "key file", Path: path}, "")
	first, err := b.d.cacheKey()
	if err != nil || len(first) != 32 || bytes.Equal(first, own) {
		t.Errorf("with a vault: %x, %v", first, err)
	}
	b.vault(wire.Vault{Do: "rekey", Holder: "key file", Path: path + "2"}, "")
	if again, err := b.d.cacheKey(); err != nil || !bytes.Equal(again, first) {
		t.Errorf("after another key: %x, %v", again, err)
	}
	b.vault(wire.Vault{Do: "lock"}, "")
	if key, err := b.d.cacheKey(); err == nil {
		t.Errorf("while the vault is locked: %x", key)
	}
	b.noneReadable(string(first))
}
