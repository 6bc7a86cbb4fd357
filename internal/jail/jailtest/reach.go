//go:build linux

package jailtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/probe"
)

func dial(network, addr string) error {
	c, err := net.DialTimeout(network, addr, 300*time.Millisecond)
	if err != nil {
		return err
	}
	defer c.Close()
	if network != "unixgram" {
		return nil
	}
	_, err = c.Write([]byte("x"))
	return err
}

// socket makes one and closes it.
func socket(domain, typ, proto int) error {
	fd, err := unix.Socket(domain, typ|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// address reads host:port into what the kernel wants.
func address(addr string) (*unix.SockaddrInet4, error) {
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}, nil
}

// network: reach a host or a family of sockets that no namespace confines.
// Every profile runs without the network.
func network() []probe.Act {
	none := errs(syscall.ECONNREFUSED, syscall.ENETUNREACH, syscall.EADDRNOTAVAIL, eperm)
	noFamily := errs(syscall.EAFNOSUPPORT, syscall.EPROTONOSUPPORT, syscall.ESOCKTNOSUPPORT)
	family := func(name string, domain, typ, proto int) probe.Act {
		return probe.Act{Name: "network: a socket of family " + name, Want: errs(eperm), Lacking: noFamily, Do: func(probe.Stage) error { return socket(domain, typ, proto) }}
	}
	privileged := func(a probe.Act) probe.Act {
		a.Privileged, a.Lacking = true, append(noFamily, syscall.EINVAL)
		return a
	}
	return []probe.Act{
		act("network: connect", none, func(s probe.Stage) error { return dial("tcp4", s.TCP) }),
		{Name: "network: connect by IPv6", Want: none, Lacking: errs(0), Do: func(s probe.Stage) error {
			if s.TCP6 == "" {
				return errors.New("no IPv6 here")
			}
			return dial("tcp6", s.TCP6)
		}},
		act("network: send a datagram", none, func(s probe.Stage) error { return datagram(s.UDP) }),
		act("network: connect while sending", none, func(s probe.Stage) error {
			to, err := address(s.TCP)
			if err != nil {
				return err
			}
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, to)
		}),
		act("network: connect by the mapped address", none, func(s probe.Stage) error {
			to, err := address(s.TCP)
			if err != nil {
				return err
			}
			fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			mapped := unix.SockaddrInet6{Port: to.Port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
			return unix.Connect(fd, &mapped)
		}),
		{Name: "network: see the machine's interfaces", Want: errs(enoent), Lacking: errs(enoent), Do: func(probe.Stage) error {
			text, err := os.ReadFile("/proc/net/dev")
			if err == nil && strings.Count(string(text), "\n") <= 3 {
				return enoent // loopback and nothing else
			}
			return err
		}},
		act("network: see the machine's connections", errs(enoent), func(s probe.Stage) error { return seesPort(s.TCP) }),
		privileged(act("network: a raw socket", errs(eperm), func(probe.Stage) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) })),
		privileged(act("network: a packet socket", errs(eperm), func(probe.Stage) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) })),
		family("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		family("alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		family("bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1),
		family("tipc", unix.AF_TIPC, unix.SOCK_STREAM, 0),
		family("qipcrtr", unix.AF_QIPCRTR, unix.SOCK_DGRAM, 0),
		{Name: "network: a routing socket", In: []string{"strict"}, Want: errs(eperm), Do: func(probe.Stage) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, 0) }},
	}
}

