package match

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/policy/suffix"
)

// Host is a compiled pattern of hosts.
type Host struct {
	all  bool
	sub  bool   // *.name
	name string // lower case, ASCII form; without the star
	port int    // 0 = none is named
}

// ParseHost compiles a pattern: a name, an address, "*.name", or "*", each with
// a port behind a colon or without one. An IPv6 address with a port stands in
// brackets.
func ParseHost(pattern string) (Host, error) {
	p, port, err := SplitPort(strings.ToLower(strings.TrimSpace(pattern)))
	if err != nil {
		return Host{}, err
	}
	p = strings.TrimSuffix(p, ".")
	if p == "*" {
		return Host{all: true, port: port}, nil
	}
	h := Host{name: p, port: port}
	if h.name, h.sub = strings.CutPrefix(p, "*."); h.sub && strings.Contains(h.name, "*") || !h.sub && strings.Contains(p, "*") {
		return h, fmt.Errorf("in a host pattern a star may only stand first, as in *.example.com")
	}
	if strings.ContainsAny(h.name, "/:@ ") && !isAddress(h.name) {
		return h, fmt.Errorf("%q is not a host name: leave out scheme and path", pattern)
	}
	if isAddress(h.name) {
		if h.sub {
			return h, fmt.Errorf("an address has no subdomains")
		}
		h.name, _ = CleanHost(h.name)
		return h, nil
	}
	if !plainHost(h.name) {
		return h, fmt.Errorf("%q is not a host name; a name in another script is written in its xn-- form", pattern)
	}
	if h.sub {
		// A name of one label that is not listed is somebody's own network.
		if suffix.Public(h.name) {
			return h, fmt.Errorf("*.%s would cover every site under a public suffix; name the site", h.name)
		}
	}
	return h, nil
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return err == nil
}

// plainHost reports whether s is made of labels of ASCII letters, digits,
// hyphens and underscores, and its last label cannot be read as a number.
func plainHost(s string) bool {
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
		last = label
	}
	return last[0] < '0' || last[0] > '9'
}

// CleanHost brings a host to the one form that patterns are compared with:
// lower case, no final dot, addresses as their shortest text, IPv4 inside IPv6
// as IPv4. It answers false for what a resolver may read as another host than
// it looks like: names in other scripts (which IDNA maps), numbers such as
// 127.1 or 0x7f000001 (which the C library reads as addresses).
func CleanHost(host string) (string, bool) {
	h := strings.TrimSuffix(strings.ToLower(host), ".")
	if a, err := netip.ParseAddr(strings.Trim(h, "[]")); err == nil {
		return a.Unmap().WithZone("").String(), true
	}
	return h, plainHost(h)
}

// All reports whether the pattern is every host.
func (h *Host) All() bool { return h.all }

// SplitPort takes HOST:PORT apart; the port is 0 where none is written. An IPv6
// address without brackets has none.
func SplitPort(s string) (host string, port int, err error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.HasSuffix(s, "]") || strings.Contains(s[:i], ":") && !strings.HasPrefix(s, "[") || strings.Contains(s, "/") {
		return s, 0, nil
	}
	port, err = strconv.Atoi(s[i+1:])
	if err != nil || port < 1 || port > 65535 || s[i+1] == '+' {
		return "", 0, fmt.Errorf("%q has no port between 1 and 65535 behind its colon", s)
	}
	return s[:i], port, nil
}

// Port is the port that the pattern names, or 0.
func (h *Host) Port() int { return h.port }

// Wide reports whether host, as [CleanHost] gives it, is meant by a deny or an
// ask. A port of 0 is not known, and could be each.
func (h *Host) Wide(host string, port int) bool {
	return (h.port == 0 || port == 0 || h.port == port) && (h.all || host == h.name || h.sub && below(host, h.name))
}

// Narrow reports whether an allow covers host, as [CleanHost] gives it. Where
// dialled is set, the port is the one that is connected to, and a pattern that
// names none covers 80 and 443, the web's; what a program or a client says of
// itself is covered whatever port it names.
func (h *Host) Narrow(host string, port int, dialled bool) bool {
	switch {
	case h.port != 0 && h.port != port, h.port == 0 && dialled && port != 80 && port != 443:
		return false
	case h.sub:
		return below(host, h.name)
	}
	return h.all || host == h.name
}

// Spells reports whether the pattern is this very host with this very port.
func (h *Host) Spells(host string, port int) bool {
	return !h.all && !h.sub && h.port != 0 && h.port == port && h.name == host
}

// Covers reports whether everything that o means is meant by h too; narrow for
// allows, of which one without a port does not cover every port.
func (h *Host) Covers(o *Host, narrow bool) bool {
	switch {
	case h.port != 0 && h.port != o.port, h.port == 0 && o.port != 0 && narrow && o.port != 80 && o.port != 443:
		return false
	case h.all:
		return true
	case o.all:
		return false
	case h.sub && !narrow:
		return o.name == h.name || below(o.name, h.name)
	case h.sub:
		return o.name == h.name && o.sub || below(o.name, h.name)
	}
	return h.name == o.name && !o.sub
}

func below(host, name string) bool {
	return len(host) > len(name)+1 && strings.HasSuffix(host, name) && host[len(host)-len(name)-1] == '.'
}
