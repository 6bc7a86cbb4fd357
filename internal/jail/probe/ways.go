package probe

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("changed")
	return errors.Join(err, f.Close())
}

// read succeeds where there is something to read.
func read(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && len(text) == 0 {
		return syscall.ENOENT
	}
	return err
}

func dial(network, addr string) error {
	c, err := net.DialTimeout(network, addr, 200*time.Millisecond)
	if err != nil {
		return err
	}
	return c.Close()
}

func listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return l.Close()
}

// self prepares our own program in one of its helper roles.
func self(role string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(exe, Command, role), nil
}
