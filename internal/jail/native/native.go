//go:build linux

package native

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/cell"
	"github.com/reeve-gate/reeve/internal/jail/orders"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Wall builds boundaries out of namespaces. The zero Wall is ready for use.
type Wall struct{}

var _ jail.Wall = (*Wall)(nil)

// Name is the name by which profiles and receipts call this wall.
func (w *Wall) Name() string { return "native" }

// Ready says whether the first process's program is here. It promises no more
// than "reduced": that the kernel gives us what we ask of it, and that the
// boundary bites, is known only after package probe tried it.
func (w *Wall) Ready(context.Context) jail.Readiness {
	if _, err := cell.First(); err != nil {
		return jail.Readiness{State: reeve.SandboxMissing, Engine: w.Name(), Fix: err.Error()}
	}
	return jail.Readiness{State: reeve.SandboxReduced, Engine: engine(), Fix: "the boundary was not probed"}
}

// engine names the wall, the kernel it is made of, and the program inside.
func engine() string {
	var uts unix.Utsname
	release := "unknown"
	if unix.Uname(&uts) == nil {
		release = unix.ByteSliceToString(uts.Release[:])
	}
	return "native (Linux " + release + ", sha256 " + cell.FirstDigest()[:16] + ")"
}

// Scopes reports whether abstract names of sockets can be closed where the
// network is open.
func Scopes() bool { return cell.Scopes() }

// Start implements [jail.Wall]. When it returns the program runs, as the
// leader of a session of its own.
func (w *Wall) Start(ctx context.Context, p permit.Permit, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := p.Spend(digest); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w", err)
	}
	return w.launch(ctx, plan, cmd)
}

// StartProbe runs our own binary with the given hidden command and task
// inside a plan, and nothing else: it is how the wall is tried, and needs no
// permit.
func (w *Wall) StartProbe(ctx context.Context, plan jail.Plan, command, task string, stdout, stderr *os.File) (jail.Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own program: %w", err)
	}
	return w.launch(ctx, plan, jail.Cmd{Argv: []string{exe, command, task}, Stdout: stdout, Stderr: stderr})
}

// launch starts cmd inside plan, or fails having started nothing.
func (w *Wall) launch(ctx context.Context, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w", err)
	}
	if err := cell.Check(plan, cmd); err != nil {
		return nil, err
	}
	t := cell.NewTree(plan.Limits)
	o, err := command(t, plan, cmd)
	if err != nil {
		return nil, fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
	}
	if err := start(ctx, t, o, plan.Limits, cmd); err != nil {
		return nil, cell.Refused(err)
	}
	t.Watch(ctx)
	return t, nil
}

// command writes the orders for one start.
func command(t *cell.Tree, plan jail.Plan, cmd jail.Cmd) (*orders.Orders, error) {
	filter, err := cell.Filter(plan)
	if err != nil {
		return nil, err
	}
	mounts, err := plan.Mounts()
	if err != nil {
		return nil, err
	}
	o := &orders.Orders{
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Mounts: mounts, Loopback: plan.Net != jail.UnrestrictedNetwork,
		Layer: cell.Layer(plan), TTY: cmd.TTY != nil, Umask: -1, Filter: filter,
		Dir: plan.Dir, Argv: cmd.Argv, Env: plan.Env, Paths: cell.Paths(plan, cmd), Listen: cell.ListenOn(plan),
	}
	if cmd.Umask != 0 {
		o.Umask = int32(cmd.Umask & 0o777)
	}
	if cell.NeedsScope(plan) && o.Layer.Scoped&unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET == 0 {
		t.Unheld(cell.AbstractOpen)
	}
	for _, m := range mounts {
		if strings.Contains(m.At+m.From, "\x00") {
			return nil, fmt.Errorf("%q holds a zero byte", m.At+m.From)
		}
	}
	return o, nil
}

// powers are what building the boundary takes, in the new user namespace
// only: to mount, to bring up loopback, to give the rest away for good. The
// first process drops them before the program exists.
var powers = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

// start makes the first process and returns once the program runs.
//
// The namespaces are made together with the process, which shares our memory
// until it becomes another program (CLONE_VM, CLONE_VFORK): copying the tables
// of a long-lived process's memory would take longer than all the mounts. So
// nobody can map its user from here in between; it does that itself, with
// capabilities that outlive the change of program (ambient ones,
// capabilities(7)).
func start(ctx context.Context, t *cell.Tree, o *orders.Orders, limits jail.Limits, cmd jail.Cmd) error {
	door, err := cell.NewDoor()
	if err != nil {
		return err
	}
	defer door.Close()
	pidfd := -1
	c := &exec.Cmd{Args: []string{"reeve-first"}, Dir: "/", SysProcAttr: &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_VM | unix.CLONE_VFORK | namespaces(o), AmbientCaps: powers, Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &pidfd,
	}}
	cell.Streams(c, cmd)
	told, tells, err := os.Pipe()
	if err != nil {
		return err
	}
	brief, err := cell.NewBriefing(o, door, tells, 3)
	if err != nil {
		told.Close()
		tells.Close()
		return err
	}
	c.Path, c.Env, c.ExtraFiles = brief.Path, brief.Env, brief.Files
	err = t.Launch(c, func() error { return nil }, func(int, bool) error { return nil })
	for _, f := range brief.Files {
		f.Close()
	}
	if err != nil {
		told.Close()
		return fmt.Errorf("make new namespaces: %w", err)
	}
	go t.Told(told)
	known := false
	standing := func(ns uint64) error {
		t.Bound(t.PID(), limits, true).Inside(t.PID())
		t.Know(t.PID(), pidfd, ns) // last: from now on the end of the tree may be told
		known = true
		return nil
	}
	if err := door.Await(ctx, o, standing, cmd.Listener); err != nil {
		if !known {
			unix.Close(pidfd)
		}
		t.Kill()
		return err
	}
	return nil
}

func namespaces(o *orders.Orders) uintptr {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP)
	if o.Loopback {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}
