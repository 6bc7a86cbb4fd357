//go:build linux

package bwrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/limit"
	"github.com/reeve-gate/reeve/internal/jail/seccomp"
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

// launch starts cmd inside plan, or fails having started nothing.
func (w *Wall) launch(ctx context.Context, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w", err)
	}
	h, err := w.finder.find()
	if err != nil {
		return nil, err
	}
	if plan.Workspace == "" || plan.Dir == "" {
		return nil, fmt.Errorf("start in sandbox: %w: the plan names no workspace", reeve.ErrBoundary)
	}
	if err := runnable(plan, cmd); err != nil {
		return nil, err
	}
	if err := noDirectories(cmd); err != nil {
		return nil, err
	}
	l := launch{helper: h, plan: plan, cmd: cmd}
	defer l.close()
	if err := l.prepare(); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
	}
	proc, err := l.start()
	if err != nil {
		return nil, fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
	}
	proc.watch(ctx)
	return proc, nil
}

// runnable finds the program before anything is started, so that a misspelt
// name is told as such. Inside it is looked up again.
func runnable(plan jail.Plan, cmd jail.Cmd) error {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return fmt.Errorf("start in sandbox: %w: no program named", reeve.ErrUsage)
	}
	for _, a := range cmd.Argv {
		if strings.Contains(a, "\x00") {
			return fmt.Errorf("start in sandbox: %w: argument %q holds a zero byte", reeve.ErrUsage, a)
		}
	}
	name := cmd.Argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(plan.Dir, name)
		}
		if unix.Access(name, unix.X_OK) == nil {
			return nil
		}
		return fmt.Errorf("start %s: %w", cmd.Argv[0], notRunnable(name))
	}
	for _, kv := range plan.Env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			full := filepath.Join(dir, name)
			if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && unix.Access(full, unix.X_OK) == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("start %s: %w", name, jail.ErrNoProgram)
}

func notRunnable(path string) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	return &fs.PathError{Op: "execute", Path: path, Err: fs.ErrPermission}
}

// launch holds what one start needs until bubblewrap has it.
type launch struct {
	helper helper
	plan   jail.Plan
	cmd    jail.Cmd

	fds        files    // handed over
	infoR      *os.File // what bubblewrap tells of the process it made
	gateW      *os.File // bubblewrap waits until this is closed
	tokenR     *os.File // our own end of the pipe whose byte is read once the mounts stand
	tokenW     *os.File // where the byte is written once the last bound is set
	exec       *exec.Cmd
	memberArgs []string
}

func (l *launch) close() {
	l.fds.close()
	for _, f := range []*os.File{l.infoR, l.gateW, l.tokenW} {
		if f != nil {
			f.Close()
		}
	}
}

// prepare makes every descriptor and argument. Nothing runs yet.
func (l *launch) prepare() error {
	filter, err := filterFor(l.plan)
	if err != nil {
		return err
	}
	gateR, gateW, err := os.Pipe()
	if err != nil {
		return err
	}
	l.gateW = gateW
	gate := l.fds.add(gateR)
	infoR, infoW, err := os.Pipe()
	if err != nil {
		return err
	}
	l.infoR = infoR
	info := l.fds.add(infoW)
	tokenR, tokenW, err := os.Pipe()
	if err != nil {
		return err
	}
	l.tokenR = tokenR
	own, err := unix.FcntlInt(tokenR.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return err
	}
	l.tokenR = os.NewFile(uintptr(own), "token")
	token := l.fds.add(tokenR)
	l.tokenW = tokenW
	args, err := arguments(l.plan, l.helper, l.cmd.TTY == nil, &l.fds)
	if err != nil {
		return err
	}
	seccompFile, err := memfd("filter", filter)
	if err != nil {
		return err
	}
	args = append(args, "--seccomp", l.fds.add(seccompFile), "--info-fd", info, "--block-fd", token)
	argsFile, err := memfd("args", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return err
	}
	argv := []string{l.helper.path, "--args", gate, "--args", l.fds.add(argsFile), "--"}
	if l.cmd.TTY != nil {
		if _, err := checkHelper(setsidProgram); err != nil {
			return fmt.Errorf("a terminal inside needs %s: %w", setsidProgram, err)
		}
		argv = append(argv, setsidProgram, "--ctty", "--")
	}
	l.memberArgs = append(argv, l.cmd.Argv...)
	return nil
}

