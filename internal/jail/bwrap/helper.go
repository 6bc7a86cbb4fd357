//go:build linux

package bwrap

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/cell"
	"github.com/reeve-gate/reeve/internal/jail/trusted"
)

// Program is where bubblewrap is looked for: never by PATH, never in the
// workspace (A8, amendment 22). Ubuntu's AppArmor profile names this path too.
const Program = "/usr/bin/bwrap"

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
	info, err := trusted.Program(path)
	if err != nil {
		return fileID{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return fileID{uint64(st.Dev), st.Ino, st.Size, st.Mtim, st.Ctim}, nil
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

// Scopes reports whether a boundary can close unix sockets with an abstract
// name here: a bubblewrap that runs as root whoever starts it does not start
// under the rule that takes ([cell.Scope]).
func Scopes() bool {
	info, err := os.Stat(Program)
	return cell.Scopes() && err == nil && info.Mode()&os.ModeSetuid == 0
}

// Gate says why there is no program of ours for bubblewrap to start first, as a
// terminal and a network by rule need it; nil where there is one.
func Gate() error {
	_, err := cell.First()
	return err
}
