package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Faults of a [File].
var (
	// ErrNotRead says that a file was to be written whose content nobody has
	// read: an empty state never takes the place of one that cannot be read.
	ErrNotRead = errors.New("it was not read before, and is left as it is")
	// ErrDamaged says that neither a file nor its backup can be read.
	ErrDamaged = errors.New("damaged, and so is its backup or there is none")
	// ErrForm says that a file is whole and yet not what its reader knows: a
	// later version of Reeve, or a person, wrote it. Its backup is not taken: it
	// may be looser than what was meant.
	ErrForm = errors.New("whole, but not of a form that this version reads, and left as it is")
	// ErrChanged says that somebody else wrote the file since it was read.
	ErrChanged = errors.New("it was changed by another program meanwhile; read it again")
)

// File is one file of state that only Reeve writes, with a backup beside it
// (contract Y100, Y102 to Y105).
//
// The backup, path.bak, is no older content but the same one: each write puts
// both on disk, the backup first, and only then renames them into place. A
// damaged or missing file is therefore taken from a backup that is as new as
// it or newer by the one write that was cut off. Going back to an older state
// would trust again what a person trusts no more.
//
// Damage is what is no whole JSON. Content that is, and that Check refuses all
// the same, somebody meant ([ErrForm]): it is neither replaced nor passed by.
//
// [File.Read] comes before [File.Write]; until it has succeeded nothing is
// written. Writes of one file come one after another, in this process and
// between processes; those of different files do not wait for each other. A
// File is safe for concurrent use.
type File struct {
	Path  string
	Max   int64              // bytes; more is damage
	Check func([]byte) error // says what is wrong with a content, which is JSON; required
	Told  func(note string)  // is told, for a person, where the backup had to be taken; nil = nobody

	mu    sync.Mutex // guards what follows, and the file
	read  bool
	there bool
	known [sha256.Size]byte // digest of what was read or written last
}

// Damage is the suffix of what is kept of a damaged file for a person.
const Damage = ".damaged"

// lockWait bounds the wait for another process that writes.
const lockWait = 3 * time.Second

// Read gives the content, nil where there is none. An error leaves the File as
// one that was not read.
func (f *File) Read() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hydrate()
}

func (f *File) hydrate() (data []byte, err error) {
	f.read = false
	data, err = f.load(f.Path)
	switch {
	case err == nil:
		f.settle(data)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errContent):
		if data, err = f.recover(err); err != nil {
			return nil, err
		}
		if data == nil {
			f.settle(nil)
		}
	default:
		return nil, fmt.Errorf("read %s: %w", f.Path, err)
	}
	f.saw(data)
	return data, nil
}

func (f *File) saw(data []byte) {
	f.read, f.there, f.known = true, data != nil, sha256.Sum256(data)
}

// errContent marks what is wrong with a content, not with the way to it.
var errContent = errors.New("its content is damaged")

// load reads and checks one of the two files. One that others can write, or
// that belongs to somebody else, is not read.
func (f *File) load(path string) ([]byte, error) {
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errors.New("it is a symbolic link, not a regular file")
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is a %s, not a regular file", kind(info.Mode()))
	case ok && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("it belongs to user %d, not to you", st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("others may write it (mode %04o); look at it, then reeve doctor --mend", info.Mode().Perm())
	}
	data, err := readAll(in, f.Max)
	if err == nil {
		if err = f.Check(data); err != nil && json.Valid(data) {
			return nil, fmt.Errorf("%w: %w; mend it, or remove it and %s to begin without", ErrForm, err, filepath.Base(f.backup()))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errContent, err)
	}
	return data, nil
}

// recover takes the content from the backup. fault is what is wrong with the
// file itself.
func (f *File) recover(fault error) (data []byte, err error) {
	data, err = f.load(f.backup())
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && errors.Is(fault, fs.ErrNotExist):
		return nil, nil
	default:
		return nil, fmt.Errorf("%s: %w (%v; %v); mend it, or remove it and %s to begin without", f.Path, ErrDamaged, fault, err, filepath.Base(f.backup()))
	}
	note := f.Path + " was missing and was taken from its backup"
	if !errors.Is(fault, fs.ErrNotExist) {
		note = fmt.Sprintf("%s was damaged (%v) and was taken from its backup; the damaged one is kept as %s", f.Path, fault, filepath.Base(f.Path)+Damage)
	}
	if err := f.restore(data); err != nil {
		note += fmt.Sprintf("; it cannot be written back: %v", err)
	}
	if f.Told != nil {
		f.Told(note)
	}
	return data, nil
}

