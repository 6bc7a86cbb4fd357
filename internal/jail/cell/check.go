//go:build linux

package cell

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/group"
	"github.com/reeve-gate/reeve/internal/jail/seccomp"
)

// Check refuses, before anything is started, a command that no boundary can
// be made for. A misspelt program is told as such ([jail.ErrNoProgram]); inside
// it is looked up again.
func Check(plan jail.Plan, cmd jail.Cmd) error {
	if err := group.Check(plan, cmd); err != nil {
		return err
	}
	if plan.Net == jail.ProxiedNetwork && cmd.Listener == nil {
		return fmt.Errorf("start in sandbox: %w: a network that leads through the proxy needs the proxy", reeve.ErrBoundary)
	}
	if _, err := group.Find(cmd.Argv[0], plan); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	return nil
}

// Paths are the files that a command's name may mean: one where the name is a
// path, else one for each directory of the plan's PATH.
func Paths(plan jail.Plan, cmd jail.Cmd) []string {
	name := cmd.Argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(plan.Dir, name)
		}
		return []string{name}
	}
	var all []string
	for _, kv := range plan.Env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if filepath.IsAbs(dir) { // a relative one would start what lies in the workspace
				all = append(all, filepath.Join(dir, name))
			}
		}
	}
	return all
}

// Streams gives a command its three streams.
func Streams(to *exec.Cmd, cmd jail.Cmd) {
	if cmd.TTY != nil {
		to.Stdin, to.Stdout, to.Stderr = cmd.TTY, cmd.TTY, cmd.TTY
		return
	}
	to.Stdin, to.Stdout, to.Stderr = group.Input(cmd.Stdin), stream(cmd.Stdout), stream(cmd.Stderr)
}

// stream keeps a nil file from becoming a non-nil interface; nil is the null
// device.
func stream(f *os.File) io.ReadWriter {
	if f == nil {
		return nil
	}
	return f
}

// Filter is the system call filter of a plan, as the kernel reads it.
func Filter(plan jail.Plan) ([]byte, error) {
	strict := plan.NoUnix && plan.Net == jail.NetNone
	ins, err := seccomp.Filter(runtime.GOARCH, seccomp.Mode{Inet: !strict, Unix: !plan.NoUnix})
	if err != nil {
		return nil, err
	}
	return seccomp.Encode(ins)
}

// ListenOn is the port of [jail.ProxyAddr] where a plan's network leads
// through it, else 0.
func ListenOn(plan jail.Plan) uint16 {
	if plan.Net != jail.ProxiedNetwork {
		return 0
	}
	return netip.MustParseAddrPort(jail.ProxyAddr).Port()
}
