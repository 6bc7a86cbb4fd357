//go:build linux

package bwrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/cell"
	"github.com/reeve-gate/reeve/internal/jail/limit"
	"github.com/reeve-gate/reeve/internal/jail/orders"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Wall builds boundaries with bubblewrap. The zero Wall is ready for use.
type Wall struct{ finder finder }

var _ jail.Wall = (*Wall)(nil)

// Name is the name by which profiles and receipts call this wall.
func (w *Wall) Name() string { return "bwrap" }

// Ready says whether bubblewrap is here and fit for use. It promises no more
// than "reduced": that the boundary bites is known only after
// package probe tried it.
func (w *Wall) Ready(context.Context) jail.Readiness {
	h, err := w.finder.find()
	if err != nil {
		return jail.Readiness{State: reeve.SandboxMissing, Fix: err.Error()}
	}
	return jail.Readiness{State: reeve.SandboxReduced, Engine: h.String(), Fix: "the boundary was not probed"}
}

// Start implements [jail.Wall]. The process is a leader of its own session;
// with a terminal it is the leader inside the boundary, so that keys such as
// ^C reach it and not bubblewrap.
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
	h, err := w.finder.find()
	if err != nil {
		return nil, err
	}
	if err := cell.Check(plan, cmd); err != nil {
		return nil, err
	}
	l := launch{helper: h, plan: plan, cmd: cmd, tree: cell.NewTree(plan.Limits)}
	defer l.close()
	if err := l.prepare(); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
	}
	if err := l.start(ctx); err != nil {
		return nil, cell.Refused(err)
	}
	l.tree.Watch(ctx)
	return l.tree, nil
}

// launch holds what one start needs until bubblewrap has it.
type launch struct {
	helper helper
	plan   jail.Plan
	cmd    jail.Cmd
	tree   *cell.Tree

	exec   *exec.Cmd
	fds    files    // handed over
	infoR  *os.File // what bubblewrap tells of the process it made
	gateW  *os.File // bubblewrap waits until this is closed
	tokenR *os.File // our own end of the pipe whose byte is read once the mounts stand
	tokenW *os.File // where the byte is written once the last bound is set

	door   *cell.Door     // where the first process inside is ours
	orders *orders.Orders // what it is told
}

func (l *launch) close() {
	l.fds.close()
	for _, f := range []*os.File{l.infoR, l.gateW, l.tokenW} {
		if f != nil {
			f.Close()
		}
	}
	if l.door != nil {
		l.door.Close()
	}
}

