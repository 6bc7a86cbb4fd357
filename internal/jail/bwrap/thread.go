//go:build linux

package bwrap

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scope keeps what this thread starts from unix sockets with an abstract name
// that stand outside (landlock(7), Linux 6.12): they have no file that could be
// hidden, and belong to the network namespace, which an open network shares
// with the machine. The desktop's display and message bus may have one. It
// reports whether the kernel can.
func scope() bool {
	rules := struct{ fs, net, scoped uint64 }{scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return false
	}
	defer unix.Close(int(fd))
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return false
	}
	_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	return errno == 0
}

// Scopes reports whether [scope] can do its work here: the sixth version of
// Landlock.
func Scopes() bool {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	info, err := os.Stat(Program)
	return errno == 0 && version >= 6 && err == nil && info.Mode()&os.ModeSetuid == 0
}

// umask sets the umask of this thread alone, for what it starts; 0 leaves it.
func umask(mask uint32) error {
	if mask == 0 {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("give the program its umask: %w", err)
	}
	syscall.Umask(int(mask & 0o777))
	return nil
}
