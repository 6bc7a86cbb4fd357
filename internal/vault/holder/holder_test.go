package holder_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve/internal/testuser"
	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/holder"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// memory is a keychain of a map.
type memory struct {
	held map[string]string
	fail error
}

func (m *memory) Get(_ context.Context, a string) (string, error) {
	if m.fail != nil {
		return "", m.fail
	}
	text, there := m.held[a]
	if !there {
		return "", holder.ErrNoEntry
	}
	return text, nil
}

func (m *memory) Set(_ context.Context, a, text string) error {
	if m.fail == nil {
		m.held[a] = text
	}
	return m.fail
}

func (m *memory) Delete(_ context.Context, a string) error {
	if _, there := m.held[a]; !there {
		return holder.ErrNoEntry
	}
	delete(m.held, a)
	return m.fail
}

func options(t *testing.T) vault.Options {
	dir := t.TempDir()
	return vault.Options{File: filepath.Join(dir, "data", vault.File), Head: filepath.Join(dir, vault.HeadFile), Now: time.Now}
}

var token = ref.Name{Service: "github", Key: "token"}

// holders are the three of them, as each test of all needs them.
func holders(t *testing.T) map[string]func() vault.Holder {
	store := &memory{held: map[string]string{}}
	path := filepath.Join(t.TempDir(), "key")
	return map[string]func() vault.Holder{
		"keychain": func() vault.Holder { return &holder.Keychain{Store: store} },
		"passphrase": func() vault.Holder {
			return &holder.Passphrase{Text: []byte("five words are long enough"), Cost: holder.Cost{Memory: 19 << 10, Passes: 2, Threads: 1}}
		},
		"key file": func() vault.Holder { return &holder.KeyFile{Path: path} },
	}
}

// TestEveryHolderKeepsAVaultThroughChangesOfItsKey covers G37, Y92.
func TestEveryHolderKeepsAVaultThroughChangesOfItsKey(t *testing.T) {
	for kind, make := range holders(t) {
		t.Run(kind, func(t *testing.T) {
			opt := options(t)
			v, err := vault.Create(t.Context(), opt, make())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := v.Put(token, []byte("the value"), vault.New, ""); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := v.Rekey(t.Context(), make(), make()); err != nil {
					t.Fatal(err)
				}
				v.Close()
				if v, err = vault.Open(opt); err != nil {
					t.Fatal(err)
				}
				if held, _, err := v.Held(); err != nil || held != kind {
					t.Errorf("held by %q, %v", held, err)
				}
				if err := v.Unlock(t.Context(), make(), false); err != nil {
					t.Fatal(err)
				}
				if got, err := v.Get(token); err != nil || string(got) != "the value" {
					t.Errorf("%q, %v", got, err)
				}
			}
			v.Close()
		})
	}
}

// TestAKeychainThatDoesNotAnswerIsAnErrorThatSaysWhatToDo: and never another
// way of keeping the key (Y95).
func TestAKeychainThatDoesNotAnswerIsAnErrorThatSaysWhatToDo(t *testing.T) {
	for what, c := range map[string]struct {
		store *memory
		want  error
		say   string
	}{
		"missing":       {&memory{fail: holder.ErrNoKeychain}, holder.ErrNoKeychain, "reeve vault init --passphrase"},
		"locked":        {&memory{fail: holder.ErrKeychainLocked}, holder.ErrKeychainLocked, "unlock it"},
		"forgetful":     {&memory{held: map[string]string{}}, holder.ErrNoEntry, "reeve vault import"},
		"another entry": {&memory{held: map[string]string{"v/k": "no key"}}, holder.ErrNoEntry, "reeve vault import"},
	} {
		_, err := (&holder.Keychain{Store: c.store}).Key(t.Context(), "v", "k", nil)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", what, err)
		}
		if c.store.fail == nil {
			continue
		}
		opt := options(t)
		if _, err := vault.Create(t.Context(), opt, &holder.Keychain{Store: c.store}); !errors.Is(err, c.want) {
			t.Errorf("%s: a vault was made: %v", what, err)
		}
		if _, err := os.Stat(opt.File); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was left: %v", what, err)
		}
	}
}

func TestAKeychainThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		hang := make(chan struct{})
		_, err := (&holder.Keychain{Store: hanging{hang}}).Key(t.Context(), "v", "k", nil)
		if !errors.Is(err, holder.ErrKeychainSilent) || !strings.Contains(err.Error(), "for 2s") || time.Since(begin) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		close(hang)
	})
}

// TestAVaultOpensAlthoughAFormerKeyCannotBeForgotten: what a change of the key left
// is tidied up when that works, and keeps nobody from the vault meanwhile; a change
// that went through says so.
func TestAVaultOpensAlthoughAFormerKeyCannotBeForgotten(t *testing.T) {
	opt, store := options(t), &stubborn{memory{held: map[string]string{}}, errors.New("not now")}
	k := &holder.Keychain{Store: store}
	v, err := vault.Create(t.Context(), opt, k)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, err := v.Put(token, []byte("the value"), vault.New, ""); err != nil {
		t.Fatal(err)
	}
	if err := v.Rekey(t.Context(), k, k); err == nil || !strings.Contains(err.Error(), "the vault's key was changed; the former one opens nothing any more") {
		t.Errorf("a former key that stays: %v", err)
	}
	for _, left := range []int{2, 1} {
		if len(store.held) != left {
			t.Errorf("the keychain holds %d keys, want %d", len(store.held), left)
		}
		again, err := vault.Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if left == 1 {
			break
		}
		if err := again.Unlock(t.Context(), k, false); err != nil {
			t.Fatalf("it does not open: %v", err)
		}
		if got, err := again.Get(token); err != nil || string(got) != "the value" {
			t.Errorf("%q, %v", got, err)
		}
		store.no = nil
		if err := again.Unlock(t.Context(), k, false); err != nil {
			t.Fatal(err)
		}
	}
}

// stubborn is a keychain that removes nothing while no is an error.
type stubborn struct {
	memory
	no error
}

func (s *stubborn) Delete(ctx context.Context, a string) error {
	if s.no != nil {
		return s.no
	}
	return s.memory.Delete(ctx, a)
}

type hanging struct{ until chan struct{} }

func (h hanging) Get(context.Context, string) (string, error) { <-h.until; return "", nil }
func (h hanging) Set(context.Context, string, string) error   { <-h.until; return nil }
func (h hanging) Delete(context.Context, string) error        { <-h.until; return nil }

// TestAKeyThatDoesNotComeBackChangesNothing: a keychain that takes a key and
// forgets it.
func TestAKeyThatDoesNotComeBackChangesNothing(t *testing.T) {
	opt := options(t)
	file := &holder.KeyFile{Path: filepath.Join(t.TempDir(), "key")}
	v, err := vault.Create(t.Context(), opt, file)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, err := v.Put(token, []byte("the value"), vault.New, ""); err != nil {
		t.Fatal(err)
	}
	err = v.Rekey(t.Context(), file, &holder.Keychain{Store: forgetful{}})
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%v", err)
	}
	again, err := vault.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Unlock(t.Context(), file, false); err != nil {
		t.Fatal(err)
	}
	if got, err := again.Get(token); err != nil || string(got) != "the value" {
		t.Errorf("%q, %v", got, err)
	}
}

type forgetful struct{}

func (forgetful) Get(context.Context, string) (string, error) { return "", holder.ErrNoEntry }
func (forgetful) Set(context.Context, string, string) error   { return nil }
func (forgetful) Delete(context.Context, string) error        { return holder.ErrNoEntry }

