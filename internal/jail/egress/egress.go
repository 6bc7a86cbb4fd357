// Package egress is the one way out of a boundary with ProxiedNetwork: a proxy
// on a listener that was made inside and handed out, which speaks HTTP,
// CONNECT and SOCKS 5 and lets through what its [Gate] allows.
//
// A [Server] serves the listener of one session, so that a connection needs no
// name or token to say whose it is: who can reach the listener is inside. The
// first byte tells the protocol. The Gate is asked before anything is looked
// up or dialled, for every connection and for every request of a connection
// that is kept open, and it dials; the server holds what is spoken against
// what was asked for:
//
//   - plain HTTP, also through a tunnel to port 80: the address, the Host field
//     and the host that was decided are one;
//   - a tunnel to port 443 carries TLS whose first message shows the host as
//     its server name, and no ECH, which would hide another;
//   - another protocol, TLS without a name or TLS with ECH goes only to a port
//     that the deciding rule names ([Pass.Named]); a server name that is shown
//     there is still the host's.
//
// Everything is bounded by [Limits]. What is refused is answered in the
// client's protocol, with the reason and what would allow it.
//
// What it does not promise: what stands inside TLS is not seen, so a server
// that serves several sites may be asked for another of them (domain fronting);
// a host that takes data from everybody takes it from an agent too.
package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// Asked is a connection that a process inside asks for.
type Asked struct {
	Host string // as [netguard.Host] gives it; what the client wrote, made visible, where that is no host
	Port uint16 // 0 where none could be read
}

// Gate decides about connections. It is safe for concurrent use.
type Gate interface {
	// Allow decides about a connection to a, and returns when that is settled:
	// at once, or when a person has answered. ctx ends with the client. A
	// refusal is a [*Refusal].
	Allow(ctx context.Context, a Asked) (Pass, error)
	// Fault records a request that is refused whatever the rules say, and what
	// is wrong with it.
	Fault(ctx context.Context, a Asked, why string)
}

// Pass is one allowed connection or request.
type Pass interface {
	// Dial connects to the host that was asked for. A [*Refusal] says that it
	// leads where no connection goes.
	Dial(ctx context.Context) (*net.TCPConn, error)
	// Named reports whether a rule, or a person's answer, names the port:
	// anything may be spoken there.
	Named() bool
	// Holds decides anew about a further request on the same connection, and
	// asks nobody: nil where the pass is still good.
	Holds(ctx context.Context) error
	// Done ends the pass and tells how many bytes went each way. It is called
	// once.
	Done(sent, received int64)
}

// Refusal is a connection that is not made.
type Refusal struct {
	Host string
	Port uint16
	Why  string // one sentence
	Rule string // the rule that decided and where it stands; may be empty
	Help string // what would allow it; may be empty
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s is refused: %s", site{r.Host, r.Port}.authority(0), r.Why)
}

// Limits bound what one session may make the proxy do.
type Limits struct {
	Conns int           // connections at once; one more is closed
	Head  int           // bytes of a head
	First time.Duration // until the first byte of a connection, and between requests
	Read  time.Duration // for a head, a SOCKS request or a ClientHello, once it has begun
	Idle  time.Duration // a tunnel or a transfer in which nothing moves either way
}

// Usual are the limits of a session.
func Usual() Limits {
	return Limits{Conns: 1024, Head: 64 << 10, First: time.Minute, Read: 10 * time.Second, Idle: 30 * time.Minute}
}

// Server is the proxy of one session.
type Server struct {
	Gate   Gate
	Limits Limits
}

// Listener makes a listener of the socket that a boundary handed out. It owns
// f from then on.
func Listener(f *os.File) (net.Listener, error) {
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take over the listener of the boundary: %w", err)
	}
	if _, ok := l.(*net.TCPListener); !ok {
		l.Close()
		return nil, fmt.Errorf("take over the listener of the boundary: it is a %T", l)
	}
	return l, nil
}

// Serve accepts on l until it is closed or ctx ends, and returns when every
// connection has ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	room := make(chan struct{}, s.Limits.Conns)
	var conns sync.WaitGroup
	defer conns.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) && temporary(ctx, err) {
				continue
			}
			cancel()
			return
		}
		select {
		case room <- struct{}{}:
		default:
			s.Gate.Fault(ctx, Asked{}, fmt.Sprintf("more than %d connections at once", s.Limits.Conns))
			c.Close()
			continue
		}
		conns.Go(func() {
			defer func() { <-room }()
			s.one(ctx, c.(*net.TCPConn))
		})
	}
}

// temporary waits a little where the listener is still there and could not
// accept, as when no file descriptor is left.
func temporary(ctx context.Context, err error) bool {
	var ne net.Error
	if !errors.As(err, &ne) || !ne.Timeout() && !errors.Is(err, errNoFiles) {
		return false
	}
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Millisecond):
	}
	return true
}

// client is one connection from inside.
type client struct {
	s    *Server
	ctx  context.Context // ends with the session
	conn *net.TCPConn
	r    *bufio.Reader
}

// one serves one connection.
func (s *Server) one(ctx context.Context, conn *net.TCPConn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c := &client{s: s, ctx: ctx, conn: conn, r: bufio.NewReaderSize(conn, 4<<10)}
	conn.SetReadDeadline(time.Now().Add(s.Limits.First))
	first, err := c.r.Peek(1)
	if err != nil {
		return
	}
	conn.SetReadDeadline(time.Now().Add(s.Limits.Read))
	switch b := first[0]; {
	case b == 5:
		c.socks()
	case b == 4:
		c.socks4()
	case 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z', b == '\r':
		c.http(nil, nil)
	default:
		s.Gate.Fault(ctx, Asked{}, "what was sent to the proxy is neither HTTP nor SOCKS 5")
	}
}

// allow asks the gate, which may take as long as a person does; a client that
// goes away meanwhile takes its question along.
func (c *client) allow(a Asked) (Pass, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	c.conn.SetReadDeadline(time.Time{})
	defer c.watch(cancel)()
	return c.s.Gate.Allow(ctx, a)
}

// settled is how soon a decision that needs nobody is there.
const settled = 50 * time.Millisecond

// watch calls gone when the client has closed its side, until stop is called.
// What the client sends meanwhile stays to be read.
func (c *client) watch(gone func()) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(settled)
		defer timer.Stop()
		select {
		case <-end:
			return
		case <-timer.C:
		}
		if _, err := c.r.Peek(c.r.Buffered() + 1); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, bufio.ErrBufferFull) {
			gone()
		}
	}()
	return func() {
		close(end)
		c.conn.SetReadDeadline(time.Unix(1, 0)) // wakes a read that waits
		<-ended
		c.conn.SetReadDeadline(time.Time{})
	}
}
