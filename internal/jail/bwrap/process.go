//go:build linux

package bwrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/limit"
)

// process is one running boundary: bubblewrap outside, and its process number
// one inside, whose end is the end of all.
type process struct {
	pid   int // bubblewrap
	token *os.File
	wall  time.Duration

	limits *limit.Tree // set once bubblewrap waits at its gate

	learned chan struct{} // closed when init and ns are known, or never will be
	done    chan struct{} // closed when nothing of the tree is left

	mu     sync.Mutex // guards what follows
	init   int        // process number one, as seen from here
	initFD int        // pidfd of init, -1 where it had ended already
	ns     uint64     // inode of the process namespace
	asked  bool       // Stop was called
	unheld []string   // besides what limits says
	exit   jail.Exit
	err    error
}

var _ jail.Process = (*process)(nil)

func newProcess(plan jail.Plan, token *os.File) *process {
	return &process{token: token, wall: plan.Limits.Wall, learned: make(chan struct{}), done: make(chan struct{}), initFD: -1}
}

// PID is the host's number of bubblewrap, the ancestor of the tree.
func (p *process) PID() int { return p.pid }

// Root is the host's number of process number one inside, whose end is the end
// of all; 0 where it has ended already.
func (p *process) Root() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.initFD < 0 {
		return 0
	}
	return p.init
}

// Wait returns after the whole tree is gone. A boundary that could not be
// built is an error: the program never ran.
func (p *process) Wait() (jail.Exit, error) {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit, p.err
}

// reap waits for bubblewrap and then for the namespace. It runs on the thread
// that started bubblewrap.
func (p *process) reap(cmd *exec.Cmd) {
	err := cmd.Wait()
	<-p.learned
	p.mu.Lock()
	fd := p.initFD
	p.mu.Unlock()
	if fd >= 0 {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		awaitEnd(fd)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if fd >= 0 {
		unix.Close(fd)
		p.initFD = -1
	}
	p.exit = jail.Exit{Code: exitCode(cmd.ProcessState), Held: p.limits.Held, Unheld: append(p.unheld, p.limits.Unheld...)}
	go p.limits.Remove() // the kernel may hold the group for a moment
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		p.err = fmt.Errorf("wait for sandbox: %w", err)
	}
	if unread(p.token) && p.exit.Code != 0 && !p.asked {
		p.err = fmt.Errorf("%w: bubblewrap could not build the sandbox (its message is on standard error); nothing was run", reeve.ErrBoundary)
	}
	p.token.Close()
	close(p.done)
}

// awaitEnd returns when the process behind a pidfd has ended. For process
// number one of a namespace the kernel ends every other one first.
func awaitEnd(fd int) {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// unread reports whether the byte that bubblewrap takes after the last mount
// is still there.
func unread(token *os.File) bool {
	n, err := unix.IoctlGetInt(int(token.Fd()), unix.TIOCINQ)
	return err == nil && n > 0
}

// exitCode is the program's own code, or 128 and the signal.
func exitCode(state *os.ProcessState) int {
	if state == nil {
		return 1
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// watch ends the tree when the context ends or the wall time is over.
func (p *process) watch(ctx context.Context) {
	if ctx.Done() == nil && p.wall <= 0 {
		return
	}
	go func() {
		var over <-chan time.Time
		if p.wall > 0 {
			t := time.NewTimer(p.wall)
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
	}()
}

// Stop implements [jail.Process] (Y74).
func (p *process) Stop(grace time.Duration) {
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	p.Signal(syscall.SIGTERM)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.done:
		return
	case <-t.C:
	}
	p.mu.Lock()
	if p.initFD >= 0 {
		unix.PidfdSendSignal(p.initFD, unix.SIGKILL, nil, 0)
	}
	p.mu.Unlock()
	<-p.done
}

// Signal sends to every process inside but number one, which is bubblewrap's
// and has no handler. A number that was given to another process meanwhile is
// not hit: each is held by a pidfd and looked at again before the signal.
func (p *process) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v is not one of this system", sig)
	}
	p.mu.Lock()
	init := p.init
	p.mu.Unlock()
	for _, pid := range descendants(init) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if p.Contains(pid) {
			unix.PidfdSendSignal(fd, s, nil, 0)
		}
		unix.Close(fd)
	}
	return nil
}

// descendants lists the processes below pid, read from the kernel's list of
// children; one that cannot be read has none.
func descendants(pid int) []int {
	var out []int
	queue := []int{pid}
	for i := 0; i < len(queue) && i < 1<<16; i++ {
		tasks, err := os.ReadDir("/proc/" + strconv.Itoa(queue[i]) + "/task")
		if err != nil {
			continue
		}
		for _, t := range tasks {
			text, err := os.ReadFile("/proc/" + strconv.Itoa(queue[i]) + "/task/" + t.Name() + "/children")
			if err != nil {
				continue
			}
			for _, field := range strings.Fields(string(text)) {
				if child, err := strconv.Atoi(field); err == nil {
					out, queue = append(out, child), append(queue, child)
				}
			}
		}
	}
	return out
}

// Contains implements [jail.Process]: pid is in the tree's own process
// namespace. No other can be made inside, the filter denies it.
func (p *process) Contains(pid int) bool {
	p.mu.Lock()
	ns, alive := p.ns, p.initFD >= 0
	p.mu.Unlock()
	if !alive || ns == 0 || pid <= 0 {
		return false
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid)+"/ns/pid", &st); err != nil {
		return false
	}
	return st.Ino == ns
}
