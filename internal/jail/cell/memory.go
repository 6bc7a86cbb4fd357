//go:build linux

package cell

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// File is a file in memory that nobody can change any more, to be read from
// its beginning.
func File(name string, content []byte) (*os.File, error) {
	return sealed(name, content, unix.MFD_NOEXEC_SEAL)
}

// Program is such a file that can be executed.
func Program(name string, content []byte) (*os.File, error) {
	return sealed(name, content, unix.MFD_EXEC)
}

// sealed makes the file. kind, of Linux 6.3, says whether it can be executed;
// an older kernel does not know it and always lets it.
func sealed(name string, content []byte, kind int) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("reeve-"+name, flags|kind)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("reeve-"+name, flags)
	}
	if errors.Is(err, unix.EACCES) && kind == unix.MFD_EXEC {
		return nil, fmt.Errorf("this kernel executes nothing in memory: %w; set the sysctl vm.memfd_noexec to 0 or 1", err)
	}
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	file := os.NewFile(uintptr(fd), "reeve-"+name)
	if err := fill(file, content); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func fill(file *os.File, content []byte) error {
	if _, err := file.Write(content); err != nil {
		return fmt.Errorf("fill memory file: %w", err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		return fmt.Errorf("seal memory file: %w", err)
	}
	if _, err := file.Seek(0, 0); err != nil {
		return fmt.Errorf("rewind memory file: %w", err)
	}
	return nil
}
