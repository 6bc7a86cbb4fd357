package seccomp

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
)

var update = flag.Bool("update", false, "write the golden dumps anew")

var modes = map[string]Mode{"agent": {Inet: true, Unix: true}, "no-unix": {Inet: true}, "strict": {}}

// data is struct seccomp_data. The virtual machine of package bpf reads
// network byte order, so that is how it is laid out here.
func data(arch, nr uint32, args ...uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, nr)
	b = binary.BigEndian.AppendUint32(b, arch)
	b = binary.BigEndian.AppendUint64(b, 0)
	for i := range 6 {
		var v uint64
		if i < len(args) {
			v = args[i]
		}
		b = binary.BigEndian.AppendUint32(b, uint32(v)) // the low half comes first
		b = binary.BigEndian.AppendUint32(b, uint32(v>>32))
	}
	return b
}

func verdict(t *testing.T, arch string, mode Mode, packet []byte) uint32 {
	t.Helper()
	ins, err := Filter(arch, mode)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(ins)
	if err != nil {
		t.Fatal(err)
	}
	got, err := vm.Run(packet)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

const (
	allow = retAllow
	perm  = retErrno | eperm
	nosys = retErrno | enosys
)

func TestAnotherArchitectureIsKilledBeforeAnythingElse(t *testing.T) {
	for arch, table := range tables {
		for _, foreign := range []uint32{0x40000003, 0xc000003e ^ 1, 0, 0xffffffff} { // the first is i386
			if foreign == table.audit {
				continue
			}
			for _, nr := range []uint32{0, 1, 101, 0x40000000} {
				if got := verdict(t, arch, Mode{true, true}, data(foreign, nr)); got != retKill {
					t.Errorf("%s: call %d of architecture %x: %x, want kill", arch, nr, foreign, got)
				}
			}
		}
	}
	if got := verdict(t, "amd64", Mode{true, true}, data(tables["amd64"].audit, 0x40000000|1)); got != nosys {
		t.Errorf("x32: %x, want ENOSYS", got)
	}
	if _, err := Filter("riscv64", Mode{}); err == nil {
		t.Error("an unknown architecture has a filter")
	}
}

func TestCallsAreAnsweredAsTheModeSays(t *testing.T) {
	const high = 1 << 40 // the kernel reads 32 bits of a request
	for _, c := range []struct {
		call                  string
		args                  []uint64
		agent, noUnix, strict uint32
	}{
		{"ptrace", nil, perm, perm, perm},
		{"mount", nil, perm, perm, perm},
		{"umount2", nil, perm, perm, perm},
		{"unshare", nil, perm, perm, perm},
		{"setns", nil, perm, perm, perm},
		{"io_uring_setup", nil, perm, perm, perm},
		{"bpf", nil, perm, perm, perm},
		{"keyctl", nil, perm, perm, perm},
		{"clone3", nil, nosys, nosys, nosys},
		{"openat2", nil, nosys, nosys, nosys},
		{"clone", []uint64{0x11}, allow, allow, allow},
		{"clone", []uint64{0x50f00}, allow, allow, allow}, // a thread
		{"clone", []uint64{0x10000000}, perm, perm, perm}, // a user namespace
		{"clone", []uint64{0x10000000 | high}, perm, perm, perm},
		{"clone", []uint64{0x20000}, perm, perm, perm},
		{"ioctl", []uint64{0, 0x5412}, perm, perm, perm}, // TIOCSTI
		{"ioctl", []uint64{0, 0x5412 | high}, perm, perm, perm},
		{"ioctl", []uint64{0, 0x541c | high}, perm, perm, perm},
		{"ioctl", []uint64{0, 0x5413}, allow, allow, allow},
		{"socket", []uint64{1, 1}, allow, perm, perm},
		{"socket", []uint64{2, 1}, allow, allow, perm},
		{"socket", []uint64{10, 2}, allow, allow, perm},
		{"socket", []uint64{16, 3}, allow, allow, perm},
		{"socket", []uint64{17, 3}, perm, perm, perm},
		{"socket", []uint64{38, 5}, perm, perm, perm},
		{"socket", []uint64{40, 1}, perm, perm, perm},
		{"socket", []uint64{1 | high, 1}, allow, perm, perm},
		{"socketpair", []uint64{1, 1}, allow, allow, allow},
		{"socketpair", []uint64{1, 1 | 0x80800}, allow, allow, allow},
		{"socketpair", []uint64{1, 5}, allow, allow, allow},
		{"socketpair", []uint64{1, 2}, allow, perm, perm},
		{"socketpair", []uint64{1, 3 | 0x80000}, allow, perm, perm},
		{"socketpair", []uint64{30, 1}, perm, perm, perm},
		{"bind", nil, allow, allow, perm},
		{"listen", nil, allow, allow, perm},
		{"connect", nil, allow, allow, perm},
		{"fchmod", []uint64{3, 0o755}, allow, allow, allow},
		{"fchmod", []uint64{3, 0o4755}, perm, perm, perm},
		{"fchmodat", []uint64{3, 0, 0o2755}, perm, perm, perm},
		{"fchmodat", []uint64{3, 0, 0o1777}, allow, allow, allow},
		{"mknodat", []uint64{3, 0, 0o104755}, perm, perm, perm},
		{"openat", []uint64{3, 0, 0o100, 0o4755}, perm, perm, perm},
		{"openat", []uint64{3, 0, 0, 0o4755}, allow, allow, allow}, // nothing is made: the mode is garbage
		{"openat", []uint64{3, 0, 0o101, 0o644}, allow, allow, allow},
	} {
		for arch, table := range tables {
			nr := numbers[c.call][table.column]
			if nr < 0 {
				continue
			}
			packet := data(table.audit, uint32(nr), c.args...)
			for mode, want := range map[string]uint32{"agent": c.agent, "no-unix": c.noUnix, "strict": c.strict} {
				if got := verdict(t, arch, modes[mode], packet); got != want {
					t.Errorf("%s %s: %s%x: %x, want %x", arch, mode, c.call, c.args, got, want)
				}
			}
		}
	}
}

// TestEveryOtherCallPasses: a call that no rule names is untouched, whatever
// its number; one that a rule names is the only one it hits.
func TestEveryOtherCallPasses(t *testing.T) {
	for arch, table := range tables {
		named := map[int]bool{}
		for _, nrs := range numbers {
			named[nrs[table.column]] = true
		}
		for nr := range 600 {
			if named[nr] {
				continue
			}
			if got := verdict(t, arch, Mode{}, data(table.audit, uint32(nr), ^uint64(0), ^uint64(0), ^uint64(0))); got != allow {
				t.Errorf("%s: call %d: %x, want allow", arch, nr, got)
			}
		}
	}
}

// TestTheProgramsAreTheOnesReviewed compares with the dumps in testdata;
// -update writes them anew for review.
func TestTheProgramsAreTheOnesReviewed(t *testing.T) {
	for arch := range tables {
		for name, mode := range modes {
			ins, err := Filter(arch, mode)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := Encode(ins)
			if err != nil {
				t.Fatal(err)
			}
			if len(raw) != 8*len(ins) || len(ins) > 4096 {
				t.Errorf("%s %s: %d instructions in %d bytes", arch, name, len(ins), len(raw))
			}
			var dump strings.Builder
			for i, in := range ins {
				fmt.Fprintf(&dump, "%03d %v\n", i, in)
			}
			file := filepath.Join("testdata", arch+"-"+name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(dump.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if dump.String() != string(want) {
				t.Errorf("%s differs; review the change and run go test -update", file)
			}
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ins, err := Filter(runtime.GOARCH, Mode{Inet: true, Unix: true})
		if err != nil {
			b.Skip(err)
		}
		if _, err := Encode(ins); err != nil {
			b.Fatal(err)
		}
	}
}
