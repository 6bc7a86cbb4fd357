package probe

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// folderName begins the name of each probe's folder.
const folderName = "reeve-probe-"

// folder makes the folder of one probe in dir. It is locked until end, which
// removes it; the lock goes with the process however that ends, and tells a
// folder that is in use from one that was left.
func folder(dir string) (base string, end func(), err error) {
	if base, err = os.MkdirTemp(dir, folderName); err != nil {
		return "", nil, err
	}
	lock, err := os.Open(base)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		os.RemoveAll(base)
		return "", nil, err
	}
	return base, func() {
		remove(base)
		lock.Close()
	}, nil
}

// remove takes a probe's folder away, with what is mounted in it.
func remove(base string) {
	if os.RemoveAll(base) == nil {
		return
	}
	unmountBelow(base)
	os.RemoveAll(base)
}

// fresh is how old a folder must be to count as left: between its making and
// its lock it looks so.
const fresh = time.Minute

// sweep removes the folders that probes of this user left in dir: one that was
// killed, or one of a version that mounted on the machine itself.
func sweep(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), folderName) {
			sweepOne(filepath.Join(dir, e.Name()), now)
		}
	}
}

func sweepOne(base string, now time.Time) {
	fd, err := unix.Open(base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), base)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || int(st.Uid) != os.Getuid() {
		return
	}
	info, err := f.Stat()
	if err != nil || now.Sub(info.ModTime()) < fresh || unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	remove(base)
}
