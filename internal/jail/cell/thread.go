//go:build linux

package cell

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/orders"
	"github.com/reeve-gate/reeve/internal/jail/ruleset"
)

// AbstractOpen is what a receipt says where unix sockets with an abstract name
// outside could not be closed.
const AbstractOpen = "unix sockets with an abstract name"

// NeedsScope reports whether a plan's network shares the machine's unix
// sockets with an abstract name: they have no file that could be hidden, and
// belong to the network namespace. The desktop's display and message bus may
// have one.
func NeedsScope(plan jail.Plan) bool { return plan.Net == jail.UnrestrictedNetwork && !plan.NoUnix }

// Scopes reports whether the kernel can keep a process from unix sockets with
// an abstract name that stand outside: the sixth version of Landlock, Linux
// 6.12 (landlock(7)).
func Scopes() bool {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && version >= 6
}

// Layer is the second layer of a plan, as far as this kernel has it
// (package ruleset).
func Layer(plan jail.Plan) orders.Layer {
	version := ruleset.Version()
	if version == 0 {
		return orders.Layer{}
	}
	rules := ruleset.Layer(plan)
	files, scopes := ruleset.Rights(version)
	l := orders.Layer{Files: rules.Handled & files, OfFile: uint64(ruleset.OfFile), Scoped: rules.Scoped & scopes}
	for _, r := range rules.Rules {
		l.Allowed = append(l.Allowed, orders.Allowed{Path: r.Path, Rights: r.Access})
	}
	return l
}

// Scope does that for this thread and what it starts, and reports whether it
// could.
func Scope() bool {
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

// Umask sets the umask of this thread alone, for what it starts; 0 leaves it.
func Umask(mask uint32) error {
	if mask == 0 {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("give the program its umask: %w", err)
	}
	syscall.Umask(int(mask & 0o777))
	return nil
}
