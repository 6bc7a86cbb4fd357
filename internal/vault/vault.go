package vault

import (
	"bytes"
	"context"
	"crypto/hmac"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/sqlite"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// File is the file's usual name, HeadFile that of its head.
const (
	File     = "vault.db"
	HeadFile = "vault.head"
)

// MaxValue bounds one value, in bytes.
const MaxValue = 64 << 10

// Options place a vault.
type Options struct {
	File string
	Head string // in another directory; empty = older copies are not noticed
	Now  func() time.Time
}

// Holder keeps the wrapping key of a vault's KEK outside of the vault. vault and
// kek are ids: the same key is never kept under two of them.
type Holder interface {
	Kind() string
	// Make makes a wrapping key, kept durably when it returns, and the note that
	// the vault keeps beside it.
	Make(ctx context.Context, vault, kek string) (key, note []byte, err error)
	// Key gives the wrapping key again; 32 bytes, the caller's.
	Key(ctx context.Context, vault, kek string, note []byte) ([]byte, error)
	// Forget removes the key. One that is not there is no error.
	Forget(ctx context.Context, vault, kek string, note []byte) error
}

// Vault is one open vault.
type Vault struct {
	opt Options
	id  string

	mu      sync.Mutex // guards what follows
	file    fs.FileInfo
	conn    *sqlite.Conn
	get     *sqlite.Stmt
	keys    *keys // nil = locked
	counter int64 // what rows belongs to
	rows    listing
}

// pragmas: see the record's (package audit). secure_delete overwrites what a
// row left behind, and the log is emptied after each change.
const pragmas = "mode=rw&_defensive=1&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
	"&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)&_pragma=temp_store(MEMORY)&_pragma=secure_delete(1)&_pragma=trusted_schema(0)"

// Open opens the vault, locked. Where there is none the error is [ErrNone].
func Open(opt Options) (*Vault, error) {
	info, err := os.Lstat(opt.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNone
	case err != nil:
		return nil, fmt.Errorf("open the vault: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("open the vault: %s is no regular file", opt.File)
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(opt.File, 0o600); err != nil {
			return nil, fmt.Errorf("open the vault: %s can be read by others: %w", opt.File, err)
		}
	}
	v := &Vault{opt: opt, file: info}
	if v.conn, err = sqlite.Dial(opt.File, pragmas); err == nil {
		err = v.identify()
	}
	if err != nil {
		v.Close()
		return nil, of(err, "open the vault "+opt.File)
	}
	return v, nil
}

func (v *Vault) identify() error {
	if err := v.ours(); err != nil {
		return err
	}
	found := false
	err := v.conn.Query(context.Background(), "SELECT format, vault FROM meta", nil, func(c []driver.Value) error {
		found = true
		if c[0] != int64(format) {
			return fmt.Errorf("the file has format %v; this reeve reads format %d, so use a newer one", c[0], format)
		}
		v.id, _ = c[1].(string)
		return nil
	})
	if err == nil && (!found || v.id == "") {
		err = damaged("it holds no vault")
	}
	if err == nil {
		v.get, err = v.conn.Prepare("SELECT " + rowColumns + ", counter FROM meta LEFT JOIN secret ON service = ? AND key = ?")
	}
	return err
}

// ours sees to it that the file holds our tables and nothing else: a view or a
// trigger that somebody put there is never run.
func (v *Vault) ours() error {
	tables := 0
	err := v.conn.Query(context.Background(), "SELECT sql, type FROM sqlite_schema WHERE sql IS NOT NULL", nil, func(c []driver.Value) error {
		text, _ := c[0].(string)
		if c[1] != "table" || !strings.Contains(schema, "\n"+text+";") {
			return damaged("it holds something that Reeve did not make")
		}
		tables++
		return nil
	})
	if err == nil && tables != strings.Count(schema, "CREATE") {
		err = damaged("it holds no vault")
	}
	return err
}

// Close locks the vault and closes the file.
func (v *Vault) Close() error {
	v.Lock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn == nil {
		return nil
	}
	if v.get != nil {
		v.get.Close()
	}
	err := v.conn.Close()
	v.conn = nil
	return err
}

// Replaced reports whether the file that is open is not the one at its place any
// more: it was removed, or another was put there. What is written into it now
// would be lost.
func (v *Vault) Replaced() bool {
	now, err := os.Lstat(v.opt.File)
	return err != nil || !os.SameFile(v.file, now)
}

// ID names the vault for its whole life.
func (v *Vault) ID() string { return v.id }

// Lock forgets the key.
func (v *Vault) Lock() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil {
		v.keys.wipe()
		v.keys, v.rows = nil, nil
	}
}

// Locked reports whether values cannot be read.
func (v *Vault) Locked() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.keys == nil
}

