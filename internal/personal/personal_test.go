package personal

import (
	"strings"
	"testing"
	"unsafe"
)

// TestWhatIsPersonalIsMasked: < and > stand around what must go, and all else
// stays to the byte.
func TestWhatIsPersonalIsMasked(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(`
write to <ada@example.com> now
<Ada.Lovelace+news@mail.example.co.uk>, <b_c@x-y.org>.
mailto:<ada@example.com>?subject=x
"email":"<ada@example.com>"
<ada@example.com>;<bob@example.com>
Ada <<ada@example.com>>
<jörg@example.de> schrieb
call <+1 212 555 0123> today
<+12125550123>
<+1-212-555-0123>,
<+1 (212) 555-0123>
<+44 20 7946 0018> or <+44 (0)20 7946 0018>
<+49 30 901820>
<+49 (0)30 901820>
<+33 1 23 45 67 89>
<+41 44 668 18 00>
<+81 3-1234-5678>
<+86 138 0013 8000>
<+91 98765 43210>
<+55 11 91234-5678>
<+61 2 1234 5678>
<+353 1 234 5678>
<0049 30 901820>
<(212) 555-0123> at nine
<212-555-0123>
<212.555.0123>
<1-212-555-0123>
<07700 900123>
<020 7946 0018>
<01 23 45 67 89>
phone: <2125550123>
Tel. <030/901820>
fax <5550123>
mobile=<0170 1234567>
SSN <123-45-6789>
<123-45-6789>
ssn: <123456789>
social security number <123 45 6789>
paid with <4111 1111 1111 1111> today
<4111111111111111>
<5555-5555-5555-4444>
<5555.5555.5555.4444>
<3782.822463.10005>
route <8.8.8.0/24> and <1.2.3.4/32>, verified from <8.8.8.8>
<3782 822463 10005>
route <8.8.8.0/24> and <1.2.3.4/32>, verified from <8.8.8.8>
<6011111111111117>
<30569309025904>
<DE89 3704 0044 0532 0130 00>
<DE89370400440532013000>
IBAN:<GB29NWBK60161331926819>.
<FR1420041010050500013M02606>
<NO9386011117947>
from <8.8.8.8> port 22
http://<93.184.216.34>:8080/x
<2606:4700:4700::1111> answers
[<2001:4860:4860::8888>]:53
`), "\n") {
		in := strings.NewReplacer("<<", "\x01<", ">>", ">\x02").Replace(line)
		in, want := strings.NewReplacer("<", "", ">", "", "\x01", "<", "\x02", ">").Replace(in), mask(in)
		if got := Text(in); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		} else if again := Text(got); again != got {
			t.Errorf("%q became %q", got, again)
		}
	}
}

// mask puts the mark in place of what stands in brackets.
func mask(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "<")
		b.WriteString(before)
		if !ok {
			return strings.NewReplacer("\x01", "<", "\x02", ">").Replace(b.String())
		}
		_, s, _ = strings.Cut(rest, ">")
		b.WriteString(Mark)
	}
}

func TestWhatOnlyLooksPersonalStays(t *testing.T) {
	for _, s := range []string{
		"", "git@github.com:owner/repo.git", "https://user@host.example/x", "https://u:p@host.example/x", "left-pad@1.3.0", "@scope/pkg@2.0.1", "user@localhost", "@decorator", "a @ b.c", "x@y", "foo@bar.baz(qux)", "me@host:22",
		"2026-11-30T10:00:00.123Z", "2026-11-30 10:00:00 +0000", "+0100", "10:00:00", "1700000000", "1700000000123", "pid 12345678", "line 212, column 555, byte 0123", "v1.2.3.4", "version 1.2.3.4", "ver 1.2.3.4", "Ver. 1.2.3.4", "release-1.2.3.4", "OID 2.5.4.3", "oid:2.5.29.17", "urn:oid:2.5.4.3", "1.3.6.1.4.1.311", "100.100.100.100.100.1", "10.0.0.0/8", "4111.1111.1111.1112", "1.2.3.4/24/x", "1.2.3", "1.2.3.4.5", "300.1.2.3",
		"127.0.0.1", "10.0.0.7:8080", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "255.255.255.255", "224.0.0.1", "100.64.0.1", "::1", "::", "fe80::1", "fd00::1", "std::vector", "a::b::c", "be::ad", "12:30:45", "00:11:22:33:44:55",
		"0190aef0-1111-7aaa-8bbb-000000000001", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "4111111111111112", "41111111111111110", "a4111111111111111", "4111 1111 1111 1112", "0000000000000000", "1234567890123456", "4444444444444444",
		"000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "078-05-1120", "123-45-67890", "x123-45-6789", "123 45 6789", "123456789",
		"DE89370400440532013001", "GB29NWBK60161331926818", "XX89370400440532013000", "DEADBEEF", "DE 89", "112-555-0123", "212-155-0123", "212-555-01234", "0x2125550123", "212 555 0123 items", "#2125550123",
		"1 + 12125550123", "c++11", "a+4930901820", "01 02 03", "rgb(212, 555, 123)", "f(212) - 555", "[PII REDACTED]", "mail [PII REDACTED] now", "/2026/11/30/123-45-6789x", "order 12-3456789",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "%2B12125550123x",
	} {
		if got := Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestTextWithoutAnythingPersonalIsReturnedItself(t *testing.T) {
	s := strings.Repeat("an ordinary line of 12 words, at 10:00 on 2026-11-30, from 10.0.0.1\n", 20)
	if got := Text(s); unsafe.StringData(got) != unsafe.StringData(s) {
		t.Error("the text was written again")
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"ada@example.com", "+1 212 555 0123", "(212) 555-0123", "123-45-6789", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "8.8.8.8", "2606:4700::1111", "ssn 123456789", "tel 5550123", "é@é.com", "@", "+", "(", "00", "DE"} {
		f.Add(s + " " + s + s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, one := range Find(s) {
			if one.At < at || one.End <= one.At || one.End > len(s) {
				t.Fatalf("%q: %+v", s, one)
			}
			at = one.End
		}
		once := Text(s)
		if twice := Text(once); twice != once {
			t.Errorf("%q\nonce  %q\ntwice %q", s, once, twice)
		}
		if len(once) > len(s)+len(Mark)*(len(s)/4+1) {
			t.Errorf("%d bytes became %d", len(s), len(once))
		}
	})
}
