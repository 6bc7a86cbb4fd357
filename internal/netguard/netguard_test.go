package netguard

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestOnlyAddressesOfThePublicInternetAreOpen(t *testing.T) {
	for _, c := range []struct{ addr, why string }{ // why: a part of the reason; empty: open
		{"93.184.215.14", ""}, {"1.1.1.1", ""}, {"8.8.8.8", ""}, {"172.15.255.255", ""}, {"172.32.0.0", ""}, {"100.63.255.255", ""}, {"100.128.0.0", ""},
		{"192.0.1.0", ""}, {"198.17.255.255", ""}, {"198.20.0.0", ""}, {"223.255.255.255", ""}, {"192.31.196.1", ""},
		{"2606:4700::1111", ""}, {"2a00:1450:4001::200e", ""}, {"2001:4860:4860::8888", ""}, {"2620:4f:8000::1", ""},
		{"127.0.0.1", "loopback"}, {"127.255.255.254", "loopback"}, {"::1", "loopback"}, {"::ffff:127.0.0.1", "loopback"}, {"::127.0.0.1", "loopback"},
		{"10.0.0.1", "private"}, {"172.16.0.1", "private"}, {"172.31.255.255", "private"}, {"192.168.1.1", "private"}, {"::ffff:10.1.2.3", "private"}, {"::ffff:a00:1", "private"},
		{"fc00::1", "private"}, {"fdff::1", "private"}, {"fec0::1", "private"},
		{"169.254.1.1", "link-local"}, {"fe80::1", "link-local"}, {"fe80::1%lo", "no address"},
		{"169.254.169.254", "credentials"}, {"fd00:ec2::254", "credentials"}, {"::ffff:169.254.169.254", "credentials"}, {"169.254.170.2", "credentials"},
		{"100.100.100.200", "credentials"}, {"168.63.129.16", "settings"}, {"192.0.0.192", "credentials"},
		{"100.64.0.1", "CGNAT"}, {"100.127.255.255", "CGNAT"},
		{"0.0.0.0", "this network"}, {"0.1.2.3", "this network"}, {"::", "no address"},
		{"224.0.0.1", "multicast"}, {"239.255.255.250", "multicast"}, {"ff02::1", "multicast"}, {"255.255.255.255", "broadcast"}, {"240.0.0.1", "reserved"},
		{"192.0.2.1", "documentation"}, {"198.51.100.1", "documentation"}, {"203.0.113.9", "documentation"}, {"2001:db8::1", "documentation"}, {"3fff::1", "documentation"},
		{"198.18.0.1", "benchmarks"}, {"198.19.255.255", "benchmarks"}, {"192.0.0.8", "protocols"}, {"192.88.99.1", "6to4"},
		{"64:ff9b::7f00:1", "loopback"}, {"64:ff9b::a9fe:a9fe", "credentials"}, {"64:ff9b::808:808", ""}, {"64:ff9b:1::808:808", "translation"},
		{"2002:7f00:1::", "loopback"}, {"2002:a00:1::1", "private"}, {"2002:808:808::1", ""},
		{"2001:0:808:808::f5ff:fffe", "private"}, // the client is 10.0.0.1
		{"2001:0:7f00:1::f7f7:f7f7", "loopback"}, // the server is
		{"2001:0:808:808::f7f7:f7f7", ""},
		{"2001:db9::5efe:7f00:1", "loopback"}, {"2606:4700::200:5efe:a00:1", "private"}, {"2606:4700::200:5efe:808:808", ""},
		{"::ffff:0:127.0.0.1", "loopback"}, {"::8.8.8.8", "no public address"}, {"::2", "no public address"}, {"4000::1", "no public address"},
		{"100::1", "discard"}, {"100:0:0:1::1", "dummy"}, {"2001:2::1", "protocols"}, {"2001:10::1", "protocols"}, {"5f00::1", "segment"},
	} {
		got := Closed(netip.MustParseAddr(c.addr))
		if (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
			t.Errorf("%s is %q, want %q", c.addr, got, c.why)
		}
	}
	if Closed(netip.Addr{}) == "" {
		t.Error("the zero address is open")
	}
}

// fixed is a guard whose resolver gives these addresses, and which notes what
// it would dial instead of dialling.
func fixed(t *testing.T, addrs ...string) (*Guard, *[]netip.AddrPort) {
	t.Helper()
	var dialled []netip.AddrPort
	return &Guard{
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			var out []netip.Addr
			for _, a := range addrs {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		},
		Own: func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("203.1.2.3")}, nil },
		Connect: func(_ context.Context, to netip.AddrPort) (Conn, error) {
			dialled = append(dialled, to)
			return nil, errors.New("not dialled in this test")
		},
	}, &dialled
}

