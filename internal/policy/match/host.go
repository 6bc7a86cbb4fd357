package match

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/reeve-gate/reeve/internal/policy/suffix"
)

// Host is a compiled pattern of hosts.
type Host struct {
	all  bool
	sub  bool   // *.name
	name string // lower case, ASCII form; without the star
}

// ParseHost compiles a pattern: a name, an address, "*.name", or "*".
func ParseHost(pattern string) (Host, error) {
	p := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(pattern)), ".")
	if p == "*" {
		return Host{all: true}, nil
	}
	h := Host{name: p}
	if h.name, h.sub = strings.CutPrefix(p, "*."); h.sub && strings.Contains(h.name, "*") || !h.sub && strings.Contains(p, "*") {
		return h, fmt.Errorf("in a host pattern a star may only stand first, as in *.example.com")
	}
	if strings.ContainsAny(h.name, "/:@ ") && !isAddress(h.name) {
		return h, fmt.Errorf("%q is not a host name: leave out scheme, port and path", pattern)
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

// Wide reports whether host, as [CleanHost] gives it, is meant by a deny or an
// ask.
func (h *Host) Wide(host string) bool {
	return h.all || host == h.name || h.sub && below(host, h.name)
}

// Narrow reports whether an allow covers host, as [CleanHost] gives it.
func (h *Host) Narrow(host string) bool {
	if h.sub {
		return below(host, h.name)
	}
	return h.all || host == h.name
}

func below(host, name string) bool {
	return len(host) > len(name)+1 && strings.HasSuffix(host, name) && host[len(host)-len(name)-1] == '.'
}
