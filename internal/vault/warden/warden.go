// Package warden is the daemon's one vault: it opens it, takes its key where a
// holder gives it without a person, has every value masked, and gives a value
// out to what needs it in the moment of use.
//
// [Warden] is that vault, [Door] a person's way to it behind the kernel. The
// Warden is a ref.Resolver: whoever has a reference in settings resolves it
// there, each time anew (contract Y97 is done otherwise: nothing is cached but
// the key).
package warden

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/holder"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// Warden keeps one vault. It is safe for concurrent use. Every field but
// Keychain, Opened and KeyAt is required.
type Warden struct {
	Options  vault.Options
	Own      []string                           // directories that no key file stands in
	Keychain *holder.Keychain                   // nil = the system's
	Mask     func(values ...string) (short int) // masks values from now on; says how many are too short for it
	Opened   func()                             // told when a person has opened or made the vault; nil = nobody

	KeyAt func(path string) // told where the key stands, if that is a file; nil = nobody

	mu   sync.Mutex // guards what follows
	v    *vault.Vault
	shut bool // a person locked it: it opens only when one says so
}

var _ ref.Resolver = (*Warden)(nil)

// State is how the vault is.
type State struct {
	Exists, Locked bool
	Holder         string
	Weak           string // what is weak about its holder
	KeyFile        string // where its key stands, if that is a file
	Fault          string // why it cannot be used
}

// State tells how the vault is.
func (w *Warden) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.opened()
	if errors.Is(err, vault.ErrNone) {
		return State{}
	}
	s := State{Exists: true, Locked: true}
	if err == nil {
		s.Locked = v.Locked()
		var note []byte
		s.Holder, note, err = v.Held()
		if s.Holder == holder.KindKeyFile {
			s.KeyFile = string(note)
		}
	}
	if err != nil {
		s.Fault = err.Error()
	}
	if s.Holder == holder.KindKeyFile {
		s.Weak = holder.Weak
	}
	return s
}

// Start opens the vault, where there is one, so that its values are masked
// before anything is shown. An error says why they are not.
func (w *Warden) Start(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tidy()
	_, err := w.usable(ctx)
	if errors.Is(err, vault.ErrNone) {
		return nil
	}
	return err
}

// Close closes the vault.
func (w *Warden) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.v != nil {
		w.v.Close()
		w.v = nil
	}
}

// opened is the vault, perhaps locked.
func (w *Warden) opened() (*vault.Vault, error) {
	if w.v != nil && w.v.Replaced() {
		w.v.Close()
		w.v = nil
	}
	if w.v != nil {
		return w.v, nil
	}
	v, err := vault.Open(w.Options)
	if err == nil {
		w.v = v
		w.keyAt()
	}
	return v, err
}

// keyAt tells where the key stands. What is no file is not told: who changed
// vault.db could name a directory in it.
func (w *Warden) keyAt() {
	kind, note, err := w.v.Held()
	if err != nil || kind != holder.KindKeyFile || w.KeyAt == nil {
		return
	}
	if info, err := os.Lstat(string(note)); errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() {
		w.KeyAt(string(note))
	}
}

// usable is the vault, unlocked, where its holder needs no person.
func (w *Warden) usable(ctx context.Context) (*vault.Vault, error) {
	v, err := w.opened()
	if err != nil {
		return nil, err
	}
	if !v.Locked() {
		return v, nil
	}
	kind, note, err := v.Held()
	switch {
	case err != nil:
		return nil, err
	case w.shut || kind == holder.KindPassphrase:
		return nil, vault.ErrLocked
	}
	h, err := w.holder(kind, string(note), nil)
	if err != nil {
		return nil, err
	}
	return v, w.unlock(ctx, v, h, false)
}

// holder is the one of a kind. path is that of a key file.
func (w *Warden) holder(kind, path string, passphrase []byte) (vault.Holder, error) {
	switch kind {
	case holder.KindKeychain:
		if w.Keychain != nil {
			return w.Keychain, nil
		}
		return &holder.Keychain{}, nil
	case holder.KindPassphrase:
		return &holder.Passphrase{Text: passphrase}, nil
	case holder.KindKeyFile:
		return &holder.KeyFile{Path: path, Not: w.Own}, nil
	}
	return nil, fmt.Errorf("nothing called %q keeps the key of a vault: keychain, passphrase or key file do", kind)
}