func datagram(addr string) error {
	c, err := net.Dial("udp4", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for range 2 { // a refusal is told at the next call
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func seesPort(addr string) error {
	to, err := address(addr)
	if err != nil {
		return err
	}
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return err
	}
	if strings.Contains(string(text), fmt.Sprintf(":%04X ", to.Port)) {
		return nil
	}
	return enoent
}

// listeners: wait for callers. Profile agent may, in a network of its own.
func listeners() []probe.Act {
	open := func(name string, do func(probe.Stage) error) probe.Act {
		return probe.Act{Name: "listener: " + name, In: []string{"strict"}, Want: errs(eperm), Do: do, Lacking: errs(syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT)}
	}
	stream := func(network, addr string) func(probe.Stage) error {
		return func(s probe.Stage) error {
			l, err := net.Listen(network, strings.ReplaceAll(addr, "WS", s.Workspace))
			if err != nil {
				return err
			}
			return l.Close()
		}
	}
	packet := func(network, addr string) func(probe.Stage) error {
		return func(s probe.Stage) error {
			l, err := net.ListenPacket(network, strings.ReplaceAll(addr, "WS", s.Workspace))
			if err != nil {
				return err
			}
			os.Remove(strings.ReplaceAll(addr, "WS", s.Workspace))
			return l.Close()
		}
	}
	return []probe.Act{
		open("tcp", stream("tcp4", "127.0.0.1:0")),
		open("tcp on every address", stream("tcp4", "0.0.0.0:0")),
		open("tcp by IPv6", stream("tcp6", "[::1]:0")),
		open("udp", packet("udp4", "127.0.0.1:0")),
		open("udp by IPv6", packet("udp6", "[::1]:0")),
		open("unix", stream("unix", "WS/l1")),
		open("unix packets", packet("unixgram", "WS/l2")),
		open("unix sequenced packets", stream("unixpacket", "WS/l3")),
		open("abstract", stream("unix", "@reeve-jailtest")),
		open("without an address", func(probe.Stage) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Listen(fd, 1)
		}),
	}
}

// unixSockets: reach the sockets of the machine.
func unixSockets() []probe.Act {
	hidden := errs(eperm, eacces, syscall.ECONNREFUSED, enoent)
	packet := func(path func(probe.Stage) string) func(probe.Stage) error {
		return func(s probe.Stage) error { return dial("unixgram", path(s)) }
	}
	return []probe.Act{
		act("unix socket: connect by path", hidden, func(s probe.Stage) error { return dial("unix", s.Stream) }),
		act("unix socket: send by path", hidden, packet(func(s probe.Stage) string { return s.Datagram })),
		act("unix socket: send without connecting", hidden, func(s probe.Stage) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: s.Datagram})
		}),
		act("unix socket: connect to an abstract name", hidden, func(s probe.Stage) error { return dial("unix", s.Abstract) }),
		act("unix socket: through a symbolic link", hidden, func(s probe.Stage) error {
			os.Symlink(s.Stream, ws(s, "sock"))
			return dial("unix", ws(s, "sock"))
		}),
		act("unix socket: through the root of proc", hidden, func(s probe.Stage) error { return short("/proc/self/root"+s.Stream, s) }),
		act("unix socket: through a handle", hidden, func(s probe.Stage) error {
			fd, err := unix.Open(s.Stream, unix.O_PATH, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return dial("unix", "/proc/self/fd/"+itoa(fd))
		}),
		act("unix socket: by a relative path", hidden, func(s probe.Stage) error {
			if err := os.Chdir(filepath.Dir(s.Stream)); err != nil {
				return err
			}
			defer os.Chdir(s.Workspace)
			return dial("unix", "stream")
		}),
		{Name: "unix socket: point half of a pair at it", In: []string{"strict"}, Want: errs(eperm), Do: func(s probe.Stage) error {
			return pair(unix.SOCK_DGRAM, s.Datagram)
		}},
		{Name: "unix socket: point half of a raw pair at it", In: []string{"strict"}, Want: errs(eperm), Do: func(s probe.Stage) error {
			return pair(unix.SOCK_RAW, s.Datagram)
		}},
	}
}

// short dials a path that may be too long for an address, from its directory.
func short(path string, s probe.Stage) error {
	if len(path) < 100 {
		return dial("unix", path)
	}
	if err := os.Chdir(filepath.Dir(path)); err != nil {
		return err
	}
	defer os.Chdir(s.Workspace)
	return dial("unix", filepath.Base(path))
}

func pair(typ int, to string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, typ|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: to})
}

// environment: find a secret or a variable that loads code.
func environment() []probe.Act {
	var all []probe.Act
	for _, kv := range secrets {
		name, _, _ := strings.Cut(kv, "=")
		all = append(all, act("environment: "+name, errs(enoent), func(probe.Stage) error {
			if _, ok := os.LookupEnv(name); ok {
				return nil
			}
			return enoent
		}))
	}
	return append(all, act("environment: the first process's", errs(enoent), func(s probe.Stage) error {
		for _, file := range []string{"/proc/1/environ", "/proc/self/environ"} {
			text, err := os.ReadFile(file)
			if err == nil && strings.Contains(string(text), s.Canary+"=secret") {
				return nil
			}
		}
		return enoent
	}))
}
