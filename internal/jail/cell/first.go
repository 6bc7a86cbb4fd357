//go:build linux

package cell

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/orders"
)

// toolchain names the version of Go that built the programs, and their
// SHA-256.
//
//go:embed toolchain.txt
var toolchain string

// maxFirst bounds the program, in bytes.
const maxFirst = 4 << 20

// First is the first process's program: a sealed file in memory, made once.
// An error says that there is none for this machine, or that what is there is
// not what was built.
var First = sync.OnceValues(func() (*os.File, error) {
	text, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	return Program("first", text)
})

func unpack(packed []byte) ([]byte, error) {
	want := FirstDigest()
	if want == "" {
		return nil, fmt.Errorf("reeve has no program for the inside of a sandbox on %s", runtime.GOARCH)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the program for the inside of a sandbox: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxFirst))
	if err != nil {
		return nil, fmt.Errorf("unpack the program for the inside of a sandbox: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
		return nil, fmt.Errorf("the program for the inside of a sandbox is not the one that was built: install reeve anew")
	}
	return text, nil
}

// FirstDigest is the SHA-256 of the program, in hex; empty where this
// architecture has none.
func FirstDigest() string {
	for line := range strings.Lines(toolchain) {
		if sum, arch, ok := strings.Cut(strings.TrimSpace(line), " "); ok && arch == runtime.GOARCH {
			return sum
		}
	}
	return ""
}

// forRuntime is what the first process needs of the runtime it was built with:
// as few threads as can be, no collection of memory, and no switch to another
// thread while it copies itself.
var forRuntime = []string{"GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1"}

// Briefing is what [First] is started with.
type Briefing struct {
	Path  string     // the program, as the process that starts it finds it
	Env   []string   // all of its environment
	Files []*os.File // to be inherited; the caller closes them once they were
}

// NewBriefing writes orders down. base is the number that the first of the
// files will have. end is where the process tells the end of the program; at a
// gate there is none.
func NewBriefing(o *orders.Orders, door *Door, end *os.File, base int) (Briefing, error) {
	first, err := First()
	if err != nil {
		return Briefing{}, err
	}
	text := o.Encode()
	if len(text) > orders.Max {
		return Briefing{}, fmt.Errorf("the plan takes %d bytes; at most %d", len(text), orders.Max)
	}
	file, err := File("orders", text)
	if err != nil {
		return Briefing{}, err
	}
	program, err := duplicate(first)
	if err != nil {
		file.Close()
		return Briefing{}, err
	}
	files := []*os.File{file, door.Theirs, program}
	if end != nil {
		files = append(files, end)
	}
	var numbers string
	for i := range files {
		numbers += strconv.Itoa(base+i) + ","
	}
	return Briefing{
		Path:  "/proc/self/fd/" + strconv.Itoa(base+2),
		Env:   append([]string{orders.Variable + "=" + numbers}, forRuntime...),
		Files: files,
	}, nil
}

func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicate a descriptor: %w", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
