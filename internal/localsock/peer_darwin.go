package localsock

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// solLocal is the level of the options of a unix socket (sys/un.h, SOL_LOCAL).
const solLocal = 0

// peerOf asks the kernel who is at the other end of a connected socket
// (sys/un.h: LOCAL_PEERCRED, LOCAL_PEERPID).
func peerOf(fd int) (Peer, error) {
	cred, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, solLocal, unix.LOCAL_PEERPID)
	if err != nil {
		return Peer{}, err
	}
	return Peer{UID: int(cred.Uid), PID: pid}, nil
}

// Look reads what the kernel's list of processes says of one: itself, its
// parent's number and its name (sysctl kern.proc.pid).
func Look(pid int) (p Process, parent int, name string, err error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Process{}, 0, "", fmt.Errorf("look at process %d: %w", pid, err)
	}
	if int(k.Proc.P_pid) != pid {
		return Process{}, 0, "", fmt.Errorf("look at process %d: %w", pid, unix.ESRCH)
	}
	comm := k.Proc.P_comm[:]
	if end := bytes.IndexByte(comm, 0); end >= 0 {
		comm = comm[:end]
	}
	began := k.Proc.P_starttime
	return Process{pid, uint64(began.Sec)*1e6 + uint64(began.Usec)}, int(k.Eproc.Ppid), string(comm), nil
}

// Seat is where a process sits: the leader of its session of processes, and
// whether it has a controlling terminal.
func Seat(pid int) (leader int, terminal bool, err error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, false, fmt.Errorf("look at process %d: %w", pid, err)
	}
	if leader, err = unix.Getsid(pid); err != nil {
		return 0, false, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return leader, k.Eproc.Tdev != -1, nil // NODEV
}

// Owner is the real user of a process.
func Owner(pid int) (uid int, err error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return int(k.Eproc.Pcred.P_ruid), nil
}

// Processes lists the numbers of the processes that can be seen.
func Processes() ([]int, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var all []int
	for i := range list {
		all = append(all, int(list[i].Proc.P_pid))
	}
	return all, nil
}

// ReadProc returns what /proc/PID/NAME holds on Linux. Of the names only
// cmdline is known here: the arguments, each ended by a zero byte (sysctl
// kern.procargs2: the count, the program's path, zero bytes, the arguments).
func ReadProc(pid int, name string, buf []byte) ([]byte, error) {
	if name != "cmdline" {
		return nil, fmt.Errorf("read %s of process %d: %w", name, pid, unix.ENOTSUP)
	}
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil, fmt.Errorf("read the arguments of process %d: %w", pid, err)
	}
	return append(buf[:0], arguments(raw)...), nil
}

// arguments cuts the arguments out of the kernel's answer; nil where its form
// is another.
func arguments(raw []byte) []byte {
	if len(raw) < 4 {
		return nil
	}
	count := int(int32(binary.NativeEndian.Uint32(raw)))
	_, rest, found := bytes.Cut(raw[4:], []byte{0})
	if !found || count <= 0 {
		return nil
	}
	rest = bytes.TrimLeft(rest, "\x00")
	end := 0
	for range count {
		next := bytes.IndexByte(rest[end:], 0)
		if next < 0 {
			return nil
		}
		end += next + 1
	}
	return rest[:end]
}
