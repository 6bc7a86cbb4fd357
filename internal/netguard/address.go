package netguard

import (
	"encoding/binary"
	"net/netip"
)

// closed are the blocks that a connection of an agent does not belong in, with
// what a person is told. Source: the IANA special-purpose address registries
// for IPv4 and IPv6 (RFC 6890 and what updates it, as of 2025), of which the
// blocks that are globally reachable are left out, and the multicast registries.
var closed = blocks([][2]string{
	{"0.0.0.0/8", "this network"}, // 0.0.0.0 itself is the machine, on Linux
	{"10.0.0.0/8", "a private network"},
	{"100.64.0.0/10", "a carrier's own network (CGNAT)"},
	{"127.0.0.0/8", "this machine's loopback"},
	{"169.254.0.0/16", "link-local"},
	{"172.16.0.0/12", "a private network"},
	{"192.0.0.0/24", "reserved for protocols"},
	{"192.0.2.0/24", "documentation"},
	{"192.88.99.0/24", "the withdrawn relay of 6to4"},
	{"192.168.0.0/16", "a private network"},
	{"198.18.0.0/15", "benchmarks"},
	{"198.51.100.0/24", "documentation"},
	{"203.0.113.0/24", "documentation"},
	{"224.0.0.0/4", "multicast"},
	{"240.0.0.0/4", "reserved"},
	{"255.255.255.255/32", "broadcast"},

	{"::/128", "no address"},
	{"::1/128", "this machine's loopback"},
	{"64:ff9b:1::/48", "a private translation prefix"},
	{"100::/64", "the discard prefix"},
	{"100:0:0:1::/64", "the dummy prefix"},
	{"2001::/23", "reserved for protocols"}, // Teredo, 2001::/32, is decoded before
	{"2001:db8::/32", "documentation"},
	{"3fff::/20", "documentation"},
	{"5f00::/16", "segment routing"},
	{"fc00::/7", "a private network"},
	{"fe80::/10", "link-local"},
	{"fec0::/10", "a private network"},
	{"ff00::/8", "multicast"},
})

// never are the addresses that no exception opens: nothing is meant by them,
// or they hand out a machine's credentials.
var never = blocks([][2]string{
	{"0.0.0.0/8", "this network"},
	{"169.254.169.254/32", "where a cloud hands out a machine's credentials"},
	{"169.254.170.2/32", "where a cloud hands out a container's credentials"},
	{"169.254.170.23/32", "where a cloud hands out a container's credentials"},
	{"100.100.100.200/32", "where a cloud hands out a machine's credentials"},
	{"168.63.129.16/32", "where a cloud hands out a machine's settings"},
	{"192.0.0.192/32", "where a cloud hands out a machine's credentials"},
	{"224.0.0.0/4", "multicast"},
	{"255.255.255.255/32", "broadcast"},
	{"::/128", "no address"},
	{"fd00:ec2::254/128", "where a cloud hands out a machine's credentials"},
	{"fd00:ec2::23/128", "where a cloud hands out a container's credentials"},
	{"fd20:ce::254/128", "where a cloud hands out a machine's credentials"},
	{"ff00::/8", "multicast"},
})

// block is one row of a table.
type block struct {
	prefix netip.Prefix
	why    string
}

func blocks(rows [][2]string) []block {
	out := make([]block, len(rows))
	for i, r := range rows {
		out[i] = block{netip.MustParsePrefix(r[0]), r[1]}
	}
	return out
}

func find(list []block, a netip.Addr) string {
	for i := range list {
		if list[i].prefix.Contains(a) {
			return list[i].why
		}
	}
	return ""
}

// Closed says why an address is not one of the public internet's, or "". An
// address that carries another one inside (IPv4 in IPv6 by mapping, NAT64,
// 6to4, Teredo, ISATAP) is judged by that one too. Addresses of this machine's
// own interfaces are not known here; [Guard.Dial] knows them.
func Closed(a netip.Addr) string {
	if why := Never(a); why != "" {
		return why
	}
	return judge(a, func(a netip.Addr) string {
		if why := find(closed, a); why != "" {
			return why
		}
		if a.Is6() && !a.Is4In6() && !global.Contains(a) && !nat64.Contains(a) {
			return "no public address"
		}
		return ""
	})
}

// Never says why no exception opens an address, or "".
func Never(a netip.Addr) string {
	return judge(a, func(a netip.Addr) string { return find(never, a) })
}

// judge asks look of the address and of every address inside it.
func judge(a netip.Addr, look func(netip.Addr) string) string {
	if !a.IsValid() || a.Zone() != "" {
		return "no address that a name can have"
	}
	a = a.Unmap()
	if inside := embedded(a); len(inside) > 0 {
		for _, v4 := range inside {
			if why := look(v4); why != "" {
				return why + ", written as an IPv6 address"
			}
		}
		if teredo.Contains(a) {
			return "" // its block is closed for the others in it
		}
	}
	return look(a)
}

var (
	global = netip.MustParsePrefix("2000::/3")     // what IANA has given out (RFC 4291, 2.4)
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	six4   = netip.MustParsePrefix("2002::/16")    // RFC 3056
	teredo = netip.MustParsePrefix("2001::/32")    // RFC 4380
	compat = netip.MustParsePrefix("::/96")        // RFC 4291, 2.5.5.1
	siit   = netip.MustParsePrefix("::ffff:0:0:0/96")
)

// embedded are the IPv4 addresses that an IPv6 address leads to.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case nat64.Contains(a), siit.Contains(a):
		return []netip.Addr{at(12)}
	case compat.Contains(a) && binary.BigEndian.Uint32(b[12:]) > 0xffff: // not :: and ::1
		return []netip.Addr{at(12)}
	case six4.Contains(a):
		return []netip.Addr{at(2)}
	case teredo.Contains(a): // its server, and the client behind it with every bit turned
		var client [4]byte
		binary.BigEndian.PutUint32(client[:], ^binary.BigEndian.Uint32(b[12:]))
		return []netip.Addr{at(4), netip.AddrFrom4(client)}
	case b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP (RFC 5214, 6.1)
		return []netip.Addr{at(12)}
	}
	return nil
}