// CacheKey gives the key that authenticates caches, the caller's to keep. It is
// the same for the vault's whole life, whoever holds the vault's key.
func (v *Vault) CacheKey() ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys == nil {
		return nil, ErrLocked
	}
	return bytes.Clone(v.keys.cache), nil
}

// Held says which holder has the key, and the note that it left.
func (v *Vault) Held() (kind string, note []byte, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	k, err := v.active()
	return k.holder, k.note, err
}

// kekRow is one KEK as it lies in the file.
type kekRow struct {
	id, state, holder string
	note, wrapped     []byte
}

func (k *kekRow) with(vault string) []byte {
	return bound("reeve vault kek 1", vault, k.id, k.holder, string(k.note))
}

func (v *Vault) keks() (all []kekRow, err error) {
	err = v.conn.Query(context.Background(), "SELECT id, state, holder, note, wrapped FROM kek ORDER BY created, id", nil, func(c []driver.Value) error {
		var k kekRow
		k.id, _ = c[0].(string)
		k.state, _ = c[1].(string)
		k.holder, _ = c[2].(string)
		k.note, _ = c[3].([]byte)
		k.wrapped, _ = c[4].([]byte)
		all = append(all, k)
		return nil
	})
	return all, of(err, "read the vault's keys")
}

func (v *Vault) active() (kekRow, error) {
	all, err := v.keks()
	if err != nil {
		return kekRow{}, err
	}
	for _, k := range all {
		if k.state == "active" {
			return k, nil
		}
	}
	return kekRow{}, damaged("none of its keys is in use")
}

// Unlock takes the key from its holder and checks everything that the file
// says. acceptOlder takes a file as it is that is older than the vault was.
func (v *Vault) Unlock(ctx context.Context, h Holder, acceptOlder bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	k, err := v.active()
	if err != nil {
		return err
	}
	if h.Kind() != k.holder {
		return fmt.Errorf("the vault's key is kept by the %s, not by the %s", k.holder, h.Kind())
	}
	ks, err := v.keysOf(ctx, h, &k)
	if err != nil {
		now, aerr := v.active()
		if aerr != nil || now.id == k.id || now.holder != k.holder {
			return err
		}
		if ks, err = v.keysOf(ctx, h, &now); err != nil { // it was changed in this moment
			return err
		}
	}
	counter, rows, err := v.verified(ks, false)
	if acceptOlder && errors.Is(err, ErrRolledBack) {
		counter, rows, err = v.accept(ks)
	}
	if err != nil {
		return err
	}
	v.keys, v.counter, v.rows = ks, counter, rows
	v.leftovers(ctx, h)
	return nil
}

// keysOf takes a KEK out of its holder's hands, and what follows from it.
func (v *Vault) keysOf(ctx context.Context, h Holder, k *kekRow) (*keys, error) {
	kek, err := v.open(ctx, h, k)
	if err != nil {
		return nil, err
	}
	defer ref.Wipe(kek)
	return v.rooted(k.id, kek)
}

// verified reads every row and holds it against the MAC and the head. The head
// is read first: another process may change both meanwhile, and a file ahead of
// its head is good. What looks older than it was is looked at again while nobody
// can change it; locked says that the caller sees to that.
func (v *Vault) verified(ks *keys, locked bool) (counter int64, rows listing, err error) {
	noted, herr := v.readHead(ks)
	if counter, rows, err = v.readAll(ks); err != nil {
		return 0, nil, err
	}
	if err = v.judge(noted, herr, counter); err == nil || locked || !errors.Is(err, ErrRolledBack) {
		return counter, rows, err
	}
	unlock, lerr := v.exclusive()
	if lerr != nil {
		return 0, nil, lerr
	}
	defer unlock()
	return v.verified(ks, true)
}

