package durable

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// MaxBackups bounds how many former contents [WriteFileBackup] keeps.
const MaxBackups = 9

// WriteFile makes data the whole content of path, with exactly the mode perm
// (contract Y100, Y102, M27). It returns nil only when the content is on disk.
//
// A symbolic link at path is replaced, not followed: resolve it first where
// the target is meant. A directory at path is refused. On error the former
// file is as it was, and no temporary file is left; what a kill left is taken
// away by a later write.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	f, err := stage(path, data, perm)
	if err != nil {
		return err
	}
	defer f.drop()
	f.folder.sweep(f.name, staleAfter)
	return f.commit()
}

// WriteFileBackup is [WriteFile] for a file that a person writes too: it first
// keeps the former content, as backup.bak, the one before as backup.bak.2 and
// so on up to backup.bak.KEEP (contract Y102). keep is between 1 and
// [MaxBackups]; there is no moment in which path itself is missing. backup is
// path, or where the person looks for it if path is the end of a link. Backups
// are 0600, whatever the file is: what is no longer in it may be a secret.
func WriteFileBackup(path string, data []byte, perm fs.FileMode, backup string, keep int) error {
	if keep < 1 || keep > MaxBackups {
		return fmt.Errorf("write %s: %d backups; between 1 and %d can be kept", path, keep, MaxBackups)
	}
	f, err := stage(path, data, perm)
	if err != nil {
		return err
	}
	defer f.drop()
	f.folder.sweep(f.name, staleAfter)
	if err := rotate(path, backup, keep); err != nil {
		return fmt.Errorf("write %s: keep a backup: %w", path, err)
	}
	return f.commit()
}

// staleAfter is how old a temporary file is at least that nobody writes any more.
const staleAfter = time.Hour

// step is told of each step of a write; tests end the process there.
var step = func(string) {}

// folder is an open directory. What is written into it stays in it, whatever
// takes its place at its path meanwhile.
type folder struct {
	root *os.Root
	path string
}

func openFolder(path string) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &folder{root, path}, nil
}

// sync makes the names in the folder survive a power cut, and fails where the
// path leads to another folder by now: what was written would not be found.
func (d *folder) sync() error {
	dir, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	ours, err := dir.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	if !os.SameFile(ours, now) {
		return fmt.Errorf("%s was replaced by another directory meanwhile; try again", d.path)
	}
	return nil
}

// sweep removes the temporary files of a name that are older than age: their
// writer was killed.
func (d *folder) sweep(name string, age time.Duration) {
	for _, temp := range d.orphans(name) {
		if info, err := d.root.Lstat(temp); err == nil && time.Since(info.ModTime()) >= age {
			d.root.Remove(temp)
		}
	}
}

// orphans are the temporary files of a name.
func (d *folder) orphans(name string) (all []string) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxNames)
	for _, n := range names {
		rest, ok := strings.CutPrefix(n, "."+name+".")
		mark, end := strings.CutSuffix(rest, tempEnd)
		if raw, err := hex.DecodeString(mark); ok && end && err == nil && len(raw) == markSize {
			all = append(all, n)
		}
	}
	return all
}

const (
	tempEnd  = ".tmp"
	markSize = 8
	maxNames = 10_000 // of a directory are looked at; ours hold fewer
)

// mark makes a temporary name one that nobody can guess; tests know it.
var mark = func() string {
	var b [markSize]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// staged is a content that is on disk under a name of the moment.
type staged struct {
	folder *folder
	name   string // to be
	temp   string // "" = no longer there
}

// stage writes data beside path.
func stage(path string, data []byte, perm fs.FileMode) (*staged, error) {
	if perm&^fs.ModePerm != 0 {
		return nil, fmt.Errorf("write %s: mode %v is no plain permission", path, perm)
	}
	d, err := openFolder(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	s := &staged{folder: d, name: filepath.Base(path)}
	if err := s.fill(data, perm); err != nil {
		s.drop()
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return s, nil
}

func (s *staged) fill(data []byte, perm fs.FileMode) error {
	f, err := s.create()
	if err != nil {
		return err
	}
	step("made")
	_, err = f.Write(data)
	if step("written"); err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	step("synced")
	return errors.Join(err, f.Close())
}

// create makes a file that was not there: a link that waits under its name is
// passed by.
func (s *staged) create() (f *os.File, err error) {
	for range 100 {
		s.temp = "." + s.name + "." + mark() + tempEnd
		if f, err = s.folder.root.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil || !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		s.temp = "" // it is not ours to remove
	}
	return f, err
}

// place gives the content its name.
func (s *staged) place() error {
	if err := s.folder.root.Rename(s.temp, s.name); err != nil {
		return err
	}
	s.temp = ""
	step("renamed")
	return nil
}

func (s *staged) commit() error {
	err := s.place()
	if err == nil {
		err = s.folder.sync()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(s.folder.path, s.name), err)
	}
	step("done")
	return nil
}

// drop ends a staged write; one that was not committed leaves nothing.
func (s *staged) drop() {
	if s.temp != "" {
		s.folder.root.Remove(s.temp)
	}
	s.folder.root.Close()
}

// rotate keeps backup.bak as backup.bak.2 and so on, then path as backup.bak. A
// kill at any moment leaves every name with a whole content.
func rotate(path, backup string, keep int) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is a %s, not a regular file", kind(info.Mode()))
	}
	for i := keep; i > 1; i-- {
		former, err := os.ReadFile(backupName(backup, i-1))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = WriteFile(backupName(backup, i), former, 0o600)
		}
		if err != nil {
			return err
		}
	}
	former, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return WriteFile(backupName(backup, 1), former, 0o600)
}

func backupName(path string, i int) string {
	if i == 1 {
		return path + ".bak"
	}
	return path + ".bak." + strconv.Itoa(i)
}

// SyncDir makes the names in dir survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	}
	return "special file"
}

// readAll reads at most max bytes; more is an error.
func readAll(r io.Reader, max int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	if err == nil && int64(len(data)) > max {
		err = fmt.Errorf("it has more than %d bytes", max)
	}
	return data, err
}
