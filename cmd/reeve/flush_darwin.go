package main

import "golang.org/x/sys/unix"

// flushInput drops what was typed at a terminal and not read (sys/ttycom.h,
// TIOCFLUSH with FREAD).
func flushInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) }