// accept takes an older file as it is, and sets the counter so that no copy of
// an earlier state counts again.
func (v *Vault) accept(ks *keys) (counter int64, rows listing, err error) {
	unlock, err := v.exclusive()
	if err != nil {
		return 0, nil, err
	}
	defer unlock()
	if counter, rows, err = v.readAll(ks); err != nil {
		return 0, nil, err
	}
	noted, _ := v.readHead(ks)
	counter = max(noted, counter) + 1
	err = v.change(func() error {
		return v.conn.Do("UPDATE meta SET counter = ?, mac = ?", counter, rows.mac(ks, v.id, counter))
	}, func() error { return v.writeHead(ks, counter) })
	return counter, rows, err
}

// leftovers tidies up after a change of the key that was cut off. One that is
// going on in another process is left alone, and what cannot be done now, on a
// full disk or while the keychain does not answer, is done the next time: the
// vault is open all the same.
func (v *Vault) leftovers(ctx context.Context, h Holder) {
	all, err := v.keks()
	if err != nil || len(all) == 1 {
		return
	}
	l, err := durable.TryLock(v.opt.File + ".lock")
	if err != nil {
		return
	}
	defer l.Close()
	v.tidy(ctx, h)
}

// open takes the KEK out of the holder's hands.
func (v *Vault) open(ctx context.Context, h Holder, k *kekRow) ([]byte, error) {
	key, err := h.Key(ctx, v.id, k.id, k.note)
	if err != nil {
		return nil, err
	}
	defer ref.Wipe(key)
	kek, ok := openKey(sealer(key), k.wrapped, k.with(v.id))
	if !ok {
		return nil, ErrWrongKey
	}
	return kek, nil
}

// rooted opens the root under a KEK.
func (v *Vault) rooted(id string, kek []byte) (*keys, error) {
	var sealed []byte
	err := v.conn.Query(context.Background(), "SELECT root FROM meta", nil, func(c []driver.Value) error {
		sealed, _ = c[0].([]byte)
		return nil
	})
	if err != nil {
		return nil, of(err, "read the vault")
	}
	root, ok := openKey(sealer(kek), sealed, bound("reeve vault root 1", v.id, id))
	if !ok {
		return nil, damaged("its root does not belong to its key")
	}
	defer ref.Wipe(root)
	return newKeys(id, kek, root), nil
}

// readAll reads every row and checks them against the MAC.
func (v *Vault) readAll(ks *keys) (counter int64, rows listing, err error) {
	rows = listing{}
	var sum []byte
	err = v.conn.Query(context.Background(), "SELECT "+rowColumns+", counter, mac FROM meta LEFT JOIN secret ON true", nil, func(c []driver.Value) error {
		counter, _ = c[8].(int64)
		sum, _ = c[9].([]byte)
		if c[0] != nil {
			r := readRow(c)
			rows[r.name] = r.digest()
		}
		return nil
	})
	if err != nil {
		return 0, nil, of(err, "read the vault")
	}
	if !hmac.Equal(sum, rows.mac(ks, v.id, counter)) {
		return 0, nil, damaged("its rows are not those that were written: one was changed, removed or put back")
	}
	return counter, rows, nil
}

// fresh makes sure that what is in memory is what the file says, after another
// process changed it; locked says that none can now.
func (v *Vault) fresh(locked bool) error {
	if v.keys == nil {
		return ErrLocked
	}
	k, err := v.active()
	if err != nil {
		return err
	}
	if k.id != v.keys.kek {
		return v.superseded()
	}
	counter, rows, err := v.verified(v.keys, locked)
	if err != nil {
		return err
	}
	if counter < v.counter {
		return fmt.Errorf("%w: it stands at change %d, and was at %d: %s", ErrRolledBack, counter, v.counter, older)
	}
	v.counter, v.rows = counter, rows
	return nil
}

