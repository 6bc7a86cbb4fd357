package ruleset

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail"
)

// Rights as Landlock names them, in groups.
const (
	ReadFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	ReadDir  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	Change   = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	Make     = unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REFER
	never  = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK // never allowed
	device = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	OfFile = ReadFile | Change | device // what a rule for a file that is no directory may name

	All = ReadFile | ReadDir | Change | Make | never | device
)

// Rule allows some rights at a path and below it.
type Rule struct {
	Path   string
	Access uint64
	Seen   bool // it was found in a directory: where it is gone by now, nothing is allowed
}

// Rules are what a tree may do; what they do not name of the handled rights
// is refused.
type Rules struct {
	Handled uint64 // rights to files that are refused unless a rule allows them
	Scoped  uint64 // LANDLOCK_SCOPE_*
	Rules   []Rule
}

// Layer is the second layer below a wall that mounts: what may be written
// inside, by the paths that things have there. It adds nothing to what the
// mounts hold, and holds where a mount was forgotten or wrong. Reading is left
// to the mounts.
func Layer(plan jail.Plan) Rules {
	all := All &^ uint64(ReadFile|ReadDir)
	r := Rules{Handled: all, Scoped: unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}
	if plan.Net != jail.UnrestrictedNetwork {
		r.Scoped &^= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET // those of its own namespace are its own
	}
	roots := slices.Concat([]string{"/tmp", "/run", "/dev", "/proc"}, plan.Write, plan.Private)
	if !plan.ReadOnly {
		roots = append(roots, plan.Workspace)
	}
	for _, e := range plan.Expose {
		if e.Write {
			roots = append(roots, e.To)
		}
	}
	for _, root := range roots {
		r.Rules = append(r.Rules, Rule{Path: root, Access: all &^ never, Seen: true})
	}
	return r
}