func TestPassphrasesAreLongAndTheirCostIsBounded(t *testing.T) {
	if _, _, err := (&holder.Passphrase{Text: []byte("short")}).Make(t.Context(), "v", "k"); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Errorf("a short one: %v", err)
	}
	p := &holder.Passphrase{Text: []byte("five words are long enough")}
	_, note, err := p.Make(t.Context(), "v", "k")
	if err != nil || !strings.Contains(string(note), `"memory_kib":65536,"passes":3,"threads":4`) {
		t.Errorf("the note of the usual cost: %s, %v", note, err)
	}
	for _, cost := range []string{`"memory_kib":1024,"passes":3,"threads":4`, `"memory_kib":65536,"passes":1,"threads":4`, `"memory_kib":4294967295,"passes":3,"threads":4`,
		`"memory_kib":65536,"passes":4000000000,"threads":4`, `"memory_kib":65536,"passes":3,"threads":0`, `"memory_kib":1048576,"passes":3,"threads":4`, `"memory_kib":65536,"passes":3,"threads":4,"x":1`} {
		bad := strings.Replace(string(note), `"memory_kib":65536,"passes":3,"threads":4`, cost, 1)
		if _, err := p.Key(t.Context(), "v", "k", []byte(bad)); !errors.Is(err, vault.ErrDamaged) {
			t.Errorf("%s: %v", cost, err)
		}
	}
}

// TestAChangeOfTheKeyThatWasCutOffLeavesNoKeyInAFile: neither a line of the file that
// the new key was to stand in, nor what a write that was cut off left beside it.
func TestAChangeOfTheKeyThatWasCutOffLeavesNoKeyInAFile(t *testing.T) {
	opt, dir := options(t), t.TempDir()
	from, to := &holder.KeyFile{Path: filepath.Join(dir, "from")}, &holder.KeyFile{Path: filepath.Join(dir, "to")}
	v, err := vault.Create(t.Context(), opt, from)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { recover() }()
		v.Rekey(t.Context(), from, dying{to})
	}()
	if _, err := os.Stat(to.Path); err != nil {
		t.Fatalf("no key was made: %v", err)
	}
	for _, beside := range []string{".to.0123456789abcdef.tmp", ".to.mine.tmp", "to.bak"} {
		if err := os.WriteFile(filepath.Join(dir, beside), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, err := vault.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Unlock(t.Context(), from, false); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".to.mine.tmp", "from", "to.bak"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("in the directory stand %q, %v; want %q", left, err, want)
	}
}

// dying is a key file whose process ends once a key was made.
type dying struct{ *holder.KeyFile }

func (d dying) Make(ctx context.Context, vaultID, kek string) (key, note []byte, err error) {
	d.KeyFile.Make(ctx, vaultID, kek)
	panic("killed")
}

// TestAKeyFileIsPrivateAndStandsApart covers amendment 24.
func TestAKeyFileIsPrivateAndStandsApart(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		dir := t.TempDir()
		own := filepath.Join(dir, "own")
		if err := errors.Join(os.MkdirAll(filepath.Join(own, "below"), 0o700), os.Symlink(own, filepath.Join(dir, "link"))); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Join(own, "key"), filepath.Join(own, "below", "key"), filepath.Join(dir, "link", "key"), "key", filepath.Join(dir, "nowhere", "key")} {
			if _, _, err := (&holder.KeyFile{Path: path, Not: []string{own}}).Make(t.Context(), "v", "k"); err == nil {
				t.Errorf("a key was kept in %s", path)
			}
		}
		f := &holder.KeyFile{Path: filepath.Join(dir, "key"), Not: []string{own}}
		key, note, err := f.Make(t.Context(), "v", "k")
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		if back, err := f.Key(t.Context(), "v", "k", note); err != nil || string(back) != string(key) {
			t.Errorf("it came back as %x, %v", back, err)
		}
		if _, err := f.Key(t.Context(), "v", "another", note); err == nil || !strings.Contains(err.Error(), "another vault") {
			t.Errorf("another key: %v", err)
		}
		if err := os.Chmod(f.Path, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Key(t.Context(), "v", "k", note); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a file that others read: %v", err)
		}
		if err := os.Rename(f.Path, f.Path+".moved"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Key(t.Context(), "v", "k", note); err == nil || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("a missing file: %v", err)
		}
		if err := os.Symlink(f.Path+".moved", f.Path); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Key(t.Context(), "v", "k", note); err == nil {
			t.Error("a link was followed")
		}
	})
}
