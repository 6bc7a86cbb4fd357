package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MkdirAll makes dir and whatever is missing above it, each with exactly mode
// 0700, and makes the new names survive a crash (contract M27). A directory
// that exists is left as it is; see [Private].
func MkdirAll(dir string) error {
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return fmt.Errorf("make directory %s: a %s stands there", dir, kind(info.Mode()))
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) { // another process was quicker
			return nil
		}
		return fmt.Errorf("make directory: %w", err)
	}
	if err := exactly(dir, 0o700); err != nil {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	return SyncDir(parent)
}

// exactly gives a directory back the owner's bits that a umask took away.
func exactly(dir string, perm fs.FileMode) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm() == perm {
		return nil
	}
	return os.Chmod(dir, perm)
}

// Private makes dir as [MkdirAll] does and then holds it to the promise that
// only this user enters it: a looser mode is set to 0700; a directory of
// another user, or a symbolic link, is refused.
func Private(dir string) error {
	if err := MkdirAll(dir); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("make %s private: %w", dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("make %s private: it is a %s, not a directory", dir, kind(info.Mode()))
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("make %s private: it belongs to user %d, not to you; choose another directory", dir, st.Uid)
	}
	if err := exactly(dir, 0o700); err != nil {
		return fmt.Errorf("make %s private: %w", dir, err)
	}
	return nil
}
