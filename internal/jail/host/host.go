// Package host starts programs without any boundary, for the exact calls that
// a person allowed to leave it and where no boundary exists.
//
// [Wall] has the shape of a wall so that the callers are the same, but it is
// never ready and its name says what it is. What it does promise (Y76): a
// process group of its own, no standard input, an end after the wall time, at
// most [jail.MaxUtility], and the end of the whole group. A program that
// leaves its group is not held: only a real wall holds those.
package host

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
	"github.com/reeve-gate/reeve/internal/permit"
)

// Wall starts programs on the host.
type Wall struct{}

var _ jail.Wall = Wall{}

// Name says that there is no wall.
func (Wall) Name() string { return "host" }

// Ready is always missing: nothing here is a boundary (A7).
func (Wall) Ready(context.Context) jail.Readiness {
	return jail.Readiness{State: reeve.SandboxMissing, Engine: "none: programs run with all your rights"}
}

// Start implements [jail.Wall] without the boundary: of the plan only Dir,
// Env and Limits count. The permit must have been minted for exactly this.
func (Wall) Start(ctx context.Context, p permit.Permit, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := p.Spend(digest); err != nil {
		return nil, fmt.Errorf("start on the host: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start on the host: %w", err)
	}
	if len(cmd.Argv) == 0 || plan.Dir == "" {
		return nil, fmt.Errorf("start on the host: %w: a program and its directory are needed", reeve.ErrUsage)
	}
	path, err := find(cmd.Argv[0], plan)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	c := &exec.Cmd{Path: path, Args: cmd.Argv, Dir: plan.Dir, Env: append([]string{}, plan.Env...)}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	streams := [3]*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr}
	if cmd.TTY != nil {
		streams = [3]*os.File{cmd.TTY, cmd.TTY, cmd.TTY}
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	if streams[0] != nil {
		c.Stdin = streams[0]
	}
	if streams[1] != nil {
		c.Stdout = streams[1]
	}
	if streams[2] != nil {
		c.Stderr = streams[2]
	}
	unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start on the host: %w", err)
	}
	proc := &process{cmd: c, done: make(chan struct{})}
	go proc.reap()
	go proc.watch(ctx, plan.Limits.Wall)
	return proc, nil
}

// find looks a program up in the plan's own PATH and directory.
func find(name string, plan jail.Plan) (string, error) {
	if strings.Contains(name, "/") {
		if !strings.HasPrefix(name, "/") {
			name = plan.Dir + "/" + name
		}
		return name, unix.Access(name, unix.X_OK)
	}
	for _, kv := range plan.Env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range strings.Split(path, ":") {
			full := dir + "/" + name
			if !strings.HasPrefix(full, "/") {
				continue // a relative entry would run what lies in the workspace
			}
			if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && unix.Access(full, unix.X_OK) == nil {
				return full, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu    sync.Mutex // guards what follows
	ended bool       // the leader was reaped: its number may be another's
	exit  jail.Exit
	err   error
}

var _ jail.Process = (*process)(nil)

func (p *process) PID() int { return p.cmd.Process.Pid }

func (p *process) Wait() (jail.Exit, error) {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit, p.err
}

// reap waits for the leader without taking its number back, ends what is left
// of the group while that number is surely its, and then takes it back.
func (p *process) reap() {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, p.PID(), &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	syscall.Kill(-p.PID(), syscall.SIGKILL)
	err := p.cmd.Wait()
	p.ended = true
	p.exit = jail.Exit{Code: code(p.cmd.ProcessState), Unheld: []string{"files", "network", "memory", "processes"}}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		p.err = fmt.Errorf("wait for program: %w", err)
	}
	p.awaitGroup()
	close(p.done)
}

// awaitGroup waits until nothing of the killed group runs any more; one that
// hangs in the kernel is waited for no longer than a second. Signal 0 hits
// nobody, so that a number given anew does no harm.
func (p *process) awaitGroup() {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if errors.Is(syscall.Kill(-p.PID(), 0), syscall.ESRCH) || !groupRuns(p.PID()) {
			return
		}
	}
}

// groupRuns looks for a member of a group that is not only a name waiting to
// be taken back by process number one.
func groupRuns(group int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if f := stat(pid); len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "Z" && f[0] != "X" {
			return true
		}
	}
	return false
}

func code(state *os.ProcessState) int {
	if state == nil {
		return 1
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

func (p *process) watch(ctx context.Context, wall time.Duration) {
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
func (p *process) Stop(grace time.Duration) {
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
func (p *process) Signal(sig os.Signal) error {
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

// Contains reports whether pid descends from the program. There is no
// boundary, so this says who is whose child and nothing more.
func (p *process) Contains(pid int) bool {
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

func parent(pid int) int {
	f := stat(pid)
	if len(f) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(f[1])
	return ppid
}

// stat reads the fields of a process behind its name: state, parent, group.
func stat(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}
