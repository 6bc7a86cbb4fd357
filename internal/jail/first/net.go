//go:build linux

package main

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/orders"
)

// backlog of the listener; the kernel lowers it to its own bound.
const backlog = 4096

// loopback brings the interface up; the kernel gives it its addresses.
func (f *first) loopback() {
	if !f.orders.Loopback {
		return
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		f.fail(orders.LoopbackStep, orders.None, 0, err)
	}
	request, err := unix.NewIfreq("lo")
	if err == nil {
		request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
	}
	if err != nil {
		f.fail(orders.LoopbackStep, orders.None, 0, err)
	}
	unix.Close(fd)
}

// listen makes the one socket that leads out.
func (f *first) listen() {
	if f.orders.Listen == 0 {
		return
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(f.orders.Listen), Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		f.fail(orders.ListenStep, orders.Socket, 0, err)
	}
	f.listener = fd
}

// stand says that the boundary stands, gives the listener away, of which
// nothing stays here, and waits for the word to go on.
func (f *first) stand() {
	var rights []byte
	if f.listener >= 0 {
		rights = unix.UnixRights(f.listener)
	}
	orders.Report{Kind: orders.Standing, Number: f.ns}.Encode(&f.report)
	if err := unix.Sendmsg(f.door, f.report[:], rights, nil, 0); err != nil {
		f.fail(orders.ListenStep, orders.HandOver, 0, err)
	}
	if f.listener >= 0 {
		unix.Close(f.listener)
	}
	answer := make([]byte, 1)
	for {
		n, err := unix.Read(f.door, answer)
		if err == unix.EINTR {
			continue
		}
		if n != 1 || answer[0] != orders.Go {
			syscall.Exit(1) // who did not answer so knows why
		}
		return
	}
}
