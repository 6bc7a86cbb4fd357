package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// web is a plain HTTP server that says what it was asked for.
func web(t testing.TB) string {
	return origin(t, func(c *net.TCPConn, r *bufio.Reader) {
		for {
			q, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(q.Body)
			text := fmt.Sprintf("%s %s %s %q %d fields", q.Method, q.Host, q.RequestURI, body, len(q.Header))
			switch q.URL.Path {
			case "/close":
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s", text)
				return
			case "/chunks":
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5;ext=1\r\nhello\r\n%x\r\n%s\r\n0\r\nX: y\r\n\r\n", len(text), text)
			case "/continue":
				fmt.Fprintf(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			case "/drop":
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
				return // although the connection was to stay
			case "/two":
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
				return
			case "/junk":
				io.WriteString(c, "SSH-2.0-x\r\n")
				return
			default:
				if q.Method == "HEAD" {
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
					continue
				}
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nKeep-Alive: timeout=5\r\n\r\n%s", len(text), text)
			}
		}
	})
}

// through is an HTTP client that uses the proxy.
func through(t *testing.T, addr string) *http.Client {
	t.Helper()
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: addr})}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 10 * time.Second}
}

func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		t.Fatalf("get %s: %v", address, err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("get %s: %v", address, err)
	}
	return r.StatusCode, string(b)
}

func TestPlainRequestsAreForwarded(t *testing.T) {
	g := newGate(t, map[string]string{"a.example:80": web(t), "b.example:8080": web(t)})
	addr := g.serve(Usual())
	c := through(t, addr)
	for _, one := range []struct{ address, want string }{
		{"http://a.example/x?y=1", `GET a.example /x?y=1 "" 2 fields`},
		{"http://a.example/chunks", `helloGET a.example /chunks "" 2 fields`},
		{"http://a.example/continue", `GET a.example /continue "" 2 fields`},
		{"http://b.example:8080/", `GET b.example:8080 / "" 2 fields`},
		{"http://a.example/close", `GET a.example /close "" 2 fields`},
		{"http://a.example/drop", `GET a.example /drop "" 2 fields`},
		{"http://a.example/again", `GET a.example /again "" 2 fields`},
	} {
		if code, got := get(t, c, one.address); code != 200 || got != one.want {
			t.Errorf("%s: %d %q, want %q", one.address, code, got, one.want)
		}
	}
	for _, body := range []io.Reader{strings.NewReader("with a length"), struct{ io.Reader }{strings.NewReader("in chunks")}} {
		r, err := c.Post("http://a.example/p", "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if !strings.Contains(string(b), `"with a length"`) && !strings.Contains(string(b), `"in chunks"`) {
			t.Errorf("a body came as %s", b)
		}
	}
	r, err := c.Head("http://a.example/h")
	if err != nil || r.ContentLength != 5 {
		t.Errorf("HEAD: %+v, %v", r, err)
	}
	if code, _ := get(t, c, "http://a.example/junk"); code != 502 {
		t.Errorf("an answer that is none: %d", code)
	}
	if code, _ := get(t, c, "http://a.example/two"); code != 502 {
		t.Errorf("an answer with two ends: %d", code)
	}
	if f := g.faulted(); f != "" {
		t.Errorf("faults: %s", f)
	}
}

func TestAnOldClientGetsAnOldAnswer(t *testing.T) {
	g := newGate(t, map[string]string{"a.example:80": web(t)})
	got := speak(t, g.serve(Usual()), "GET http://a.example/chunks HTTP/1.0\r\n\r\n")
	head, body, _ := strings.Cut(got, "\r\n\r\n")
	if !strings.Contains(head, "Connection: close") || strings.Contains(head, "chunked") || !strings.HasPrefix(body, "helloGET ") {
		t.Errorf("got %q", got)
	}
}

