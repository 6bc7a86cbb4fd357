//go:build linux

package cell

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheFirstProgramIsWhatItsSourceGives builds it anew for every
// architecture and compares.
func TestTheFirstProgramIsWhatItsSourceGives(t *testing.T) {
	version, _, _ := strings.Cut(toolchain, "\n")
	if version != runtime.Version() {
		t.Skipf("the programs were built with %s, this is %s", version, runtime.Version())
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "../forge", dir).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		name := "first_" + arch + ".gz"
		if kept, built := unpacked(t, name), unpacked(t, filepath.Join(dir, name)); !bytes.Equal(kept, built) {
			t.Errorf("%s is not what the sources give: run go generate ./internal/jail/cell", name)
		} else if len(kept) > 2<<20 {
			t.Errorf("%s has %d bytes unpacked, want at most 2 MiB", name, len(kept))
		}
	}
	now, err := os.ReadFile(filepath.Join(dir, "toolchain.txt"))
	if err != nil || string(now) != toolchain {
		t.Errorf("toolchain.txt holds\n%s\nwant\n%s%v", toolchain, now, err)
	}
}

func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAProgramThatWasChangedIsNotUsed(t *testing.T) {
	if FirstDigest() == "" {
		t.Skip("no program for this architecture")
	}
	good, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	good[len(good)/2] ^= 1
	var again bytes.Buffer
	w := gzip.NewWriter(&again)
	w.Write(good)
	w.Close()
	if _, err := unpack(again.Bytes()); err == nil || !strings.Contains(err.Error(), "install reeve anew") {
		t.Errorf("a changed program: %v", err)
	}
	if _, err := unpack(packed[:len(packed)/2]); err == nil {
		t.Error("half a program is used")
	}
}

// TestTheFirstProgramCannotBeChanged: the file in memory is sealed for whoever
// holds it.
func TestTheFirstProgramCannotBeChanged(t *testing.T) {
	f, err := First()
	if err != nil {
		t.Skip(err)
	}
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Error("it was written")
	}
	if err := f.Truncate(0); err == nil {
		t.Error("it was cut")
	}
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if want := unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL; err != nil || seals&want != want {
		t.Errorf("seals %#x %v", seals, err)
	}
}

// TestTheFirstProgramDoesNothingByItself: without orders it says so.
func TestTheFirstProgramDoesNothingByItself(t *testing.T) {
	f, err := First()
	if err != nil {
		t.Skip(err)
	}
	copied, err := duplicate(f)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{copied}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "by itself it does nothing") {
		t.Errorf("%v %s", err, out)
	}
}
