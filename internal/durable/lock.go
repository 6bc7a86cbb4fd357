package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrLocked says that another holder has the lock.
var ErrLocked = errors.New("held by another process")

// Lock is a lock on a file, held until [Lock.Close] or the end of the
// process, however it ends. Two holders exclude each other within one process
// too.
type Lock struct{ f *os.File }

// TryLock takes the lock on path, making the file (mode 0600) where it is
// missing; a symbolic link there is refused. It never waits: [ErrLocked] where
// somebody else holds it. The file stays behind when the lock is given up;
// removing it would let two holders in.
func TryLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), take(f)); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// Close gives the lock up.
func (l *Lock) Close() error { return l.f.Close() }

// Locked reports whether somebody holds the lock on path. It needs only
// permission to read, makes no file and takes no lock itself where the system
// allows that.
func Locked(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at lock: %w", err)
	}
	defer f.Close()
	held, err := held(f)
	if err != nil {
		return false, fmt.Errorf("look at lock %s: %w", path, err)
	}
	return held, nil
}
