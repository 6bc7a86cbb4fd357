// Package held takes hold of a process, so that what is waited for or ended is that one
// and never another that got its number.
package held

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/localsock"
)

// Process is never mistaken for another of its number (pidfd_open(2), Linux 5.3). It is
// closed when it is not needed any more.
type Process struct {
	Who localsock.Process
	fd  int
}

// Take takes hold of the process that has a number now.
func Take(pid int) (Process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return Process{}, err
	}
	who, _, _, err := localsock.Look(pid)
	if err != nil {
		unix.Close(fd)
		return Process{}, err
	}
	return Process{who, fd}, nil
}

// Ended waits for the end of the process within a time.
func (h Process) Ended(within time.Duration) bool {
	until := time.Now().Add(within)
	for {
		left := max(time.Until(until), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// Kill sends SIGKILL; to one that has ended nothing happens.
func (h Process) Kill() { unix.PidfdSendSignal(h.fd, unix.SIGKILL, nil, 0) }

// Close lets go of it.
func (h Process) Close() { unix.Close(h.fd) }
