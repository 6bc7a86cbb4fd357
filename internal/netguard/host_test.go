package netguard

import (
	"net/netip"
	"strings"
	"testing"
)

func TestHostsHaveOneForm(t *testing.T) {
	for _, c := range []struct{ in, want string }{ // want "": refused
		{"example.com", "example.com"}, {"Example.COM", "example.com"}, {"example.com.", "example.com"}, {"a_b.example.com", "a_b.example.com"}, {"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"bücher.example", "xn--bcher-kva.example"}, {"BÜCHER.example", "xn--bcher-kva.example"}, {"example。com", "example.com"}, {"example．com", "example.com"}, {"ｅxample.com", "example.com"},
		{"localhost", "localhost"}, {"1a.example", "1a.example"}, {"a.b-c.d9", "a.b-c.d9"},
		{"93.184.215.14", "93.184.215.14"}, {"93.184.215.14.", "93.184.215.14"}, {"[::1]", "::1"}, {"::1", "::1"}, {"[2606:4700::1111]", "2606:4700::1111"}, {"[::ffff:127.0.0.1]", "127.0.0.1"}, {"::ffff:7f00:1", "127.0.0.1"},
		{"127.1", "127.0.0.1"}, {"127.0.1", "127.0.0.1"}, {"0x7f.1", "127.0.0.1"}, {"0x7f000001", "127.0.0.1"}, {"017700000001", "127.0.0.1"}, {"2130706433", "127.0.0.1"}, {"0177.0.0.1", "127.0.0.1"}, {"0X7F.0.0.1", "127.0.0.1"},
		{"127.0.0.01", "127.0.0.1"}, {"0", "0.0.0.0"}, {"0x", "0.0.0.0"}, {"10.1", "10.0.0.1"}, {"１２７.０.０.１", "127.0.0.1"}, {"127。0。0。1", "127.0.0.1"}, {"192.168.257", "192.168.1.1"},
		{"", ""}, {".", ""}, {"..", ""}, {"example.com..", ""}, {".example.com", ""}, {"a..b", ""}, {"a b", ""}, {"a\x00.example.com", ""}, {"good.example\x00.evil.example", ""}, {"a%2eb", ""}, {"a%00b", ""}, {"a\nb", ""}, {"a\x7fb", ""},
		{"a/b", ""}, {"a@b", ""}, {"a:b", ""}, {"a*b", ""}, {"*.example.com", ""}, {"[::1", ""}, {"::1]", ""}, {"[127.0.0.1]", ""}, {"[fe80::1%lo]", ""}, {"fe80::1%lo", ""}, {"256.1", ""}, {"1.2.3.4.5", ""}, {"127.0.0.256", ""}, {"foo.123", ""}, {"foo.0x1", ""}, {"4294967296", ""},
		{"08.1", ""}, {"\u200bexample.com", "example.com"}, {"exa\u00admple.com", "example.com"}, {"a\u2044b.example", "xn--ab-c6t.example"}, {"xn--\u00fc.example", ""}, {strings.Repeat("a", 64) + ".example", ""}, {strings.Repeat("abcdefgh.", 28) + "a", strings.Repeat("abcdefgh.", 28) + "a"}, {strings.Repeat("abcdefgh.", 29) + "ab", ""},
		{strings.Repeat("a", 5000), ""},
	} {
		got, err := Host(c.in)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("Host(%q) = %q, %v, want %q", c.in, got, err, c.want)
		}
	}
}

func TestHostAndPortAreTakenApart(t *testing.T) {
	for _, c := range []struct {
		in      string
		missing uint16
		host    string
		port    uint16
	}{
		{"a.example:443", 0, "a.example", 443}, {"a.example", 80, "a.example", 80}, {"a.example", 0, "", 0}, {"[::1]:22", 0, "::1", 22}, {"[::1]", 80, "::1", 80}, {"::1", 80, "", 0}, {"::1:22", 0, "", 0},
		{"a.example:", 80, "", 0}, {"a.example:0", 80, "", 0}, {"a.example:65536", 0, "", 0}, {"a.example:+80", 0, "", 0}, {"a.example:-1", 0, "", 0}, {"a.example:80:80", 0, "", 0}, {":80", 0, "", 0}, {"a.example:00443", 0, "a.example", 443}, {"a.example: 80", 0, "", 0},
	} {
		host, port, err := HostPort(c.in, c.missing)
		if (err == nil) != (c.host != "") || err == nil && (host != c.host || port != c.port) {
			t.Errorf("HostPort(%q) = %q, %d, %v", c.in, host, port, err)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"example.com", "127.1", "0x7f.1", "[::1]", "bücher.example", "a\x00b", "a%2eb", "１２７.1", "a。b", "xn--a", "-", "1.2.3.4.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Host(s)
		if err != nil {
			return
		}
		if again, err := Host(got); err != nil || again != got {
			t.Errorf("%q is %q, and that is %q, %v", s, got, again, err)
		}
		if a, err := netip.ParseAddr(got); err == nil {
			if a.Is4In6() || a.Zone() != "" {
				t.Errorf("%q is %q", s, got)
			}
			return
		}
		if strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || len(got) > maxName || strings.HasSuffix(got, ".") {
			t.Errorf("%q is %q", s, got)
		}
	})
}
