// Package netguard dials only what was checked.
//
// [Guard.Dial] turns a name into addresses once, with the resolver written in
// Go (the C library's reads 127.1 and 0x7f000001 as addresses), looks at every
// one of them, and dials exactly what it looked at: there is no second look-up
// in which a name could mean something else. A name that leads to this machine,
// to a private network, to a cloud's store of credentials or to any other
// address that is not the public internet's is refused whole, also when only
// one of its addresses is such a one.
//
// There are two exceptions, and both are spelled out by a person: an address
// with its port ([Target.Spelled]), and a name that is pinned to an address
// ([Guard.Pins]). No pattern is an exception, and some addresses have none
// ([Never]).
//
// What it does not promise: that a public address belongs to whom the name
// says (that is TLS's), nor that a network's own translation prefixes (RFC 6052
// with a prefix of the network's) are seen through.
package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of one dial.
const (
	MaxAddrs      = 16                     // of one name; more are not looked at, nor dialled
	LookupTimeout = 10 * time.Second       // for the addresses of a name
	DialTimeout   = 20 * time.Second       // for all attempts together
	attemptEvery  = 250 * time.Millisecond // the next address is tried beside the last (RFC 8305, 5)
	ownFor        = 2 * time.Second        // this machine's addresses are read anew after
)

// Conn is an open connection.
type Conn = *net.TCPConn

// Target is where a connection is meant to go.
type Target struct {
	Host string // a name of ASCII letters, digits, dots, hyphens and underscores, or an address
	Port uint16

	// Spelled: a person wrote down this very address with this port. It says
	// nothing of a name.
	Spelled bool
}

// Refused is an address that is not dialled.
type Refused struct {
	Host string
	Addr netip.Addr // the zero Addr where the name was not looked up
	Why  string
}

func (r *Refused) Error() string {
	if !r.Addr.IsValid() {
		return fmt.Sprintf("%s is not dialled: it is %s; pin it to an address under [egress] hosts to reach it", r.Host, r.Why)
	}
	if a, err := netip.ParseAddr(r.Host); err == nil && a.Unmap() == r.Addr.Unmap() {
		return fmt.Sprintf("%s is not dialled: it is %s", r.Host, r.Why)
	}
	return fmt.Sprintf("%s is not dialled: it leads to %s, which is %s", r.Host, r.Addr, r.Why)
}

// Pin reads what a person writes to give a name an address: ADDR, or ADDR:PORT
// to reach another port than the one that is asked for. The name is given back
// as it is looked up in [Guard.Pins].
func Pin(name, address string) (string, netip.AddrPort, error) {
	host, err := Host(name)
	if err == nil && !plain(host) {
		err = fmt.Errorf("%s is an address", Show(name))
	}
	if err != nil {
		return "", netip.AddrPort{}, fmt.Errorf("%w; a name is pinned, without a pattern", err)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		a, aerr := netip.ParseAddr(address)
		if aerr != nil {
			return "", netip.AddrPort{}, fmt.Errorf("%s is pinned to %s, which is no address; write 10.0.0.7, 127.0.0.1:8443 or [::1]:8443", host, Show(address))
		}
		to = netip.AddrPortFrom(a, 0)
	}
	if why := Never(to.Addr()); why != "" {
		return "", netip.AddrPort{}, fmt.Errorf("%s is pinned to %s, which is %s and never dialled", host, to.Addr(), why)
	}
	return host, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), nil
}

// Guard dials. The zero Guard makes no exception. It is safe for concurrent
// use; its fields are set before the first use.
type Guard struct {
	// Pins are names in lower case and the address that each stands for; with
	// a port of zero the port that was asked for is dialled. A pinned name is
	// never looked up.
	Pins map[string]netip.AddrPort

	// For tests; nil is the system's resolver, its interfaces and its network.
	Lookup  func(ctx context.Context, name string) ([]netip.Addr, error)
	Own     func() ([]netip.Addr, error)
	Connect func(ctx context.Context, to netip.AddrPort) (Conn, error)

	mu   sync.Mutex // guards what follows
	own  []netip.Addr
	seen time.Time
}

// Dial connects to t. It fails with a [*Refused] where an address is not to be
// dialled, and then has dialled none.
func (g *Guard) Dial(ctx context.Context, t Target) (Conn, error) {
	to, err := g.Resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	c, err := g.first(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", t.Host, err)
	}
	return c, nil
}

