// Package seccomp generates the system call filter of a boundary.
//
// [Filter] turns a [Mode] into a classic BPF program for one architecture;
// [Encode] writes it as the kernel reads it (struct sock_filter, seccomp(2)).
// The program checks the architecture before anything else: a filter that
// does not lets a 32-bit call of the same number through
// (elastic/go-seccomp-bpf 1.6.0, seen). It denies by name what a boundary of
// namespaces cannot hold by itself, and lets the rest pass, because an
// unknown new call must not break an agent's tools; what can widen the
// boundary is denied with EPERM, so that programs see an ordinary refusal.
//
// It knows neither paths nor addresses: those are the business of the mounts
// and of the network namespace.
package seccomp

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/bpf"
)

// Mode says which sockets exist. The zero Mode has none.
type Mode struct {
	Inet bool // IPv4, IPv6 and the kernel's routing socket
	Unix bool // unix sockets of every type
}

// Errno values a denied call returns; the same on both architectures.
const (
	eperm  = 1
	enosys = 38
)

// Return values of a filter (linux/seccomp.h).
const (
	retKill  = 0x80000000 // SECCOMP_RET_KILL_PROCESS
	retErrno = 0x00050000
	retAllow = 0x7fff0000
)

// Offsets into struct seccomp_data. Arguments are 64 bits wide; the low half
// comes first on both architectures.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

func argLow(i int) uint32 { return uint32(offArgs + 8*i) }

// Filter returns the program for an architecture as Go names it: amd64 or
// arm64. Any other is an error: without a filter there is no boundary.
func Filter(goarch string, mode Mode) ([]bpf.Instruction, error) {
	t, ok := tables[goarch]
	if !ok {
		return nil, fmt.Errorf("no system call table for %s: the sandbox is not available on this machine", goarch)
	}
	p := program{table: t}
	p.load(offArch)
	p.unless(t.audit, bpf.RetConstant{Val: retKill})
	p.load(offNr)
	if t.x32 {
		p.add(bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: 0x40000000, SkipFalse: 1}, bpf.RetConstant{Val: retErrno | enosys})
	}
	for _, name := range denied {
		p.deny(name, eperm)
	}
	for _, name := range absent {
		p.deny(name, enosys)
	}
	p.clone()
	p.terminal()
	p.setid()
	p.sockets(mode)
	p.add(bpf.RetConstant{Val: retAllow})
	return p.ins, p.err
}

// program collects instructions. Its accumulator holds the call's number
// between rules.
type program struct {
	table table
	ins   []bpf.Instruction
	err   error
}

func (p *program) add(ins ...bpf.Instruction) { p.ins = append(p.ins, ins...) }

func (p *program) load(off uint32) { p.add(bpf.LoadAbsolute{Off: off, Size: 4}) }

// unless returns ret where the accumulator is not val.
func (p *program) unless(val uint32, ret bpf.RetConstant) {
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: val, SkipTrue: 1}, ret)
}

// deny refuses one call whatever its arguments; one that the architecture
// does not have needs no rule.
func (p *program) deny(name string, errno uint32) {
	if nr, ok := p.number(name); ok {
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: 1}, bpf.RetConstant{Val: retErrno | errno})
	}
}

// number looks a call up; a name missing from the table is our mistake and
// makes the whole filter fail.
func (p *program) number(name string) (uint32, bool) {
	nrs, known := numbers[name]
	if !known {
		p.err = fmt.Errorf("system call %s has no number", name)
		return 0, false
	}
	nr := nrs[p.table.column]
	return uint32(nr), nr >= 0
}

// on runs body for one call and then restores the accumulator. body must
// leave by falling off its end or by returning.
func (p *program) on(name string, body ...bpf.Instruction) {
	nr, ok := p.number(name)
	if !ok {
		return
	}
	body = append(body, bpf.LoadAbsolute{Off: offNr, Size: 4})
	if len(body) > 255 {
		p.err = fmt.Errorf("rule for %s is too long to jump over", name)
		return
	}
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: uint8(len(body))})
	p.add(body...)
}

