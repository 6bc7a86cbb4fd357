package layout

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/wire"
)

// NetMode is the network that a run asks for by its word; empty is the
// profile's.
func NetMode(word string, p jail.Profile) (jail.NetMode, error) {
	switch word {
	case "":
		return p.Net, nil
	case "none":
		return jail.NetNone, nil
	case "ask", jail.ProxiedNetwork.String():
		return jail.ProxiedNetwork, nil
	case "open":
		return jail.UnrestrictedNetwork, nil
	}
	return 0, fmt.Errorf("%w: --net %q: it is none, ask or open", reeve.ErrUsage, word)
}

// Allowed are the hosts that the session's own layer of the policy allows:
// those that a person named, those of the profile, and those of the service
// that a known agent is made of.
func Allowed(r wire.Run, p jail.Profile, net jail.NetMode) ([]session.Allowed, error) {
	if net != jail.ProxiedNetwork {
		switch {
		case len(r.AllowHosts) == 0:
			return nil, nil
		case net == jail.NetNone:
			return nil, fmt.Errorf("%w: --allow-host needs a network by rule, and this run has none: add --net ask", reeve.ErrUsage)
		}
		return nil, fmt.Errorf("%w: with --net open every host is reached already; leave --allow-host out, or --net open", reeve.ErrUsage)
	}
	var out []session.Allowed
	if len(r.AllowHosts) > 0 {
		named := session.Allowed{From: "reeve run --allow-host", Why: "named for this run"}
		for _, host := range r.AllowHosts {
			clean, err := AllowHost(host)
			if err != nil {
				return nil, fmt.Errorf("%w: --allow-host %v", reeve.ErrUsage, err)
			}
			named.Hosts = append(named.Hosts, clean)
		}
		out = append(out, named)
	}
	if program, hosts, given := p.AgentHosts(r.Argv, r.Env); program != "" {
		group := session.Allowed{From: "the hosts of " + program, Why: "the service that " + program + " is made of", Hosts: hosts, Own: true}
		for _, g := range given {
			if own, ok := ownHost(g, out); ok {
				group.Hosts = append(group.Hosts, own)
			}
		}
		out = append(out, group)
	}
	if len(p.Hosts) > 0 {
		out = append(out, session.Allowed{From: "profile " + p.Name, Why: "the hosts of this profile", Hosts: p.Hosts})
	}
	return out, nil
}

// ownHost reads the host of a variable that gives an agent its service. One of
// this machine or its network counts only where a person named it for the run
// too (amendment 23).
func ownHost(given string, named []session.Allowed) (string, bool) {
	host, err := AllowHost(given)
	if err != nil {
		return "", false
	}
	ap, err := netip.ParseAddrPort(host)
	if err != nil || netguard.Closed(ap.Addr()) == "" {
		return strings.TrimSuffix(host, ":443"), true // TLS as usual, with its server name
	}
	return host, slices.ContainsFunc(named, func(g session.Allowed) bool { return slices.Contains(g.Hosts, host) })
}

// AllowHost reads HOST or HOST:PORT as a person types it and gives it as a rule
// writes it. A pattern is the rule language's; a name is brought to its one
// form; an address that is not the public internet's needs its port.
func AllowHost(s string) (string, error) {
	switch {
	case strings.Contains(s, "://"):
		return "", fmt.Errorf("%s: name the host alone, without %s", netguard.Show(s), netguard.Show(s[:strings.Index(s, "://")+3]))
	case strings.HasPrefix(s, "*"):
		return s, nil // the rule language says what is wrong with it
	}
	bare := s
	if a, err := netip.ParseAddr(s); err == nil && a.Is6() {
		bare = "[" + s + "]"
	}
	host, port, err := netguard.HostPort(bare, 443)
	if err != nil {
		return "", err
	}
	named := strings.HasSuffix(bare, fmt.Sprintf(":%d", port))
	if a, err := netip.ParseAddr(host); err == nil {
		switch why := netguard.Closed(a); {
		case netguard.Never(a) != "":
			return "", fmt.Errorf("%s is %s and never dialled", host, netguard.Never(a))
		case why != "" && !named:
			return "", fmt.Errorf("%s is %s: name its port too, as in --allow-host %s", host, why, netip.AddrPortFrom(a, 3000))
		}
		if a.Is6() {
			host = "[" + host + "]"
		}
	}
	if named {
		host += fmt.Sprintf(":%d", port)
	}
	return host, nil
}

// loopback reports whether a person named a port of this machine's loopback.
func loopback(groups []session.Allowed) bool {
	for _, g := range groups {
		for _, host := range g.Hosts {
			if a, err := netip.ParseAddrPort(host); err == nil && a.Addr().IsLoopback() {
				return true
			}
		}
	}
	return false
}

// ProgramName is what a run's program is called as an actor.
func ProgramName(argv []string) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '/' {
			return '-'
		}
		return r
	}, filepath.Base(argv[0]))
	return name[:min(len(name), 100)]
}

// proxyCommand is how ssh reaches a host through the proxy: by this program,
// which is there inside.
func proxyCommand(program string) string {
	quoted := "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	return `ssh -o "ProxyCommand=` + quoted + ` ` + Way + ` %h %p"`
}

// Way is the hidden command that joins its two streams to a host through the
// proxy.
const Way = "__way"
