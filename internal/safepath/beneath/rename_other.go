//go:build unix && !linux

package beneath

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// RenameNew moves a name from one directory to another where nothing stands
// at the new name. Looking and moving are two steps here.
func RenameNew(from Dir, old string, to Dir, name string) error {
	return between(from, to, func(a, b int) error {
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
