//go:build linux

package main

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/orders"
)

// hidden is an empty directory that stands in for one of the host, and its
// name in the stash.
type hidden struct{ at, name string }

// fault is the part of a mount that failed; the zero fault is none.
type fault struct {
	op  orders.Op
	err error
}

// attributes of every mount: what is bound in starts no program as its owner,
// and holds no device but those of /dev. Nothing that is mounted outside
// later appears inside.
const everywhere = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// mount takes all steps. What they show comes from the old root, where nothing
// is mounted over, so that an earlier step hides no source of a later one;
// where it is shown is looked up in the new tree. Both look-ups refuse symbolic
// links, and must find the same thing.
func (f *first) mount() {
	f.umask = unix.Umask(0)
	for i, m := range f.orders.Mounts {
		if bad := f.step(m); bad.err != nil {
			f.fail(orders.MountStep, bad.op, i, bad.err)
		}
	}
}

func (f *first) step(m orders.Mount) fault {
	switch m.What {
	case orders.Host:
		return f.host(m)
	case orders.Memory:
		fd, bad := f.memory(m.Mode, m.Size)
		if bad.err != nil {
			return bad
		}
		return f.put(fd, m.At, true, nil)
	case orders.Devices:
		return f.devices(m.At)
	case orders.Processes:
		return f.processes(m.At)
	case orders.Bind:
		return f.bind(m)
	case orders.Copy:
		return f.standIn(m, func(name string) error { return f.store(name, 0o600, m.Data) }, false, 0)
	case orders.Empty:
		return f.standIn(m, func(name string) error { return f.store(name, 0, nil) }, false, unix.MOUNT_ATTR_RDONLY)
	case orders.Hide:
		return f.hide(m)
	case orders.Seal:
		return f.seal(m.At)
	}
	return fault{orders.None, unix.ENOSYS}
}

// host copies the tree of mounts, sets the attributes of all in one call, and
// stacks it on the old root, where no look-up of a path comes past it.
func (f *first) host(m orders.Mount) fault {
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return fault{orders.Clone, err}
	}
	if bad := set(fd, unix.AT_RECURSIVE, attributes(m)); bad.err != nil {
		return bad
	}
	f.root = fd
	return fault{orders.Attach, unix.MoveMount(fd, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH)}
}

func attributes(m orders.Mount) uint64 {
	if m.Write {
		return everywhere
	}
	return everywhere | unix.MOUNT_ATTR_RDONLY
}

// set adds attributes to the mount at fd, or to all below it as well.
func set(fd int, recursive uint, attributes uint64) fault {
	return fault{orders.Attributes, unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|recursive, &unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE})}
}

// bind shows a part of the host. A part that stands where it stood must be the
// one that is found there: a directory above it cannot have been exchanged.
func (f *first) bind(m orders.Mount) fault {
	from, err := look(unix.AT_FDCWD, m.From)
	if err != nil {
		return fault{orders.Look, err}
	}
	defer unix.Close(from)
	var is unix.Stat_t
	if err := unix.Fstat(from, &is); err != nil {
		return fault{orders.Look, err}
	}
	fd, bad := clone(from, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if bad.err != nil {
		return bad
	}
	if bad := set(fd, unix.AT_RECURSIVE, attributes(m)); bad.err != nil {
		return bad
	}
	var same *unix.Stat_t
	if m.From == m.At {
		same = &is
	}
	return f.put(fd, m.At, is.Mode&unix.S_IFMT == unix.S_IFDIR, same)
}

// look opens a path of the host, without a symbolic link anywhere in it.
func look(dir int, path string) (int, error) {
	return unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
}

// clone copies a mount, to be put elsewhere.
func clone(dir int, name string, flags uint) (int, fault) {
	fd, err := unix.OpenTree(dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|flags)
	return fd, fault{orders.Clone, err}
}

// put mounts the tree fd at a place and closes it. same, where it is given,
// is what must be found there.
func (f *first) put(fd int, at string, dir bool, same *unix.Stat_t) fault {
	defer unix.Close(fd)
	to, made, bad := f.place(at, dir)
	if bad.err != nil {
		return bad
	}
	defer unix.Close(to)
	if !made && same != nil {
		var is unix.Stat_t
		if err := unix.Fstat(to, &is); err != nil || is.Dev != same.Dev || is.Ino != same.Ino {
			return fault{orders.Compare, unix.ESTALE}
		}
	}
	return fault{orders.Attach, unix.MoveMount(fd, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)}
}

// place opens a place of the new tree. It is made where it is missing and its
// directory lies in a memory file system of ours, and never on the host.
func (f *first) place(path string, dir bool) (fd int, made bool, bad fault) {
	if fd, err := look(f.root, path[1:]); err != unix.ENOENT {
		return fd, false, fault{orders.Place, err}
	}
	up, name := split(path)
	parent := f.root
	if up != "/" {
		if parent, _, bad = f.place(up, true); bad.err != nil {
			return -1, false, bad
		}
		defer unix.Close(parent)
	}
	var is unix.Stat_t
	if err := unix.Fstat(parent, &is); err != nil || !f.owns(is.Dev) {
		return -1, false, fault{orders.Place, unix.ENOENT}
	}
	if err := create(parent, name, dir); err != nil {
		return -1, false, fault{orders.Make, err}
	}
	fd, err := look(parent, name)
	return fd, true, fault{orders.Place, err}
}

func (f *first) owns(device uint64) bool {
	for _, d := range f.own {
		if d == device {
			return true
		}
	}
	return false
}

func create(parent int, name string, dir bool) error {
	if dir {
		return unix.Mkdirat(parent, name, 0o755)
	}
	fd, err := unix.Openat(parent, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o444)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// split takes a clean absolute path apart.
func split(path string) (dir, name string) {
	for i := len(path) - 1; ; i-- {
		if path[i] == '/' {
			return path[:max(i, 1)], path[i+1:]
		}
	}
}

// seal makes the one mount at a place read-only.
func (f *first) seal(at string) fault {
	for _, h := range f.hidden {
		if h.at == at {
			if err := unix.Fchmodat(f.stash, h.name, 0o555, 0); err != nil {
				return fault{orders.Fill, err}
			}
		}
	}
	fd, err := look(f.root, at[1:])
	if err != nil {
		return fault{orders.Place, err}
	}
	defer unix.Close(fd)
	return set(fd, 0, unix.MOUNT_ATTR_RDONLY)
}

// enter makes the new tree the root and detaches the old one, with the stash
// that stands in it (pivot_root(2), "pivot_root(".", ".")"), and goes to the
// working directory.
func (f *first) enter() {
	bad := fault{orders.Pivot, unix.Fchdir(f.root)}
	if bad.err == nil {
		bad.err = unix.PivotRoot(".", ".")
	}
	if bad.err == nil {
		bad = fault{orders.Detach, unix.Unmount(".", unix.MNT_DETACH)}
	}
	if bad.err == nil {
		bad = fault{orders.Pivot, unix.Chdir("/")}
	}
	if bad.err != nil {
		f.fail(orders.EnterRoot, bad.op, 0, bad.err)
	}
	fd, err := look(unix.AT_FDCWD, f.orders.Dir)
	if err == nil {
		err = unix.Fchdir(fd)
	}
	if err != nil {
		f.fail(orders.EnterDir, orders.None, 0, err)
	}
	unix.Close(fd)
	unix.Close(f.root)
	if f.stash >= 0 {
		unix.Close(f.stash)
	}
	syscall.Umask(f.umask)
}
