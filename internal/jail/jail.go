// Package jail is the contract of the boundary that the operating system
// enforces round the processes of a session.
//
// A [Plan] is pure data: what a process may write, what is hidden from it,
// what it may reach. A [Wall] turns a Plan into a running process or refuses;
// it never runs a process with less than the Plan says. Package probe tries the
// promises through the real wall, and a wall that does not bite is missing.
// Only packages below jail start processes.
package jail

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/permit"
)

// ErrNoProgram is [fs.ErrNotExist] for a name that no directory of the PATH of
// the plan has a program for. The PATH inside is not always the caller's.
var ErrNoProgram = fmt.Errorf("no program of this name in the PATH inside the sandbox; give its path, or install it where others can read it: %w", fs.ErrNotExist)

// NetMode says what network a process sees. The zero value is none.
type NetMode uint8

const (
	NetNone             NetMode = iota // a network namespace with nothing but its own loopback
	UnrestrictedNetwork                // the host's network, as is
	ProxiedNetwork                     // as NetNone, and one listener at ProxyAddr that leads to Reeve's proxy
)

// ProxyAddr is where a boundary with [ProxiedNetwork] has its one way out: an
// address of its own loopback. The listener is made inside and handed out
// ([Cmd.Listener]), so that there is nothing inside to relay or to take over,
// and the listener itself says which session a connection comes from.
const ProxyAddr = "127.0.0.1:3128"

func (n NetMode) String() string {
	switch n {
	case NetNone:
		return "none"
	case UnrestrictedNetwork:
		return "open"
	case ProxiedNetwork:
		return "rules"
	}
	return "unknown"
}

// Plan is a boundary, as data. All paths are absolute, clean and free of
// symbolic links unless the field says otherwise; [Profile.Plan] makes them so.
type Plan struct {
	Profile    string   // the name it was made from, for people and receipts
	Workspace  string   // writable unless ReadOnly
	View       string   // shown in the workspace's place, which is not reached itself; empty = the workspace
	Dir        string   // working directory
	Write      []string // further writable directories
	ReadOnly   bool     // the workspace is read-only too
	Read       []string // shown read-only although they lie below a private directory (/tmp, /run)
	Pin        []string // directories bound on themselves, so that a protected thing below cannot be moved away with them
	Protect    []string // read-only inside what is writable; existing ones, so that they are mount points and stay where they are
	Absent     []string // protected names that do not exist yet: what appears there is quarantined after the run; the last element may hold *
	Links      []Link   // protected names that are symbolic links: one that reads differently after the run is put back
	Private    []string // a file: the process writes to a copy of its own; a directory: it sees an empty one of its own; both are dropped
	Mask       []string // credential stores, control sockets, Reeve's own state: hidden; the last ones are Reeve's
	Expose     []Expose // single things bound in although a mask covers their place: the session's hook socket
	Net        NetMode
	NoUnix     bool     // no unix sockets to the outside (strict)
	Env        []string // the whole environment, NAME=value
	Limits     Limits
	Repos      []Repo   // repositories below Trees when the plan was made
	Trees      []string // writable directories that hold work: they are looked through for repositories before and after the run
	Quarantine string   // where what appeared is moved to; below Reeve's own state
	Notes      []string // what a person should know of this plan: folded, skipped, granted by finding
}

// Expose binds one host path to one place inside.
type Expose struct {
	From, To string
	Write    bool // a directory the process may write: its cache
}

// Link is a symbolic link and what it read when the plan was made.
type Link struct{ Path, Target string }

// Repo is a git repository: the path of its git directory.
type Repo struct{ Git string }

// Limits bound what one process tree may use. Zero means the wall's default.
type Limits struct {
	Wall       time.Duration
	CPU        time.Duration // of one process
	FileSize   int64         // bytes a single file may grow to
	Files      uint64
	Scratch    int64 // bytes of the private temporary directory
	Memory     int64 // bytes; of the tree where a control group can be made, else of one process
	Processes  int64 // processes and threads of the tree
	Processors int64 // thousandths of one processor
}

// Cmd is a program to start inside a Plan.
type Cmd struct {
	Argv                  []string
	Stdin, Stdout, Stderr *os.File
	TTY                   *os.File // becomes the controlling terminal, with the three streams, when set
	Umask                 uint32   // of the program; 0 = ours, which keeps everything private

	// Listener takes the listening socket at ProxyAddr of a boundary with
	// ProxiedNetwork, before the program starts; it owns ln from then on. An
	// error starts nothing.
	Listener func(ln *os.File) error
}

// Process is a running tree. Wait returns after the whole tree is gone.
type Process interface {
	Wait() (Exit, error)
	// Stop sends SIGTERM to the tree and SIGKILL after grace (contract Y74: 2 s).
	Stop(grace time.Duration)
	Signal(sig os.Signal) error
	PID() int
	// Contains reports whether the host process pid runs inside this tree's boundary.
	Contains(pid int) bool
}

// Exit says how a tree ended.
type Exit struct {
	Code   int // the program's own, or 128+signal
	Held   []string
	Unheld []string // limits asked for that this wall could not hold
}

// Wall builds one kind of boundary.
type Wall interface {
	Name() string
	// Ready reports the state of this wall here, probing it at most once per
	// boot, wall binary and plan schema.
	Ready(ctx context.Context) Readiness
	Starter
}

// Starter starts programs behind a wall.
type Starter interface {
	// Start spends p for digest and starts cmd inside plan, or fails having
	// started nothing. It never runs unprotected.
	Start(ctx context.Context, p permit.Permit, digest [32]byte, plan Plan, cmd Cmd) (Process, error)
}

// Readiness is what doctor says of a wall.
type Readiness struct {
	State  reeve.Sandbox
	Engine string  // program, version, digest
	Checks []Check // every promise tried
	Fix    string  // what to install or set, where State is not ready
	Probed bool    // State was found by trying, and every promise that this wall makes held
}

// Usable reports whether programs may be started behind the wall: it is
// ready, or a reduced one that keeps all that it promises. A reduced wall is
// never the default: a person chose it by its name.
func (r Readiness) Usable() bool {
	return r.State == reeve.SandboxReady || r.State == reeve.SandboxReduced && r.Probed
}

// Check is one promise tried through the real wall.
type Check struct {
	Name   string // "write outside the workspace"
	Held   bool
	Detail string // what happened, with the errno
}