// prepare makes every descriptor and argument. Nothing runs yet.
func (l *launch) prepare() error {
	filter, err := cell.Filter(l.plan)
	if err != nil {
		return err
	}
	gate, info, token, err := l.pipes()
	if err != nil {
		return err
	}
	args, err := arguments(l.plan, l.helper, l.cmd.TTY == nil, &l.fds)
	if err != nil {
		return err
	}
	seccompFile, err := cell.File("filter", filter)
	if err != nil {
		return err
	}
	args = append(args, "--seccomp", l.fds.add(seccompFile), "--info-fd", info, "--block-fd", token)
	l.exec = &exec.Cmd{
		Path: l.helper.path, Env: []string{}, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	cell.Streams(l.exec, l.cmd)
	env, argv, err := l.program()
	if err != nil {
		return err
	}
	argsFile, err := cell.File("args", []byte(strings.Join(slices.Concat(args, env), "\x00")+"\x00"))
	if err != nil {
		return err
	}
	l.exec.Args = slices.Concat([]string{l.helper.path, "--args", gate, "--args", l.fds.add(argsFile), "--"}, argv)
	l.exec.ExtraFiles = l.fds
	return nil
}

// pipes makes the three by which bubblewrap is steered, and their numbers
// there.
func (l *launch) pipes() (gate, info, token string, err error) {
	gateR, gateW, err := os.Pipe()
	if err != nil {
		return "", "", "", err
	}
	l.gateW = gateW
	gate = l.fds.add(gateR)
	infoR, infoW, err := os.Pipe()
	if err != nil {
		return "", "", "", err
	}
	l.infoR = infoR
	info = l.fds.add(infoW)
	tokenR, tokenW, err := os.Pipe()
	if err != nil {
		return "", "", "", err
	}
	token = l.fds.add(tokenR)
	l.tokenW = tokenW
	own, err := unix.FcntlInt(tokenR.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return "", "", "", err
	}
	l.tokenR = os.NewFile(uintptr(own), "token")
	return gate, info, token, nil
}

// program is what bubblewrap starts and the arguments that set its
// environment. With a terminal, or a listener to hand out, that is the first
// process of ours, which becomes the program.
func (l *launch) program() (env, argv []string, err error) {
	if l.cmd.TTY == nil && l.plan.Net != jail.ProxiedNetwork {
		return environment(l.plan.Env), l.cmd.Argv, nil
	}
	l.orders = &orders.Orders{
		Gate: true, TTY: l.cmd.TTY != nil, Listen: cell.ListenOn(l.plan), Umask: -1,
		Argv: l.cmd.Argv, Env: l.plan.Env, Paths: cell.Paths(l.plan, l.cmd), Layer: cell.Layer(l.plan),
	}
	if l.door, err = cell.NewDoor(); err != nil {
		return nil, nil, err
	}
	b, err := cell.NewBriefing(l.orders, l.door, nil, len(l.fds)+3)
	if err != nil {
		return nil, nil, err
	}
	l.fds = append(l.fds, b.Files...)
	return environment(b.Env), []string{b.Path}, nil
}

// start runs bubblewrap and returns when the process inside is known, and
// where that is ours at first, when the program runs.
func (l *launch) start(ctx context.Context) error {
	scoped := func() error {
		if cell.NeedsScope(l.plan) && (l.helper.setid || !cell.Scope()) {
			l.tree.Unheld(cell.AbstractOpen)
		}
		return cell.Umask(l.cmd.Umask)
	}
	if err := l.tree.Launch(l.exec, scoped, l.verdict); err != nil {
		l.tokenR.Close()
		return err
	}
	bounds := l.tree.Bound(l.tree.PID(), l.plan.Limits, l.helper.sizes) // it waits at its gate
	l.fds.close()
	l.fds = nil
	l.gateW.Close()
	if err := l.learn(bounds); err != nil {
		l.tree.Kill()
		return err
	}
	if l.door == nil {
		return nil
	}
	known := func(uint64) error { return nil }
	if err := l.door.Await(ctx, l.orders, known, l.cmd.Listener); err != nil {
		l.tree.Kill()
		_, ended := l.tree.Wait() // knows whether bubblewrap came as far as that
		return errors.Join(ended, err)
	}
	return nil
}

// verdict judges the end of bubblewrap: one with an error that it did not live
// to report, since the mounts were never made, is no end of the program.
func (l *launch) verdict(code int, asked bool) error {
	defer l.tokenR.Close()
	if code != 0 && !asked && unread(l.tokenR) {
		return fmt.Errorf("%w: bubblewrap could not build the sandbox (its message is on standard error); nothing was run", reeve.ErrBoundary)
	}
	return nil
}

// unread reports whether the byte that bubblewrap takes after the last mount
// is still there.
func unread(token *os.File) bool {
	n, err := unix.IoctlGetInt(int(token.Fd()), unix.TIOCINQ)
	return err == nil && n > 0
}

// learn reads which process bubblewrap made and which namespace it is in,
// sets what can be set only inside of that, and lets it go on.
func (l *launch) learn(bounds *limit.Tree) error {
	l.infoR.SetReadDeadline(time.Now().Add(cell.Patience))
	var told struct {
		Child int    `json:"child-pid"`
		PIDNS uint64 `json:"pid-namespace"`
	}
	if err := json.NewDecoder(l.infoR).Decode(&told); err != nil || told.Child <= 0 {
		return errors.Join(errors.New("bubblewrap made no process"), err)
	}
	fd, err := unix.PidfdOpen(told.Child, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("hold process %d: %w", told.Child, err)
	}
	if err == nil {
		bounds.Inside(told.Child)
	} else {
		fd = -1
	}
	if _, err := l.tokenW.Write([]byte{1}); err != nil {
		unix.Close(fd)
		return fmt.Errorf("let the program begin: %w", err)
	}
	l.tokenW.Close()
	l.tree.Know(told.Child, fd, told.PIDNS)
	return nil
}
