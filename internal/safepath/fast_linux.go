package safepath

import (
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
)

// noLinks opens a handle to exactly the path that was named: no symbolic link
// anywhere in it is followed (openat2(2), Linux 5.6).
var noLinks = unix.OpenHow{
	Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
	Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
}

// lookFast is the common case in three system calls: a path without links
// that exists, or a new name in a directory that does. ok is false where the
// path needs the slow way; an older kernel needs it always.
func (r *Resolver) lookFast(path string) (f reeve.PathFacts, ok bool) {
	how := noLinks
	fd, err := openat2(path, &how)
	if err == unix.ENOENT {
		fd, err = openat2(filepath.Dir(path), &how)
		if err != nil {
			return f, false
		}
		var st syscall.Stat_t
		err = syscall.Fstat(fd, &st)
		unix.Close(fd)
		isDir := err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR
		return reeve.PathFacts{Known: true, Target: path}, isDir
	}
	if err != nil {
		return f, false
	}
	var st syscall.Stat_t
	err = syscall.Fstat(fd, &st)
	unix.Close(fd)
	if err != nil || st.Mode&syscall.S_IFMT == syscall.S_IFLNK {
		return f, false
	}
	f = reeve.PathFacts{Known: true, Target: path}
	r.fill(&f, &st)
	return f, true
}

func openat2(path string, how *unix.OpenHow) (fd int, err error) {
	err = ignoringEINTR(func() error {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, how)
		return err
	})
	return fd, err
}
