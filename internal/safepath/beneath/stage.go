package beneath

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MaxStage is the most bytes that are staged.
const MaxStage = 10_000_000

// Staged is a file that is written and flushed beside the one it will
// replace, under a name that nobody can guess.
type Staged struct {
	in   Dir
	name string
	temp string
	old  fs.FileInfo // what stands at name; nil where nothing does
	like fs.FileInfo // whose mode and owner the file takes
}

// Stage writes text beside name; like, which may be nil, lends its mode and
// owner where nothing stands at name. A file there keeps its permission bits
// and its owner; a symbolic link there is replaced and lends neither. A new
// file gets mode 0644 less the umask. More than MaxStage bytes, a directory, a read-only file and a file with further hard links (which may
// be another name of a credential) are refused.
func (d Dir) Stage(name string, text []byte, like fs.FileInfo) (*Staged, error) {
	rel := filepath.Join(d.rel, name)
	if len(text) > MaxStage {
		return nil, fmt.Errorf("%s would have %d bytes; at most 10 MB are written", rel, len(text))
	}
	s := &Staged{in: d, name: name, like: like}
	old, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return nil, Error(rel, err)
	case old.IsDir():
		return nil, fmt.Errorf("%s is a directory", rel)
	case old.Mode()&fs.ModeSymlink != 0:
	case !old.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file (%s)", rel, old.Mode().Type())
	case old.Mode()&0o200 == 0:
		return nil, fmt.Errorf("%s is read-only (mode %04o)", rel, old.Mode().Perm())
	case Links(old) > 1:
		return nil, fmt.Errorf("%s has %d hard links; a change would have to reach the others too, so that it is refused: remove it and write it anew", rel, Links(old))
	}
	if s.old = old; old != nil {
		s.like = old
	}
	f, err := s.create()
	if err != nil {
		return nil, Error(rel, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, s.keep(f), f.Sync(), f.Close())
	if err != nil {
		s.Discard()
		return nil, Error(rel, err)
	}
	return s, nil
}

// create makes the temporary file: exclusively, readable by others only where
// the file it becomes will be.
func (s *Staged) create() (*os.File, error) {
	var random [12]byte
	rand.Read(random[:])
	s.temp = ".reeve-" + hex.EncodeToString(random[:]) + ".tmp"
	perm := fs.FileMode(0o644)
	if s.keeps() {
		perm = 0o600
	}
	return s.in.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// keeps reports whether there is a file whose mode and owner are taken.
func (s *Staged) keeps() bool { return s.like != nil && s.like.Mode().IsRegular() }

// keep gives the new file the mode and the owner of the other.
func (s *Staged) keep(f *os.File) error {
	if !s.keeps() {
		return nil
	}
	was, ok := s.like.Sys().(*syscall.Stat_t)
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if is, fine := now.Sys().(*syscall.Stat_t); ok && fine && (was.Uid != is.Uid || was.Gid != is.Gid) {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("it belongs to another user or group, which cannot be kept: %w", err)
		}
	}
	return f.Chmod(s.like.Mode().Perm())
}

// Same refuses when the file is no longer the one that was read.
func (s *Staged) Same(read fs.FileInfo) error {
	if s.old == nil || !os.SameFile(s.old, read) || !s.old.ModTime().Equal(read.ModTime()) || s.old.Size() != read.Size() {
		return fmt.Errorf("%s changed while it was edited; read it again", filepath.Join(s.in.rel, s.name))
	}
	return nil
}

// Commit puts the file in its place; CommitNew only where nothing stands.
func (s *Staged) Commit() error { return s.settle(s.in.Rename(s.temp, s.name)) }

func (s *Staged) CommitNew() error { return s.settle(RenameNew(s.in, s.temp, s.in, s.name)) }

func (s *Staged) settle(err error) error {
	if err != nil {
		s.Discard()
		return Error(filepath.Join(s.in.rel, s.name), err)
	}
	return s.in.Flush()
}

func (s *Staged) Discard() { s.in.Remove(s.temp) }
