package seatbelt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/group"
	"github.com/reeve-gate/reeve/internal/jail/trusted"
	"github.com/reeve-gate/reeve/internal/jail/viewed"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Program is the system's own; no other is used, and PATH is not asked.
const Program = "/usr/bin/sandbox-exec"

// Unverified is what doctor and the engine's name say of this wall.
const Unverified = "reeve's profile was never tried on a Mac by its authors: rely on what doctor finds here"

// Wall builds boundaries with sandbox-exec. The zero Wall is ready for use.
type Wall struct {
	program string // a stand-in, in tests of the rest; empty = Program, on macOS only
}

var _ jail.Wall = (*Wall)(nil)

// Name is the name by which profiles and receipts call this wall.
func (w *Wall) Name() string { return "seatbelt" }

// find returns the program that builds the boundary, or why there is none.
func (w *Wall) find() (string, error) {
	if w.program != "" {
		return w.program, nil
	}
	if !here {
		return "", fmt.Errorf("%w: seatbelt is the wall of macOS; %s has none of this kind", reeve.ErrBoundary, system)
	}
	if _, err := trusted.Program(Program); err != nil {
		return "", fmt.Errorf("%w: %w", reeve.ErrBoundary, err)
	}
	return Program, nil
}

// Ready says whether sandbox-exec is here. It promises no more than
// "reduced": that the boundary bites is known only after package probe tried it.
func (w *Wall) Ready(context.Context) jail.Readiness {
	program, err := w.find()
	if err != nil {
		return jail.Readiness{State: reeve.SandboxMissing, Fix: err.Error()}
	}
	return jail.Readiness{State: reeve.SandboxReduced, Engine: program + " (" + release() + "; " + Unverified + ")", Fix: "the boundary was not probed"}
}

// Start implements [jail.Wall].
func (w *Wall) Start(ctx context.Context, p permit.Permit, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := p.Spend(digest); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w", err)
	}
	return w.launch(ctx, plan, cmd)
}

// StartProbe runs our own binary with the given hidden command and task inside
// a plan, and nothing else: it is how the wall is tried, and needs no permit.
func (w *Wall) StartProbe(ctx context.Context, plan jail.Plan, command, task string, stdout, stderr *os.File) (jail.Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own program: %w", err)
	}
	return w.launch(ctx, plan, jail.Cmd{Argv: []string{exe, command, task}, Stdout: stdout, Stderr: stderr})
}

// launch starts cmd inside plan, or fails having started nothing (Y70).
func (w *Wall) launch(ctx context.Context, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w", err)
	}
	program, err := w.find()
	if err != nil {
		return nil, err
	}
	if err := group.Check(plan, cmd); err != nil {
		return nil, err
	}
	if _, err := group.Find(cmd.Argv[0], plan); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	if err := viewed.Refuse(plan); err != nil {
		return nil, err
	}
	if plan, err = spelled(plan); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
	}
	local, clean, err := w.local(plan, cmd)
	if err != nil {
		return nil, fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
	}
	profile, err := Write(plan, local)
	if err != nil {
		clean()
		return nil, err
	}
	limits := plan.Limits
	words := append([]string{"sh", "-c", group.Setup(limits, cmd.Umask), "sh", program}, profile.Args()...)
	words = append(append(words, "--"), cmd.Argv...)
	c := &exec.Cmd{Path: "/bin/sh", Args: words, Dir: plan.Dir, Env: group.Environment(plan, local.Temp, local.proxy())}
	proc, err := group.Start(ctx, c, group.Options{
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, TTY: cmd.TTY, Wall: limits.Wall,
		End: func(code int, _ bool) (jail.Exit, error) {
			clean()
			return jail.Exit{Code: code, Held: group.Held(limits), Unheld: append(profile.Notes, "memory", "processes", "scratch", "programs that leave their group")}, nil
		},
	})
	if err != nil {
		clean()
		return nil, fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
	}
	return proc, nil
}

// proxy is where the tree finds the proxy; empty = it has none.
func (l Local) proxy() string {
	if l.Port == 0 {
		return ""
	}
	return "127.0.0.1:" + strconv.Itoa(int(l.Port))
}

// local makes what one start has for itself: a temporary directory, and the
// listener of a proxied network. clean takes the directory away.
func (w *Wall) local(plan jail.Plan, cmd jail.Cmd) (l Local, clean func(), err error) {
	clean = func() {}
	if cmd.TTY != nil {
		l.TTY = cmd.TTY.Name()
	}
	temp, err := os.MkdirTemp("", "reeve-")
	if err != nil {
		return l, clean, fmt.Errorf("make a temporary directory: %w", err)
	}
	clean = func() { os.RemoveAll(temp) }
	if l.Temp, err = filepath.EvalSymlinks(temp); err == nil && plan.Net == jail.ProxiedNetwork {
		l.Port, err = listen(cmd)
	}
	if err != nil {
		clean()
		return l, func() {}, err
	}
	return l, clean, nil
}

// listen opens the way to the proxy on a port of this machine's loopback,
// since a tree has no loopback of its own here. Others on this machine can
// reach it too, and gain nothing: they have the network.
func listen(cmd jail.Cmd) (port uint16, err error) {
	if cmd.Listener == nil {
		return 0, errors.New("a network that leads through the proxy needs the proxy")
	}
	ln, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return 0, fmt.Errorf("listen for the proxy: %w", err)
	}
	defer ln.Close()
	file, err := ln.File()
	if err != nil {
		return 0, fmt.Errorf("listen for the proxy: %w", err)
	}
	if err := cmd.Listener(file); err != nil {
		return 0, fmt.Errorf("take the listener of the sandbox: %w", err)
	}
	return uint16(ln.Addr().(*net.TCPAddr).Port), nil
}
