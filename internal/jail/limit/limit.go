// Package limit bounds what a tree of processes may use, with what this
// machine offers: a control group for the whole tree where one can be made
// (package cgroup), else resource limits (setrlimit(2)), which hold for each
// process alone. It says which bounds hold, in words for a receipt.
package limit

import (
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/cgroup"
)

// Tree holds the bounds of one tree.
type Tree struct {
	Held   []string // in words
	Unheld []string // asked for, or worth asking for, and not held
	limits jail.Limits
	group  *cgroup.Group
	late   bool // the number of processes is left to Inside
}

// Set bounds the process pid, which waits at the gate of its wall and has
// started nothing yet, and by inheritance all that it starts. id names the run.
func Set(id string, pid int, l jail.Limits) *Tree {
	t := &Tree{limits: l}
	t.rlimit(pid, "no core files", unix.RLIMIT_CORE, 0)
	if l.CPU > 0 {
		t.rlimit(pid, "cpu "+l.CPU.String()+" a process", unix.RLIMIT_CPU, uint64((l.CPU+time.Second-1)/time.Second))
	}
	if l.FileSize > 0 {
		t.rlimit(pid, "files up to "+cgroup.Size(l.FileSize), unix.RLIMIT_FSIZE, uint64(l.FileSize))
	}
	if l.Files > 0 {
		t.rlimit(pid, fmt.Sprintf("%d open files a process", l.Files), unix.RLIMIT_NOFILE, l.Files)
	}
	if l.Wall > 0 {
		t.Held = append(t.Held, "wall time "+l.Wall.String())
	}
	t.tree(id, pid)
	return t
}

// tree bounds what only a control group can for a tree as a whole.
func (t *Tree) tree(id string, pid int) {
	l := t.limits
	b := cgroup.Bounds{Memory: l.Memory, Processes: l.Processes, CPU: l.Processors}
	if b == (cgroup.Bounds{}) {
		return
	}
	var held, unheld []string
	if places, err := cgroup.Find(); err == nil {
		t.group, held, unheld = places.Make(id, b)
	} else {
		unheld = b.Names()
	}
	if err := t.group.Add(pid); err != nil {
		t.group.Remove()
		t.group, held, unheld = nil, nil, b.Names()
	}
	t.Held = append(t.Held, held...)
	for _, name := range unheld {
		switch {
		case name == "memory":
			// Not the address space: virtual machines reserve far more of it
			// than they use (java fails below 8 GiB, research note, 3.5).
			t.rlimit(pid, "memory "+cgroup.Size(l.Memory)+" a process", unix.RLIMIT_DATA, uint64(l.Memory))
		case name == "processes" && os.Getuid() != 0:
			t.late = true
		default:
			t.Unheld = append(t.Unheld, name)
		}
	}
}

// Inside bounds the number of processes of a tree in a user namespace of its
// own (Linux 5.14 counts them by namespace; the root user is not counted).
// pid is a process that is in the namespace already and has started nothing:
// set before, the bound would count what the person runs outside too.
func (t *Tree) Inside(pid int) {
	if !t.late {
		return
	}
	t.late = false
	n := uint64(t.limits.Processes)
	t.rlimit(pid, fmt.Sprintf("%d processes", n), unix.RLIMIT_NPROC, n)
}

// Size writes a number of bytes for a person.
func Size(n int64) string { return cgroup.Size(n) }

// Offered says which bounds this machine can hold for the whole tree, and how
// it holds the others. It makes a control group and removes it.
func Offered() (held, rest []string) {
	places, err := cgroup.Find()
	b := cgroup.Bounds{Memory: 1 << 40, Processes: 1 << 15, CPU: 1000}
	unheld := b.Names()
	if err == nil {
		var g *cgroup.Group
		g, _, unheld = places.Make(fmt.Sprintf("try-%d", os.Getpid()), b)
		g.Remove()
	}
	for _, name := range b.Names() {
		switch {
		case !slices.Contains(unheld, name):
			held = append(held, name)
		case name == "memory":
			rest = append(rest, "memory: of each process")
		case name == "processes" && os.Getuid() != 0:
			held = append(held, name)
		default:
			rest = append(rest, name+": not held")
		}
	}
	return held, rest
}

// Sweep removes what trees left behind whose daemon was killed.
func Sweep() {
	if places, err := cgroup.Find(); err == nil {
		places.Sweep()
	}
}

// Remove gives up the tree's group, when the tree is gone.
func (t *Tree) Remove() error {
	if t == nil {
		return nil
	}
	return t.group.Remove()
}

func (t *Tree) rlimit(pid int, name string, resource int, value uint64) {
	if err := prlimit(pid, resource, value); err != nil {
		t.Unheld = append(t.Unheld, name)
		return
	}
	t.Held = append(t.Held, name)
}