func (f *File) restore(data []byte) error {
	l, err := f.lock()
	if err != nil {
		return err
	}
	defer l.Close()
	switch _, err := f.load(f.Path); {
	case err == nil: // another process was quicker
		return nil
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errContent):
		return err
	}
	if err := os.Rename(f.Path, f.Path+Damage); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	os.Chmod(f.Path+Damage, 0o600)
	return WriteFile(f.Path, data, 0o600)
}

// settle brings to an end what a kill cut off: it takes temporary files away,
// and makes the backup the same as the file, if there is one. What cannot be
// done now is done at the next write.
func (f *File) settle(data []byte) {
	d, err := openFolder(filepath.Dir(f.Path))
	if err != nil {
		return
	}
	defer d.root.Close()
	name, backup := filepath.Base(f.Path), filepath.Base(f.backup())
	if len(d.orphans(name)) == 0 && len(d.orphans(backup)) == 0 && (data == nil || f.backed(data)) {
		return
	}
	l, err := TryLock(f.Path + lockEnd)
	if err != nil {
		return
	}
	defer l.Close()
	d.sweep(name, 0)
	d.sweep(backup, 0)
	if now, err := f.load(f.Path); err == nil && data != nil && bytes.Equal(now, data) {
		_ = WriteFile(f.backup(), data, 0o600)
	}
}

// backed reports whether the backup has this content.
func (f *File) backed(data []byte) bool {
	same, err := f.load(f.backup())
	return err == nil && bytes.Equal(same, data)
}

// Change reads the content, has a new one made of it and writes that. Where
// another process writes in between, it begins again; change may therefore be
// called several times, and only the writers of this file in this process wait for it.
func (f *File) Change(change func(old []byte) ([]byte, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for tries := 0; ; tries++ {
		old, err := f.hydrate()
		if err != nil {
			return err
		}
		data, err := change(old)
		if err != nil {
			return err
		}
		if err = f.write(data); err == nil {
			f.saw(data)
			return nil
		}
		if !errors.Is(err, ErrChanged) || tries == maxTries {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
}

// Put makes data the content, whatever it was; like [File.Change] it leaves a
// file that cannot be read as it is.
func (f *File) Put(data []byte) error {
	return f.Change(func([]byte) ([]byte, error) { return data, nil })
}

// maxTries is how often another process may be quicker.
const maxTries = 1000

// Write makes data the content. It returns nil only when it is on disk. On an
// error the file is as it was; where only the last sync failed, a later Write
// may find it changed.
func (f *File) Write(data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.write(data); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	f.saw(data)
	return nil
}

func (f *File) write(data []byte) error {
	if !f.read {
		return ErrNotRead
	}
	if err := f.Check(data); err != nil || int64(len(data)) > f.Max {
		return fmt.Errorf("it could not be read again: %d bytes, %v", len(data), err)
	}
	l, err := f.lock()
	if err != nil {
		return err
	}
	defer l.Close()
	if err := f.same(); err != nil {
		return err
	}
	backup, err := stage(f.backup(), data, 0o600)
	if err != nil {
		return err
	}
	defer backup.drop()
	main, err := stage(f.Path, data, 0o600)
	if err != nil {
		return err
	}
	defer main.drop()
	if err := backup.place(); err != nil {
		return err
	}
	return main.commit()
}

// same reports whether the file is still what was read or written last.
func (f *File) same() error {
	now, err := f.load(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !f.there:
		return nil
	case err == nil && f.there && sha256.Sum256(now) == f.known:
		return nil
	}
	f.read = false
	return ErrChanged
}

// Remove takes the file away with everything of it, also where it was never
// read. The backup goes first: cut off in between, the file still stands.
func (f *File) Remove() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := os.Lstat(filepath.Dir(f.Path)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	l, err := f.lock()
	if err != nil {
		return fmt.Errorf("remove %s: %w", f.Path, err)
	}
	defer l.Close()
	for _, path := range []string{f.backup(), f.Path, f.Path + Damage, f.Path + lockEnd} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove: %w", err)
		}
		step("removed")
	}
	f.saw(nil)
	return SyncDir(filepath.Dir(f.Path))
}

func (f *File) backup() string { return f.Path + ".bak" }

const lockEnd = ".lock"

// lock waits until no other process writes. The lock counts for the file that
// stands at its path: one that was removed while we waited locks nobody out.
func (f *File) lock() (*Lock, error) {
	for begun := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		l, err := TryLock(f.Path + lockEnd)
		switch {
		case err == nil && l.stands(f.Path+lockEnd):
			return l, nil
		case err == nil:
			l.Close()
		case !errors.Is(err, ErrLocked):
			return nil, err
		}
		if time.Since(begun) > lockWait {
			return nil, fmt.Errorf("%w for longer than %s; try again", ErrLocked, lockWait)
		}
	}
}

// stands reports whether the lock's file is the one at path.
func (l *Lock) stands(path string) bool {
	ours, err := l.f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, now)
}