func filterFor(plan jail.Plan) ([]byte, error) {
	strict := plan.NoUnix && plan.Net == jail.NetNone
	ins, err := seccomp.Filter(runtime.GOARCH, seccomp.Mode{Inet: !strict, Unix: !plan.NoUnix})
	if err != nil {
		return nil, err
	}
	return seccomp.Encode(ins)
}

// start runs bubblewrap on a thread of its own that lives as long as it does:
// --die-with-parent ends the boundary with the thread that made it
// (go.dev/issue/27505).
func (l *launch) start() (*process, error) {
	cmd := &exec.Cmd{
		Path: l.helper.path, Args: l.memberArgs, Env: []string{}, Dir: "/", ExtraFiles: l.fds,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input(l.cmd.Stdin), stream(l.cmd.Stdout), stream(l.cmd.Stderr)
	if l.cmd.TTY != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = l.cmd.TTY, l.cmd.TTY, l.cmd.TTY
	}
	proc := newProcess(l.plan, l.tokenR)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread is no longer like the others
		// A descriptor that we inherited ourselves must not be inherited on.
		unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
		if l.plan.Net == jail.UnrestrictedNetwork && !l.plan.NoUnix && (l.helper.setid || !scope()) {
			proc.unheld = append(proc.unheld, "unix sockets with an abstract name")
		}
		err := umask(l.cmd.Umask)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err == nil {
			proc.reap(cmd)
		}
	}()
	if err := <-started; err != nil {
		l.tokenR.Close()
		return nil, err
	}
	proc.pid = cmd.Process.Pid
	proc.limits = limit.Set(strconv.Itoa(proc.pid)+"-"+strconv.FormatInt(time.Now().UnixNano(), 36), proc.pid, l.plan.Limits)
	if said := "scratch " + limit.Size(scratch(l.plan.Limits)); l.helper.sizes {
		proc.limits.Held = append(proc.limits.Held, said)
	} else {
		proc.limits.Unheld = append(proc.limits.Unheld, "scratch")
	}
	l.fds.close()
	l.fds = nil
	l.gateW.Close()
	err := proc.learn(l.infoR, l.tokenW)
	l.tokenW.Close()
	if err != nil {
		cmd.Process.Kill()
		<-proc.done
		return nil, err
	}
	return proc, nil
}

// noDirectories refuses a directory as a stream: it would be a way to
// everything below and above it, past every mount.
func noDirectories(cmd jail.Cmd) error {
	for i, f := range []*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if f == nil {
			continue
		}
		if info, err := f.Stat(); err != nil || info.IsDir() {
			return fmt.Errorf("start in sandbox: %w: descriptor %d is a directory, which no boundary could hold", reeve.ErrUsage, i)
		}
	}
	return nil
}

// input is what a program reads. A file on the disk is read for it: a program
// that holds the file itself could open it anew for writing by way of /proc,
// past the mounts.
func input(f *os.File) io.Reader {
	if f == nil {
		return nil
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return struct{ io.Reader }{f}
	}
	return f
}

// stream keeps a nil file from becoming a non-nil interface; nil is the null
// device.
func stream(f *os.File) io.ReadWriter {
	if f == nil {
		return nil
	}
	return f
}

// learn reads which process bubblewrap made and which namespace it is in,
// sets what can be set only inside of that, and lets the program begin.
func (p *process) learn(info, token *os.File) error {
	defer close(p.learned)
	info.SetReadDeadline(time.Now().Add(10 * time.Second))
	var told struct {
		Child int    `json:"child-pid"`
		PIDNS uint64 `json:"pid-namespace"`
	}
	if err := json.NewDecoder(info).Decode(&told); err != nil || told.Child <= 0 {
		return errors.Join(errors.New("bubblewrap made no process"), err)
	}
	fd, err := unix.PidfdOpen(told.Child, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("hold process %d: %w", told.Child, err)
	}
	if err == nil {
		p.limits.Inside(told.Child)
	}
	if _, err := token.Write([]byte{1}); err != nil {
		return fmt.Errorf("let the program begin: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.init, p.ns = told.Child, told.PIDNS
	p.initFD = -1
	if err == nil {
		p.initFD = fd
	}
	return nil
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