func TestEachRequestOfAConnectionIsDecided(t *testing.T) {
	g := newGate(t, map[string]string{"a.example:80": web(t)})
	addr := g.serve(Usual())
	first := "GET http://a.example/1 HTTP/1.1\r\nHost: a.example\r\n\r\n"
	for _, c := range []struct {
		name, second, want string
		refuses            func() error
	}{
		{"another host", "GET http://b.example/2 HTTP/1.1\r\nHost: b.example\r\n\r\n", "403", nil},
		{"another port", "GET http://a.example:81/2 HTTP/1.1\r\nHost: a.example:81\r\n\r\n", "403", nil},
		{"another Host field", "GET http://a.example/2 HTTP/1.1\r\nHost: b.example\r\n\r\n", "400", nil},
		{"a tunnel", "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", "403", nil},
		{"the same after the rules changed", "GET http://a.example/2 HTTP/1.1\r\nHost: a.example\r\n\r\n", "403", func() error { return errors.New("taken back") }},
	} {
		g.mu.Lock()
		g.holds = c.refuses
		if c.refuses != nil { // as the gate would answer from now on
			g.wait = func(context.Context, Asked) error {
				if len(g.asked) > 1 {
					return &Refusal{Host: "a.example", Port: 80, Why: "taken back"}
				}
				return nil
			}
			g.asked = nil
		}
		g.mu.Unlock()
		got := speak(t, addr, first+c.second)
		if strings.Count(got, "HTTP/1.1 200 OK") != 1 || !strings.Contains(got, "HTTP/1.1 "+c.want) || strings.Contains(got, `/2 ""`) {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
	for _, d := range g.all(&g.dialled) {
		if d != "a.example:80" {
			t.Errorf("dialled %s", d)
		}
	}
}

func TestTheGateIsAskedBeforeAnythingIsDialled(t *testing.T) {
	g := newGate(t, nil)
	addr := g.serve(Usual())
	for _, text := range []string{
		"GET http://no.example/ HTTP/1.1\r\nHost: no.example\r\n\r\n", "CONNECT no.example:443 HTTP/1.1\r\nHost: no.example:443\r\n\r\n" + string(clientHello(t, &tls.Config{ServerName: "no.example"})),
	} {
		got := speak(t, addr, text)
		for _, want := range []string{"HTTP/1.1 403 Refused by Reeve\r\n", "X-Reeve-Reason: no rule allows it (default, built-in)\r\n", "Content-Type: text/plain", "no.example:", "reeve run --allow-host no.example"} {
			if !strings.Contains(got, want) {
				t.Errorf("%.30q: %q is not in %q", text, want, got)
			}
		}
	}
	if got := speak(t, addr, "\x05\x01\x00\x05\x01\x00\x03\x0ano.example\x01\xbb"); got != "\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00" {
		t.Errorf("SOCKS: %q", got)
	}
	if d := g.all(&g.dialled); len(d) > 0 {
		t.Errorf("dialled %v", d)
	}
	if a := g.all(&g.asked); len(a) != 3 {
		t.Errorf("asked %v", a)
	}
}

func TestAHostThatLeadsInwardsIsRefusedLikeARule(t *testing.T) {
	g := newGate(t, map[string]string{"in.example:80": "private", "in.example:443": "private"})
	addr := g.serve(Usual())
	for _, text := range []string{"GET http://in.example/ HTTP/1.1\r\nHost: in.example\r\n\r\n", "CONNECT in.example:443 HTTP/1.1\r\n\r\n"} {
		if got := speak(t, addr, text); !strings.HasPrefix(got, "HTTP/1.1 403") || !strings.Contains(got, "a private network") {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := speak(t, addr, "\x05\x01\x00\x05\x01\x00\x03\x0ain.example\x01\xbb"); !strings.HasPrefix(got[2:], "\x05\x02") {
		t.Errorf("SOCKS: %q", got)
	}
}

func TestARedirectIsARequestOfItsOwn(t *testing.T) {
	to := origin(t, func(c *net.TCPConn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\nContent-Length: 0\r\n\r\n")
		}
	})
	g := newGate(t, map[string]string{"a.example:80": to})
	code, body := get(t, through(t, g.serve(Usual())), "http://a.example/")
	if code != 403 || !strings.Contains(body, "169.254.169.254") || !slices.Contains(g.all(&g.asked), "169.254.169.254:80") {
		t.Errorf("the redirect got %d %q", code, body)
	}
	if d := g.all(&g.dialled); len(d) != 1 {
		t.Errorf("dialled %v", d)
	}
}

// secure is a TLS server for a name that echoes.
func secure(t testing.TB, name string) string {
	conf := &tls.Config{Certificates: []tls.Certificate{authority(t, name)}}
	return origin(t, func(c *net.TCPConn, _ *bufio.Reader) {
		s := tls.Server(c, conf)
		io.Copy(s, s)
		s.Close()
	})
}

func TestATunnelCarriesTLSForItsHostOnly(t *testing.T) {
	to := secure(t, "a.example")
	for _, c := range []struct {
		name  string
		key   string
		named bool
		conf  *tls.Config
		raw   []byte // instead of TLS
		good  bool
		fault string
	}{
		{name: "its own name", key: "a.example:443", conf: &tls.Config{ServerName: "a.example"}, good: true},
		{name: "in capitals", key: "a.example:443", conf: &tls.Config{ServerName: "A.Example"}, good: true},
		{name: "another name", key: "a.example:443", conf: &tls.Config{ServerName: "b.example"}, fault: "is b.example"},
		{name: "another name on a named port", key: "a.example:8443", named: true, conf: &tls.Config{ServerName: "b.example"}, fault: "is b.example"},
		{name: "its own on a named port", key: "a.example:8443", named: true, conf: &tls.Config{ServerName: "a.example"}, good: true},
		{name: "no name", key: "a.example:443", conf: &tls.Config{ServerName: "127.0.0.1"}, fault: "no server name"},
		{name: "no name on a named port", key: "a.example:8443", named: true, conf: &tls.Config{ServerName: "127.0.0.1"}, good: true},
		{name: "no TLS", key: "a.example:443", raw: []byte("SSH-2.0-OpenSSH\r\n"), fault: "not TLS"},
		{name: "HTTP", key: "a.example:443", raw: []byte("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"), fault: "not TLS"},
		{name: "ECH", key: "a.example:443", raw: withExtension(clientHello(t, &tls.Config{ServerName: "a.example"}), 0xfe0d, []byte{0}), fault: "ECH"},
		{name: "TLS on port 80", key: "a.example:80", conf: &tls.Config{ServerName: "a.example"}, good: true},
		{name: "another name on port 80", key: "a.example:80", conf: &tls.Config{ServerName: "b.example"}, fault: "is b.example"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(t, map[string]string{c.key: to})
			g.named = map[string]bool{c.key: c.named}
			g.ended = make(chan string, 1)
			conn, r := tunnel(t, g.serve(Usual()), c.key)
			var got string
			if c.raw != nil {
				conn.Write(c.raw)
				b, _ := io.ReadAll(r)
				got = string(b)
			} else {
				c.conf.InsecureSkipVerify = true
				s := tls.Client(conn, c.conf)
				if err := s.Handshake(); err == nil {
					io.WriteString(s, "ping")
					s.CloseWrite()
					b, _ := io.ReadAll(s)
					got = string(b)
				}
			}
			conn.Close()
			<-g.ended
			if (got == "ping") != c.good || !c.good && got != "" {
				t.Errorf("got %q", got)
			}
			if f := g.faulted(); (f == "") != c.good || !strings.Contains(f, c.fault) {
				t.Errorf("faults %q, want %q", f, c.fault)
			}
			if d := g.all(&g.done); len(d) != 1 || c.good == strings.HasSuffix(d[0], " 0 0") {
				t.Errorf("counted %v", d)
			}
		})
	}
}

func TestATunnelToPort80CarriesHTTPForItsHostOnly(t *testing.T) {
	g := newGate(t, map[string]string{"a.example:80": web(t)})
	addr := g.serve(Usual())
	for _, c := range []struct{ text, want, not string }{
		{"GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\nGET /2 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", `/2 ""`, "400"},
		{"GET /1 HTTP/1.1\r\nHost: b.example\r\n\r\n", "400", "200"},
		{"GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\nGET /2 HTTP/1.1\r\nHost: b.example\r\n\r\n", "400", `/2 ""`},
		{"GET http://b.example/1 HTTP/1.1\r\nHost: b.example\r\n\r\n", "400", "200"},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400", "200"},
	} {
		conn, r := tunnel(t, addr, "a.example:80")
		io.WriteString(conn, c.text)
		b, _ := io.ReadAll(r)
		if !strings.Contains(string(b), c.want) || strings.Contains(string(b), c.not) {
			t.Errorf("%q: %q", c.text, b)
		}
	}
	if got := speak(t, addr, "\x05\x01\x00\x05\x01\x00\x03\x09a.example\x00\x50GET /s HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"); !strings.Contains(got, `/s ""`) {
		t.Errorf("SOCKS: %q", got)
	}
}

func TestAnyProtocolGoesToANamedPort(t *testing.T) {
	to := origin(t, func(c *net.TCPConn, r *bufio.Reader) { // the server speaks first
		io.WriteString(c, "220 ready\r\n")
		line, _ := r.ReadString('\n')
		io.WriteString(c, "you said "+line)
	})
	g := newGate(t, map[string]string{"a.example:25": to})
	g.named = map[string]bool{"a.example:25": true}
	conn, r := tunnel(t, g.serve(Usual()), "a.example:25")
	if line, err := r.ReadString('\n'); line != "220 ready\r\n" {
		t.Fatalf("the server's first word: %q, %v", line, err)
	}
	io.WriteString(conn, "EHLO x\n")
	if line, _ := r.ReadString('\n'); line != "you said EHLO x\n" {
		t.Errorf("its answer: %q", line)
	}
}

func TestTheEndOfOneSidesWordsLeavesTheOtherItsOwn(t *testing.T) {
	to := origin(t, func(c *net.TCPConn, r *bufio.Reader) {
		b, _ := io.ReadAll(r)
		fmt.Fprintf(c, "%d bytes", len(b))
	})
	g := newGate(t, map[string]string{"a.example:25": to, "b.example:25": origin(t, func(c *net.TCPConn, r *bufio.Reader) {
		io.WriteString(c, "bye")
		c.CloseWrite()
		b, _ := io.ReadAll(r)
		if string(b) != "still here" {
			t.Errorf("after the server's end came %q", b)
		}
	})})
	g.named = map[string]bool{"a.example:25": true, "b.example:25": true}
	g.ended = make(chan string, 2)
	addr := g.serve(Usual())
	conn, r := tunnel(t, addr, "a.example:25")
	conn.Write(make([]byte, 100_000))
	conn.CloseWrite()
	if b, err := io.ReadAll(r); string(b) != "100000 bytes" {
		t.Errorf("got %q, %v", b, err)
	}
	conn, r = tunnel(t, addr, "b.example:25")
	if b, err := io.ReadAll(r); string(b) != "bye" {
		t.Errorf("got %q, %v", b, err)
	}
	io.WriteString(conn, "still here")
	conn.CloseWrite()
	<-g.ended
	<-g.ended
	if d := g.all(&g.done); !slices.Contains(d, "a.example:25 100000 12") || !slices.Contains(d, "b.example:25 10 3") {
		t.Errorf("counted %v", d)
	}
}

func TestWhatIsNoRequestIsAnsweredAndRecorded(t *testing.T) {
	g := newGate(t, map[string]string{"a.example:443": web(t), "a.example:80": web(t)})
	addr := g.serve(Usual())
	for _, c := range []struct{ name, text, want, fault string }{
		{"SOCKS 4", "\x04\x01\x00\x50\x7f\x00\x00\x01\x00", "\x00\x5b\x00\x00\x00\x00\x00\x00", "SOCKS 4"},
		{"SOCKS 4a", "\x04\x01\x00\x50\x00\x00\x00\x01\x00a.example\x00", "\x00\x5b\x00\x00\x00\x00\x00\x00", "SOCKS 4"},
		{"SOCKS with a log-in", "\x05\x01\x02", "\x05\xff", "log-in"},
		{"SOCKS for UDP", "\x05\x01\x00\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00", "UDP"},
		{"a NUL in a name", "\x05\x01\x00\x05\x01\x00\x03\x0ba.example\x00x\x01\xbb", "\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00", "no host name"},
		{"TLS to the proxy", string(clientHello(t, &tls.Config{ServerName: "a.example"})), "", "neither HTTP nor SOCKS 5"},
		{"a request behind a CONNECT's back", "CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 40\r\n\r\nGET http://b.example/ HTTP/1.1\r\n\r\n", "HTTP/1.1 400", "no content"},
		{"two lengths", "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://b.example/ HTTP/1.1\r\n\r\n", "HTTP/1.1 400", "both"},
		{"a host in disguise", "GET http://a.example%00.b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "HTTP/1.1 400", "no host name"},
		{"a giant head", "GET http://a.example/ HTTP/1.1\r\nX: " + strings.Repeat("y", 70_000), "HTTP/1.1 400", "longer"},
		{"another Host", "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", "HTTP/1.1 400", "Host field"},
	} {
		g.mu.Lock()
		g.faults = nil
		g.mu.Unlock()
		got := speak(t, addr, c.text)
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" && !strings.HasPrefix(got, "error") || strings.Count(got, "HTTP/1.1") > 1 {
			t.Errorf("%s: answered %.300q", c.name, got)
		}
		if f := g.faulted(); !strings.Contains(f, c.fault) {
			t.Errorf("%s: recorded %q", c.name, f)
		}
	}
	if d := g.all(&g.dialled); len(d) > 0 {
		t.Errorf("dialled %v", d)
	}
}

func TestARequestDoesNotHideBehindATunnel(t *testing.T) {
	to := secure(t, "a.example")
	g := newGate(t, map[string]string{"a.example:443": to})
	// The second request stands where the tunnel's first bytes are read.
	got := speak(t, g.serve(Usual()), "CONNECT a.example:443 HTTP/1.1\r\n\r\nGET http://b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n")
	if got != "HTTP/1.1 200 Connection established\r\n\r\n" || !strings.Contains(g.faulted(), "not TLS") {
		t.Errorf("got %q, faults %q", got, g.faulted())
	}
}

func TestWhatComesEarlyIsCarried(t *testing.T) {
	to := origin(t, func(c *net.TCPConn, r *bufio.Reader) {
		b, _ := io.ReadAll(r)
		fmt.Fprintf(c, "%q", b)
	})
	g := newGate(t, map[string]string{"a.example:25": to})
	g.named = map[string]bool{"a.example:25": true}
	conn := dial(t, g.serve(Usual()))
	io.WriteString(conn, "CONNECT a.example:25 HTTP/1.1\r\n\r\nearly")
	conn.CloseWrite()
	b, _ := io.ReadAll(conn)
	if !strings.HasSuffix(string(b), `"early"`) {
		t.Errorf("got %q", b)
	}
}

func TestSlowAndSilentClientsAreLetGo(t *testing.T) {
	short := Usual()
	short.First, short.Read = 100*time.Millisecond, 100*time.Millisecond
	g := newGate(t, map[string]string{"a.example:443": secure(t, "a.example"), "a.example:80": web(t)})
	addr := g.serve(short)
	for _, c := range []struct{ name, text, want string }{
		{"silence", "", ""},
		{"half a head", "GET http://a.example/ HTTP/1.1\r\nHo", "HTTP/1.1 408"},
		{"half a SOCKS greeting", "\x05\x05", ""},
		{"half a SOCKS request", "\x05\x01\x00\x05\x01\x00\x03\x30", "\x05\x00"},
		{"a tunnel without a word", "CONNECT a.example:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 200"},
		{"half a ClientHello", "CONNECT a.example:443 HTTP/1.1\r\n\r\n\x16\x03\x01\x01\x00\x01", "HTTP/1.1 200"},
		{"silence after an answer", "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "HTTP/1.1 200"},
	} {
		conn := dial(t, addr)
		io.WriteString(conn, c.text)
		begin := time.Now()
		b, err := io.ReadAll(conn)
		if err != nil && !strings.Contains(err.Error(), "reset") || time.Since(begin) > 5*time.Second || !strings.HasPrefix(string(b), c.want) {
			t.Errorf("%s: %q, %v after %s", c.name, b, err, time.Since(begin))
		}
	}
}

func TestASlowHeadIsMeasuredFromItsBeginning(t *testing.T) {
	short := Usual()
	short.Read = 300 * time.Millisecond
	g := newGate(t, nil)
	conn := dial(t, g.serve(short))
	io.WriteString(conn, "GET ")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, conn)
	}()
	limit := time.After(5 * time.Second)
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			conn.Write([]byte("x")) // each byte in time, the head never whole
		case <-limit:
			t.Fatal("a head that comes byte by byte is waited for")
		}
	}
}

