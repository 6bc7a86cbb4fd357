package egress

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail/hello"
)

// gate is a Gate of the test's: what it allows and where that leads.
type gate struct {
	t     *testing.T
	leads map[string]string // HOST:PORT → address; a site that is not in it is refused
	named map[string]bool
	wait  func(ctx context.Context, a Asked) error // asked before; nil = at once
	holds func() error

	mu       sync.Mutex
	asked    []string
	faults   []string
	done     []string // HOST:PORT sent received
	dialled  []string
	ended    chan string
	allowing int
}

func (g *gate) Allow(ctx context.Context, a Asked) (Pass, error) {
	key := site{a.Host, a.Port}.authority(0)
	g.mu.Lock()
	g.asked = append(g.asked, key)
	to, ok := g.leads[key]
	g.mu.Unlock()
	if g.wait != nil {
		if err := g.wait(ctx, a); err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, &Refusal{Host: a.Host, Port: a.Port, Why: "no rule allows it", Rule: "default, built-in", Help: "Try reeve run --allow-host " + a.Host + "."}
	}
	return &pass{g, key, to}, nil
}

func (g *gate) Fault(_ context.Context, a Asked, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, site{a.Host, a.Port}.authority(0)+" "+why)
}

type pass struct {
	g       *gate
	key, to string
}

func (p *pass) Dial(ctx context.Context) (*net.TCPConn, error) {
	p.g.mu.Lock()
	p.g.dialled = append(p.g.dialled, p.key)
	p.g.mu.Unlock()
	if p.to == "private" {
		return nil, &Refusal{Host: "h", Port: 1, Why: "it leads to 10.0.0.1, which is a private network"}
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.to)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

func (p *pass) Named() bool { return p.g.named[p.key] }

func (p *pass) Holds(context.Context) error {
	if p.g.holds != nil {
		return p.g.holds()
	}
	return nil
}

func (p *pass) Done(sent, received int64) {
	p.g.mu.Lock()
	p.g.done = append(p.g.done, fmt.Sprintf("%s %d %d", p.key, sent, received))
	p.g.mu.Unlock()
	if p.g.ended != nil {
		p.g.ended <- p.key
	}
}

func (g *gate) faulted() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.faults, "\n")
}

func (g *gate) all(list *[]string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string{}, *list...)
}

// serve runs a server on a plain listener, as the boundary would hand it out.
func (g *gate) serve(limits Limits) string {
	g.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		g.t.Fatal(err)
	}
	l.Close()
	l, err = Listener(f)
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&Server{Gate: g, Limits: limits}).Serve(ctx, l)
	}()
	g.t.Cleanup(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			g.t.Error("the server does not end with its session")
		}
	})
	return l.Addr().String()
}

func newGate(t *testing.T, leads map[string]string) *gate { return &gate{t: t, leads: leads} }

// origin is a server that answers each connection by f.
func origin(t testing.TB, f func(c *net.TCPConn, r *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				f(c.(*net.TCPConn), bufio.NewReader(c))
			})
		}
	}()
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// speak writes text to addr and returns all that comes back until the other
// side ends, or 10 seconds have passed.
func speak(t *testing.T, addr, text string) string {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	io.WriteString(c, text)
	b, err := io.ReadAll(c)
	if err != nil && len(b) == 0 {
		return "error: " + err.Error()
	}
	return string(b)
}

func dial(t testing.TB, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	return c.(*net.TCPConn)
}

// tunnel opens a CONNECT to key and returns the connection after the 200.
func tunnel(t testing.TB, addr, key string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c := dial(t, addr)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", key, key)
	r := bufio.NewReader(c)
	h, err := readHead(r, 1<<16)
	if err != nil || h.first[1] != "200" {
		t.Fatalf("CONNECT %s: %v %v", key, h, err)
	}
	return c, r
}

// authority makes certificates for names.
func authority(t testing.TB, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// clientHello is the first message of Go's own TLS for a server name, raw.
func clientHello(t testing.TB, conf *tls.Config) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer b.Close()
	go func() {
		conf.InsecureSkipVerify = true
		tls.Client(a, conf).Handshake()
		a.Close()
	}()
	raw, _, err := hello.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// withExtension adds one to a ClientHello in one record.
func withExtension(raw []byte, kind uint16, body []byte) []byte {
	out := append([]byte{}, raw...)
	at := 9 + 34 // of the session id
	at += 1 + int(out[at])
	at += 2 + int(binary.BigEndian.Uint16(out[at:]))
	at += 1 + int(out[at]) // of the length of the extensions
	ext := binary.BigEndian.AppendUint16(nil, kind)
	ext = append(binary.BigEndian.AppendUint16(ext, uint16(len(body))), body...)
	out = append(out, ext...)
	add := func(i int) {
		binary.BigEndian.PutUint16(out[i:], binary.BigEndian.Uint16(out[i:])+uint16(len(ext)))
	}
	add(at)
	add(3)
	add(7) // the low two bytes of the message's length
	return out
}
