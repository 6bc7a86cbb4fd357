package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/group"
	"github.com/reeve-gate/reeve/internal/jail/seccomp"
	"github.com/reeve-gate/reeve/internal/jail/trusted"
	"github.com/reeve-gate/reeve/internal/late"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Bubblewrap is the program that builds the boundary on the other machine.
const Bubblewrap = "/usr/bin/bwrap"

// connectTime bounds the first answer of the other machine.
const connectTime = 60 * time.Second

// Starter starts programs on one machine, in one directory of it.
type Starter struct {
	Host    string       // user@machine, or a name of ssh's settings
	Dir     string       // there; a relative one stands below the home directory
	Options []string     // Name=value for ssh, before the [Defaults]
	Profile jail.Profile // laid over what is found there
	Opts    jail.Options // Write names directories there; Net, ReadOnly, Pass, Set, Limits as here
	Env     []string     // the caller's environment: what ssh needs of it, and what goes along

	bwrap string // another program than [Bubblewrap], in tests; empty = that one
	ssh   string // another program than [Program], in tests
}

var _ jail.Starter = (*Starter)(nil)

// Start implements [jail.Starter]: of the plan nothing is used, since it is
// made there; cmd gives the program and its streams. The error is a
// [reeve.ErrBoundary] where the boundary cannot be had there, and then nothing
// was started.
func (s *Starter) Start(ctx context.Context, p permit.Permit, digest [32]byte, _ jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := p.Spend(digest); err != nil {
		return nil, fmt.Errorf("start on %s: %w", s.Host, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start on %s: %w", s.Host, err)
	}
	if err := s.check(cmd); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "reeve-ssh-")
	if err != nil {
		return nil, fmt.Errorf("start on %s: %w", s.Host, err)
	}
	b := begun{Starter: s, scratch: scratch}
	proc, err := b.start(ctx, cmd)
	if err != nil {
		if b.control != nil {
			b.control.close(jail.StopGrace + 3*time.Second)
		}
		os.RemoveAll(scratch)
		if errors.Is(err, reeve.ErrUsage) {
			return nil, fmt.Errorf("start on %s: %w", s.Host, err)
		}
		return nil, fmt.Errorf("start on %s: %w: %w; nothing was started", s.Host, reeve.ErrBoundary, err)
	}
	return proc, nil
}

// check refuses what no connection could carry.
func (s *Starter) check(cmd jail.Cmd) error {
	if err := CheckHost(s.Host); err != nil {
		return err
	}
	if err := CheckOptions(s.Options); err != nil {
		return fmt.Errorf("%w: %w", reeve.ErrUsage, err)
	}
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return fmt.Errorf("%w: no program named", reeve.ErrUsage)
	}
	if s.Dir == "" {
		return fmt.Errorf("%w: name the directory on %s with --dir", reeve.ErrUsage, s.Host)
	}
	for _, word := range append(append([]string{s.Dir}, s.Opts.Write...), cmd.Argv...) {
		if strings.Contains(word, "\x00") {
			return fmt.Errorf("%w: %q holds a zero byte", reeve.ErrUsage, word)
		}
	}
	if s.net() == jail.ProxiedNetwork {
		return fmt.Errorf("%w: the network by rules does not reach another machine; use --net none or --net open", reeve.ErrUsage)
	}
	if s.program() == Program {
		if _, err := trusted.Program(Program); err != nil {
			return fmt.Errorf("%w: %w; install the package openssh-client", reeve.ErrBoundary, err)
		}
	}
	return nil
}

func (s *Starter) program() string {
	if s.ssh != "" {
		return s.ssh
	}
	return Program
}

func (s *Starter) wrapper() string {
	if s.bwrap != "" {
		return s.bwrap
	}
	return Bubblewrap
}

func (s *Starter) net() jail.NetMode {
	if s.Opts.Net != nil {
		return *s.Opts.Net
	}
	return s.Profile.Net
}

