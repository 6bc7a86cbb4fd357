//go:build linux

package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/orders"
)

// What a call that is not raw reads or writes stands where no stack moves it.
var (
	capHeader = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	noCaps    [2]unix.CapUserData
	status    uint32 // of the process that was waited for last
)

func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// dropPower takes every capability away from all threads of this process, and
// from what they start the way back to one, and puts them all under the
// filter. A process that cannot be looked into (PR_SET_DUMPABLE) shows nothing
// of its memory, environment or descriptors to the program, which has the same
// user and is its only neighbour.
func (f *first) dropPower() {
	no := func(step orders.Step, errno syscall.Errno) {
		if errno != 0 {
			f.fail(step, orders.None, 0, errno)
		}
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0)
	no(orders.DropPower, errno)
	for c := uintptr(0); c < 64; c++ {
		_, _, errno := syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0)
		if errno == unix.EINVAL && c > 0 {
			break // the kernel has no more
		}
		no(orders.DropPower, errno)
	}
	// The ambient ones go with the others (capabilities(7)).
	_, _, errno = syscall.AllThreadsSyscall(unix.SYS_CAPSET, pointer(&capHeader), pointer(&noCaps[0]), 0)
	no(orders.DropPower, errno)
	_, _, errno = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	no(orders.DropPower, errno)
	f.layer()
	if len(f.orders.Filter) < 8 || len(f.orders.Filter)%8 != 0 {
		no(orders.FilterStep, unix.EINVAL)
	}
	filter := &unix.SockFprog{Len: uint16(len(f.orders.Filter) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&f.orders.Filter[0]))}
	thread, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, pointer(filter))
	no(orders.FilterStep, errno)
	if thread != 0 {
		no(orders.FilterStep, unix.ESRCH) // one thread could not be put under it
	}
}

// layer puts this thread, and so the program, under the rules of Landlock that
// the orders name. It comes after the last mount: a thread under rules for
// files may not mount any more.
func (f *first) layer() {
	l := &f.orders.Layer
	if l.Files == 0 && l.Scoped == 0 {
		return
	}
	no := func(errno syscall.Errno) {
		if errno != 0 {
			f.fail(orders.LayerStep, orders.None, 0, errno)
		}
	}
	rules := &struct{ files, net, scoped uint64 }{files: l.Files, scoped: l.Scoped}
	size := unsafe.Sizeof(*rules)
	if l.Scoped == 0 {
		size = unsafe.Sizeof(rules.files) // all that the first versions know
	}
	set, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, pointer(rules), size, 0)
	no(errno)
	for _, a := range l.Allowed {
		fd, err := unix.Openat2(unix.AT_FDCWD, a.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if err == unix.ENOSYS { // at a gate the filter stands already, and has no such call
			fd, err = unix.Open(a.Path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		}
		if err != nil {
			continue // what cannot be got to is not allowed either
		}
		// Packed, twelve bytes (linux/landlock.h): the first of these sixteen.
		allow := &struct {
			rights uint64
			at     int32
			_      int32
		}{rights: a.Rights & l.Files, at: int32(fd)}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			allow.rights &= l.OfFile
		}
		if allow.rights != 0 {
			_, _, errno = syscall.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, set, unix.LANDLOCK_RULE_PATH_BENEATH, pointer(allow), 0, 0, 0)
			no(errno)
		}
		unix.Close(fd)
	}
	_, _, errno = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	no(errno)
	_, _, errno = syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0)
	no(errno)
	unix.Close(int(set))
}

// program is what the copied process needs, laid out before it is copied.
type program struct {
	*first
	gate      bool
	tty       bool
	umask     int32
	argv, env []*byte
	paths     []*byte
	shell     []*byte // for a script without a first line: sh, the path, the arguments
	sh        *byte
	all, none uint64 // sets of signals
}

// spawn starts the program: as a process of its own, whose end is awaited, or
// at a gate in the place of this one.
func (p *program) spawn() {
	if p.gate {
		p.become()
	}
	var old uint64
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, pointer(&p.all), pointer(&old), 8, 0, 0)
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		p.become()
	}
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, pointer(&old), 0, 8, 0, 0)
	if errno != 0 {
		p.fail(orders.Fork, orders.None, 0, errno)
	}
	p.tend(int(pid))
}

