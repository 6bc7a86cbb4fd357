// Package trusted decides whether a program of the system may build a
// boundary, or carry a session to another machine.
//
// An agent that could put or change that program would choose its own
// boundary, so [Program] takes only what belongs to root and can be written by
// nobody else, the directories above it included (contract A8, amendment 22).
// A program is named by its whole path and never looked for in PATH.
package trusted

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Program looks at the program at path, an absolute path, and returns what it
// is. The error says what is wrong with it; [os.IsNotExist] tells that it is
// not there.
func Program(path string) (os.FileInfo, error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", dir, err)
		}
		if err := rootOwned(dir, info); err != nil && info.Mode()&os.ModeSymlink == 0 {
			return nil, err
		}
		if dir == "/" {
			break
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil, fmt.Errorf("%s is not a program", path)
	}
	return info, rootOwned(path, info)
}

func rootOwned(path string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 {
		return fmt.Errorf("%s does not belong to root: it is not used to build a sandbox", path)
	}
	if info.Mode()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("%s can be written by others than root: it is not used to build a sandbox", path)
	}
	return nil
}
