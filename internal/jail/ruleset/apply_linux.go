package ruleset

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
)

// MinVersion is the version of Landlock that the wall needs: the third brought
// the right to cut a file off, without which every file of the person's could
// be emptied (Linux 6.2).
const MinVersion = 3

// Version is the kernel's version of Landlock; 0 = it has none, or it was
// switched off at boot (landlock(7)).
func Version() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Rights that a version of Landlock knows.
func Rights(version int) (files, scopes uint64) {
	files = All &^ uint64(unix.LANDLOCK_ACCESS_FS_REFER|unix.LANDLOCK_ACCESS_FS_TRUNCATE|device)
	for _, r := range []struct {
		version int
		right   uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, device}} {
		if version >= r.version {
			files |= r.right
		}
	}
	if version >= 6 {
		scopes = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return files, scopes
}

// Apply puts the calling thread, and all that it starts, under the rules, for
// good. The caller has locked it. Rights that the kernel does not know are
// left out; a place that is gone, or leads through a symbolic link by now, is
// an error unless it was found in a directory, where it is then not allowed.
// No new privileges can be gained afterwards.
func (r Rules) Apply() error {
	version := Version()
	if version < 1 {
		return fmt.Errorf("%w: this kernel has no Landlock (Linux 5.13), or it was switched off at boot", reeve.ErrBoundary)
	}
	files, scopes := Rights(version)
	handled := r.Handled & files
	attr := struct{ fs, net, scoped uint64 }{fs: handled, scoped: r.Scoped & scopes}
	size := unsafe.Sizeof(attr)
	switch { // an older kernel takes the fields it knows (landlock_create_ruleset(2))
	case version < 4:
		size = 8
	case version < 6:
		size = 16
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("make a set of Landlock rules: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, rule := range r.Rules {
		if err := rule.add(int(fd), handled); err != nil {
			return fmt.Errorf("allow %s: %w", rule.Path, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("put a thread under Landlock rules: %w", errno)
	}
	return nil
}

// beneath is struct landlock_path_beneath_attr, which is packed: its twelve
// bytes are the first of these sixteen on a machine that puts the low byte
// first, as both of ours do.
type beneath struct {
	access uint64
	parent int32
	_      int32
}

func (r Rule) add(set int, handled uint64) error {
	if r.Access&handled == 0 {
		return nil
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, r.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		if r.Seen && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EACCES)) {
			return nil
		}
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	b := beneath{access: r.Access & handled, parent: int32(fd)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK, unix.S_IFSOCK, unix.S_IFIFO:
		// A link is judged by where it leads; the others may be refused as a
		// place of a rule, and hold nothing.
		if b.access &= OfFile; st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return nil
		}
	default:
		b.access &= OfFile
	}
	if b.access == 0 {
		return nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&b)), 0, 0, 0)
	if errno == unix.EBADFD && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil // a file of no file system of its own
	}
	if errno != 0 {
		return errno
	}
	return nil
}
