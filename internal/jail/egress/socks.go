package egress

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"

	"github.com/reeve-gate/reeve/internal/netguard"
)

// What SOCKS 5 answers (RFC 1928, 6).
const (
	socksOK          = 0
	socksFailed      = 1
	socksRefused     = 2 // not allowed by the rules
	socksUnreachable = 4
	socksNobody      = 5 // connection refused
	socksCommand     = 7 // command not supported
	socksAddress     = 8 // address type not supported
)

// socks serves a SOCKS 5 connection: CONNECT, without a log-in.
func (c *client) socks() {
	methods, err := readGreeting(c.r)
	if err != nil {
		return
	}
	if !bytes.Contains(methods, []byte{0}) {
		c.conn.Write([]byte{5, 0xff})
		c.s.Gate.Fault(c.ctx, Asked{}, "SOCKS 5 with a log-in: the proxy takes none")
		return
	}
	if _, err := c.conn.Write([]byte{5, 0}); err != nil {
		return
	}
	a, err := readSocks(c.r)
	var no *socksFault
	switch {
	case errors.As(err, &no):
		c.reply(no.code)
		c.s.Gate.Fault(c.ctx, a, no.why)
		return
	case err != nil:
		return
	}
	pass, err := c.allow(a)
	if err != nil {
		c.reply(socksRefused)
		return
	}
	up, err := pass.Dial(c.ctx)
	if err != nil {
		pass.Done(0, 0)
		c.reply(socksCode(err))
		return
	}
	if c.reply(socksOK) != nil {
		up.Close()
		pass.Done(0, 0)
		return
	}
	c.tunnel(a, pass, up)
}

func socksCode(err error) byte {
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return socksRefused
	case errors.Is(err, syscall.ECONNREFUSED):
		return socksNobody
	}
	return socksUnreachable
}

func (c *client) reply(code byte) error {
	_, err := c.conn.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
	return err
}

// readGreeting reads the methods that a client offers.
func readGreeting(r io.Reader) (methods []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	methods = make([]byte, head[1])
	_, err = io.ReadFull(r, methods)
	return methods, err
}

// socksFault is a request that is understood and not served.
type socksFault struct {
	code byte
	why  string
}

func (f *socksFault) Error() string { return f.why }

// readSocks reads a request.
func readSocks(r io.Reader) (a Asked, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return a, err
	}
	var where []byte
	size := map[byte]int{1: 4, 4: 16}[head[3]]
	if head[3] == 3 {
		var n [1]byte
		if _, err := io.ReadFull(r, n[:]); err != nil {
			return a, err
		}
		size = int(n[0])
	}
	where = make([]byte, size+2)
	if _, err := io.ReadFull(r, where); err != nil {
		return a, err
	}
	a.Port = binary.BigEndian.Uint16(where[size:])
	where = where[:size]
	switch head[3] {
	case 1, 4:
		ip, _ := netip.AddrFromSlice(where)
		a.Host = ip.Unmap().String()
	case 3:
		a.Host = netguard.Show(string(where))
	}
	switch {
	case head[0] != 5 || head[2] != 0:
		return a, &socksFault{socksFailed, "a SOCKS 5 request that is none"}
	case head[1] == 3:
		return a, &socksFault{socksCommand, "SOCKS 5 for UDP: only connections by TCP are made"}
	case head[1] != 1:
		return a, &socksFault{socksCommand, "a SOCKS 5 command other than CONNECT"}
	case head[3] != 1 && head[3] != 3 && head[3] != 4:
		return a, &socksFault{socksAddress, "a SOCKS 5 request without an address"}
	case a.Port == 0:
		return a, &socksFault{socksFailed, "port 0 is none"}
	}
	if head[3] == 3 {
		host, err := netguard.Host(string(where))
		if err != nil {
			return a, &socksFault{socksRefused, err.Error()}
		}
		a.Host = host
	}
	return a, nil
}

// socks4 refuses what looks names up itself (SOCKS 4) or can leave that out
// (4a): clients that can do either can do SOCKS 5.
func (c *client) socks4() {
	c.conn.Write([]byte{0, 0x5b, 0, 0, 0, 0, 0, 0})
	c.s.Gate.Fault(c.ctx, Asked{}, "SOCKS 4: the proxy speaks SOCKS 5 with names (socks5h)")
}

// Relay joins a program's two streams to host:port through the proxy at addr:
// what ssh's ProxyCommand starts inside.
func Relay(ctx context.Context, addr, host string, port uint16, in io.Reader, out io.Writer) error {
	return relay(ctx, addr, site{host, port}, in, out, (&net.Dialer{}).DialContext)
}
