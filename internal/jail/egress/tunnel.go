package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/reeve-gate/reeve/internal/jail/hello"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// tunnel carries what the client speaks to up, which pass opened, and ends both.
func (c *client) tunnel(a Asked, pass Pass, up *net.TCPConn) {
	if a.Port == 80 && !pass.Named() {
		first, err := c.await()
		switch {
		case err != nil:
			up.Close()
			pass.Done(0, 0)
			return
		case first != hello.Handshake:
			at := site{a.Host, a.Port}
			to := &upstream{site: at, pass: pass}
			c.over(to, up)
			c.http(&at, to)
			return
		}
	}
	defer up.Close()
	defer context.AfterFunc(c.ctx, func() { up.Close() })()
	sent, received := c.through(a, pass, up)
	pass.Done(sent, received)
}

// await waits for the first byte of what a tunnel carries.
func (c *client) await() (byte, error) {
	c.conn.SetReadDeadline(time.Now().Add(c.s.Limits.First))
	b, err := c.r.Peek(1)
	if err != nil {
		return 0, err
	}
	c.conn.SetReadDeadline(time.Now().Add(c.s.Limits.Read))
	return b[0], nil
}

// through relays bytes once the client's first ones were looked at.
func (c *client) through(a Asked, pass Pass, up *net.TCPConn) (sent, received int64) {
	named := pass.Named()
	look := func() (int64, error) { return c.opening(a, named, up) }
	if !named { // nothing goes either way before
		n, err := look()
		if err != nil {
			return n, 0
		}
		sent, look = n, nil
	}
	n, received := join(c.ctx, c.conn, up, c.r, bufio.NewReaderSize(up, 512), c.s.Limits.Idle, look)
	return sent + n, received
}

// opening passes on the first message where it is TLS for the host that was
// asked for, or where the port is named. It returns how many bytes went.
func (c *client) opening(a Asked, named bool, up *net.TCPConn) (int64, error) {
	var first byte
	var err error
	if named {
		c.conn.SetReadDeadline(time.Now().Add(c.s.Limits.Idle))
		var b []byte
		if b, err = c.r.Peek(1); err == nil {
			first = b[0]
		}
		c.conn.SetReadDeadline(time.Now().Add(c.s.Limits.Read))
	} else {
		first, err = c.await()
	}
	switch {
	case named && errors.Is(err, io.EOF):
		return 0, nil // the client has nothing to say; the server may
	case err != nil:
		return 0, err
	case named && first != hello.Handshake:
		return 0, nil
	}
	raw, h, err := hello.Read(c.r)
	why := ""
	switch {
	case err != nil && named:
		err = nil // not TLS after all
	case errors.Is(err, hello.ErrNotTLS):
		why = "what goes to this port is not TLS; a rule that names the port opens it to anything"
	case err != nil:
		return 0, err
	default:
		why = a.shows(h, named)
	}
	if why != "" {
		c.s.Gate.Fault(c.ctx, a, why)
		return 0, errHead{why}
	}
	up.SetWriteDeadline(time.Now().Add(c.s.Limits.Idle))
	n, err := up.Write(raw)
	return int64(n), err
}

// shows holds the server name of a ClientHello against the host that was asked
// for, and says what is wrong or nothing. An address has no server name
// (RFC 6066, 3).
func (a Asked) shows(h hello.Hello, named bool) string {
	_, err := netip.ParseAddr(a.Host)
	literal := err == nil
	name, nameErr := "", error(nil)
	if h.Name != "" {
		if name, nameErr = netguard.Host(h.Name); nameErr != nil || strings.HasSuffix(h.Name, ".") {
			return fmt.Sprintf("the server name of its TLS is %s", netguard.Show(h.Name))
		}
	}
	switch {
	case h.ECH && named:
		return "" // the name that shows is not the one that counts
	case h.ECH:
		return "its TLS may hide another server name (ECH); a rule that names the port lets it"
	case name == "" && !literal && !named:
		return "its TLS shows no server name; a rule that names the port lets it"
	case name != "" && name != a.Host:
		return fmt.Sprintf("the server name of its TLS is %s, the connection was asked for %s", name, a.Host)
	}
	return ""
}

// join relays both ways until both ends have said that they are done, one is
// gone, or nothing moves any more. The end of one side's words is passed on and
// leaves the other its own. look, where it is not nil, passes on a's first
// words before the rest.
func join(ctx context.Context, a, b *net.TCPConn, fromA, fromB *bufio.Reader, idle time.Duration, look func() (int64, error)) (sent, received int64) {
	defer context.AfterFunc(ctx, func() { a.Close(); b.Close() })()
	var p pulse
	p.beat()
	half := func(dst, src *net.TCPConn, r *bufio.Reader) (int64, error) {
		n, err := copyN(dst, src, r, -1, idle, &p)
		if err == nil {
			err = dst.CloseWrite()
		}
		return n, err
	}
	back := make(chan int64, 1)
	go func() {
		n, err := half(a, b, fromB)
		if err != nil {
			a.Close()
			b.Close()
		}
		back <- n
	}()
	var err error
	if look != nil {
		sent, err = look()
	}
	if err == nil {
		var n int64
		n, err = half(b, a, fromA)
		sent += n
	}
	if err != nil {
		a.Close()
		b.Close()
	}
	return sent, <-back
}
