package localsock

// Peer is the process at the other end, as the kernel tells it.
type Peer struct{ UID, PID int }

// Process names one process for good: a number alone may be used again.
type Process struct {
	PID   int
	Start uint64 // when it began, as the system counts: clock ticks after boot (field 22 of /proc/PID/stat), on macOS microseconds
}

// Descends reports whether the process pid is, or descends from, one that is
// reports true for. What cannot be looked at counts as descending: the answer
// decides who may act for a person. The kernel gives the number 0 to a process
// that it cannot show us.
func Descends(pid int, is func(Process) bool) bool {
	if pid <= 0 {
		return true
	}
	for depth := 0; pid > 0; depth++ {
		p, parent, _, err := Look(pid)
		if err != nil || depth > 256 || is(p) {
			return true
		}
		pid = parent
	}
	return false
}
