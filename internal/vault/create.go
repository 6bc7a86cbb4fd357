package vault

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/sqlite"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// newID is the id of a vault or of a KEK.
func newID() string { return hex.EncodeToString(newKey()[:16]) }

// Create makes a vault whose key h holds, and opens it, unlocked. One that is
// there is never written over.
func Create(ctx context.Context, opt Options, h Holder) (*Vault, error) {
	if err := private(opt.File); err != nil {
		return nil, fmt.Errorf("make the vault: %w", err)
	}
	v := &Vault{opt: opt, id: newID()}
	unlock, err := v.exclusive()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Lstat(opt.File); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("make the vault: %s is there already", opt.File)
	}
	// A log that a vault before it left would be read as this one's.
	for _, old := range []string{opt.Head, opt.File + "-wal", opt.File + "-shm"} {
		if err := os.Remove(old); old != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("make the vault: %w; remove it by hand and try again", err)
		}
	}
	k := kekRow{id: newID(), state: "active", holder: h.Kind()}
	key, note, err := h.Make(ctx, v.id, k.id)
	if err != nil {
		return nil, err
	}
	defer ref.Wipe(key)
	kek := newKey()
	defer ref.Wipe(kek)
	k.note = note
	k.wrapped = sealKey(sealer(key), kek, k.with(v.id))
	if err := v.found(k, kek); err != nil {
		return nil, errors.Join(err, h.Forget(ctx, v.id, k.id, note))
	}
	made, err := Open(opt)
	if err != nil {
		return nil, err
	}
	if err := made.Unlock(ctx, h, false); err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

// found writes the first state of the file beside its place and renames it: who
// looks finds a whole vault or none.
func (v *Vault) found(k kekRow, kek []byte) (err error) {
	half := v.opt.File + ".new"
	if err := discard(half); err != nil {
		return fmt.Errorf("make the vault: %w", err)
	}
	defer func() {
		if err != nil {
			discard(half)
		}
	}()
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the vault: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return fmt.Errorf("make the vault: %w", err)
	}
	conn, err := sqlite.Dial(half, "mode=rw&_pragma=synchronous(FULL)&_pragma=fullfsync(1)&_pragma=secure_delete(1)&_pragma=temp_store(MEMORY)")
	if err != nil {
		return of(err, "make the vault")
	}
	root := newKey()
	defer ref.Wipe(root)
	ks := newKeys(k.id, kek, root)
	now := v.opt.Now().UTC().Format(time.RFC3339)
	for _, step := range []func() error{
		func() error { return conn.Exec("BEGIN") },
		func() error { return conn.Exec(schema) },
		func() error {
			return conn.Do("INSERT INTO meta VALUES(1, ?, ?, ?, ?, 1, ?)", int64(format), v.id, now, sealKey(ks.wrap, root, bound("reeve vault root 1", v.id, k.id)), listing{}.mac(ks, v.id, 1))
		},
		func() error {
			return conn.Do("INSERT INTO kek VALUES(?, ?, ?, ?, ?, ?)", k.id, k.state, k.holder, k.note, k.wrapped, now)
		},
		func() error { return conn.Exec("COMMIT") },
	} {
		if err = step(); err != nil {
			break
		}
	}
	if closed := conn.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return of(err, "make the vault")
	}
	if err := os.Rename(half, v.opt.File); err != nil {
		return fmt.Errorf("make the vault: %w", err)
	}
	return durable.SyncDir(filepath.Dir(v.opt.File))
}

