package landlock

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/group"
	"github.com/reeve-gate/reeve/internal/jail/ruleset"
	"github.com/reeve-gate/reeve/internal/jail/seccomp"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Wall contains a program with Landlock and a system call filter alone. The
// zero Wall is ready for use where user namespaces are refused.
type Wall struct {
	anyway bool // also where user namespaces are to be had: in tests
}

var _ jail.Wall = (*Wall)(nil)

// Name is the name by which settings and receipts call this wall.
func (w *Wall) Name() string { return "landlock" }

// Ready says whether the kernel has a Landlock that is new enough, and refuses
// where the walls that hold everything can be had.
func (w *Wall) Ready(context.Context) jail.Readiness {
	version := ruleset.Version()
	switch {
	case version < ruleset.MinVersion:
		return jail.Readiness{State: reeve.SandboxMissing, Fix: fmt.Sprintf("the reduced boundary needs Landlock %d (Linux 6.2); this kernel has %d", ruleset.MinVersion, version)}
	case !w.anyway && namespaces():
		return jail.Readiness{State: reeve.SandboxMissing, Fix: `user namespaces are to be had here: take sandbox.engine = "landlock" out of the settings, the default boundary holds more`}
	}
	return jail.Readiness{State: reeve.SandboxReduced, Engine: fmt.Sprintf("landlock (reduced; version %d)", version), Fix: "the boundary was not probed"}
}

// namespaces reports whether a process can have a user namespace of its own
// and mount in it: making it is not enough, some systems take its powers away.
func namespaces() bool {
	c := &exec.Cmd{Path: "/bin/true", Args: []string{"true"}, Env: []string{}, SysProcAttr: &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWUSER,
		Unshareflags: syscall.CLONE_NEWNS, // with it, / is mounted private
		UidMappings:  []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings:  []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}}
	return c.Run() == nil
}

// Version is the kernel's version of Landlock; 0 = it has none.
func Version() int { return ruleset.Version() }

// Profiles are the profiles that this wall can hold.
func (w *Wall) Profiles() []string { return []string{"strict", "read-only"} }

// unpromised are acts of the trial and of the suite of walls that Landlock
// does not forbid, with the reason that a receipt gives in fewer words.
var unpromised = map[string]string{
	"write out: change a mode":               "Landlock does not know modes",
	"write out: change an owner":             "nor owners",
	"write out: change the times":            "nor times",
	"write out: set an attribute":            "nor attributes",
	"metadata: make a hook runnable":         "a mode",
	"credential: open up the empty file":     "a mode; what the file holds stays closed",
	"network: see the machine's interfaces":  "/proc is the machine's",
	"network: see the machine's connections": "/proc is the machine's",
	"process: hold one outside":              "a handle alone does nothing: signals through it are refused",
	"process: slow one outside":              "priorities are the account's",
	"process: limit one outside":             "limits are the account's",
}

// Promises reports whether the act of this name is one that this wall refuses.
// The act of the trial that holds a capability looks at the bounding set too,
// which an ordinary account cannot empty: nothing can be gained from it.
func (w *Wall) Promises(name string) bool {
	return unpromised[name] == "" && (name != "hold a capability" || os.Getuid() == 0)
}

// Unheld are the promises that this wall does not keep, in words for a person.
func Unheld() []string {
	all := []string{
		"modes, owners, times and attributes of files outside the workspace",
		"names of files in hidden places, and the list of processes",
		"resource limits and priorities of your other processes",
		"programs that leave their group", "scratch", "memory", "processes",
	}
	if ruleset.Version() < 6 {
		all = append(all, "signals to your other processes")
	}
	if ruleset.Version() < 5 {
		all = append(all, "control calls of devices")
	}
	return all
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

// launch starts cmd inside plan, or fails having started nothing.
func (w *Wall) launch(ctx context.Context, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w", err)
	}
	if r := w.Ready(ctx); r.State == reeve.SandboxMissing {
		return nil, fmt.Errorf("start in sandbox: %w: %s", reeve.ErrBoundary, r.Fix)
	}
	if err := group.Check(plan, cmd); err != nil {
		return nil, err
	}
	if err := Check(plan); err != nil {
		return nil, err
	}
	if _, err := group.Find(cmd.Argv[0], plan); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	program, err := filterOf(plan)
	if err != nil {
		return nil, fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
	}
	temp, err := os.MkdirTemp("", "reeve-")
	if err == nil {
		temp, err = filepath.EvalSymlinks(temp)
	}
	if err != nil {
		return nil, fmt.Errorf("start in sandbox: %w: make a temporary directory: %w", reeve.ErrBoundary, err)
	}
	s := start{plan: plan, cmd: cmd, temp: temp, filter: program}
	proc, err := s.run(ctx)
	if err != nil {
		os.RemoveAll(temp)
		return nil, fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
	}
	return proc, nil
}

// filterOf is the filter of a plan: without a network namespace, a closed
// network is one without sockets.
func filterOf(plan jail.Plan) ([]byte, error) {
	ins, err := seccomp.Filter(runtime.GOARCH, seccomp.Mode{Inet: plan.Net == jail.UnrestrictedNetwork})
	if err != nil {
		return nil, err
	}
	return seccomp.Encode(ins)
}
