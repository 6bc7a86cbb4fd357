//go:build linux

package cell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/limit"
)

// Tree is one running boundary: the program that a wall started, and inside
// of it process number one of a process namespace, whose end is the end of
// all. The two may be the same.
type Tree struct {
	wall time.Duration

	known chan struct{} // closed when first and ns are known, or never will be
	done  chan struct{} // closed when nothing of the tree is left, save perhaps a first process that is on its way out
	swept chan struct{} // closed when nothing at all is left, its control group included

	started *os.Process // what the wall started; set before Launch returns

	mu      sync.Mutex // guards what follows
	first   int        // process number one, as seen from here
	firstFD int        // pidfd of first, -1 where it has ended
	ns      uint64     // inode of the process namespace
	asked   bool       // Stop was called
	limits  *limit.Tree
	unheld  []string // besides what limits says
	over    bool     // done is closed or about to be
	exit    jail.Exit
	err     error
}

var _ jail.Process = (*Tree)(nil)

// NewTree is a tree that has yet to be started.
func NewTree(limits jail.Limits) *Tree {
	return &Tree{wall: limits.Wall, known: make(chan struct{}), done: make(chan struct{}), swept: make(chan struct{}), firstFD: -1}
}

// Unheld notes, for the receipt, what this boundary does not hold besides
// limits.
func (t *Tree) Unheld(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unheld = append(t.unheld, what)
}

// Bound sets the limits of the process pid, which has started nothing yet, and
// by inheritance of what it starts. sizes says whether the wall bounds the
// memory file systems.
func (t *Tree) Bound(pid int, l jail.Limits, sizes bool) *limit.Tree {
	bounds := limit.Set(strconv.Itoa(pid)+"-"+strconv.FormatInt(time.Now().UnixNano(), 36), pid, l)
	if sizes {
		bounds.Held = append(bounds.Held, "scratch "+limit.Size(l.ScratchSize()))
	} else {
		bounds.Unheld = append(bounds.Unheld, "scratch")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits = bounds
	return bounds
}

// Launch starts cmd on a thread of its own that lives as long as it does: a
// signal at the parent's death comes at the death of the thread that made the
// process (go.dev/issue/27505). prepare is called on that thread, right
// before; what it changes of the thread ends with it. verdict is called once
// at the end, and may say that it is not the program's.
//
// After a start the caller must call [Tree.Know] or [Tree.Kill], once.
func (t *Tree) Launch(cmd *exec.Cmd, prepare func() error, verdict func(code int, asked bool) error) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread is no longer like the others
		// A descriptor that we inherited ourselves must not be inherited on.
		unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
		err := prepare()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			t.started = cmd.Process
		}
		started <- err
		if err == nil {
			t.reap(cmd, verdict)
		}
	}()
	return <-started
}

// Know tells which process is number one, a pidfd of it, which the tree owns
// from then on (-1 where it has ended already), and the inode of its
// namespace. It is called once, or not at all before [Tree.Kill].
func (t *Tree) Know(first, fd int, ns uint64) {
	t.mu.Lock()
	t.first, t.firstFD, t.ns = first, fd, ns
	t.mu.Unlock()
	close(t.known)
}

// Kill ends a tree of which nothing more is to be known, and waits for it.
func (t *Tree) Kill() {
	select {
	case <-t.known:
	default:
		close(t.known)
	}
	t.started.Kill() // an error means that it has ended
	<-t.done
}

// reap waits for what was started and then for the namespace. It runs on the
// thread that started it.
func (t *Tree) reap(cmd *exec.Cmd, verdict func(code int, asked bool) error) {
	err := cmd.Wait()
	<-t.known
	t.mu.Lock()
	fd := t.firstFD
	t.mu.Unlock()
	if fd >= 0 {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		awaitEnd(fd)
	}
	t.mu.Lock()
	if fd >= 0 {
		unix.Close(fd)
		t.firstFD = -1
	}
	limits := t.limits
	t.mu.Unlock()
	code := exitCode(cmd.ProcessState)
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		err = fmt.Errorf("wait for sandbox: %w", err)
	} else {
		err = nil
	}
	t.finish(code, func(asked bool) error { return errors.Join(err, verdict(code, asked)) })
	go func() {
		defer close(t.swept)
		limits.Remove() // the kernel may hold the group for a moment
	}()
}

