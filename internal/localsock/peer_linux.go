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
	b, err := ReadProc(pid, "stat", make([]byte, 0, 1<<10))
	if err != nil {
		return Process{}, 0, "", fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The name stands in parentheses and may hold anything; the fields begin
	// behind the last one (proc(5)).
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return Process{}, 0, "", fmt.Errorf("look at process %d: /proc has an unknown form", pid)
	}
	fields := bytes.Fields(b[end+1:])
	if len(fields) < 20 {
		return Process{}, 0, "", fmt.Errorf("look at process %d: /proc has an unknown form", pid)
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return Process{}, 0, "", fmt.Errorf("look at process %d: %w", pid, err)
	}
	return Process{pid, start}, parent, string(b[open+1 : end]), nil
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