func TestATunnelInWhichNothingMovesIsClosed(t *testing.T) {
	short := Usual()
	short.Idle = 800 * time.Millisecond
	to := origin(t, func(c *net.TCPConn, r *bufio.Reader) { io.Copy(c, r) })
	g := newGate(t, map[string]string{"a.example:25": to})
	g.named = map[string]bool{"a.example:25": true}
	conn, r := tunnel(t, g.serve(short), "a.example:25")
	begin := time.Now()
	for range 12 { // one side is silent for longer than that altogether, the other speaks
		fmt.Fprintln(conn, "x")
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatalf("after %s: %v", time.Since(begin), err)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
	if _, err := r.ReadString('\n'); err == nil || time.Since(begin) > 8*time.Second {
		t.Errorf("it is still open after %s: %v", time.Since(begin), err)
	}
}

func TestMoreConnectionsThanMayAreClosed(t *testing.T) {
	few := Usual()
	few.Conns = 3
	to := origin(t, func(c *net.TCPConn, r *bufio.Reader) { io.Copy(c, r) })
	g := newGate(t, map[string]string{"a.example:25": to})
	g.named = map[string]bool{"a.example:25": true}
	g.ended = make(chan string, 10)
	addr := g.serve(few)
	var open []*net.TCPConn
	for range few.Conns {
		c, _ := tunnel(t, addr, "a.example:25")
		open = append(open, c)
	}
	if got := speak(t, addr, ""); got != "" && !strings.HasPrefix(got, "error") || !strings.Contains(g.faulted(), "more than 3 connections") {
		t.Errorf("one more got %q, faults %q", got, g.faulted())
	}
	open[0].Close()
	<-g.ended
	deadline := time.Now().Add(5 * time.Second)
	for {
		c := dial(t, addr)
		fmt.Fprint(c, "CONNECT a.example:25 HTTP/1.1\r\n\r\n")
		if b, _ := bufio.NewReader(c).ReadString('\n'); strings.Contains(b, "200") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("there is room again and none is taken in")
		}
	}
}