// Told waits for the one byte by which the first process says, on r, that
// nothing but itself is left, and how the program ended. It closes r. Where
// the process ends without a word, its own end counts.
func (t *Tree) Told(r *os.File) {
	defer r.Close()
	code := make([]byte, 1)
	if n, _ := r.Read(code); n == 1 {
		t.finish(int(code[0]), func(bool) error { return nil })
	}
}

// finish says how the tree ended, the first time it is called.
func (t *Tree) finish(code int, judge func(asked bool) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	t.exit = jail.Exit{Code: code, Unheld: t.unheld}
	if t.limits != nil {
		t.exit.Held, t.exit.Unheld = t.limits.Held, append(t.unheld, t.limits.Unheld...)
	}
	t.err = judge(t.asked)
	close(t.done)
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

// PID is the host's number of what the wall started, the ancestor of the
// tree.
func (t *Tree) PID() int { return t.started.Pid }

// Root is the host's number of process number one inside, whose end is the end
// of all; 0 where it has ended already.
func (t *Tree) Root() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.firstFD < 0 || t.over {
		return 0
	}
	return t.first
}

// Swept is closed when, after the end, nothing of the tree is left on the
// machine, its control group included: a process that would end before has to
// wait for it.
func (t *Tree) Swept() <-chan struct{} { return t.swept }

// Wait returns after the whole tree is gone: everything that the program or its
// children started. A boundary that could not be
// built is an error: the program never ran.
func (t *Tree) Wait() (jail.Exit, error) {
	<-t.done
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exit, t.err
}

// Watch ends the tree when the context ends or the wall time is over.
func (t *Tree) Watch(ctx context.Context) {
	if ctx.Done() == nil && t.wall <= 0 {
		return
	}
	go func() {
		var over <-chan time.Time
		if t.wall > 0 {
			timer := time.NewTimer(t.wall)
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-t.done:
			return
		case <-ctx.Done():
		case <-over:
		}
		t.Stop(jail.StopGrace)
	}()
}

// Stop implements [jail.Process] (Y74).
func (t *Tree) Stop(grace time.Duration) {
	t.mu.Lock()
	t.asked = true
	t.mu.Unlock()
	t.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-t.done:
		return
	case <-timer.C:
	}
	t.mu.Lock()
	if t.firstFD >= 0 {
		unix.PidfdSendSignal(t.firstFD, unix.SIGKILL, nil, 0)
	}
	t.mu.Unlock()
	<-t.done
}

// Signal sends to every process inside but number one, which is the wall's
// and has no handler. A number that was given to another process meanwhile is
// not hit: each is held by a pidfd and looked at again before the signal.
func (t *Tree) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v is not one of this system", sig)
	}
	t.mu.Lock()
	first := t.first
	t.mu.Unlock()
	for _, pid := range descendants(first) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if t.Contains(pid) {
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
		for _, task := range tasks {
			text, err := os.ReadFile("/proc/" + strconv.Itoa(queue[i]) + "/task/" + task.Name() + "/children")
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
func (t *Tree) Contains(pid int) bool {
	t.mu.Lock()
	ns, alive := t.ns, t.firstFD >= 0 && !t.over
	t.mu.Unlock()
	if !alive || ns == 0 || pid <= 0 {
		return false
	}
	is, err := Namespace(pid)
	return err == nil && is == ns
}

// Namespace is the inode of a process's process namespace.
func Namespace(pid int) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid)+"/ns/pid", &st); err != nil {
		return 0, fmt.Errorf("look at the namespace of process %d: %w", pid, err)
	}
	return st.Ino, nil
}
