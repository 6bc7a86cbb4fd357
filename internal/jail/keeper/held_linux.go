package keeper

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/localsock"
)

// held is a process that is never mistaken for another of its number
// (pidfd_open(2), Linux 5.3).
type held struct {
	who localsock.Process
	fd  int
}

func hold(pid int) (held, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return held{}, err
	}
	who, _, _, err := localsock.Look(pid)
	if err != nil {
		unix.Close(fd)
		return held{}, err
	}
	return held{who, fd}, nil
}

// ended waits for the end of the process within a time.
func (h held) ended(within time.Duration) bool {
	until := time.Now().Add(within)
	for {
		left := max(time.Until(until), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

func (h held) kill() { unix.PidfdSendSignal(h.fd, unix.SIGKILL, nil, 0) }

func (h held) close() { unix.Close(h.fd) }

// program is this very program, also where another build has taken its place
// on the disk meanwhile: both ends of a link are one build then.
func program() (string, error) { return "/proc/self/exe", nil }
