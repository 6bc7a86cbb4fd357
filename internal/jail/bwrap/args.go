//go:build linux

package bwrap

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail"
)

// own is where things of Reeve's stand inside.
const own = "/run/reeve"

// Sizes of the private memory file systems.
const (
	defaultScratch = 1 << 30 // /tmp, where the plan gives none
	runSize        = 16 << 20
	shmSize        = 256 << 20
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

// mount is one place of the plan and how it is shown.
type mount struct {
	path string
	kind kind
}

type kind uint8

// In this order where two say something of the same path: the later wins.
const (
	show kind = iota
	write
	pin
	protect
	private
	hide
)

// mounts are all places of the plan, a directory right before what lies
// below it.
func mounts(plan jail.Plan) []mount {
	var all []mount
	add := func(k kind, paths ...string) {
		for _, p := range paths {
			all = append(all, mount{p, k})
		}
	}
	add(show, plan.Read...)
	if plan.ReadOnly {
		add(show, plan.Workspace)
	} else {
		add(write, plan.Workspace)
	}
	add(write, plan.Write...)
	add(pin, plan.Pin...)
	add(protect, plan.Protect...)
	add(private, plan.Private...)
	sort.SliceStable(all, func(i, j int) bool {
		a, b := strings.ReplaceAll(all[i].path, "/", "\x00"), strings.ReplaceAll(all[j].path, "/", "\x00")
		return a < b || a == b && all[i].kind < all[j].kind
	})
	for _, p := range plan.Mask {
		all = append(all, mount{p, hide})
	}
	return all
}

// arguments writes everything bubblewrap is told but the command itself.
// Descriptors it needs are added to fds.
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
	args = slices.Concat(args,
		[]string{"--ro-bind", "/", "/"},
		h.tmpfs("/tmp", "1777", scratch(plan.Limits)),
		h.tmpfs("/run", "0755", runSize),
		[]string{"--dev", "/dev"},
		h.tmpfs("/dev/shm", "1777", shmSize),
		[]string{"--remount-ro", "/dev", "--proc", "/proc"},
	)
	if os.Getuid() == 0 {
		// The kernel's settings belong to root, and root is who we are: without
		// any capability /proc/sys/kernel/core_pattern could still be written.
		args = append(args, "--remount-ro", "/proc")
	}
	var sealed []string
	if slices.ContainsFunc(plan.Expose, func(e jail.Expose) bool { return strings.HasPrefix(e.To, own+"/") }) {
		// A place of its own, which the process can neither write nor rename:
		// else it could put a socket of its making where the hook looks.
		args = append(args, h.tmpfs(own, "0755", runSize)...)
		sealed = append(sealed, "--remount-ro", own)
	}
	for _, m := range mounts(plan) {
		more, seal, err := m.arguments(h, fds)
		if err != nil {
			return nil, err
		}
		args, sealed = append(args, more...), append(sealed, seal...)
	}
	for _, e := range plan.Expose {
		if err := exact(e.From); err != nil {
			return nil, fmt.Errorf("show %s inside: %w", e.From, err)
		}
		op := "--ro-bind"
		if e.Write {
			op = "--bind"
		}
		args = append(args, op, e.From, e.To)
	}
	args = append(args, sealed...)
	for _, kv := range plan.Env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("environment entry %q is not NAME=value", kv)
		}
		args = append(args, "--setenv", name, value)
	}
	args = append(args, "--chdir", plan.Dir)
	for _, a := range args {
		if strings.Contains(a, "\x00") {
			return nil, fmt.Errorf("%q holds a zero byte", a)
		}
	}
	return args, nil
}

// arguments shows one place. seal makes a hidden directory read-only, after
// everything that must be bound into it.
func (m mount) arguments(h helper, fds *files) (args, seal []string, err error) {
	info, err := os.Lstat(m.path)
	if err != nil {
		if m.kind == hide && os.IsNotExist(err) {
			return nil, nil, nil // gone since the plan was made: nothing to hide
		}
		return nil, nil, fmt.Errorf("%s changed while the sandbox was made: %w", m.path, err)
	}
	if err := exact(m.path); err != nil {
		return nil, nil, err
	}
	switch {
	case m.kind == show || m.kind == protect:
		return []string{"--ro-bind", m.path, m.path}, nil, nil
	case m.kind == write || m.kind == pin:
		return []string{"--bind", m.path, m.path}, nil, nil
	case m.kind == private && info.IsDir():
		return h.tmpfs(m.path, "0700", runSize), nil, nil
	case m.kind == private:
		copied, err := copyOf(m.path)
		if err != nil {
			return nil, nil, err
		}
		return []string{"--perms", "0600", "--bind-data", fds.add(copied), m.path}, nil, nil
	case info.IsDir():
		return h.tmpfs(m.path, "0555", 4096), []string{"--remount-ro", m.path}, nil
	}
	empty, err := memfd("mask", nil)
	if err != nil {
		return nil, nil, err
	}
	return []string{"--perms", "0000", "--ro-bind-data", fds.add(empty), m.path}, nil, nil
}

// scratch is the size of /tmp.
func scratch(l jail.Limits) int64 {
	if l.Scratch <= 0 {
		return defaultScratch
	}
	return l.Scratch
}

// tmpfs is a private memory file system, of a size where bubblewrap can set one.
func (h helper) tmpfs(path, mode string, size int64) []string {
	args := []string{"--perms", mode}
	if h.sizes {
		args = append(args, "--size", strconv.FormatInt(size, 10))
	}
	return append(args, "--tmpfs", path)
}

// exact opens a path and fails on any symbolic link in it, the last element
// included, right before bubblewrap is told of it: one that appeared since the
// plan was made would carry the mount to another place. (With O_NOFOLLOW the
// kernel would open a link in the last place itself.)
func exact(path string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return fmt.Errorf("%s changed while the sandbox was made: %w", path, err)
	}
	return unix.Close(fd)
}

// maxCopy bounds a settings file that the process gets a copy of.
const maxCopy = 16 << 20

func copyOf(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	if info.Size() > maxCopy {
		return nil, fmt.Errorf("copy %s: %d bytes; at most %d", path, info.Size(), maxCopy)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	return memfd("copy", text)
}

// memfd is a file in memory that nobody can change any more, to be read from
// its beginning.
func memfd(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("reeve-"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	file := os.NewFile(uintptr(fd), "reeve-"+name)
	if _, err := file.Write(content); err != nil {
		file.Close()
		return nil, fmt.Errorf("fill memory file: %w", err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		file.Close()
		return nil, fmt.Errorf("seal memory file: %w", err)
	}
	if _, err := file.Seek(0, 0); err != nil {
		file.Close()
		return nil, fmt.Errorf("rewind memory file: %w", err)
	}
	return file, nil
}