func (f *first) prepare() *program {
	o := &f.orders
	p := &program{first: f, gate: o.Gate, tty: o.TTY, umask: o.Umask, all: ^uint64(0)}
	list := func(all []string) []*byte {
		pointers, err := syscall.SlicePtrFromStrings(all)
		if err != nil {
			f.fail(orders.Read, orders.None, 0, err)
		}
		return pointers
	}
	p.argv, p.env, p.paths = list(o.Argv), list(o.Env), list(o.Paths)
	p.paths = p.paths[:len(o.Paths)]
	p.shell = list(append([]string{"sh", ""}, o.Argv[1:]...))
	p.sh = list([]string{"/bin/sh"})[0]
	return p
}

// become does what is left and never returns. The copy of this process has
// none of its other threads: what waits for one of them, be it for a lock of
// the memory or for the scheduler, waits for ever. So this and all it calls
// neither allocates nor has the check for stack at which the scheduler may
// take over; the linker knows how much stack they need.
//
//go:nosplit
//go:norace
func (p *program) become() {
	if !p.gate || p.tty {
		if _, _, errno := syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); errno != 0 {
			p.stop(orders.Session, errno)
		}
	}
	if p.tty {
		if _, _, errno := syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0); errno != 0 {
			p.stop(orders.Terminal, errno)
		}
	}
	if p.umask >= 0 {
		syscall.RawSyscall(unix.SYS_UMASK, uintptr(p.umask), 0, 0)
	}
	p.tell(orders.Report{Kind: orders.Starting})
	if _, _, errno := syscall.RawSyscall(unix.SYS_CLOSE_RANGE, 3, uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC); errno != 0 {
		p.stop(orders.Start, errno)
	}
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&p.none)), 0, 8, 0, 0)
	p.stop(orders.Start, p.exec())
}

// stop reports and ends, in a process that may be a copy.
//
//go:nosplit
//go:norace
func (p *program) stop(step orders.Step, errno syscall.Errno) {
	p.tell(orders.Report{Kind: orders.Fault, Step: step, Errno: uint32(errno)})
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}

// exec tries each path as execvp(3) does. It returns only where none could be
// executed.
//
//go:nosplit
//go:norace
func (p *program) exec() syscall.Errno {
	worst := unix.ENOENT
	for i := range p.paths {
		_, _, errno := syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(p.paths[i])), uintptr(unsafe.Pointer(&p.argv[0])), uintptr(unsafe.Pointer(&p.env[0])))
		switch errno {
		case unix.ENOENT, unix.ENOTDIR:
		case unix.EACCES:
			worst = errno
		case unix.ENOEXEC:
			p.shell[1] = p.paths[i] // no collection is going on, which would want to know: GOGC=off
			_, _, errno = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(p.sh)), uintptr(unsafe.Pointer(&p.shell[0])), uintptr(unsafe.Pointer(&p.env[0])))
			return errno
		default:
			return errno
		}
	}
	return worst
}

// tend is the rest of this process's life: it holds nothing any more but the
// pipe on which it will say how the program ended, and takes back what has
// ended.
func (f *first) tend(program int) {
	syscall.RawSyscall(unix.SYS_CLOSE_RANGE, 0, uintptr(f.end-1), 0)
	syscall.RawSyscall(unix.SYS_CLOSE_RANGE, uintptr(f.end+1), uintptr(^uint32(0)), 0)
	// Without a handler nothing that comes from inside the namespace touches
	// process number one (pid_namespaces(7)). The runtime has handlers.
	var none [4]uint64 // struct sigaction: the default
	for sig := uintptr(1); sig <= 64; sig++ {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&none[0])), 0, 8, 0, 0)
	}
	for {
		pid, errno := wait()
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			syscall.Exit(1) // the program is gone without having ended
		case pid == program:
			f.leave(syscall.WaitStatus(status))
		}
	}
}

// wait takes back one process. It is no raw call: the runtime's own watch would
// wake up for ever.
func wait() (pid int, errno syscall.Errno) {
	status = 0
	n, _, errno := syscall.Syscall6(unix.SYS_WAIT4, ^uintptr(0), pointer(&status), 0, 0, 0, 0)
	return int(n), errno
}

// leave ends whatever the program left behind, all of which is a child of this
// process by then, tells how the program ended, and ends. The kernel takes its
// time to take the namespaces down; nobody needs to wait for that.
func (f *first) leave(ended syscall.WaitStatus) {
	code := byte(ended.ExitStatus())
	if ended.Signaled() {
		code = 128 + byte(ended.Signal())
	}
	unix.Kill(-1, unix.SIGKILL)
	for {
		if _, errno := wait(); errno == unix.ECHILD {
			break
		}
	}
	unix.Write(f.end, []byte{code})
	syscall.Exit(int(code))
}
