//go:build !linux

package main

import "syscall"

// killed kills a process; it may go on for a moment.
func killed(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