// discard removes a database that is not wanted, and what stands beside it.
func discard(file string) error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(file + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Rekey gives the vault a new KEK, which to holds; the key before it opens
// nothing that is in the file any more. It is one transaction: whenever the
// process ends, either the former key opens everything or the new one does.
func (v *Vault) Rekey(ctx context.Context, from, to Holder) error {
	leave, err := v.enter()
	if err != nil {
		return err
	}
	defer leave()
	v.tidy(ctx, from, to) // what it cannot do now stands in nobody's way
	was, err := v.active()
	if err != nil {
		return err
	}
	now := v.opt.Now().UTC().Format(time.RFC3339)
	k := kekRow{id: newID(), state: "coming", holder: to.Kind(), note: []byte{}}
	if p, ok := to.(placed); ok {
		k.note = p.Place()
	}
	// Noted before it is made, so that a key that is left over is found.
	if err := v.conn.Do("INSERT INTO kek VALUES(?, ?, ?, ?, ?, ?)", k.id, k.state, k.holder, k.note, []byte{}, now); err != nil {
		return of(err, "change the vault's key")
	}
	kek := newKey()
	defer ref.Wipe(kek)
	err = v.hand(ctx, to, &k, kek)
	if err == nil {
		err = v.turn(&was, &k, kek)
	}
	if err != nil {
		v.drop(ctx, &k, to) // or the next change does
		return err
	}
	if err := v.tidy(ctx, from, to); err != nil {
		return fmt.Errorf("the vault's key was changed; the former one opens nothing any more, and the next change or unlock forgets it: %w", err)
	}
	return nil
}

// placed is a holder whose notes are known before it makes a key, since they say
// where.
type placed interface{ Place() (note []byte) }

// state is that of one KEK in the file now; "" where it is not there.
func (v *Vault) state(id string) (state string, err error) {
	err = v.conn.Query(context.Background(), "SELECT state FROM kek WHERE id = ?", []driver.Value{id}, func(c []driver.Value) error {
		state, _ = c[0].(string)
		return nil
	})
	return state, of(err, "read the vault's keys")
}

// hand gives the KEK's wrapping key to its holder, and sees whether it comes back.
func (v *Vault) hand(ctx context.Context, to Holder, k *kekRow, kek []byte) error {
	key, note, err := to.Make(ctx, v.id, k.id)
	if err != nil {
		return err
	}
	defer ref.Wipe(key)
	k.note = note
	k.wrapped = sealKey(sealer(key), kek, k.with(v.id))
	back, err := v.open(ctx, to, k)
	if err != nil {
		return fmt.Errorf("the %s does not give back what it was given, so that nothing was changed: %w", to.Kind(), err)
	}
	ref.Wipe(back)
	return nil
}

// turn seals everything under the new KEK and makes it the one in use.
func (v *Vault) turn(was, k *kekRow, kek []byte) error {
	wrap := sealer(kek)
	var root []byte
	var all []row
	ctx := context.Background()
	rows := listing{}
	var next *keys
	err := v.change(func() error {
		err := v.conn.Query(ctx, "SELECT root FROM meta", nil, func(c []driver.Value) error {
			sealed, _ := c[0].([]byte)
			ok := false
			if root, ok = openKey(v.keys.wrap, sealed, bound("reeve vault root 1", v.id, was.id)); !ok {
				return damaged("its root does not belong to its key")
			}
			return nil
		})
		if err != nil {
			return err
		}
		defer ref.Wipe(root)
		next = newKeys(k.id, kek, root)
		err = v.conn.Query(ctx, "SELECT "+rowColumns+" FROM secret", nil, func(c []driver.Value) error { all = append(all, readRow(c)); return nil })
		if err != nil {
			return err
		}
		for i := range all {
			if err := v.rewrap(&all[i], k.id, next, rows); err != nil {
				return err
			}
		}
		counter := v.counter + 1
		return errors.Join(
			v.conn.Do("UPDATE kek SET state = 'going' WHERE id = ?", was.id),
			v.conn.Do("UPDATE kek SET state = 'active', note = ?, wrapped = ? WHERE id = ?", k.note, k.wrapped, k.id),
			v.conn.Do("UPDATE meta SET root = ?, counter = ?, mac = ?", sealKey(wrap, root, bound("reeve vault root 1", v.id, k.id)), counter, rows.mac(next, v.id, counter)))
	}, func() error {
		v.keys.wipe()
		v.keys, v.rows = next, rows
		v.counter++
		return v.writeHead(v.keys, v.counter)
	})
	return err
}

func (v *Vault) rewrap(r *row, kek string, next *keys, rows listing) error {
	if r.digest() != v.rows[r.name] {
		return damaged("the row of %s is not the one that was written", r.name)
	}
	key, ok := openKey(v.keys.wrap, r.wrapped, r.withKey(v.id))
	if !ok {
		return damaged("the key of %s does not open", r.name)
	}
	defer ref.Wipe(key)
	r.kek = kek
	r.wrapped = sealKey(next.wrap, key, r.withKey(v.id))
	rows[r.name] = r.digest()
	return v.conn.Do("UPDATE secret SET kek = ?, wrapped = ? WHERE service = ? AND key = ?", r.kek, r.wrapped, r.name.Service, r.name.Key)
}

// tidy forgets keys that were not, or are not any more, in use: a change of the
// key was cut off. What no holder at hand keeps stays noted for the next time.
func (v *Vault) tidy(ctx context.Context, holders ...Holder) error {
	all, err := v.keks()
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].state == "active" {
			continue
		}
		if err := v.drop(ctx, &all[i], holders...); err != nil {
			return err
		}
	}
	return nil
}

// drop forgets one key that is not in use, and its row where that worked. The
// caller holds the lock.
func (v *Vault) drop(ctx context.Context, k *kekRow, holders ...Holder) error {
	for _, h := range holders {
		if h.Kind() != k.holder {
			continue
		}
		if state, err := v.state(k.id); err != nil || state == "active" || state == "" {
			return err // the change went through, whatever was said of it
		}
		if err := h.Forget(ctx, v.id, k.id, k.note); err != nil {
			return fmt.Errorf("forget a former key of the vault: %w", err)
		}
		err := v.change(func() error { return v.conn.Do("DELETE FROM kek WHERE id = ? AND state <> 'active'", k.id) }, func() error { return nil })
		return err
	}
	return nil
}
