package group

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepOurs lets no descriptor but the streams be inherited, those included
// that we inherited ourselves (close_range(2), Linux 5.11).
func keepOurs() { unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) }

func diesWithThread(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitEnd returns when the child pid has ended, and leaves it to be reaped.
func awaitEnd(pid int) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// runs looks for a member of a group that is not only a name waiting to be
// taken back by process number one.
func runs(group int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if f := stat(pid); len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "Z" && f[0] != "X" {
			return true
		}
	}
	return false
}

func parent(pid int) int {
	f := stat(pid)
	if len(f) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(f[1])
	return ppid
}

// stat reads the fields of a process behind its name: state, parent, group.
func stat(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}
