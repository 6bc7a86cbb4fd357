package localsock

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pair makes a connection and returns its two ends, the second as a file to
// hand to another process. The peer of either is the process that made it.
func Pair() (*Conn, *os.File, error) {
	syscall.ForkLock.RLock() // macOS cannot make it close on exec at once
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make a connection: %w", err)
	}
	c, err := FromFile(os.NewFile(uintptr(fds[0]), "near"))
	if err != nil {
		unix.Close(fds[1])
		return nil, nil, err
	}
	return c, os.NewFile(uintptr(fds[1]), "far"), nil
}

// FromFile makes a connection of a socket that another process handed on. It
// takes f over, also when it fails.
func FromFile(f *os.File) (*Conn, error) {
	defer f.Close()
	n, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("take a connection over: %w", err)
	}
	u, ok := n.(*net.UnixConn)
	if !ok {
		n.Close()
		return nil, fmt.Errorf("take a connection over: it is a %T and no unix socket", n)
	}
	c, err := newConn(u)
	if err != nil {
		u.Close()
		return nil, err
	}
	return c, nil
}

// File is a second handle of the connection, to hand to another process.
func (c *Conn) File() (*os.File, error) { return c.u.File() }

// File is a second handle of the listener, to hand to another process.
func (l *Listener) File() (*os.File, error) { return l.l.File() }

// ListenerFrom accepts on a socket that another process listens on and handed
// over; closing it leaves the socket's file where it is. It takes f over, also
// when it fails.
func ListenerFrom(f *os.File) (*Listener, error) {
	defer f.Close()
	n, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take a listening socket over: %w", err)
	}
	u, ok := n.(*net.UnixListener)
	if !ok {
		n.Close()
		return nil, fmt.Errorf("take a listening socket over: it is a %T and no unix socket", n)
	}
	return &Listener{u, u.Addr().String()}, nil
}

// Pollable is another handle of a stream that came over a connection, called
// name, which a deadline ends where the stream is a pipe or a socket. The caller
// closes both.
func Pollable(f *os.File, name string) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd, derr := -1, error(nil)
	if err := conn.Control(func(p uintptr) {
		if fd, derr = syscall.Dup(int(p)); derr == nil {
			syscall.CloseOnExec(fd)
			derr = syscall.SetNonblock(fd, true)
		}
	}); err != nil || derr != nil {
		return nil, fmt.Errorf("take over a stream: %w", errors.Join(err, derr))
	}
	return os.NewFile(uintptr(fd), name), nil
}