// unlock takes the key and has every value masked; without that the vault is
// locked again.
func (w *Warden) unlock(ctx context.Context, v *vault.Vault, h vault.Holder, acceptOlder bool) error {
	if err := v.Unlock(ctx, h, acceptOlder); err != nil {
		if errors.Is(err, vault.ErrWrongKey) && h.Kind() == holder.KindPassphrase {
			return fmt.Errorf("the passphrase is not the vault's; try again (without it, only a copy of reeve vault export and its passphrase open the secrets): %w", err)
		}
		return err
	}
	if err := w.maskAll(v); err != nil {
		v.Lock()
		return err
	}
	return nil
}

func (w *Warden) maskAll(v *vault.Vault) error {
	var values []string
	if err := v.Values(func(_ ref.Name, value []byte) error { values = append(values, string(value)); return nil }); err != nil {
		return err
	}
	w.Mask(values...)
	return nil
}

// Unlock opens the vault with a passphrase, or with what its holder has.
func (w *Warden) Unlock(ctx context.Context, passphrase []byte, acceptOlder bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.opened()
	if err != nil {
		return err
	}
	kind, note, err := v.Held()
	if err != nil {
		return err
	}
	h, err := w.holder(kind, string(note), passphrase)
	if err != nil {
		return err
	}
	if err := w.unlock(ctx, v, h, acceptOlder); err != nil {
		return err
	}
	w.shut = false
	w.opening()
	return nil
}

func (w *Warden) opening() {
	if w.Opened != nil {
		w.Opened()
	}
}

// Lock forgets the key, until a person unlocks.
func (w *Warden) Lock() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.opened()
	if err != nil {
		return err
	}
	v.Lock()
	w.shut = true
	return nil
}

// Init makes the vault.
func (w *Warden) Init(ctx context.Context, kind, path string, passphrase []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, err := w.holder(kind, path, passphrase)
	if err != nil {
		return err
	}
	v, err := vault.Create(ctx, w.Options, h)
	if err == nil {
		w.v, w.shut = v, false
		w.keyAt()
		w.opening()
	}
	return err
}

// List tells what there is; it needs no key.
func (w *Warden) List() ([]vault.Entry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.opened()
	if err != nil {
		return nil, err
	}
	return v.List()
}

// Put masks a value and keeps it.
func (w *Warden) Put(ctx context.Context, n ref.Name, value []byte, how vault.How, origin string) (version int64, short bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.usable(ctx)
	if err != nil {
		return 0, false, err
	}
	short = w.Mask(string(value)) > 0
	version, err = v.Put(n, value, how, origin)
	return version, short, err
}

// Remove takes a secret out. Its value stays masked until the daemon ends.
func (w *Warden) Remove(ctx context.Context, n ref.Name) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.usable(ctx)
	if err != nil {
		return err
	}
	return v.Remove(n)
}

// Resolve gives the value that a reference stands for.
func (w *Warden) Resolve(n ref.Name) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	value, err := w.value(n)
	if errors.Is(err, vault.ErrLocked) && !w.shut { // another process gave it another key
		value, err = w.value(n)
	}
	if errors.Is(err, vault.ErrAbsent) {
		err = vault.ErrAbsent // it names the secret as the reference does
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Reference(), err)
	}
	w.Mask(string(value)) // one that another process put there
	return value, nil
}

func (w *Warden) value(n ref.Name) ([]byte, error) {
	v, err := w.usable(context.Background())
	if err != nil {
		return nil, err
	}
	return v.Get(n)
}

// CacheKey is the key that authenticates caches. Where there is no vault the
// error is [vault.ErrNone].
func (w *Warden) CacheKey(ctx context.Context) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.usable(ctx)
	if err != nil {
		return nil, err
	}
	return v.CacheKey()
}

// Rekey gives the vault a new key, which another holder, or the same, keeps.
// The vault must be unlocked.
func (w *Warden) Rekey(ctx context.Context, kind, path string, passphrase []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.usable(ctx)
	if err != nil {
		return err
	}
	was, note, err := v.Held()
	if err != nil {
		return err
	}
	from, err := w.holder(was, string(note), nil)
	if err != nil {
		return err
	}
	if kind == was && path == "" {
		path = string(note)
	}
	to, err := w.holder(kind, path, passphrase)
	if err != nil {
		return err
	}
	defer w.keyAt()
	return v.Rekey(ctx, from, to)
}

