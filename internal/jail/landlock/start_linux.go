package landlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/group"
	"github.com/reeve-gate/reeve/internal/jail/ruleset"
)

// Command is the hidden argument by which our own program becomes the process
// that puts itself under the rules and then starts the contained one. A thread
// of ours cannot do that for it: a thread under the same rules as the program
// could be looked into and signalled by it, and with it all of us.
const Command = "__landlock"

// patience is how long that process may take until the program runs.
const patience = 10 * time.Second

// orders are what it is told, in a sealed file in memory.
type orders struct {
	Rules  ruleset.Rules
	Filter []byte
	Argv   []string // of /bin/sh, which sets the limits and becomes the program
	Env    []string
}

// start is one start.
type start struct {
	plan   jail.Plan
	cmd    jail.Cmd
	temp   string
	filter []byte
}

func (s start) run(ctx context.Context) (jail.Process, error) {
	tty := ""
	if s.cmd.TTY != nil {
		tty = s.cmd.TTY.Name()
	}
	rules, notes, err := Compute(s.plan, s.temp, tty)
	if err != nil {
		return nil, err
	}
	limits := s.plan.Limits
	text, err := json.Marshal(orders{
		Rules: rules, Filter: s.filter, Env: group.Environment(s.plan, s.temp, ""),
		Argv: append([]string{"sh", "-c", group.Setup(limits, s.cmd.Umask), "sh"}, s.cmd.Argv...),
	})
	if err != nil {
		return nil, err
	}
	told, err := memory(text)
	if err != nil {
		return nil, err
	}
	defer told.Close()
	hear, say, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer hear.Close()
	c := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"reeve", Command}, Dir: s.plan.Dir, Env: []string{}, ExtraFiles: []*os.File{told, say}}
	options := group.Options{
		Stdin: s.cmd.Stdin, Stdout: s.cmd.Stdout, Stderr: s.cmd.Stderr, TTY: s.cmd.TTY, Wall: limits.Wall, Dies: true,
		End: func(code int, _ bool) (jail.Exit, error) {
			os.RemoveAll(s.temp)
			return jail.Exit{Code: code, Held: group.Held(limits), Unheld: append(Unheld(), notes...)}, nil
		},
	}
	proc, err := onThread(ctx, c, options)
	say.Close()
	if err != nil {
		return nil, err
	}
	if err := await(hear); err != nil {
		proc.Stop(0)
		return nil, err
	}
	return proc, nil
}

// onThread starts c from a thread that lives as long as c does: the end of the
// thread, and so ours, is the end of the program.
func onThread(ctx context.Context, c *exec.Cmd, o group.Options) (*group.Process, error) {
	type started struct {
		proc *group.Process
		err  error
	}
	done := make(chan started)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		proc, err := group.Start(ctx, c, o)
		done <- started{proc, err}
		if err == nil {
			proc.Wait()
		}
	}()
	out := <-done
	return out.proc, out.err
}

// await hears of the process between us and the program: nothing, once it
// became the program, or what went wrong.
func await(hear *os.File) error {
	hear.SetReadDeadline(time.Now().Add(patience))
	said, err := io.ReadAll(io.LimitReader(hear, 4096))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the process that goes under the rules was not done after %s", patience)
	case err != nil:
		return err
	case len(said) > 0:
		return errors.New(string(said))
	}
	return nil
}

// memory is a file in memory that nobody can change any more.
func memory(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("reeve-orders", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	file := os.NewFile(uintptr(fd), "reeve-orders")
	_, err = file.Write(content)
	if err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("fill memory file: %w", err)
	}
	return file, nil
}

// Main is the process between us and the program: it reads its orders from
// descriptor 3, goes under the rules, and becomes the program. It returns only
// where that failed, having said why on descriptor 4.
func Main() int {
	runtime.LockOSThread()
	for fd := 3; fd <= 4; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			fmt.Fprintln(os.Stderr, "this is how reeve starts a program behind Landlock; see reeve run")
			return 2
		}
	}
	told, say := os.NewFile(3, "orders"), os.NewFile(4, "answer")
	fmt.Fprint(say, become(told))
	return 1
}

// become returns only with an error.
func become(told io.Reader) error {
	var o orders
	if err := json.NewDecoder(told).Decode(&o); err != nil {
		return fmt.Errorf("read the orders: %w", err)
	}
	if len(o.Argv) < 5 || len(o.Filter) == 0 || o.Rules.Handled == 0 {
		return errors.New("the orders are incomplete: " + strconv.Itoa(len(o.Argv)) + " arguments")
	}
	if err := o.Rules.Apply(); err != nil {
		return err
	}
	if err := dropPowers(); err != nil {
		return err
	}
	if err := filter(o.Filter); err != nil {
		return err
	}
	return fmt.Errorf("start /bin/sh: %w", unix.Exec("/bin/sh", o.Argv, o.Env))
}