func TestANameThatLeadsInwardsIsNotDialled(t *testing.T) {
	for _, c := range []struct {
		name  string
		addrs []string
	}{
		{"loopback", []string{"127.0.0.1"}},
		{"one of two", []string{"93.184.215.14", "192.168.1.1"}},
		{"the last of many", []string{"93.184.215.14", "2606:4700::1111", "1.1.1.1", "::1"}},
		{"metadata", []string{"169.254.169.254"}},
		{"mapped", []string{"::ffff:10.0.0.1"}},
		{"translated", []string{"64:ff9b::a00:1"}},
		{"an address of this machine", []string{"203.1.2.3"}},
		{"this machine by translation", []string{"64:ff9b::cb01:203"}},
		{"nothing", nil},
	} {
		g, dialled := fixed(t, c.addrs...)
		conn, err := g.Dial(t.Context(), Target{Host: "name.example", Port: 443, Spelled: true})
		if err == nil || conn != nil {
			t.Errorf("%s: dialled", c.name)
		}
		var refused *Refused
		if c.addrs != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %v is no refusal", c.name, err)
		}
		if len(*dialled) > 0 {
			t.Errorf("%s: dialled %v", c.name, *dialled)
		}
	}
}

func TestExactlyWhatWasCheckedIsDialled(t *testing.T) {
	g, dialled := fixed(t, "93.184.215.14", "::ffff:1.1.1.1")
	looked := 0
	first := g.Lookup
	g.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
		if looked++; looked > 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil // what a second look-up would get
		}
		if name != "name.example" {
			t.Errorf("looked up %q", name)
		}
		return first(ctx, name)
	}
	g.Dial(t.Context(), Target{Host: "Name.Example", Port: 443})
	if want := []netip.AddrPort{netip.MustParseAddrPort("93.184.215.14:443"), netip.MustParseAddrPort("1.1.1.1:443")}; len(*dialled) != 2 || (*dialled)[0] != want[0] || (*dialled)[1] != want[1] {
		t.Errorf("dialled %v, want %v", *dialled, want)
	}
	if _, err := g.Dial(t.Context(), Target{Host: "name.example", Port: 443}); err == nil || looked != 2 {
		t.Errorf("the answer that changed was not looked at anew: %v after %d look-ups", err, looked)
	}
	if len(*dialled) != 2 {
		t.Errorf("the answer that changed was dialled: %v", *dialled)
	}
}

func TestOnlySpelledAddressesAndPinnedNamesLeadInwards(t *testing.T) {
	for _, c := range []struct {
		name   string
		target Target
		want   string // what is dialled; empty: nothing
	}{
		{"a literal that nobody wrote down", Target{Host: "127.0.0.1", Port: 80}, ""},
		{"a literal that a person wrote down", Target{Host: "127.0.0.1", Port: 80, Spelled: true}, "127.0.0.1:80"},
		{"a private one", Target{Host: "fd12::1", Port: 22, Spelled: true}, "[fd12::1]:22"},
		{"this machine's own", Target{Host: "203.1.2.3", Port: 80, Spelled: true}, "203.1.2.3:80"},
		{"this machine's own that nobody wrote down", Target{Host: "203.1.2.3", Port: 80}, ""},
		{"every address", Target{Host: "0.0.0.0", Port: 80, Spelled: true}, ""},
		{"no address", Target{Host: "::", Port: 80, Spelled: true}, ""},
		{"multicast", Target{Host: "ff02::1", Port: 80, Spelled: true}, ""},
		{"metadata", Target{Host: "169.254.169.254", Port: 80, Spelled: true}, ""},
		{"metadata in disguise", Target{Host: "::ffff:169.254.169.254", Port: 80, Spelled: true}, ""},
		{"a zone", Target{Host: "fe80::1%eth0", Port: 80, Spelled: true}, ""},
		{"a pinned name", Target{Host: "db.internal", Port: 5432}, "10.0.0.7:5432"},
		{"in capitals", Target{Host: "DB.Internal", Port: 5432}, "10.0.0.7:5432"},
		{"pinned with a port", Target{Host: "api.internal", Port: 443}, "127.0.0.1:8443"},
		{"pinned to metadata", Target{Host: "meta.internal", Port: 80}, ""},
		{"below a pinned name", Target{Host: "x.db.internal", Port: 5432}, ""},
		{"no port", Target{Host: "db.internal"}, ""},
	} {
		g, dialled := fixed(t, "127.0.0.1")
		g.Pins = map[string]netip.AddrPort{"db.internal": netip.MustParseAddrPort("10.0.0.7:0"), "api.internal": netip.MustParseAddrPort("127.0.0.1:8443"), "meta.internal": netip.MustParseAddrPort("169.254.169.254:80")}
		g.Dial(t.Context(), c.target)
		switch {
		case c.want == "" && len(*dialled) > 0, c.want != "" && (len(*dialled) != 1 || (*dialled)[0].String() != c.want):
			t.Errorf("%s: dialled %v, want %q", c.name, *dialled, c.want)
		}
	}
}

