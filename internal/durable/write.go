package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// MaxBackups bounds how many former contents [WriteFileBackup] keeps.
const MaxBackups = 9

// WriteFile makes data the whole content of path, with exactly the mode perm
// (contract Y100, Y102, M27). It returns nil only when the content is on disk.
//
// A symbolic link at path is replaced, not followed: resolve it first where
// the target is meant. A directory at path is refused. On error the former
// file is as it was, and no temporary file is left.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return WriteFileBackup(path, data, perm, 0)
}

// WriteFileBackup is [WriteFile] that first keeps the former content: as
// path.bak, the one before as path.bak.2 and so on up to path.bak.KEEP
// (contract Y102). keep is between 0 and [MaxBackups]; there is no moment in
// which path itself is missing. Backups keep the mode of what they were.
func WriteFileBackup(path string, data []byte, perm fs.FileMode, keep int) (err error) {
	if perm&^fs.ModePerm != 0 {
		return fmt.Errorf("write %s: mode %v is no plain permission", path, perm)
	}
	if keep < 0 || keep > MaxBackups {
		return fmt.Errorf("write %s: %d backups; between 0 and %d can be kept", path, keep, MaxBackups)
	}
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if err := fill(tmp, data, perm); err != nil {
		return err
	}
	if keep > 0 {
		if err := backup(path, keep); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// fill writes, sets the mode, syncs and closes f, whatever fails on the way.
func fill(f *os.File, data []byte, perm fs.FileMode) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// backup keeps path.bak as path.bak.2 and so on, then path as path.bak. A kill
// at any moment leaves every name with a whole content.
func backup(path string, keep int) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("keep a backup: it is a %s, not a regular file", kind(info.Mode()))
	}
	for i := keep; i > 1; i-- {
		err := also(backupName(path, i-1), backupName(path, i))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep a backup: %w", err)
		}
	}
	if err := also(path, backupName(path, 1)); err != nil {
		return fmt.Errorf("keep a backup: %w", err)
	}
	return nil
}

// also makes to a further name for the file from, replacing what had it. A
// second name costs nothing and cannot be half done; file systems without
// hard links get a copy.
func also(from, to string) error {
	tmp, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // rename leaves it where both are one file already
	if err := tmp.Close(); err != nil {
		return err
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.Remove(tmp.Name()); err != nil {
		return err
	}
	if os.Link(from, tmp.Name()) != nil {
		if err := copyFile(from, tmp.Name(), info.Mode().Perm()); err != nil {
			return err
		}
	}
	return os.Rename(tmp.Name(), to)
}

func backupName(path string, i int) string {
	if i == 1 {
		return path + ".bak"
	}
	return path + ".bak." + strconv.Itoa(i)
}

func copyFile(from, to string, perm fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return fill(out, data, perm)
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
