//go:build linux

package jail

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/orders"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// own is where things of Reeve's stand inside.
const own = "/run/reeve"

// Sizes of the private memory file systems, in bytes.
const (
	defaultScratch = 1 << 30 // /tmp, where the plan gives none
	runSize        = 16 << 20
	shmSize        = 256 << 20
)

// MaxCopy bounds one settings file that the process gets a copy of, in bytes.
const MaxCopy = 16 << 20

// ScratchSize is the size of /tmp inside, in bytes.
func (l Limits) ScratchSize() int64 {
	if l.Scratch <= 0 {
		return defaultScratch
	}
	return l.Scratch
}

// Mounts is the boundary's file system, step by step; every wall takes them in
// this order, which is the meaning of the plan: the whole machine read-only;
// private /tmp, /run, /dev and /proc; what is shown and writable from the
// outside in, each with its pins and protected names; the masks, Reeve's own
// state last; what is bound in although a mask covers its place; and last what
// becomes read-only once all that belongs into it stands.
//
// Each place is looked at now. One that is gone, or has a symbolic link in its
// path, is an error: it was changed since the plan was made. A wall looks
// again when it mounts.
func (p Plan) Mounts() ([]orders.Mount, error) {
	all := []orders.Mount{
		{What: orders.Host, At: "/"},
		memory("/tmp", 0o1777, p.Limits.ScratchSize()),
		memory("/run", 0o755, runSize),
		{What: orders.Devices, At: "/dev"},
		memory("/dev/shm", 0o1777, shmSize),
		seal("/dev"),
		{What: orders.Processes, At: "/proc"},
	}
	if os.Getuid() == 0 {
		// The kernel's settings belong to root, and root is who we are: without
		// any capability /proc/sys/kernel/core_pattern could still be written.
		all = append(all, seal("/proc"))
	}
	var sealed []orders.Mount
	if slices.ContainsFunc(p.Expose, func(e Expose) bool { return strings.HasPrefix(e.To, own+"/") }) {
		// A place of its own, which the process can neither write nor rename:
		// else it could put a socket of its making where the hook looks.
		all = append(all, memory(own, 0o755, runSize))
		sealed = append(sealed, seal(own))
	}
	for _, at := range p.places() {
		m, ok, err := at.mount(p)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		all = append(all, m)
		if m.What == orders.Hide {
			sealed = append(sealed, seal(m.At))
		}
	}
	for _, e := range p.Expose {
		if err := exact(e.From); err != nil {
			return nil, fmt.Errorf("show %s inside: %w", e.From, err)
		}
		all = append(all, orders.Mount{What: orders.Bind, From: e.From, At: e.To, Write: e.Write})
	}
	return append(all, sealed...), nil
}

func memory(at string, mode uint32, size int64) orders.Mount {
	return orders.Mount{What: orders.Memory, At: at, Mode: mode, Size: uint64(size)}
}

func seal(at string) orders.Mount { return orders.Mount{What: orders.Seal, At: at} }

// place is one path of the plan and what is done with it.
type place struct {
	path string
	use  use
}

type use uint8

// In this order where two say something of the same path: the later wins.
const (
	shown use = iota
	writable
	pinned
	protected
	separate // private to the process
	hidden
)

// places are all paths of the plan, a directory right before what lies below
// it, and the masks last.
func (p Plan) places() []place {
	var all []place
	add := func(u use, paths ...string) {
		for _, path := range paths {
			all = append(all, place{path, u})
		}
	}
	add(shown, p.Read...)
	if p.ReadOnly {
		add(shown, p.Workspace)
	} else {
		add(writable, p.Workspace)
	}
	add(writable, p.Write...)
	add(pinned, p.Pin...)
	add(protected, p.Protect...)
	add(separate, p.Private...)
	slices.SortStableFunc(all, func(a, b place) int {
		switch {
		case a.path == b.path:
			return int(a.use) - int(b.use)
		case tree.Less(a.path, b.path):
			return -1
		}
		return 1
	})
	for _, path := range p.Mask {
		all = append(all, place{path, hidden})
	}
	return all
}

// mount is the step for one path; ok is false where a path that is hidden is
// gone since the plan was made, so that there is nothing to hide. The same
// holds of anything below a view: it may lack what was made in the workspace
// since, and what an agent removed from it.
func (p place) mount(plan Plan) (m orders.Mount, ok bool, err error) {
	from := tree.Moved(p.path, plan.Workspace, plan.View)
	info, err := os.Lstat(from)
	if err != nil {
		if (p.use == hidden || from != p.path && from != plan.View) && os.IsNotExist(err) {
			return m, false, nil
		}
		return m, false, fmt.Errorf("%s changed while the sandbox was made: %w", p.path, err)
	}
	if err := exact(from); err != nil {
		return m, false, err
	}
	m = orders.Mount{What: orders.Bind, At: p.path, From: from}
	switch {
	case p.use < separate:
		m.Write = p.use == writable || p.use == pinned
	case p.use == separate && info.IsDir():
		m = memory(p.path, 0o700, runSize)
	case p.use == separate:
		m.What = orders.Copy
		m.Data, err = content(from, info)
	case info.IsDir():
		m.What = orders.Hide
	default:
		m.What = orders.Empty
	}
	return m, err == nil, err
}

// exact opens a path and fails on any symbolic link in it, the last element
// included, right before a wall is told of it: one that appeared since the
// plan was made would carry the mount to another place. (With O_NOFOLLOW the
// kernel would open a link in the last place itself.)
func exact(path string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return fmt.Errorf("%s changed while the sandbox was made: %w", path, err)
	}
	return unix.Close(fd)
}

// content reads a file that the process gets a copy of.
func content(path string, info fs.FileInfo) ([]byte, error) {
	if info.Size() > MaxCopy {
		return nil, fmt.Errorf("copy %s: %d bytes; at most %d", path, info.Size(), MaxCopy)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	return text, nil
}
