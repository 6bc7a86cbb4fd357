//go:build linux

package bwrap

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/cell"
	"github.com/reeve-gate/reeve/internal/jail/orders"
)

// files are what the arguments refer to by number: handed to bubblewrap in
// this order, from descriptor 3 on.
type files []*os.File

func (f *files) add(file *os.File) string {
	*f = append(*f, file)
	return strconv.Itoa(len(*f) + 2)
}

func (f files) close() {
	for _, file := range f {
		file.Close()
	}
}

// arguments writes everything bubblewrap is told but the command itself and
// its environment. Descriptors it needs are added to fds.
func arguments(plan jail.Plan, h helper, newSession bool, fds *files) ([]string, error) {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL", "--die-with-parent",
	}
	if newSession {
		args = append(args, "--new-session")
	}
	if plan.Net != jail.UnrestrictedNetwork {
		args = append(args, "--unshare-net")
	}
	mounts, err := plan.Mounts()
	if err != nil {
		return nil, err
	}
	for _, m := range mounts {
		more, err := h.mount(m, fds)
		if err != nil {
			return nil, err
		}
		args = append(args, more...)
	}
	args = append(args, "--chdir", plan.Dir)
	for _, a := range args {
		if strings.Contains(a, "\x00") {
			return nil, fmt.Errorf("%q holds a zero byte", a)
		}
	}
	return args, nil
}

// mount is one step of the mounting.
func (h helper) mount(m orders.Mount, fds *files) ([]string, error) {
	switch m.What {
	case orders.Host:
		return []string{"--ro-bind", "/", "/"}, nil
	case orders.Memory:
		return h.tmpfs(m.At, m.Mode, m.Size), nil
	case orders.Devices:
		return []string{"--dev", m.At}, nil
	case orders.Processes:
		return []string{"--proc", m.At}, nil
	case orders.Bind:
		op := "--ro-bind"
		if m.Write {
			op = "--bind"
		}
		return []string{op, m.From, m.At}, nil
	case orders.Copy:
		copied, err := cell.File("copy", m.Data)
		if err != nil {
			return nil, err
		}
		return []string{"--perms", "0600", "--bind-data", fds.add(copied), m.At}, nil
	case orders.Hide:
		return h.tmpfs(m.At, 0o555, 4096), nil
	case orders.Empty:
		empty, err := cell.File("mask", nil)
		if err != nil {
			return nil, err
		}
		return []string{"--perms", "0000", "--ro-bind-data", fds.add(empty), m.At}, nil
	case orders.Seal:
		return []string{"--remount-ro", m.At}, nil
	}
	return nil, fmt.Errorf("no argument of bubblewrap for %s", m)
}

// tmpfs is a private memory file system, of a size where bubblewrap can set one.
func (h helper) tmpfs(path string, mode uint32, size uint64) []string {
	args := []string{"--perms", fmt.Sprintf("%04o", mode)}
	if h.sizes {
		args = append(args, "--size", strconv.FormatUint(size, 10))
	}
	return append(args, "--tmpfs", path)
}

// environment sets variables, NAME=value, and no others.
func environment(env []string) []string {
	var args []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		args = append(args, "--setenv", name, value)
	}
	return args
}
