package keeper

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/held"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/permit"
)

// startLimit is how long a keeper may take until its program runs.
const startLimit = 20 * time.Second

// Starter starts one program in a keeper of its own. It is the hand of a kept
// session: its Start spends the permit in this process, where the kernel
// minted it.
type Starter struct {
	Wall    jail.Wall   // must be ready; the keeper starts the wall of this name
	Session string      // id
	Folder  string      // the session's own, 0700
	Socket  string      // where the keeper listens
	Hook    string      // where the session's own socket is made; empty = none
	Control string      // the daemon's control socket
	Size    attach.Size // of the program's terminal
	Attach  bool        // the link has a connection for one terminal, see Link.Screen
	Kept    bool        // the session lives on without a terminal
	Secrets *Masks      // values to mask in the log; nil = none
}

var _ jail.Starter = (*Starter)(nil)

// Start implements [jail.Starter]. The process is a [*Link]. cmd's streams are
// not used: the program has a terminal. ctx bounds the start alone.
func (s *Starter) Start(ctx context.Context, p permit.Permit, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := p.Spend(digest); err != nil {
		return nil, fmt.Errorf("start a session: %w", err)
	}
	if r := s.Wall.Ready(ctx); !r.Usable() {
		return nil, fmt.Errorf("%w: %s", reeve.ErrBoundary, r.Fix)
	}
	if err := Forget(s.Folder); err != nil {
		return nil, fmt.Errorf("start a session: %w", err)
	}
	near, far, err := localsock.Pair()
	if err != nil {
		return nil, fmt.Errorf("start a session: %w", err)
	}
	cmd2, err := s.process(far)
	if err != nil {
		near.Close()
		return nil, fmt.Errorf("start a session: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { cmd2.Process.Kill() })
	defer stop()
	link, err := s.tell(near, cmd2.Process.Pid, digest, plan, cmd)
	if err != nil {
		near.Close()
		cmd2.Process.Kill()
		if ctx.Err() != nil {
			err = fmt.Errorf("start a session: %w", context.Cause(ctx))
		}
		return nil, err
	}
	return link, nil
}

// process starts this very program as a keeper: in a process session of its
// own, with nothing of ours but one end of a connection.
func (s *Starter) process(far *os.File) (*exec.Cmd, error) {
	defer far.Close()
	log, err := os.OpenFile(filepath.Join(s.Folder, logFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	exe, err := program()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: exe, Args: []string{"reeve", Command, s.Session}, Dir: "/", Env: environment(), Stderr: log,
		ExtraFiles: []*os.File{far}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that keeps the session: %w", err)
	}
	go cmd.Wait() // it outlives us, and its link says how it ended
	return cmd, nil
}

// environment is what a keeper gets of ours: nothing that a program could be
// steered by.
func environment() []string {
	env := []string{localsock.Starting + "=1", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, name := range []string{"GOCOVERDIR"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// tell says what to start and waits until it runs.
func (s *Starter) tell(near *localsock.Conn, pid int, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (*Link, error) {
	near.SetDeadline(time.Now().Add(startLimit))
	secrets := s.Secrets.known()
	err := send(near, spec{
		Proto: proto, Digest: digest, Session: s.Session, Folder: s.Folder, Socket: s.Socket, Hook: s.Hook, Control: s.Control,
		Wall: s.Wall.Name(), Plan: plan, Argv: slices.Clone(cmd.Argv), Umask: cmd.Umask, Size: s.Size, Attach: s.Attach, Kept: s.Kept, Secrets: raw(secrets), Key: s.Secrets.key(),
	})
	if err != nil {
		return nil, fmt.Errorf("tell the process that keeps the session what to start: %w", err)
	}
	var ready word
	files, err := receive(near, &ready)
	closeAll(files)
	if err == nil && ready.Fault != nil {
		return nil, ready.Fault.err()
	}
	var keeper held.Process
	if err == nil {
		keeper, err = held.Take(pid) // it waits for the word, and may be gone soon after
	}
	if err != nil {
		return nil, notReady(err)
	}
	if err := send(near, word{Do: doGo}); err != nil {
		keeper.Close()
		return nil, notReady(err)
	}
	link, err := greeted(near, keeper, Place{Folder: s.Folder, Socket: s.Socket}, startLimit)
	if err != nil {
		keeper.Close()
		return nil, err
	}
	if err := s.Secrets.add(link, len(secrets)); err != nil && !link.ending() {
		link.Stop(jail.StopGrace)
		return nil, err
	}
	return link, nil
}

func notReady(err error) error {
	return fmt.Errorf("the process that keeps the session did not get ready: %w (see %s in its folder)", err, logFile)
}
