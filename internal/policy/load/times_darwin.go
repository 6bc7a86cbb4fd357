package load

import "syscall"

// times are a file's times of change, in nanoseconds.
func times(st *syscall.Stat_t) (mtime, ctime int64) { return st.Mtimespec.Nano(), st.Ctimespec.Nano() }