// superseded locks a vault that another process gave another key.
func (v *Vault) superseded() error {
	v.keys.wipe()
	v.keys, v.rows = nil, nil
	return fmt.Errorf("the vault got another key meanwhile: %w", ErrLocked)
}

// Get gives a value; the slice is the caller's, to be wiped.
func (v *Vault) Get(n ref.Name) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys == nil {
		return nil, ErrLocked
	}
	r, there, counter, err := v.row(n)
	for try := 0; err == nil && counter != v.counter; try++ { // another process changed it
		if try == 20 {
			return nil, fmt.Errorf("read %s: %w", n, ErrBusy)
		}
		if err = v.fresh(false); err == nil {
			r, there, counter, err = v.row(n)
		}
	}
	if err != nil {
		return nil, err
	}
	if there && r.kek != v.keys.kek {
		return nil, v.superseded()
	}
	want, listed := v.rows[n]
	switch {
	case !there && !listed:
		return nil, fmt.Errorf("%s: %w", n, ErrAbsent)
	case there != listed || r.digest() != want:
		return nil, damaged("the row of %s is not the one that was written", n)
	}
	return v.value(&r)
}

// row reads one row and the counter.
func (v *Vault) row(n ref.Name) (r row, there bool, counter int64, err error) {
	err = v.get.Query([]driver.Value{n.Service, n.Key}, func(c []driver.Value) error {
		if there = c[0] != nil; there {
			r = readRow(c)
		}
		counter, _ = c[8].(int64)
		return nil
	})
	return r, there, counter, of(err, "read "+n.String())
}

// value opens one row.
func (v *Vault) value(r *row) ([]byte, error) {
	key, ok := openKey(v.keys.wrap, r.wrapped, r.withKey(v.id))
	if !ok {
		return nil, damaged("the key of %s does not open", r.name)
	}
	defer ref.Wipe(key)
	value, err := sealer(key).Open(nil, nil, r.sealed, r.withValue(v.id))
	if err != nil {
		return nil, damaged("%s does not open", r.name)
	}
	return value, nil
}

// Own is the service under which Reeve keeps what is its own, such as the key
// that signs the record: no name that a person may give begins with a dot (package
// ref), it is not listed, and no copy carries it.
const Own = ".reeve"

// List tells what there is, by name. It needs no key; of a locked vault nothing
// is proven.
func (v *Vault) List() (all []Entry, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil {
		if err := v.fresh(false); err != nil {
			return nil, err
		}
	}
	err = v.conn.Query(context.Background(), "SELECT "+rowColumns+" FROM secret ORDER BY service, key", nil, func(c []driver.Value) error {
		r := readRow(c)
		if r.name.Service == Own {
			return nil
		}
		at, err := time.Parse(time.RFC3339, r.created)
		if err != nil {
			return damaged("the time of %s cannot be read", r.name)
		}
		all = append(all, Entry{r.name, r.version, at, r.origin})
		return nil
	})
	return all, of(err, "list the vault")
}

// Values calls f with each value but Reeve's own, which is wiped afterwards.
func (v *Vault) Values(f func(n ref.Name, value []byte) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	unlock, err := v.exclusive() // all of them as they are at one moment
	if err != nil {
		return err
	}
	defer unlock()
	if err := v.fresh(true); err != nil {
		return err
	}
	var all []row
	err = v.conn.Query(context.Background(), "SELECT "+rowColumns+" FROM secret", nil, func(c []driver.Value) error {
		all = append(all, readRow(c))
		return nil
	})
	if err != nil {
		return of(err, "read the vault")
	}
	for i := range all {
		r := &all[i]
		if r.digest() != v.rows[r.name] {
			return damaged("the row of %s is not the one that was written", r.name)
		}
		if r.name.Service == Own {
			continue
		}
		value, err := v.value(r)
		if err != nil {
			return err
		}
		err = f(r.name, value)
		ref.Wipe(value)
		if err != nil {
			return err
		}
	}
	return nil
}
