package beneath

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// RenameNew moves a name from one directory to another where nothing stands
// at the new name. The kernel does both in one step; a file system that cannot
// (EINVAL from older FUSE and NFS) gets a look first.
func RenameNew(from Dir, old string, to Dir, name string) error {
	return between(from, to, func(a, b int) error {
		err := unix.Renameat2(a, old, b, name, unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
			return err
		}
		if _, err := to.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fs.ErrExist
		}
		return unix.Renameat(a, old, b, name)
	})
}

// between calls f with descriptors of both directories.
func between(from, to Dir, f func(a, b int) error) error {
	var fds [2]*os.File
	for i, d := range []Dir{from, to} {
		h, err := d.Open(".")
		if err != nil {
			return err
		}
		defer h.Close()
		fds[i] = h
	}
	return f(int(fds[0].Fd()), int(fds[1].Fd()))
}
