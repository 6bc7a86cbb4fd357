package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// killed kills a process and returns when it is dead: it may go on for a
// moment, and accept a connection.
func killed(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
		return err
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("process %d does not die", pid)
		}
		return err
	}
}
