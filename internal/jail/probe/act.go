package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Command is the hidden argument by which our binary becomes the probe.
const Command = "__probe"

// Stage is the throw-away folder of one run and what stands outside of it.
type Stage struct {
	Workspace string // writable inside
	Home      string // shown read-only inside; .ssh and .netrc are hidden
	Outside   string // a directory below Home, with the file victim
	State     string // plays Reeve's own state
	TCP       string // addresses of listeners outside; TCP6 is empty without IPv6
	TCP6      string
	UDP       string
	Stream    string // unix sockets outside, by path and in the abstract space
	Datagram  string
	Abstract  string
	PID       int    // a process outside
	Canary    string // name of a variable with a secret in the environment we run in
	Control   bool   // this run is the one outside, in namespaces of its own for Privileged acts
}

// Act is one attempt to do what the boundary forbids.
type Act struct {
	Name       string
	Do         func(Stage) error
	Want       []syscall.Errno // what the boundary answers; none = EPERM, EACCES or EROFS
	In         []string        // profiles it must fail in; none = all
	Privileged bool            // outside it needs capabilities: there it runs in a user namespace where it has them
	Lacking    []syscall.Errno // outside, these say that the kernel does not offer it
}

// Outcome is how one act went.
type Outcome struct {
	Name  string
	Errno syscall.Errno `json:",omitzero"`
	Error string        `json:",omitzero"` // empty = it succeeded
}

// Done reports whether the act succeeded.
func (o Outcome) Done() bool { return o.Error == "" }

// task is what the child is told.
type task struct {
	Stage Stage
	Acts  []string
}

// Main is the probe as a program: args are what follows [Command]. It
// performs the acts of this package.
func Main(args []string) int { return MainWith(args, Acts()) }

// MainWith is Main with another list of acts, for a test binary.
func MainWith(args []string, acts []Act) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "this is how reeve tries its own sandbox; see reeve doctor")
		return 2
	}
	if code, ok := helper(args); ok {
		return code
	}
	var t task
	if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := ownMounts(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if t.Stage.Control {
		prepareNamespace(t.Stage)
	}
	wanted := map[string]bool{}
	for _, name := range t.Acts {
		wanted[name] = true
	}
	out := json.NewEncoder(os.Stdout)
	for _, a := range acts {
		if !wanted[a.Name] {
			continue
		}
		o := Outcome{Name: a.Name}
		if err := a.Do(t.Stage); err != nil {
			o.Error = err.Error()
			errors.As(err, &o.Errno)
		}
		if err := out.Encode(o); err != nil {
			return 1
		}
	}
	return 0
}

// outcomes reads what the child wrote. A child that ended early leaves the
// rest untold.
func outcomes(r io.Reader) (map[string]Outcome, error) {
	all := map[string]Outcome{}
	dec := json.NewDecoder(r)
	for {
		var o Outcome
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, fmt.Errorf("read what the probe found: %w", err)
		}
		all[o.Name] = o
	}
}
