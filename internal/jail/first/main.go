//go:build linux

// Command first is the first process inside a boundary.
//
// Its wall starts it from a sealed file in memory with three descriptors
// beside the program's streams: the orders, the door to report over, and
// itself. Behind the native wall it is process number one of new namespaces
// and holds, in its own user namespace alone, the few capabilities that the
// mounting takes. It maps the user, builds the file system in a tree of its
// own beside the old root, makes it the root and detaches the old one, drops
// every capability, sets the filter, says that the boundary stands, and after
// the answer, before which its wall bounds what it may use, starts the program
// as its child. From then on it does nothing but take back what has ended. It
// ends with the program: it kills what is left, says how the program ended when
// nothing is, and goes.
//
// Behind another wall the boundary stands already (orders.Orders.Gate): there it
// hands out the listening socket, lays the second layer and becomes the
// program.
//
// Whatever fails is reported as the step, the place and the error number, and
// ends the process before the program was started. Nothing is tried a second
// time with less.
package main

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/orders"
)

func main() {
	runtime.LockOSThread()
	f := hear()
	if !f.orders.Gate {
		f.mapUser()
		f.mount()
		f.loopback()
	}
	f.listen()
	if !f.orders.Gate {
		f.enter()
		f.dropPower()
	} else {
		f.layer()
	}
	p := f.prepare()
	f.stand()
	p.spawn()
}

// first is the state of the one process.
type first struct {
	door   int
	end    int // where the end of the program is told
	orders orders.Orders
	umask  int    // as it was found
	ns     uint64 // inode of the process namespace

	listener int // or -1

	root   int      // top of the new tree
	stash  int      // directory of what comes from no place of the host, or -1
	own    []uint64 // devices of the memory file systems made here
	hidden []hidden
	stored int
	report [orders.ReportSize]byte
}

// hear reads the descriptors' numbers from the environment and the orders from
// the first of them. Without a door there is nobody to tell what is wrong.
func hear() *first {
	set, _ := syscall.Getenv(orders.Variable)
	file, set := number(set)
	door, set := number(set)
	itself, set := number(set)
	end, set := number(set)
	if itself < 0 || set != "" {
		unix.Write(2, []byte("reeve starts this program inside a sandbox; by itself it does nothing\n"))
		syscall.Exit(2)
	}
	unix.Close(itself)
	f := &first{door: door, end: end, stash: -1, listener: -1}
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil || st.Size > orders.Max {
		f.fail(orders.Read, orders.None, 0, err)
	}
	text := make([]byte, st.Size)
	for read := 0; read < len(text); {
		n, err := unix.Pread(file, text[read:], int64(read))
		if err != nil || n == 0 {
			f.fail(orders.Read, orders.None, 0, err)
		}
		read += n
	}
	unix.Close(file)
	o, ok := orders.Decode(text)
	if !ok || len(o.Argv) == 0 || len(o.Paths) == 0 || o.Gate != (end < 0) {
		f.fail(orders.Read, orders.None, 0, unix.EINVAL)
	}
	f.orders = o
	return f
}

// number reads a descriptor's number with the comma behind it; -1 where there
// is none.
func number(s string) (int, string) {
	n, i := 0, 0
	for ; i < len(s) && i < 6 && s[i] >= '0' && s[i] <= '9'; i++ {
		n = 10*n + int(s[i]-'0')
	}
	if i == 0 || i == len(s) || s[i] != ',' {
		return -1, s
	}
	return n, s[i+1:]
}

// fail reports and ends.
func (f *first) fail(step orders.Step, op orders.Op, index int, err error) {
	errno, ok := err.(syscall.Errno)
	if !ok {
		errno = unix.EIO
	}
	f.tell(orders.Report{Kind: orders.Fault, Step: step, Op: op, Number: uint64(index), Errno: uint32(errno)})
	syscall.Exit(1)
}

// tell sends one message. It neither allocates, nor waits for the scheduler,
// nor asks for more stack, since a copied process calls it too.
//
//go:nosplit
func (f *first) tell(r orders.Report) {
	r.Encode(&f.report)
	syscall.RawSyscall(unix.SYS_WRITE, uintptr(f.door), uintptr(unsafe.Pointer(&f.report[0])), orders.ReportSize)
}

// mapUser makes the user inside the one outside, and nobody else (user
// namespaces(7)): without the right to set groups, which the kernel asks for.
func (f *first) mapUser() {
	write := func(path, text string) {
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte(text))
			unix.Close(fd)
		}
		if err != nil {
			f.fail(orders.MapUser, orders.Fill, 0, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		f.fail(orders.MapUser, orders.Look, 0, err)
	}
	f.ns = st.Ino
	write("/proc/self/setgroups", "deny")
	write("/proc/self/gid_map", line(f.orders.GID))
	write("/proc/self/uid_map", line(f.orders.UID))
}

// line maps one number to itself.
func line(id uint32) string {
	digits := decimal(uint64(id))
	return digits + " " + digits + " 1\n"
}

func decimal(n uint64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}
