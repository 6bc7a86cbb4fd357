package limit

import "golang.org/x/sys/unix"

func prlimit(pid, resource int, value uint64) error {
	lim := unix.Rlimit{Cur: value, Max: value}
	return unix.Prlimit(pid, resource, &lim, nil)
}
