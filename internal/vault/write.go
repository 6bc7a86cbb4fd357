package vault

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// exclusive keeps other processes from changing the vault.
func (v *Vault) exclusive() (unlock func(), err error) {
	path := v.opt.File + ".lock"
	for deadline := time.Now().Add(lockFor); ; time.Sleep(5 * time.Millisecond) {
		l, err := durable.TryLock(path)
		switch {
		case err == nil:
			return func() { l.Close() }, nil
		case !errors.Is(err, durable.ErrLocked):
			return nil, fmt.Errorf("change the vault: %w", err)
		case time.Now().After(deadline):
			return nil, fmt.Errorf("change the vault: %w", ErrBusy)
		}
	}
}

// lockFor is how long another process may take to change the vault.
const lockFor = 5 * time.Second

// change runs do in one transaction and then what follows the commit, with
// every other process kept out. The caller holds the lock, or there is nobody
// else.
func (v *Vault) change(do, after func() error) error {
	if err := v.conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return of(err, "change the vault")
	}
	err := v.ours() // again: a trigger that was put there meanwhile would run
	if err == nil {
		err = do()
	}
	if err == nil {
		err = v.conn.Exec("COMMIT")
	}
	if err != nil {
		v.conn.Exec("ROLLBACK")
		return of(err, "change the vault")
	}
	if err := after(); err != nil {
		return err
	}
	// What the log still holds of former rows is gone now, or with the next
	// change: a reader of another process may stand in the way.
	v.conn.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return nil
}

// enter begins a change: nobody else's is under way, here or in another process,
// and what is known is what the file holds. leave ends it.
func (v *Vault) enter() (leave func(), err error) {
	v.mu.Lock()
	unlock, err := v.exclusive()
	if err != nil {
		v.mu.Unlock()
		return nil, err
	}
	leave = func() {
		unlock()
		v.mu.Unlock()
	}
	if v.Replaced() {
		err = fmt.Errorf("%w: %s", ErrReplaced, v.opt.File)
	} else if err = v.fresh(true); err == nil {
		err = v.firstHead()
	}
	if err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// write is one change of secrets: do changes rows and tells with set, or nil.
func (v *Vault) write(do func() error) error {
	leave, err := v.enter()
	if err != nil {
		return err
	}
	defer leave()
	before, rows := v.counter, v.rows
	v.rows = make(listing, len(rows)+1)
	for n, d := range rows {
		v.rows[n] = d
	}
	err = v.change(func() error {
		if err := do(); err != nil {
			return err
		}
		v.counter = before + 1
		return v.conn.Do("UPDATE meta SET counter = ?, mac = ?", v.counter, v.rows.mac(v.keys, v.id, v.counter))
	}, func() error { before = v.counter; rows = v.rows; return v.writeHead(v.keys, v.counter) })
	v.counter, v.rows = before, rows
	return err
}

// How says what Put may do.
type How int

// A secret that is there is refused by New; one that is not there by Replace.
const (
	New How = iota
	Replace
	Either
)

// Put seals a value and keeps it, as a new version where one was there. It is
// durable when Put returns; the version before is gone. The value stays the caller's.
func (v *Vault) Put(n ref.Name, value []byte, how How, origin string) (version int64, err error) {
	if len(value) == 0 || len(value) > MaxValue {
		return 0, fmt.Errorf("a value has 1 to %d bytes, this one %d", MaxValue, len(value))
	}
	err = v.write(func() error {
		was, there, _, err := v.row(n)
		switch {
		case err != nil:
			return err
		case there && how == New:
			return fmt.Errorf("%s: %w", n, ErrThere)
		case !there && how == Replace:
			return fmt.Errorf("%s: %w", n, ErrAbsent)
		}
		version = was.version + 1
		r := v.sealRow(row{name: n, version: version, origin: origin, created: v.opt.Now().UTC().Format(time.RFC3339)}, value)
		v.rows[n] = r.digest()
		return v.conn.Do("INSERT OR REPLACE INTO secret("+rowColumns+") VALUES(?,?,?,?,?,?,?,?)", r.values()...)
	})
	return version, err
}

// sealRow seals a value under a data key of its own.
func (v *Vault) sealRow(r row, value []byte) row {
	key := newKey()
	defer ref.Wipe(key)
	r.kek = v.keys.kek
	r.wrapped = sealKey(v.keys.wrap, key, r.withKey(v.id))
	r.sealed = sealer(key).Seal(nil, nil, value, r.withValue(v.id))
	return r
}

// Remove takes a secret out.
func (v *Vault) Remove(n ref.Name) error {
	return v.write(func() error {
		if _, there := v.rows[n]; !there {
			return fmt.Errorf("%s: %w", n, ErrAbsent)
		}
		delete(v.rows, n)
		return v.conn.Do("DELETE FROM secret WHERE service = ? AND key = ?", n.Service, n.Key)
	})
}

// private makes the directory of a file ours alone.
func private(file string) error { return durable.Private(filepath.Dir(file)) }
