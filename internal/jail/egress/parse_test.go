package egress

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail/hello"
	"github.com/reeve-gate/reeve/internal/netguard"
)

func readFrom(text string, tunnel *site) (*request, error) {
	return readRequest(bufio.NewReaderSize(strings.NewReader(text), 64), 2048, tunnel)
}

func TestRequestsAreReadStrictly(t *testing.T) {
	good := []struct{ text, host, path string }{
		{"GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example:80", "/x?y"},
		{"\r\nGET http://A.Example:8080 HTTP/1.1\r\nhost:a.example.:8080\r\n\r\n", "a.example:8080", "/"},
		{"GET HTTP://a.example?q HTTP/1.1\r\nHost: a.example:80\r\n\r\n", "a.example:80", "/?q"},
		{"OPTIONS http://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example:80", "*"},
		{"GET http://a.example/ HTTP/1.0\r\n\r\n", "a.example:80", "/"},
		{"GET http://[::1]:81/ HTTP/1.1\r\nHost: [::1]:81\r\n\r\n", "[::1]:81", "/"},
		{"GET http://127.1/ HTTP/1.1\r\nHost: 0x7f000001\r\n\r\n", "127.0.0.1:80", "/"},
		{"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", "a.example:443", ""},
		{"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example:443", ""},
		{"CONNECT a.example:443 HTTP/1.0\r\n\r\n", "a.example:443", ""},
		{"CONNECT [::1]:22 HTTP/1.1\r\nHost: [::1]:22\r\nContent-Length: 0\r\n\r\n", "[::1]:22", ""},
	}
	for _, c := range good {
		q, err := readFrom(c.text, nil)
		if err != nil || (site{q.host, q.port}).authority(0) != c.host || q.path != c.path {
			t.Errorf("%q: %+v, %v", c.text, q, err)
		}
	}
	h := "Host: a.example\r\n"
	for _, text := range []string{
		"GET / HTTP/1.1\r\n" + h + "\r\n", "GET http://a.example/ HTTP/1.1\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\n" + h + h + "\r\n", "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\nHost:\r\n\r\n", "GET https://a.example/ HTTP/1.1\r\n" + h + "\r\n", "GET http://u@a.example/ HTTP/1.1\r\n" + h + "\r\n", "GET http://a.example/#x HTTP/1.1\r\n" + h + "\r\n",
		"GET http://a.example\\@b.example/ HTTP/1.1\r\n" + h + "\r\n", "GET http:///x HTTP/1.1\r\n" + h + "\r\n", "GET  http://a.example/ HTTP/1.1\r\n" + h + "\r\n", "GET http://a.example/ x HTTP/1.1\r\n" + h + "\r\n",
		"GET http://a.example/ HTTP/1.2\r\n" + h + "\r\n", "GET http://a.example/\r\n\r\n", "G(T http://a.example/ HTTP/1.1\r\n" + h + "\r\n", "GET http://a.example/ HTTP/1.1\n" + h + "\r\n", "GET http://a.example/ HTTP/1.1\r\nHost: a.example\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\n" + h + " folded\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\n" + h + "X : y\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\n" + h + ": y\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\n" + h + "novalue\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\n" + h + "X: a\rb\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\n" + h + "X: a\x00b\r\n\r\n", "GET http://a.example/\x7f HTTP/1.1\r\n" + h + "\r\n", "GET http://a.ex%61mple/ HTTP/1.1\r\n" + h + "\r\n",
		"POST http://a.example/ HTTP/1.1\r\n" + h + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "POST http://a.example/ HTTP/1.1\r\n" + h + "Content-Length: 3\r\nContent-Length: 3\r\n\r\n",
		"POST http://a.example/ HTTP/1.1\r\n" + h + "Content-Length: +3\r\n\r\n", "POST http://a.example/ HTTP/1.1\r\n" + h + "Content-Length: 3, 3\r\n\r\n", "POST http://a.example/ HTTP/1.1\r\n" + h + "Content-Length: 9999999999999999999\r\n\r\n",
		"POST http://a.example/ HTTP/1.1\r\n" + h + "Transfer-Encoding: gzip, chunked\r\n\r\n", "POST http://a.example/ HTTP/1.1\r\n" + h + "Transfer-Encoding: xchunked\r\n\r\n", "POST http://a.example/ HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
		"POST http://a.example/ HTTP/1.0\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n",
		"CONNECT a.example HTTP/1.1\r\n" + h + "\r\n", "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:444\r\n\r\n", "CONNECT http://a.example:443 HTTP/1.1\r\n" + h + "\r\n",
		"CONNECT u@a.example:443 HTTP/1.1\r\n" + h + "\r\n", "CONNECT a.example:443 HTTP/1.1\r\n" + h + "Content-Length: 5\r\n\r\n", "CONNECT a.example:443 HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n", "CONNECT a.example:443/ HTTP/1.1\r\n" + h + "\r\n",
		"GET http://a.example/ HTTP/1.1\r\n" + h + "X: " + strings.Repeat("y", 3000) + "\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\n" + h + strings.Repeat("X: y\r\n", 200) + "\r\n", "GET http://a.example/" + strings.Repeat("y", 3000) + " HTTP/1.1\r\n" + h + "\r\n",
	} {
		q, err := readFrom(text, nil)
		var bad errHead
		if !errors.As(err, &bad) {
			t.Errorf("%.120q was read: %+v, %v", text, q, err)
		}
	}
	for _, c := range []struct {
		text string
		good bool
	}{
		{"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n", true}, {"GET /x HTTP/1.1\r\nHost: b.example\r\n\r\n", false}, {"GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n", false}, {"CONNECT a.example:80 HTTP/1.1\r\nHost: a.example:80\r\n\r\n", false}, {"GET /x HTTP/1.1\r\nHost: a.example:81\r\n\r\n", false},
	} {
		if _, err := readFrom(c.text, &site{"a.example", 80}); (err == nil) != c.good {
			t.Errorf("in a tunnel %q: %v", c.text, err)
		}
	}
}

