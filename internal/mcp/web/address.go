package web

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/netguard"
)

// Address reads the address of a server: https, or http to this machine
// alone; a host, and neither a user nor a password in it.
func Address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("it is no address")
	case u.Host == "" || u.Opaque != "" || strings.ContainsAny(text, "\\ \t\r\n"):
		return nil, fmt.Errorf("%q is no address such as https://example.com/mcp", text)
	case u.User != nil:
		return nil, errors.New("an address holds no user and no password; put a token into a header")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q is neither https nor http", u.Scheme)
	}
	t, err := target(u.Host, u.Scheme)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" && !loopback(t.Host) {
		return nil, fmt.Errorf("http is spoken to this machine alone; use https for %s", u.Hostname())
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// target is what is dialled for a host of an address. A person who writes an
// address or the name localhost with a port means exactly that.
func target(host, scheme string) (netguard.Target, error) {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name, port = host[:i], host[i+1:]
	}
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[scheme]
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return netguard.Target{}, fmt.Errorf("%q has no usable port", host)
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		name = "127.0.0.1"
	}
	return netguard.Target{Host: name, Port: uint16(n), Spelled: true}, nil
}

// headerValue writes a value as a mirrored header has it (MCP 2026-07-28,
// value encoding).
func headerValue(s string) string {
	if plainHeader(s) && !(strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?=")) {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

func plainHeader(s string) bool {
	if strings.Trim(s, " \t") != s {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 0x20 || c > 0x7e) && c != '\t' {
			return false
		}
	}
	return true
}

// visible reports whether s is a token that may be repeated in a header: 1 to
// 1024 visible ASCII characters.
func visible(s string) bool {
	if s == "" || len(s) > 1024 {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
