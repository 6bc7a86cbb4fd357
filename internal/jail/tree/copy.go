package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of what is copied where a rename cannot cross file systems.
const (
	maxMoveBytes = 256 << 20
	maxMoveFiles = 20000
)

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
