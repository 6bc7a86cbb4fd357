package tree

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// changed is when the file itself last changed, which no program can set back.
func changed(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctim.Unix()) }

// Loosen lets the owner of a directory into it, where the owner is this
// account: a program takes its own right away to keep us from looking.
func Loosen(dir string) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	here := os.NewFile(uintptr(fd), dir)
	defer here.Close()
	info, err := here.Stat()
	if err != nil {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o700 != 0o700 {
		unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), uint32(info.Mode().Perm()|0o700), 0)
	}
}

// Real is path without its symbolic links, which must exist; as
// [filepath.EvalSymlinks], but with one system call where nothing is there, and
// few where the path has no link (openat2(2)).
func Real(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", err
	}
	if filepath.Clean(path) != path { // .. of a link is not what its spelling says
		return filepath.EvalSymlinks(path)
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == nil {
		return path, unix.Close(fd)
	}
	return filepath.EvalSymlinks(path) // a link on the way, or a kernel before 5.6
}
