//go:build linux

package bwrap

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/reeve-gate/reeve"
)

// Program is where bubblewrap is looked for: never by PATH, never in the
// workspace (A8, amendment 22). Ubuntu's AppArmor profile names this path too.
const Program = "/usr/bin/bwrap"

// setsidProgram makes a contained program the leader of its own terminal.
const setsidProgram = "/usr/bin/setsid"

// helper is a program that was found fit to build a boundary with.
type helper struct {
	path    string
	id      fileID
	digest  string // SHA-256, hex
	version string // as it says itself: "bubblewrap 0.8.0"
	sizes   bool   // it can bound a memory file system
	setid   bool   // it runs as root whoever starts it
}

// fileID tells one state of a file from another.
type fileID struct {
	dev, ino   uint64
	size       int64
	mtim, ctim syscall.Timespec
}

// checkHelper refuses a program that anybody but root could have put or
// changed there: an agent would then choose its own boundary.
func checkHelper(path string) (fileID, error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return fileID{}, fmt.Errorf("look at %s: %w", dir, err)
		}
		if err := rootOwned(dir, info); err != nil && info.Mode()&os.ModeSymlink == 0 {
			return fileID{}, err
		}
		if dir == "/" {
			break
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return fileID{}, err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fileID{}, fmt.Errorf("%s is not a program", path)
	}
	if err := rootOwned(path, info); err != nil {
		return fileID{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return fileID{uint64(st.Dev), st.Ino, st.Size, st.Mtim, st.Ctim}, nil
}

func rootOwned(path string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 {
		return fmt.Errorf("%s does not belong to root: it is not used to build a sandbox", path)
	}
	if info.Mode()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("%s can be written by others than root: it is not used to build a sandbox", path)
	}
	return nil
}

// finder remembers the helper while its file does not change.
type finder struct {
	mu   sync.Mutex // guards last
	last helper
}

// find returns bubblewrap, fit for use, or an error that says what to do.
func (f *finder) find() (helper, error) {
	id, err := checkHelper(Program)
	if os.IsNotExist(err) {
		return helper{}, fmt.Errorf("%w: %s is not installed; install the package bubblewrap", reeve.ErrBoundary, Program)
	}
	if err != nil {
		return helper{}, fmt.Errorf("%w: %w", reeve.ErrBoundary, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.id == id {
		return f.last, nil
	}
	sum, err := fileDigest(Program)
	if err != nil {
		return helper{}, fmt.Errorf("%w: read %s: %w", reeve.ErrBoundary, Program, err)
	}
	cmd := exec.Command(Program, "--version")
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		return helper{}, fmt.Errorf("%w: ask %s for its version: %w", reeve.ErrBoundary, Program, err)
	}
	version := strings.TrimSpace(string(out))
	major, minor, ok := parseVersion(version)
	if !ok || major == 0 && minor < 5 {
		return helper{}, fmt.Errorf("%w: %s is %q; at least bubblewrap 0.5 is needed", reeve.ErrBoundary, Program, version)
	}
	info, err := os.Stat(Program)
	if err != nil {
		return helper{}, fmt.Errorf("%w: %w", reeve.ErrBoundary, err)
	}
	f.last = helper{path: Program, id: id, digest: sum, version: version, sizes: major > 0 || minor >= 7, setid: info.Mode()&os.ModeSetuid != 0}
	return f.last, nil
}

// parseVersion reads "bubblewrap 0.8.0". 0.5 brought --perms, 0.7 --size.
func parseVersion(s string) (major, minor int, ok bool) {
	n, err := fmt.Sscanf(s, "bubblewrap %d.%d", &major, &minor)
	return major, minor, err == nil && n == 2
}

func fileDigest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (h helper) String() string {
	return h.path + " (" + h.version + ", sha256 " + h.digest[:16] + ")"
}
