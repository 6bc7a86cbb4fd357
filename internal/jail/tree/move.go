package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of what is copied where a rename cannot cross file systems.
const (
	maxMoveBytes = 256 << 20
	maxMoveFiles = 20000
)

// MoveOut moves what stands at rel below root to the path to, which must be
// free. The directory that holds it is opened without leaving root, so that a
// link planted on the way leads nowhere. Where the owner took the rights away
// from a directory, to be left alone, they are given back first; on another
// file system it is copied and removed.
func MoveOut(root *os.Root, rel, to string) error {
	err := renameOut(root, rel, to)
	if errors.Is(err, fs.ErrPermission) {
		loosenPath(root, rel)
		err = renameOut(root, rel, to)
	}
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	loosenPath(root, rel)
	if err := Copy(root, rel, to); err != nil {
		return errors.Join(err, os.RemoveAll(to))
	}
	return root.RemoveAll(rel)
}

func renameOut(root *os.Root, rel, to string) error {
	parent, err := root.Open(filepath.Dir(rel))
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Renameat(int(parent.Fd()), filepath.Base(rel), unix.AT_FDCWD, to)
}

// Aside renames what stands at rel below root to a name beside it that no
// program looks for, and returns that name: for what cannot be moved out.
func Aside(root *os.Root, rel string) (string, error) {
	base := filepath.Base(rel)
	if len(base) > 200 {
		base = base[:200]
	}
	for n := range 100 {
		to := filepath.Join(filepath.Dir(rel), fmt.Sprintf("%s.quarantined-by-reeve-%d", base, n))
		if _, err := root.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return to, root.Rename(rel, to)
		}
	}
	return "", fmt.Errorf("set %s aside: %w", rel, fs.ErrExist)
}

// loosenPath gives the owner all rights to rel and to the directories above it
// below root, as far as they are directories.
func loosenPath(root *os.Root, rel string) {
	for i := 0; i <= len(rel); i++ {
		if i == len(rel) || rel[i] == '/' {
			loosenIn(root, rel[:i])
		}
	}
}

func loosenIn(root *os.Root, dir string) {
	if info, err := root.Lstat(dir); err == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
		_ = root.Chmod(dir, info.Mode().Perm()|0o700) // what needs it fails and says so
	}
}

// Copy copies what stands at rel below root to the path to: files, directories
// and links; anything else is left out.
func Copy(root *os.Root, rel, to string) error {
	var bytes int64
	files := 0
	return fs.WalkDir(root.FS(), filepath.ToSlash(rel), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(rel, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, below)
		if files++; files > maxMoveFiles || bytes > maxMoveBytes {
			return fmt.Errorf("more than %d files or %d bytes on another file system", maxMoveFiles, maxMoveBytes)
		}
		switch {
		case e.IsDir():
			loosenIn(root, path)
			return os.MkdirAll(dst, 0o700)
		case e.Type()&fs.ModeSymlink != 0:
			target, err := root.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, dst)
		case e.Type().IsRegular():
			n, err := copyFile(root, path, dst)
			bytes += n
			return err
		}
		return nil
	})
}

func copyFile(root *os.Root, path, dst string) (int64, error) {
	in, err := root.Open(path)
	if errors.Is(err, fs.ErrPermission) && root.Chmod(path, 0o600) == nil {
		in, err = root.Open(path)
	}
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxMoveBytes+1))
	return n, errors.Join(err, out.Close())
}

// PointedTo reads the path that a one-line file holds behind a prefix; a
// relative one stands below the directory of the file.
func PointedTo(file, prefix string) string {
	text, err := ReadSmall(file, 2*MaxPath)
	if err != nil {
		return ""
	}
	line, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	line = strings.TrimPrefix(line, " ")
	if !ok || line == "" || strings.ContainsAny(line, "\n\x00") {
		return ""
	}
	if !filepath.IsAbs(line) {
		line = filepath.Join(filepath.Dir(file), line)
	}
	return filepath.Clean(line)
}