func TestWhatIsNoNameIsNotLookedUp(t *testing.T) {
	for _, name := range []string{"", ".", "a..b", "a.b.", "127.1", "0x7f.1", "017700000001", "2130706433", "a b", "a\x00b", "a%2eb", "ünïcode.example", "a。b",
		"[::1]", "a:80", "a/b", "user@a", "1.2.3.4.", strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127) + "example"} {
		g, dialled := fixed(t, "93.184.215.14")
		g.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			t.Errorf("%q was looked up", name)
			return nil, nil
		}
		if _, err := g.Dial(t.Context(), Target{Host: name, Port: 80}); err == nil || len(*dialled) > 0 {
			t.Errorf("%q: %v, dialled %v", name, err, *dialled)
		}
	}
}

func TestWhereOwnAddressesCannotBeReadNothingIsDialled(t *testing.T) {
	g, dialled := fixed(t, "93.184.215.14")
	g.Own = func() ([]netip.Addr, error) { return nil, errors.New("no netlink here") }
	if _, err := g.Dial(t.Context(), Target{Host: "name.example", Port: 80}); err == nil || len(*dialled) > 0 {
		t.Errorf("%v, dialled %v", err, *dialled)
	}
}

func TestAnAddressThatDoesNotAnswerIsPassedOver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.WriteString(c, "hello")
			c.Close()
		}
	}()
	g, _ := fixed(t, "93.184.215.14", "1.1.1.1")
	var ended atomic.Int32
	hung := make(chan struct{})
	g.Connect = func(ctx context.Context, to netip.AddrPort) (Conn, error) {
		if to.Addr().String() == "93.184.215.14" { // silence, as behind a firewall
			<-ctx.Done()
			ended.Add(1)
			close(hung)
			return nil, ctx.Err()
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		return c.(*net.TCPConn), nil
	}
	c, err := g.Dial(t.Context(), Target{Host: "name.example", Port: 443})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, _ := io.ReadAll(c); string(b) != "hello" {
		t.Errorf("read %q", b)
	}
	select {
	case <-hung:
	case <-time.After(10 * time.Second):
		t.Error("the attempt that lost goes on")
	}
	if ended.Load() != 1 {
		t.Error("the attempt that lost was not ended")
	}
}

func TestNamesOfThisMachineAreNotLookedUp(t *testing.T) {
	for _, name := range []string{"localhost", "LOCALHOST", "a.localhost", "intranet", "db"} {
		g, dialled := fixed(t, "93.184.215.14")
		g.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			t.Errorf("%s was looked up", name)
			return nil, nil
		}
		_, err := g.Dial(t.Context(), Target{Host: name, Port: 80})
		var refused *Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "[egress] hosts") || len(*dialled) > 0 {
			t.Errorf("%s: %v, dialled %v", name, err, *dialled)
		}
		g.Pins = map[string]netip.AddrPort{strings.ToLower(name): netip.MustParseAddrPort("127.0.0.1:0")}
		if g.Dial(t.Context(), Target{Host: name, Port: 80}); len(*dialled) != 1 || (*dialled)[0].String() != "127.0.0.1:80" {
			t.Errorf("%s pinned: dialled %v", name, *dialled)
		}
	}
}

func FuzzNoAddressHidesAnother(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1}, byte(0))
	f.Add([]byte{169, 254, 169, 254}, byte(3))
	f.Add([]byte{8, 8, 8, 8}, byte(1))
	forms := []func(v4 [4]byte) netip.Addr{
		func(v4 [4]byte) netip.Addr { return netip.AddrFrom16(netip.AddrFrom4(v4).As16()) },
		func(v4 [4]byte) netip.Addr { b := nat64.Addr().As16(); copy(b[12:], v4[:]); return netip.AddrFrom16(b) },
		func(v4 [4]byte) netip.Addr { b := six4.Addr().As16(); copy(b[2:], v4[:]); return netip.AddrFrom16(b) },
		func(v4 [4]byte) netip.Addr {
			b := [16]byte{0x20, 1, 0, 0, 8, 8, 8, 8}
			for i := range v4 {
				b[12+i] = ^v4[i]
			}
			return netip.AddrFrom16(b)
		},
		func(v4 [4]byte) netip.Addr {
			b := [16]byte{0x26, 6, 0x47, 0, 0, 0, 0, 0, 0, 0, 0x5e, 0xfe}
			copy(b[12:], v4[:])
			return netip.AddrFrom16(b)
		},
	}
	f.Fuzz(func(t *testing.T, v4 []byte, form byte) {
		if len(v4) != 4 {
			return
		}
		inside := netip.AddrFrom4([4]byte(v4))
		outside := forms[int(form)%len(forms)]([4]byte(v4))
		if Closed(inside) != "" && Closed(outside) == "" {
			t.Errorf("%s is closed and %s, which leads there, is open", inside, outside)
		}
		if Never(inside) != "" && Never(outside) == "" {
			t.Errorf("%s has no exception and %s, which leads there, has", inside, outside)
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	g := &Guard{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("2606:4700::1111")}, nil
	}}
	for b.Loop() {
		if _, err := g.Resolve(b.Context(), Target{Host: "name.example", Port: 443}); err != nil {
			b.Fatal(err)
		}
	}
}