// environment is what ssh itself gets: where its settings and its agent are.
func (s *Starter) environment() []string {
	env := []string{"PATH=/usr/bin:/bin"}
	for _, name := range []string{"HOME", "USER", "LOGNAME", "LANG", "TERM", "SSH_AUTH_SOCK"} {
		if v := environ.Lookup(s.Env, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// begun is a start on its way.
type begun struct {
	*Starter
	scratch string // ours: where ssh writes its logs
	control *control
	facts   facts
	plan    plan
	dir     string // the run's private directory there
}

func (b *begun) start(ctx context.Context, cmd jail.Cmd) (jail.Process, error) {
	if err := b.connect(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { b.control.cmd.Process.Kill() })
	defer stop()
	if err := b.look(); err != nil {
		return nil, err
	}
	if err := b.put(cmd); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return b.run(ctx, cmd)
}

// connect opens the control connection: a shell that reads scripts.
func (b *begun) connect() error {
	in, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	out, said, err := os.Pipe()
	if err != nil {
		theirs.Close()
		return err
	}
	defer said.Close()
	log := filepath.Join(b.scratch, "control.log")
	// The login shell there reads these words, and they mean the same to every
	// one of them.
	c := &exec.Cmd{Path: b.program(), Args: arguments(b.Host, b.Options, false, log, "exec /bin/sh -s"), Dir: "/", Env: b.environment(), Stdin: in, Stdout: said,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	if err := c.Start(); err != nil {
		theirs.Close()
		out.Close()
		return err
	}
	b.control = &control{cmd: c, in: theirs, out: out, read: bufio.NewReader(out), log: log, done: make(chan struct{})}
	go func() { c.Wait(); close(b.control.done) }()
	return nil
}

// look collects the facts and lays the boundary over them.
func (b *begun) look() error {
	if err := b.hear(asked(b.wrapper(), b.Dir, b.Opts.Write) + placeScript); err != nil {
		return err
	}
	if err := b.facts.checkPlace(); err != nil {
		return err
	}
	l := laying{facts: b.facts}
	if err := l.roots(b.Opts.ReadOnly || b.Profile.ReadOnly); err != nil {
		return err
	}
	if err := b.hear(factsScript); err != nil {
		return err
	}
	var err error
	b.plan, err = lay(b.Profile, b.facts, b.carried(), b.net())
	return err
}

// hear asks and reads the facts; what the other machine said last comes before
// what the connection says of its end.
func (b *begun) hear(script string) error {
	answer, err := b.control.ask(script, connectTime)
	if told := b.facts.parse(answer); told != nil {
		return told
	}
	return err
}

// carried are the options with the environment that goes along.
func (b *begun) carried() jail.Options {
	opts := b.Opts
	opts.Set = b.Profile.Carried(opts.Argv, b.Env, opts.Pass, opts.Set)
	return opts
}

var ourDir = late.New(`^/tmp/reeve-[A-Za-z0-9]+$`)

// put makes the run's private directory there and fills it.
func (b *begun) put(cmd jail.Cmd) error {
	arch, err := b.facts.checkMachine()
	if err != nil {
		return err
	}
	strict := b.plan.noUnix && b.net() == jail.NetNone
	ins, err := seccomp.Filter(arch, seccomp.Mode{Inet: !strict, Unix: !b.plan.noUnix})
	if err != nil {
		return err
	}
	filter, err := seccomp.Encode(ins)
	if err != nil {
		return err
	}
	answer, err := b.control.ask("umask 077\nd=$(mktemp -d /tmp/reeve-XXXXXXXXXX) || fail 'mktemp makes no directory in /tmp there'\n"+controlScript+"say d \"$d\"", connectTime)
	for _, record := range strings.Split(answer, "\x00") {
		if why, ok := strings.CutPrefix(record, "!"); ok {
			return errors.New(why)
		}
		if strings.HasPrefix(record, "d") {
			b.dir = record[1:]
		}
	}
	if err != nil {
		return err
	}
	if !ourDir.MatchString(b.dir) {
		return fmt.Errorf("the private directory there is %q", b.dir)
	}
	r := run{bwrap: b.wrapper(), dir: b.dir, plan: b.plan, filter: filter, argv: words(cmd), limits: b.Opts.Limits, umask: cmd.Umask}
	if r.args, err = b.plan.arguments(b.facts, b.carried(), b.net(), cmd.TTY != nil, b.dir); err != nil {
		return err
	}
	if answer, err = b.control.ask(r.put(), connectTime); err != nil {
		return err
	}
	if !strings.Contains(answer, "Pput\x00") {
		return errors.New("the private directory there could not be filled")
	}
	return nil
}

// words are the program as bubblewrap starts it. On a terminal a shell makes it
// a group of its own, in the foreground: keys such as ^C reach it and not
// bubblewrap, which would end the tree. What a key stops goes on at once. That
// shell would give the terminal back to the group it came from, which does not
// exist inside, and may fail at that: so it says the program's code first, to
// another one. It would also end itself as the program did, where that was by
// ^C, but for the trap, which the program does not inherit.
func words(cmd jail.Cmd) []string {
	if cmd.TTY == nil {
		return cmd.Argv
	}
	const (
		foreground = `set -m; trap : INT QUIT; j=/tmp/.reeve-jobs-$$; "$@" 3>&- 4>&-; c=$?; while jobs >"$j"; [ -s "$j" ]; do fg >/dev/null 2>&1; c=$?; done; echo "$c" >&3; exec 2>/dev/null`
		outer      = `exec 4>&1; c=$(/bin/sh -c "$0" sh "$@" 3>&1 >&4); exit "${c:-1}"`
	)
	return append([]string{"/bin/sh", "-c", outer, foreground}, cmd.Argv...)
}

// run opens the second connection, with the caller's streams or terminal.
func (b *begun) run(ctx context.Context, cmd jail.Cmd) (jail.Process, error) {
	log := filepath.Join(b.scratch, "run.log")
	c := &exec.Cmd{Path: b.program(), Args: arguments(b.Host, b.Options, cmd.TTY != nil, log, "exec /bin/sh "+b.dir+"/run"), Dir: "/", Env: b.environment()}
	p := &process{b: b, log: log}
	// Its own end of ctx would only end the connection; ours asks first.
	proc, err := group.Start(context.WithoutCancel(ctx), c, group.Options{Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, TTY: cmd.TTY, End: p.end})
	if err != nil {
		return nil, err
	}
	p.Process = proc
	go p.watch(ctx, b.Opts.Limits.Wall)
	return p, nil
}

// process is the run as seen from here: the second connection, and the tree at
// its other end.
type process struct {
	*group.Process
	b   *begun
	log string
}

var _ jail.Process = (*process)(nil)

// watch stops the tree at the end of ctx or of the wall time.
func (p *process) watch(ctx context.Context, wall time.Duration) {
	ended := make(chan struct{})
	go func() { p.Process.Wait(); close(ended) }()
	var over <-chan time.Time
	if wall > 0 {
		t := time.NewTimer(wall)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ended:
		return
	case <-ctx.Done():
	case <-over:
	}
	p.Stop(jail.StopGrace)
}

// Contains is always false: no process of this machine is in the tree.
func (p *process) Contains(int) bool { return false }

var signals = map[syscall.Signal]string{
	syscall.SIGTERM: "TERM", syscall.SIGINT: "INT", syscall.SIGHUP: "HUP", syscall.SIGQUIT: "QUIT", syscall.SIGUSR1: "USR1", syscall.SIGUSR2: "USR2",
	syscall.SIGKILL: "KILL", syscall.SIGSTOP: "STOP", syscall.SIGCONT: "CONT", syscall.SIGTSTP: "TSTP",
}

// Signal sends to every process of the tree there.
func (p *process) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok || signals[s] == "" {
		return fmt.Errorf("signal %v is not one that can be sent to another machine", sig)
	}
	_, err := p.b.control.ask("signal "+signals[s], connectTime)
	return err
}

// Stop sends SIGTERM to the tree there, SIGKILL after grace, and returns when
// it is gone; a machine that does not answer is left to its own: there the end
// of the connections ends the tree.
func (p *process) Stop(grace time.Duration) {
	go p.b.control.tell("signal TERM")
	ended := make(chan struct{})
	go func() { p.Process.Wait(); close(ended) }()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-ended:
		return
	case <-t.C:
	}
	go p.b.control.tell(`alive && kill -KILL "$pid"`)
	again := time.NewTimer(jail.StopGrace)
	defer again.Stop()
	select {
	case <-ended:
	case <-again.C:
		p.Process.Stop(0)
	}
}

// end is called when the second connection has ended.
func (p *process) end(code int, asked bool) (jail.Exit, error) {
	b := p.b
	defer os.RemoveAll(b.scratch)
	answer, err := b.control.ask("[ -e \"$d/ran\" ] && say r ran\nsignal KILL\nalive && kill -KILL \"$pid\"\n"+b.plan.appeared(), connectTime)
	b.control.close(jail.StopGrace + 3*time.Second)
	exit := jail.Exit{Code: code, Held: group.Held(b.Opts.Limits), Unheld: append([]string{"memory", "processes", "names that a run plants are named, not moved away"}, b.plan.notes...)}
	switch {
	case err != nil:
		exit.Unheld = append(exit.Unheld, "the connection to "+b.Host+" was lost ("+err.Error()+"): what runs there ends with it")
	case !strings.Contains(answer, "rran\x00") && !asked:
		return exit, fmt.Errorf("%w: the sandbox could not be built on %s (its message is on standard error, code %s); nothing was run", reeve.ErrBoundary, b.Host, strconv.Itoa(code))
	case code == 255:
		if why := said(p.log, ""); why != "" {
			exit.Unheld = append(exit.Unheld, "the connection to "+b.Host+" was lost ("+why+"); what ran there was ended")
		}
	}
	for _, record := range strings.Split(answer, "\x00") {
		if path, ok := strings.CutPrefix(record, "A"); ok {
			exit.Unheld = append(exit.Unheld, path+" appeared on "+b.Host+": look at it before a program there does")
		}
	}
	return exit, nil
}
