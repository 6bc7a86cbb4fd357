package netguard

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// maxName is the length of a host name in text (RFC 1035, 2.3.4).
const maxName = 253

// Host brings what a client wrote for a host to the one form that is judged
// and dialled: an address in its shortest text, IPv4 inside IPv6 as IPv4, or a
// name in lower case, in ASCII (IDNA), without its final dot.
//
// What a resolver may take for an address is read as one: 127.1, 0x7f000001,
// 017700000001, also in other scripts' digits. Everything that is neither is
// refused: a NUL, a control character, a percent sign, an empty label.
func Host(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("no host is named")
	}
	if len(s) > 4*maxName {
		return "", fmt.Errorf("the host name has %d bytes", len(s))
	}
	if inside, ok := strings.CutPrefix(s, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inside, "]"))
		if err != nil || !strings.HasSuffix(inside, "]") || !a.Is6() || a.Zone() != "" {
			return "", fmt.Errorf("%s is no address", Show(s))
		}
		return a.Unmap().String(), nil
	}
	if a, err := netip.ParseAddr(s); err == nil {
		if a.Zone() != "" {
			return "", fmt.Errorf("%s names an interface of this machine", Show(s))
		}
		return a.Unmap().String(), nil
	}
	name := s
	if !ascii(name) {
		var err error
		if name, err = idna.Lookup.ToASCII(name); err != nil {
			return "", fmt.Errorf("%s is no host name: %v", Show(s), err)
		}
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if len(name) > maxName {
		return "", fmt.Errorf("the host name has %d bytes", len(name))
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", fmt.Errorf("%s is no host name", Show(s))
		}
		last = label
	}
	if !numeric(last) {
		return name, nil
	}
	a, ok := oddIPv4(name)
	if !ok {
		return "", fmt.Errorf("%s is neither a host name nor an address", Show(s))
	}
	return a.String(), nil
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// numeric reports whether a last label makes the whole an IPv4 address for
// some resolver: digits, or 0x and hexadecimal digits.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// oddIPv4 reads the forms that inet_aton takes (POSIX, inet_addr): one to four
// numbers, decimal, octal or hexadecimal, the last of which fills what is left.
func oddIPv4(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, p := range parts {
		digits, base := p, 10
		switch {
		case strings.HasPrefix(p, "0x"):
			if digits, base = p[2:], 16; digits == "" {
				digits = "0"
			}
		case len(p) > 1 && p[0] == '0':
			digits, base = p[1:], 8
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			sum |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(32-8*i) {
			return netip.Addr{}, false
		}
		sum |= n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// HostPort takes HOST:PORT apart, the host in the form of [Host]; missing is the port where none is written,
// 0 where one must be.
func HostPort(s string, missing uint16) (host string, port uint16, err error) {
	host, port = s, missing
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host = s[:i]
		n, err := strconv.ParseUint(s[i+1:], 10, 16)
		if err != nil || n == 0 || s[i+1] == '+' {
			return "", 0, fmt.Errorf("%s has no port between 1 and 65535", Show(s))
		}
		port = uint16(n)
	}
	if port == 0 {
		return "", 0, fmt.Errorf("%s names no port", Show(s))
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "", 0, fmt.Errorf("%s is no address: an IPv6 address stands in brackets", Show(s))
	}
	host, err = Host(host)
	return host, port, err
}

// show quotes what a client wrote, bounded.
func Show(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
