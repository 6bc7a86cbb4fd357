package tree

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// changed is when the file itself last changed, which no program can set back.
func changed(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctimespec.Unix()) }

// Loosen lets the owner of a directory into it, where the owner is this
// account: a program takes its own right away to keep us from looking. The
// system has no descriptor for a directory that cannot be read, so the name is
// used again; fchmodat does not follow a link that took its place.
func Loosen(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o700 != 0o700 {
		unix.Fchmodat(unix.AT_FDCWD, dir, uint32(info.Mode().Perm()|0o700), unix.AT_SYMLINK_NOFOLLOW)
	}
}

// Real is path without its symbolic links, which must exist.
func Real(path string) (string, error) { return filepath.EvalSymlinks(path) }