func TestManyConnectionsAtOnce(t *testing.T) {
	to := secure(t, "a.example")
	g := newGate(t, map[string]string{"a.example:443": to})
	addr := g.serve(Usual())
	errs := make(chan error, 200)
	for range cap(errs) {
		go func() {
			errs <- func() error {
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					return err
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(30 * time.Second))
				fmt.Fprint(conn, "CONNECT a.example:443 HTTP/1.1\r\n\r\n")
				r := bufio.NewReader(conn)
				if h, err := readHead(r, 1000); err != nil || h.first[1] != "200" {
					return fmt.Errorf("%v, %v", h, err)
				}
				s := tls.Client(conn, &tls.Config{ServerName: "a.example", InsecureSkipVerify: true})
				if _, err := io.WriteString(s, "ping"); err != nil {
					return err
				}
				b := make([]byte, 4)
				_, err = io.ReadFull(s, b)
				return err
			}()
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

func TestAClientThatGoesAwayTakesItsQuestionAlong(t *testing.T) {
	for _, text := range []string{"CONNECT a.example:443 HTTP/1.1\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "\x05\x01\x00\x05\x01\x00\x03\x09a.example\x01\xbb"} {
		g := newGate(t, nil)
		asked, gone := make(chan struct{}), make(chan struct{})
		g.wait = func(ctx context.Context, _ Asked) error {
			close(asked)
			<-ctx.Done()
			close(gone)
			return &Refusal{Why: "withdrawn"}
		}
		conn := dial(t, g.serve(Usual()))
		io.WriteString(conn, text)
		<-asked
		conn.Close()
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Errorf("%q: the question stands although its client is gone", text)
		}
	}
}

func TestAnAnswerIsWaitedForWithTheConnectionOpen(t *testing.T) {
	g := newGate(t, map[string]string{"a.example:25": origin(t, func(c *net.TCPConn, r *bufio.Reader) { io.Copy(c, r) })})
	g.named = map[string]bool{"a.example:25": true}
	answer := make(chan struct{})
	g.wait = func(ctx context.Context, _ Asked) error {
		select {
		case <-answer:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	short := Usual()
	short.First, short.Read = 200*time.Millisecond, 200*time.Millisecond // a question may take longer
	conn := dial(t, g.serve(short))
	io.WriteString(conn, "CONNECT a.example:25 HTTP/1.1\r\n\r\nsent meanwhile\n")
	select {
	case <-time.After(600 * time.Millisecond):
	case <-t.Context().Done():
	}
	close(answer)
	r := bufio.NewReader(conn)
	if h, err := readHead(r, 1000); err != nil || h.first[1] != "200" {
		t.Fatalf("%v, %v", h, err)
	}
	if line, err := r.ReadString('\n'); line != "sent meanwhile\n" {
		t.Errorf("%q, %v", line, err)
	}
}

func TestAWebSocketIsCarried(t *testing.T) {
	to := origin(t, func(c *net.TCPConn, r *bufio.Reader) {
		q, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if q.Header.Get("Upgrade") != "websocket" {
			fmt.Fprint(c, "HTTP/1.1 101 Switching\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n")
			return
		}
		fmt.Fprint(c, "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhi ")
		io.Copy(c, r)
	})
	g := newGate(t, map[string]string{"a.example:80": to})
	addr := g.serve(Usual())
	conn := dial(t, addr)
	io.WriteString(conn, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes")
	conn.CloseWrite()
	if b, _ := io.ReadAll(conn); !strings.HasPrefix(string(b), "HTTP/1.1 101") || !strings.HasSuffix(string(b), "hi frames") {
		t.Errorf("got %q", b)
	}
	if got := speak(t, addr, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"); strings.Contains(got, "101") {
		t.Errorf("a protocol that was not asked for: %q", got)
	}
}

func TestAnEarlyAnswerEndsTheUpload(t *testing.T) {
	to := origin(t, func(c *net.TCPConn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
			io.Copy(io.Discard, r)
		}
	})
	g := newGate(t, map[string]string{"a.example:80": to})
	g.ended = make(chan string, 1)
	conn := dial(t, g.serve(Usual()))
	io.WriteString(conn, "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1000000\r\n\r\nsome of it")
	b, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(b), "HTTP/1.1 413") || !strings.HasSuffix(string(b), "no") {
		t.Errorf("got %q", b)
	}
	<-g.ended
}

func TestASiteThatIsNotThereIsSaidToBe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	g := newGate(t, map[string]string{"a.example:80": nobody, "a.example:443": nobody})
	addr := g.serve(Usual())
	for _, text := range []string{"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "CONNECT a.example:443 HTTP/1.1\r\n\r\n"} {
		if got := speak(t, addr, text); !strings.HasPrefix(got, "HTTP/1.1 502") {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := speak(t, addr, "\x05\x01\x00\x05\x01\x00\x03\x09a.example\x01\xbb"); !strings.HasPrefix(got[2:], "\x05\x05") {
		t.Errorf("SOCKS: %q", got)
	}
}

func TestTheRelayForOtherProgramsSpeaksToTheProxy(t *testing.T) {
	to := origin(t, func(c *net.TCPConn, r *bufio.Reader) { io.Copy(c, r) })
	g := newGate(t, map[string]string{"a.example:22": to})
	g.named = map[string]bool{"a.example:22": true}
	addr := g.serve(Usual())
	var out strings.Builder
	if err := Relay(t.Context(), addr, "a.example", 22, strings.NewReader("over and back"), &out); err != nil || out.String() != "over and back" {
		t.Errorf("%q, %v", out.String(), err)
	}
	err := Relay(t.Context(), addr, "b.example", 22, strings.NewReader(""), &out)
	if err == nil || !strings.Contains(err.Error(), "--allow-host b.example") {
		t.Errorf("a refusal is told as %v", err)
	}
}
