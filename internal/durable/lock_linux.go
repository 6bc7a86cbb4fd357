package durable

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Open file description locks belong to the open file, not to the process:
// they exclude a second holder in the same process, a closed copy does not
// drop them, and F_OFD_GETLK looks without taking (fcntl(2), Linux 3.15).

func whole(kind int16) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Whence: io.SeekStart}
}

func take(f *os.File) error {
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, whole(unix.F_WRLCK))
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrLocked
	}
	return err
}

func held(f *os.File) (bool, error) {
	lk := whole(unix.F_WRLCK)
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, lk)
	return lk.Type != unix.F_UNLCK, err
}
