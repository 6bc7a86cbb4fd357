package group

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keepOurs lets no descriptor but the streams be inherited, those included
// that we inherited ourselves.
func keepOurs() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // what we opened ourselves is closed at exec anyway
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// diesWithThread does nothing: the system cannot.
func diesWithThread(*syscall.SysProcAttr) {}

// awaitEnd returns when the child pid has ended, and leaves it to be reaped
// (waitid(2)).
func awaitEnd(pid int) {
	const byPID, exited, leave = 1, 0x4, 0x20 // P_PID, WEXITED, WNOWAIT of sys/wait.h
	var info [16]uint64                       // siginfo_t has 104 bytes
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info[0])), exited|leave, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// runs looks for a member of a group that is not only waiting to be reaped.
func runs(group int) bool {
	const zombie = 5 // SZOMB of sys/proc.h
	all, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return false
	}
	for i := range all {
		if all[i].Proc.P_stat != zombie {
			return true
		}
	}
	return false
}

func parent(pid int) int {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return int(k.Eproc.Ppid)
}
