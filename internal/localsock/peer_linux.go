package localsock

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel who is at the other end of a connected socket
// (unix(7), SO_PEERCRED).
func peerOf(fd int) (Peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{UID: int(cred.Uid), PID: int(cred.Pid)}, nil
}

// Look reads what /proc says of a process: itself, its parent's number and
// its name.
func Look(pid int) (p Process, parent int, name string, err error) {
	name, fields, err := stat(pid)
	if err != nil {
		return Process{}, 0, "", err
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return Process{}, 0, "", fmt.Errorf("look at process %d: %w", pid, err)
	}
	return Process{pid, start}, parent, name, nil
}

// Seat is where a process sits: the leader of its session of processes, 0
// where that cannot be seen from here, and whether it has a controlling
// terminal.
func Seat(pid int) (leader int, terminal bool, err error) {
	_, fields, err := stat(pid)
	if err != nil {
		return 0, false, err
	}
	if leader, err = strconv.Atoi(string(fields[3])); err != nil {
		return 0, false, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return leader, string(fields[4]) != "0", nil
}

// Owner is the real user of a process. The owner of its folder in /proc would
// not do: a process can make that root by a call of prctl (proc(5)).
func Owner(pid int) (uid int, err error) {
	b, err := ReadProc(pid, "status", make([]byte, 0, 2<<10))
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	_, line, found := bytes.Cut(b, []byte("\nUid:"))
	fields := bytes.Fields(line)
	if !found || len(fields) == 0 {
		return 0, fmt.Errorf("look at process %d: /proc has an unknown form", pid)
	}
	return strconv.Atoi(string(fields[0]))
}

// stat is the name in /proc/PID/stat and the fields behind it, state first.
func stat(pid int) (name string, fields [][]byte, err error) {
	b, err := ReadProc(pid, "stat", make([]byte, 0, 1<<10))
	if err != nil {
		return "", nil, fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The name stands in parentheses and may hold anything; the fields begin
	// behind the last one (proc(5)).
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open >= 0 && end > open {
		fields = bytes.Fields(b[end+1:])
	}
	if len(fields) < 20 {
		return "", nil, fmt.Errorf("look at process %d: /proc has an unknown form", pid)
	}
	return string(b[open+1 : end]), fields, nil
}

// Processes lists the numbers of the processes that can be seen.
func Processes() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all, nil
}

// ReadProc reads /proc/PID/NAME into buf, which grows as it must. Every call
// of a client walks over its ancestors; the three system calls of this are a
// fifth of what os.ReadFile makes of it.
func ReadProc(pid int, name string, buf []byte) ([]byte, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/" + name
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, 4<<10)
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return buf, nil
		default:
			buf = buf[:len(buf)+n]
		}
	}
}
