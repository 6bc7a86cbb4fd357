//go:build linux

package main

import (
	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/orders"
)

// stashRoom is what files that are copied in may grow by, in bytes, in all.
const stashRoom = 16 << 20

// makeStash makes, once, the memory file system from which copies, empty files
// and empty directories are shown. It stands on the old /proc, where nothing is
// looked for any more, and goes with the old root; only what is shown of it
// stays. (Of a file system that stands nowhere nothing could be shown.)
func (f *first) makeStash() fault {
	if f.stash >= 0 {
		return fault{}
	}
	size := uint64(stashRoom)
	for _, m := range f.orders.Mounts {
		size += uint64(len(m.Data))
	}
	fd, bad := f.memory(0o700, size)
	if bad.err != nil {
		return bad
	}
	f.stash = fd
	return fault{orders.Attach, unix.MoveMount(fd, "", unix.AT_FDCWD, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH)}
}

// memory makes a memory file system that is not mounted yet.
func (f *first) memory(mode uint32, size uint64) (int, fault) {
	fd, bad := fileSystem("tmpfs", everywhere, "mode", octal(mode), "size", decimal(size))
	if bad.err != nil {
		return -1, bad
	}
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		return -1, fault{orders.Open, err}
	}
	f.own = append(f.own, is.Dev)
	return fd, fault{}
}

func octal(n uint32) string {
	var b [12]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n&7)
		if n >>= 3; n == 0 {
			return string(b[i:])
		}
	}
}

// fileSystem makes one with the given options, name and value by turns; an
// option without a value is a flag.
func fileSystem(kind string, attributes int, options ...string) (int, fault) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fault{orders.Open, err}
	}
	defer unix.Close(fs)
	for i := 0; i < len(options) && err == nil; i += 2 {
		if options[i+1] == "" {
			err = unix.FsconfigSetFlag(fs, options[i])
		} else {
			err = unix.FsconfigSetString(fs, options[i], options[i+1])
		}
	}
	if err == nil {
		err = unix.FsconfigCreate(fs)
	}
	if err != nil {
		return -1, fault{orders.Open, err}
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	return fd, fault{orders.Open, err}
}

// store puts a file into the stash.
func (f *first) store(name string, mode uint32, data []byte) error {
	fd, err := unix.Openat(f.stash, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// standIn shows something of the stash, made by fill under a name of its own,
// in the place of what stands there on the host.
func (f *first) standIn(m orders.Mount, fill func(name string) error, dir bool, attributes uint64) fault {
	var is unix.Stat_t
	from, err := look(unix.AT_FDCWD, m.From)
	if err == nil {
		err = unix.Fstat(from, &is)
		unix.Close(from)
	}
	if err != nil {
		return fault{orders.Look, err}
	}
	if is.Mode&unix.S_IFMT == unix.S_IFDIR != dir {
		return fault{orders.Compare, unix.ESTALE}
	}
	if bad := f.makeStash(); bad.err != nil {
		return bad
	}
	f.stored++
	name := decimal(uint64(f.stored))
	if err := fill(name); err != nil {
		return fault{orders.Fill, err}
	}
	fd, bad := clone(f.stash, name, 0)
	if bad.err != nil {
		return bad
	}
	if bad := set(fd, 0, everywhere|attributes); bad.err != nil {
		return bad
	}
	return f.put(fd, m.At, dir, &is)
}

// hide puts an empty directory in the place of one. It is sealed later, when
// everything that must be bound into it is.
func (f *first) hide(m orders.Mount) fault {
	return f.standIn(m, func(name string) error {
		f.hidden = append(f.hidden, hidden{m.At, name})
		return unix.Mkdirat(f.stash, name, 0o755)
	}, true, unix.MOUNT_ATTR_NOEXEC)
}

// processes mounts a /proc of the new process namespace. What of it steers the
// whole machine is closed, as far as it is open to this user at all.
func (f *first) processes(at string) fault {
	fd, bad := fileSystem("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if bad.err != nil {
		return bad
	}
	if bad := f.put(fd, at, true, nil); bad.err != nil {
		return bad
	}
	for _, name := range []string{"sys", "sysrq-trigger", "irq", "bus"} {
		to, err := look(f.root, at[1:]+"/"+name)
		if err != nil {
			continue // this kernel has none
		}
		err = unix.Faccessat(to, "", unix.W_OK, unix.AT_EMPTY_PATH)
		if err == unix.EACCES || err == unix.EROFS {
			unix.Close(to)
			continue
		}
		copied, bad := clone(to, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
		if bad.err == nil {
			bad = set(copied, unix.AT_RECURSIVE, unix.MOUNT_ATTR_RDONLY)
		}
		if bad.err == nil {
			bad = fault{orders.Attach, unix.MoveMount(copied, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)}
		}
		if bad.err != nil {
			return bad
		}
		unix.Close(copied)
		unix.Close(to)
	}
	return fault{}
}

// devices makes a /dev with what every program needs and nothing else.
func (f *first) devices(at string) fault {
	fd, bad := f.memory(0o755, 1<<20)
	if bad.err != nil {
		return bad
	}
	dir, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fault{orders.Open, err}
	}
	defer unix.Close(dir)
	if bad := f.put(fd, at, true, nil); bad.err != nil {
		return bad
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if bad := f.device("/dev/"+name, at+"/"+name); bad.err != nil {
			return bad
		}
	}
	for _, link := range [][2]string{
		{"/proc/self/fd", "fd"}, {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"},
		{"/proc/kcore", "core"}, {"pts/ptmx", "ptmx"},
	} {
		if err := unix.Symlinkat(link[0], dir, link[1]); err != nil {
			return fault{orders.Make, err}
		}
	}
	pts, bad := fileSystem("devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "newinstance", "", "ptmxmode", "0666", "mode", "620")
	if bad.err != nil {
		return bad
	}
	if bad := f.put(pts, at+"/pts", true, nil); bad.err != nil {
		return bad
	}
	if f.orders.TTY {
		return f.console(at)
	}
	return fault{}
}

// device shows one device of the host.
func (f *first) device(from, at string) fault {
	fd, bad := clone(unix.AT_FDCWD, from, unix.AT_SYMLINK_NOFOLLOW)
	if bad.err != nil {
		return bad
	}
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil || is.Mode&unix.S_IFMT != unix.S_IFCHR {
		return fault{orders.Compare, unix.ENODEV}
	}
	if bad := set(fd, 0, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); bad.err != nil {
		return bad
	}
	return f.put(fd, at, false, nil)
}

// console shows the program's own terminal as /dev/console: its name in the
// host's /dev/pts means nothing inside, and ttyname(3) looks here. A terminal
// without a name outside has none inside either.
func (f *first) console(at string) fault {
	name := make([]byte, 256)
	n, err := unix.Readlink("/proc/self/fd/0", name)
	if err != nil || n == len(name) || name[0] != '/' {
		return fault{}
	}
	var ours, is unix.Stat_t
	from := string(name[:n])
	if unix.Fstat(0, &ours) != nil || unix.Lstat(from, &is) != nil || is.Dev != ours.Dev || is.Ino != ours.Ino {
		return fault{}
	}
	return f.device(from, at+"/console")
}
