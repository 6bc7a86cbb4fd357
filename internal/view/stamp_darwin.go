package view

import (
	"io/fs"
	"syscall"
)

// stampOf is the identity of a file's content, as its file system keeps it.
func stampOf(info fs.FileInfo) stamp {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{Dev: uint64(s.Dev), Ino: s.Ino, Size: info.Size(), Mod: s.Mtimespec.Nano(), Changed: s.Ctimespec.Nano()}
}