func TestFieldsOfOneConnectionAreNotPassedOn(t *testing.T) {
	q, err := readFrom("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nX-Yours: 2\r\nProxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.outward(); err != nil {
		t.Fatal(err)
	}
	if got, want := string(q.bytes()), "GET / HTTP/1.1\r\nHost: a.example\r\nX-Yours: 2\r\n\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range []string{"Host", "Content-Length", "transfer-encoding", "Authorization"} {
		q, err := readFrom("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: "+name+"\r\n\r\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		if q.outward() == nil {
			t.Errorf("a Connection field takes %s away", name)
		}
	}
}

func TestServerNamesAreHeldAgainstTheHost(t *testing.T) {
	for _, c := range []struct {
		host  string
		h     hello.Hello
		named bool
		good  bool
	}{
		{"a.example", hello.Hello{Name: "a.example"}, false, true}, {"a.example", hello.Hello{Name: "A.EXAMPLE"}, false, true}, {"a.example", hello.Hello{Name: "b.example"}, false, false}, {"a.example", hello.Hello{Name: "b.example"}, true, false},
		{"a.example", hello.Hello{}, false, false}, {"a.example", hello.Hello{}, true, true}, {"a.example", hello.Hello{Name: "a.example", ECH: true}, false, false}, {"a.example", hello.Hello{Name: "front.example", ECH: true}, true, true},
		{"a.example", hello.Hello{Name: "a.example."}, false, false}, {"a.example", hello.Hello{Name: "a.example\x00.b.example"}, false, false}, {"a.example", hello.Hello{Name: "xa.example"}, false, false},
		{"93.184.215.14", hello.Hello{}, false, true}, {"93.184.215.14", hello.Hello{Name: "b.example"}, false, false}, {"::1", hello.Hello{Name: "b.example"}, true, false},
	} {
		if why := (Asked{c.host, 443}).shows(c.h, c.named); (why == "") != c.good {
			t.Errorf("%s, %+v, named %v: %q", c.host, c.h, c.named, why)
		}
	}
}

func TestSocksRequestsAreRead(t *testing.T) {
	name := func(s string) string { return "\x05\x01\x00\x03" + string(rune(len(s))) + s + "\x01\xbb" }
	for _, c := range []struct {
		in   string
		want Asked
		code byte // of a fault; 0: none
	}{
		{name("a.example"), Asked{"a.example", 443}, 0},
		{name("A.example."), Asked{"a.example", 443}, 0},
		{name("127.1"), Asked{"127.0.0.1", 443}, 0},
		{"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", Asked{"127.0.0.1", 80}, 0},
		{"\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01\x00\x50", Asked{"127.0.0.1", 80}, 0},
		{name("good.example\x00.evil.example"), Asked{`"good.example\x00.evil.example"`, 443}, socksRefused},
		{name("evil.example\x00good.example"), Asked{`"evil.example\x00good.example"`, 443}, socksRefused},
		{name(""), Asked{`""`, 443}, socksRefused},
		{"\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50", Asked{"127.0.0.1", 80}, socksCommand},
		{"\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", Asked{"127.0.0.1", 80}, socksCommand},
		{"\x05\x01\x01\x01\x7f\x00\x00\x01\x00\x50", Asked{"127.0.0.1", 80}, socksFailed},
		{"\x05\x01\x00\x02\x00\x50", Asked{"", 80}, socksAddress},
		{"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x00", Asked{"127.0.0.1", 0}, socksFailed},
	} {
		a, err := readSocks(strings.NewReader(c.in))
		var no *socksFault
		if errors.As(err, &no) != (c.code != 0) || no != nil && no.code != c.code || a != c.want {
			t.Errorf("%q: %+v, %v, want %+v with %d", c.in, a, err, c.want, c.code)
		}
	}
}

func FuzzSocks(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x03\x09a.example\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x04................\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x03\x03a\x00b\x01\xbb"))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := readSocks(bytes.NewReader(in))
		if err != nil {
			return
		}
		if host, err := netguard.Host(a.Host); err != nil || host != a.Host || a.Port == 0 {
			t.Errorf("%q is taken for %+v", in, a)
		}
		if in[0] != 5 || in[1] != 1 || in[2] != 0 {
			t.Errorf("%q is taken for a request", in)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add("GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")
	f.Add("POST http://[::1]:1/ HTTP/1.1\r\nHost: [::1]:1\r\nTransfer-Encoding: chunked\r\nConnection: x\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := readFrom(text, nil)
		if err != nil {
			return
		}
		if host, err := netguard.Host(q.host); err != nil || host != q.host || q.port == 0 {
			t.Errorf("%q is for %q:%d", text, q.host, q.port)
		}
		if q.method == "CONNECT" || q.outward() != nil {
			return
		}
		out := string(q.bytes())
		again, err := readFrom(out, &site{q.host, q.port})
		if err != nil {
			t.Fatalf("%q goes out as %q: %v", text, out, err)
		}
		if again.body != q.body || again.path != q.path || again.method != q.method {
			t.Errorf("%q goes out as %q", text, out)
		}
		for _, name := range []string{"proxy-authorization", "proxy-connection", "te", "keep-alive"} {
			if len(again.all(name)) > 0 {
				t.Errorf("%q passes %s on", text, name)
			}
		}
	})
}
