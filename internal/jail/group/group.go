// Package group holds a program and its process group as one tree.
//
// [Start] makes the program the leader of a group of its own, and [Process]
// waits for it, signals it and ends what is left of it (contract Y74, Y76).
// No descriptor of ours but the three streams is inherited. It is what the
// starters share that have no process namespace: a program that leaves its
// group leaves the tree too, which each of them says in its own words.
package group

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
)

// Options say how a program is started and what its end is taken for.
type Options struct {
	Stdin, Stdout, Stderr *os.File
	TTY                   *os.File      // the controlling terminal and all three streams, when set
	Wall                  time.Duration // the tree is stopped after this long; 0 = never

	// Dies ends the leader, on Linux, when the thread ends that calls Start
	// (prctl(2), PR_SET_PDEATHSIG): the caller locks it and keeps it.
	Dies bool

	// End turns the leader's code into how the tree ended; asked says that
	// Stop was called. It is called once, after the last of the group is gone.
	// nil = the code alone.
	End func(code int, asked bool) (jail.Exit, error)
}

// Process is a running group.
type Process struct {
	cmd  *exec.Cmd
	end  func(int, bool) (jail.Exit, error)
	done chan struct{}

	mu    sync.Mutex // guards what follows
	asked bool       // Stop was called
	ended bool       // the leader was reaped: its number may be another's
	exit  jail.Exit
	err   error
}

var _ jail.Process = (*Process)(nil)

// Start starts c, of which Path, Args, Dir and Env count, and watches it: the
// end of ctx or of the wall time stops the group.
func Start(ctx context.Context, c *exec.Cmd, o Options) (*Process, error) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.TTY != nil {
		o.Stdin, o.Stdout, o.Stderr = o.TTY, o.TTY, o.TTY
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	if o.Dies {
		diesWithThread(c.SysProcAttr)
	}
	c.Stdin = Input(o.Stdin)
	if o.Stdout != nil { // a nil file in an interface is no nil
		c.Stdout = o.Stdout
	}
	if o.Stderr != nil {
		c.Stderr = o.Stderr
	}
	keepOurs()
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: c, end: o.End, done: make(chan struct{})}
	go p.reap()
	go p.watch(ctx, o.Wall)
	return p, nil
}

// PID is the leader's number, and the group's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Wait returns after the whole group is gone.
func (p *Process) Wait() (jail.Exit, error) {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit, p.err
}

// reap waits for the leader without taking its number back, ends what is left
// of the group while that number is surely its, and then takes it back.
func (p *Process) reap() {
	awaitEnd(p.PID())
	p.mu.Lock()
	defer p.mu.Unlock()
	syscall.Kill(-p.PID(), syscall.SIGKILL)
	err := p.cmd.Wait()
	p.ended = true
	p.exit = jail.Exit{Code: Code(p.cmd.ProcessState)}
	p.awaitGroup()
	if p.end != nil {
		p.exit, p.err = p.end(p.exit.Code, p.asked)
	}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		p.err = fmt.Errorf("wait for program: %w", err)
	}
	close(p.done)
}

// awaitGroup waits until nothing of the killed group runs any more; one that
// hangs in the kernel is waited for no longer than a second. Signal 0 hits
// nobody, so that a number given anew does no harm.
func (p *Process) awaitGroup() {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if errors.Is(syscall.Kill(-p.PID(), 0), syscall.ESRCH) || !runs(p.PID()) {
			return
		}
	}
}

// Code is a program's own exit code, or 128 and the signal that ended it.
func Code(state *os.ProcessState) int {
	if state == nil {
		return 1
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

func (p *Process) watch(ctx context.Context, wall time.Duration) {
	var over <-chan time.Time
	if wall > 0 {
		t := time.NewTimer(wall)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	case <-over:
	}
	p.Stop(jail.StopGrace)
}

// Stop implements [jail.Process] for the group (Y74).
func (p *Process) Stop(grace time.Duration) {
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	p.Signal(syscall.SIGTERM)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		p.Signal(syscall.SIGKILL)
		<-p.done
	}
}

// Signal sends to the whole group.
func (p *Process) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v is not one of this system", sig)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return os.ErrProcessDone
	}
	return syscall.Kill(-p.PID(), s)
}

// Contains reports whether pid descends from the program: it says who is whose
// child and nothing more.
func (p *Process) Contains(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for hops := 0; !p.ended && pid > 1 && hops < 64; hops++ {
		if pid == p.PID() {
			return true
		}
		pid = parent(pid)
	}
	return false
}
