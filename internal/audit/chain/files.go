package chain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/reeve-gate/reeve/internal/durable"
)

// Files are the paths of one record.
type Files struct {
	Dir, DB, WAL, SHM, Head, Lock, Reserve string
	Start, Tree, Book, Key, Witnessed      string
}

// In names the files of the record in dir.
func In(dir string) Files {
	in := func(name string) string { return filepath.Join(dir, name) }
	return Files{dir, in("audit.db"), in("audit.db-wal"), in("audit.db-shm"), in("audit.head"), in("audit.lock"), in("audit.reserve"),
		in("audit.start"), in("audit.tree"), in("audit.checkpoints"), in("audit.key"), in("audit.witnessed")}
}

// FileID says which file a path led to.
type FileID struct{ dev, ino uint64 }

// Identify looks at path without opening it: closing a second descriptor of
// the database would drop the locks that SQLite holds on it (fcntl(2)).
func Identify(path string) (FileID, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return FileID{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return FileID{uint64(st.Dev), st.Ino}, nil // Dev is signed on other systems
}

// Exists reports whether something stands at path.
func Exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Private gives the files that exist their mode, by path and not by opening
// them.
func (f Files) Private() error {
	for _, path := range []string{f.DB, f.WAL, f.SHM, f.Head, f.Start, f.Tree, f.Book, f.Key, f.Witnessed} {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", path)
		}
		if info.Mode().Perm() != 0o600 {
			if err := os.Chmod(path, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// Create makes the anchor and an empty database, in this order: a database
// without an anchor is therefore never our own doing.
func (f Files) Create() error {
	if err := NewAnchor(f.Head); err != nil {
		return fmt.Errorf("make the anchor: %w", err)
	}
	db, err := os.OpenFile(f.DB, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	if err := errors.Join(db.Chmod(0o600), db.Sync(), db.Close()); err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return durable.SyncDir(f.Dir)
}

// ReserveSize, in bytes, is given up when the disk is full. A row with its index entries
// takes under 200 KiB at the bounds, so the failure and the outcomes of what
// still runs have room.
const ReserveSize = 4 << 20

// MakeReserve sets the space aside where it is not already.
func (f Files) MakeReserve() error {
	if info, err := os.Lstat(f.Reserve); err == nil && info.Mode().IsRegular() && info.Size() == ReserveSize {
		return nil
	}
	r, err := os.OpenFile(f.Reserve, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	err = r.Chmod(0o600)
	zeros := make([]byte, 256<<10)
	for n := 0; n < ReserveSize && err == nil; n += len(zeros) {
		_, err = r.Write(zeros)
	}
	if err = errors.Join(err, r.Close()); err != nil {
		os.Remove(f.Reserve)
	}
	return err
}

// PutAside renames what is there. The anchor goes last: until then a start
// still finds the record broken.
func (f Files) PutAside(mark string) error {
	for _, move := range [][2]string{
		{f.WAL, f.DB + mark + "-wal"}, // the name under which SQLite looks for it
		{f.SHM, f.DB + mark + "-shm"},
		{f.DB, f.DB + mark},
		{f.Start, f.Start + mark},
		{f.Tree, f.Tree + mark},
		{f.Book, f.Book + mark},
		{f.Key, f.Key + mark},
		{f.Witnessed, f.Witnessed + mark},
		{f.Head, f.Head + mark},
	} {
		if err := os.Rename(move[0], move[1]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return durable.SyncDir(f.Dir)
}
