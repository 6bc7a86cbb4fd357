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
// missing; what is no regular file is refused. It never waits: [ErrLocked] where
// somebody else holds it. The file stays behind when the lock is given up;
// removing it would let two holders in.
func TryLock(path string) (*Lock, error) {
	f, err := openLock(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), take(f)); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// openLock opens the file of a lock and nothing else: not what a link leads to,
// and no pipe, which would keep us waiting for its other end.
func openLock(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link, not a regular file; remove it", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is a %s, not a regular file; remove it", path, kind(info.Mode()))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Hold takes the lock on a file that is open already, and changes nothing of it:
// one that lies with others. It never waits.
func Hold(f *os.File) error { return take(f) }

// Close gives the lock up.
func (l *Lock) Close() error { return l.f.Close() }

// Locked reports whether somebody holds the lock on path. It needs only
// permission to read, makes no file and takes no lock itself where the system
// allows that.
func Locked(path string) (bool, error) {
	f, err := openLock(path, os.O_RDONLY)
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