// maxCopy bounds a copy that is read, in bytes.
const maxCopy = 256 << 20

// Export writes a copy of the vault to path, which must not be there: a vault of
// its own, whose key is a passphrase.
func (w *Warden) Export(ctx context.Context, path string, passphrase []byte) (secrets int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.usable(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := os.Lstat(path); err == nil {
		return 0, fmt.Errorf("%s is there already; name a file that is not", path)
	}
	origins, err := v.List()
	if err != nil {
		return 0, err
	}
	err = w.aside(func(opt vault.Options) error {
		out, err := vault.Create(ctx, opt, &holder.Passphrase{Text: passphrase})
		if err != nil {
			return err
		}
		for _, e := range origins {
			if err := pass(v, out, e.Name, vault.New, e.Origin); err != nil {
				out.Close()
				return err
			}
		}
		if err := out.Close(); err != nil {
			return err
		}
		raw, err := os.ReadFile(opt.File)
		if err != nil {
			return err
		}
		return durable.WriteFile(path, raw, 0o600)
	})
	if err != nil {
		return 0, fmt.Errorf("write the copy %s: %w", path, err)
	}
	return len(origins), nil
}

// Import takes the secrets of a copy over; those that are there already stay
// unless replace says otherwise.
func (w *Warden) Import(ctx context.Context, path string, passphrase []byte, replace bool) (taken, kept int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.usable(ctx)
	if err != nil {
		return 0, 0, err
	}
	how := vault.New
	if replace {
		how = vault.Either
	}
	err = w.aside(func(opt vault.Options) error {
		in, err := copied(ctx, path, opt, passphrase)
		if err != nil {
			return err
		}
		defer in.Close()
		all, err := in.List()
		if err != nil {
			return err
		}
		for _, e := range all {
			if _, err := ref.ParseName(e.Name.String()); err != nil {
				return fmt.Errorf("it was not made by reeve vault export, so that nothing was taken over: %w", err)
			}
		}
		if err := w.maskAll(in); err != nil { // before the first is kept
			return err
		}
		for _, e := range all {
			switch err := pass(in, v, e.Name, how, "import"); {
			case errors.Is(err, vault.ErrThere):
				kept++
			case err != nil:
				return fmt.Errorf("%w (%d secrets were taken over before that; they are there already when you try again)", err, taken)
			default:
				taken++
			}
		}
		return nil
	})
	if err != nil {
		return taken, kept, fmt.Errorf("take over the copy %s: %w", path, err)
	}
	return taken, kept, nil
}

// copied opens a copy of the copy: the file itself is left as it is.
func copied(ctx context.Context, path string, opt vault.Options, passphrase []byte) (*vault.Vault, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxCopy {
		return nil, errors.New("it is no regular file of at most 256 MiB")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(raw, []byte("SQLite format 3\x00")) {
		return nil, errors.New("it is no copy that reeve vault export made")
	}
	if err := durable.WriteFile(opt.File, raw, 0o600); err != nil {
		return nil, err
	}
	in, err := vault.Open(opt)
	if err != nil {
		return nil, err
	}
	if err := in.Unlock(ctx, &holder.Passphrase{Text: passphrase}, false); err != nil {
		in.Close()
		if errors.Is(err, vault.ErrWrongKey) {
			err = fmt.Errorf("the passphrase is not the copy's; try again: %w", err)
		}
		return nil, err
	}
	return in, nil
}

// pass carries one value from vault to vault.
func pass(from, to *vault.Vault, n ref.Name, how vault.How, origin string) error {
	value, err := from.Get(n)
	if err != nil {
		return err
	}
	defer ref.Wipe(value)
	_, err = to.Put(n, value, how, origin)
	return err
}

const copies = "vault-copy-"

// tidy removes the copies of a daemon that was killed.
func (w *Warden) tidy() {
	dir := filepath.Dir(w.Options.File)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), copies) {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// aside calls f with a place for a vault of the moment, in the vault's own
// directory, which is removed again. Everything in it is sealed.
func (w *Warden) aside(f func(vault.Options) error) error {
	w.tidy()
	dir, err := os.MkdirTemp(filepath.Dir(w.Options.File), copies)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return f(vault.Options{File: filepath.Join(dir, vault.File), Now: w.Options.Now})
}