// Resolve gives the checked addresses of t, at least one.
func (g *Guard) Resolve(ctx context.Context, t Target) ([]netip.AddrPort, error) {
	if t.Port == 0 {
		return nil, fmt.Errorf("connect to %s: port 0 is none", t.Host)
	}
	if a, err := netip.ParseAddr(t.Host); err == nil {
		return g.checked(t, []netip.Addr{a}, t.Spelled)
	}
	if !plain(t.Host) {
		return nil, fmt.Errorf("connect to %q: it is neither a host name nor an address", t.Host)
	}
	name := strings.ToLower(t.Host)
	if pin, ok := g.Pins[name]; ok {
		if pin.Port() != 0 {
			t.Port = pin.Port()
		}
		return g.checked(t, []netip.Addr{pin.Addr()}, true)
	}
	if why := local(name); why != "" {
		return nil, &Refused{Host: t.Host, Why: why}
	}
	all, err := g.lookup(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", name, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("look up %s: it has no address", name)
	}
	return g.checked(t, all[:min(len(all), MaxAddrs)], false)
}

// local says why a name is not looked up at all, or "": what it means is a
// matter of this machine or its network (RFC 6761, 6.3; the search list).
func local(name string) string {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return "this machine's loopback"
	}
	if !strings.Contains(name, ".") {
		return "a name of this network alone"
	}
	return ""
}

// plain reports whether a name is one that a resolver takes for nothing else:
// no final dot, and a last label that is no number.
func plain(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return false
		}
		last = label
	}
	return last[0] < '0' || last[0] > '9'
}

// lookup asks the system's servers and hosts file, in Go. The name is rooted,
// so that no search list makes another name of it.
func (g *Guard) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, LookupTimeout)
	defer cancel()
	if g.Lookup != nil {
		return g.Lookup(ctx, name)
	}
	r := net.Resolver{PreferGo: true}
	return r.LookupNetIP(ctx, "ip", name+".")
}

// Closed says why an address is dialled only where it is spelled or pinned, or
// "": it is not the public internet's, or one of this machine's own.
func (g *Guard) Closed(a netip.Addr) string {
	if why := Closed(a); why != "" {
		return why
	}
	if g.mine(a) {
		return "an address of this machine"
	}
	return ""
}

// checked refuses the whole list for one bad address in it.
func (g *Guard) checked(t Target, all []netip.Addr, spelled bool) ([]netip.AddrPort, error) {
	out := make([]netip.AddrPort, len(all))
	for i, a := range all {
		why := Never(a)
		if why == "" && !spelled {
			why = g.Closed(a)
		}
		if why != "" {
			return nil, &Refused{Host: t.Host, Addr: a, Why: why}
		}
		out[i] = netip.AddrPortFrom(a.Unmap(), t.Port)
	}
	return out, nil
}

// mine reports whether one of this machine's interfaces has the address; where
// they cannot be read, every address could be one.
func (g *Guard) mine(a netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); g.seen.IsZero() || now.Sub(g.seen) > ownFor {
		read := g.Own
		if read == nil {
			read = interfaces
		}
		all, err := read()
		if err != nil {
			return true
		}
		g.own, g.seen = all, now
	}
	a = a.Unmap()
	return slices.Contains(g.own, a) || slices.ContainsFunc(embedded(a), func(v4 netip.Addr) bool { return slices.Contains(g.own, v4) })
}

func interfaces() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("read this machine's addresses: %w", err)
	}
	var out []netip.Addr
	for _, one := range all {
		if p, err := netip.ParsePrefix(one.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out, nil
}

// first connects to one of the addresses: each is begun a little after the one
// before, or at once where that failed, and the first that answers counts
// (RFC 8305).
func (g *Guard) first(ctx context.Context, to []netip.AddrPort) (Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type attempt struct {
		c   Conn
		err error
	}
	done := make(chan attempt)
	begun, ended := 0, 0
	begin := func() {
		if begun < len(to) {
			target := to[begun]
			begun++
			go func() {
				c, err := g.connect(ctx, target)
				done <- attempt{c, err}
			}()
		}
	}
	defer func() {
		if left := begun - ended; left > 0 { // the slower ones are closed when they answer
			go func() {
				for range left {
					if a := <-done; a.c != nil {
						a.c.Close()
					}
				}
			}()
		}
	}()
	begin()
	tick := time.NewTicker(attemptEvery)
	defer tick.Stop()
	var errs []error
	for {
		select {
		case a := <-done:
			ended++
			if a.err == nil {
				return a.c, nil
			}
			errs = append(errs, a.err)
			if ended == len(to) {
				return nil, errors.Join(errs...)
			}
			begin()
		case <-tick.C:
			begin()
		}
	}
}

// connect dials one address, which is a number: nothing is looked up.
func (g *Guard) connect(ctx context.Context, to netip.AddrPort) (Conn, error) {
	if g.Connect != nil {
		return g.Connect(ctx, to)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}