// anyBit refuses where one of the bits is set in the low half of an argument.
func anyBit(arg int, bits uint32) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: argLow(arg), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: bits, SkipFalse: 1},
		bpf.RetConstant{Val: retErrno | eperm},
	}
}

// oneOf refuses every value of an argument's low half but the given ones,
// after and-ing it with mask.
func oneOf(arg int, mask uint32, allowed ...uint32) []bpf.Instruction {
	body := []bpf.Instruction{bpf.LoadAbsolute{Off: argLow(arg), Size: 4}}
	if mask != 0 {
		body = append(body, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask})
	}
	for i, val := range allowed {
		body = append(body, bpf.JumpIf{Cond: bpf.JumpEqual, Val: val, SkipTrue: uint8(len(allowed) - i)})
	}
	return append(body, bpf.RetConstant{Val: retErrno | eperm})
}

// clone lets threads and processes through but no new namespace. clone3 has
// its flags in memory, where a filter cannot look: it is said not to exist,
// and libc falls back to clone.
func (p *program) clone() {
	const namespaces = 0x10000000 | 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000 // USER NS CGROUP UTS IPC PID NET
	p.on("clone", anyBit(0, namespaces)...)
}

// terminal refuses to push input into a terminal. The kernel reads 32 bits of
// the request; a filter that compares 64 is passed by setting a high bit
// (CVE-2019-10063).
func (p *program) terminal() {
	const tiocsti, tioclinux = 0x5412, 0x541c
	p.on("ioctl",
		bpf.LoadAbsolute{Off: argLow(1), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: tiocsti, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: tioclinux, SkipFalse: 1},
		bpf.RetConstant{Val: retErrno | eperm},
	)
}

// setid refuses to make a file that runs as its owner: it would keep that
// power outside, for every account of the machine.
func (p *program) setid() {
	const setid, create, tmpfile = 0o6000, 0o100, 0o20000000
	for _, c := range []struct {
		name string
		arg  int
	}{{"chmod", 1}, {"fchmod", 1}, {"fchmodat", 2}, {"fchmodat2", 2}, {"creat", 1}, {"mknod", 1}, {"mknodat", 2}} {
		p.on(c.name, anyBit(c.arg, setid)...)
	}
	for _, c := range []struct {
		name        string
		flags, mode int
	}{{"open", 1, 2}, {"openat", 2, 3}} {
		body := []bpf.Instruction{
			bpf.LoadAbsolute{Off: argLow(c.flags), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: create | tmpfile, SkipFalse: 3},
		}
		p.on(c.name, append(body, anyBit(c.mode, setid)...)...)
	}
}

// sockets lets through the families of the mode. A pair of unix stream
// sockets is how programs talk to their children and reaches nobody else; a
// pair of datagram sockets can be pointed at any socket of the host.
func (p *program) sockets(mode Mode) {
	const unixFamily, inet, inet6, netlink = 1, 2, 10, 16
	const typeMask, stream, seqpacket = 0xf, 1, 5
	var families []uint32
	if mode.Unix {
		families = append(families, unixFamily)
	}
	if mode.Inet {
		families = append(families, inet, inet6, netlink)
	}
	p.on("socket", oneOf(0, 0, families...)...)
	p.on("socketpair", oneOf(0, 0, unixFamily)...)
	if !mode.Unix {
		p.on("socketpair", oneOf(1, typeMask, stream, seqpacket)...)
	}
	if !mode.Unix && !mode.Inet {
		for _, name := range []string{"bind", "listen", "connect", "accept", "accept4"} {
			p.deny(name, eperm)
		}
	}
}

// Encode writes a program as an array of struct sock_filter, little-endian
// as both architectures are.
func Encode(ins []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(ins)
	if err != nil {
		return nil, fmt.Errorf("assemble system call filter: %w", err)
	}
	out := make([]byte, 0, 8*len(raw))
	for _, r := range raw {
		out = binary.LittleEndian.AppendUint16(out, r.Op)
		out = append(out, r.Jt, r.Jf)
		out = binary.LittleEndian.AppendUint32(out, r.K)
	}
	return out, nil
}
