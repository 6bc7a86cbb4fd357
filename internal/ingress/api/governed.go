package api

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Governed knows the processes that agents run in. The zero value knows none.
//
// A process that called a hook, or has the gateway serve it, is known for as long
// as the daemon lives. A daemon that begins anew knows from its sessions which clients have called,
// and takes every process of such a client for an agent's until it has called
// again: an agent with a hook gains nothing by ending the daemon. Which program a
// client of the gateway alone is, is not known until it starts that again.
type Governed struct {
	mu    sync.Mutex
	procs map[localsock.Process]bool // whether it runs inside a boundary
}

// Add marks a process, and with it everything that descends from it. inside
// says that it runs inside a boundary, which nothing leaves.
func (g *Governed) Add(pid int, inside bool) {
	p, _, _, err := localsock.Look(pid)
	if err != nil {
		return // gone already: nothing descends from it any more
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.procs == nil {
		g.procs = map[localsock.Process]bool{}
	}
	if len(g.procs) > 4096 {
		g.forgetDead()
	}
	g.procs[p] = g.procs[p] || inside
}

// forgetDead is called under mu.
func (g *Governed) forgetDead() {
	for p := range g.procs {
		if now, _, _, err := localsock.Look(p.PID); err != nil || now != p {
			delete(g.procs, p)
		}
	}
}

// Person returns nil where the peer may act for a person, or why not. clients
// are the clients whose hook was ever answered here.
//
// It does not descend from an agent's process, and it has not lost the
// processes that it descends from: a job that an agent leaves in the
// background does, and is handed to the first process of the system, or to the
// user's own manager of services. What is handed over so and is younger than
// an agent that lives outside a boundary is taken for the agent's, except a
// terminal that the manager of services opened, as some desktops do.
//
// BUG: same-user processes have more ways to type for a person than ancestors
// tell: a terminal multiplexer, the desktop, a scheduler that makes itself a
// terminal. docs/threat-model.md lists them; inside a session's boundary the
// control socket does not exist.
func (g *Governed) Person(peer localsock.Peer, clients []string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if localsock.Descends(peer.PID, func(p localsock.Process) bool { _, known := g.procs[p]; return known || ofClient(p.PID, clients) }) {
		return fmt.Errorf("%w: process %d was started by an agent; a person does this in a shell of their own", reeve.ErrPresence, peer.PID)
	}
	agent, lives := g.oldest(clients)
	if !lives {
		return nil
	}
	lost, err := handedOver(peer, agent)
	if err != nil || lost != 0 {
		return fmt.Errorf("%w: process %d has lost the process that started it while an agent runs here, as an agent's job in the background does; a person does this in a terminal that was open before the agent, or in a new login", reeve.ErrPresence, cmp.Or(lost, peer.PID))
	}
	return nil
}

// AtTerminal is Person for what widens an agent's reach: while an agent lives
// outside a boundary, the peer also sits at a terminal.
func (g *Governed) AtTerminal(peer localsock.Peer, clients []string) error {
	if err := g.Person(peer, clients); err != nil {
		return err
	}
	g.mu.Lock()
	_, lives := g.oldest(clients)
	g.mu.Unlock()
	if !lives {
		return nil
	}
	return Seated(peer.PID)
}

// Seated returns nil where a process has a controlling terminal.
func Seated(pid int) error {
	if _, terminal, err := localsock.Seat(pid); err != nil || !terminal {
		return fmt.Errorf("%w: process %d has no terminal; a person says this at one", reeve.ErrPresence, pid)
	}
	return nil
}

// oldest is when the first agent began that lives outside a boundary. It is
// called under mu.
func (g *Governed) oldest(clients []string) (start uint64, lives bool) {
	for p, inside := range g.procs {
		if now, _, _, err := localsock.Look(p.PID); !inside && err == nil && now == p && (!lives || p.Start < start) {
			start, lives = p.Start, true
		}
	}
	if lives || len(clients) == 0 {
		return start, lives
	}
	all, err := localsock.Processes() // of a daemon that began anew
	if err != nil {
		return 0, true
	}
	for _, pid := range all {
		if p, _, _, err := localsock.Look(pid); err == nil && ofClient(pid, clients) && (!lives || p.Start < start) {
			start, lives = p.Start, true
		}
	}
	return start, lives
}

// handedOver is the process among the peer and its ancestors that was handed
// over to another parent and began after the agent did, 0 = none was.
func handedOver(peer localsock.Peer, agent uint64) (pid int, err error) {
	leader, terminal, err := localsock.Seat(peer.PID)
	if err != nil {
		return 0, err
	}
	led := false
	for pid := peer.PID; pid > 1; {
		p, parent, _, err := localsock.Look(pid)
		if err != nil {
			return 0, err
		}
		led = led || pid == leader
		first, manager := takesOver(parent)
		if !first && !manager {
			pid = parent
			continue
		}
		uid, err := localsock.Owner(pid)
		switch {
		case err != nil:
			return 0, err
		case p.Start < agent, uid != peer.UID, manager && terminal && led:
			return 0, nil
		}
		return pid, nil
	}
	return 0, nil
}

// takesOver says whether a process takes over what has lost its parent: the
// first of the system, or a user's manager of services.
func takesOver(pid int) (first, manager bool) {
	if pid == 1 {
		return true, false
	}
	if pid <= 0 {
		return false, false
	}
	_, parent, name, err := localsock.Look(pid)
	return false, err == nil && parent == 1 && name == "systemd"
}

// ofClient reports whether a process runs one of the clients. One that is gone
// by now runs none: its children have another parent already.
func ofClient(pid int, clients []string) bool {
	if len(clients) == 0 {
		return false
	}
	_, _, name, err := localsock.Look(pid)
	return err == nil && slices.ContainsFunc(clients, func(c string) bool { return isClient(pid, name, c) })
}

// Saw marks the client that called its hook: the nearest ancestor of the peer
// whose program is that client.
func (g *Governed) Saw(peer localsock.Peer, inside bool, req *wire.Request) {
	var h wire.Hook
	if wire.Decode(req.Params, &h) != nil || h.Client == "" {
		return
	}
	for pid, depth := peer.PID, 0; pid > 1 && depth < 32; depth++ {
		_, parent, name, err := localsock.Look(pid)
		if err != nil {
			return
		}
		if pid != peer.PID && isClient(pid, name, h.Client) {
			g.Add(pid, inside)
			return
		}
		pid = parent
	}
}

// Serves marks the client of the gateway that the peer serves: the process that
// started it, and what is behind that where it is a shell's script. A person
// who starts it at a shell of their own is no client, and a manager of services
// starts a person's things too.
func (g *Governed) Serves(peer localsock.Peer) {
	_, pid, _, err := localsock.Look(peer.PID)
	for depth := 0; err == nil && pid > 1 && depth < 32; depth++ {
		first, manager := takesOver(pid)
		_, parent, name, lerr := localsock.Look(pid)
		leader, terminal, serr := localsock.Seat(pid)
		typed := shells[strings.TrimPrefix(name, "-")]
		if first || manager || lerr != nil || serr == nil && typed && terminal && leader == pid {
			return
		}
		g.Add(pid, false)
		if !typed {
			return
		}
		pid = parent
	}
}

// shells are the programs at which a person types.
var shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "fish": true, "dash": true, "ash": true, "ksh": true, "tcsh": true, "csh": true, "nu": true, "elvish": true, "xonsh": true, "pwsh": true}

// isClient reports whether a process runs the client: by the name of its
// program, or of the script that an interpreter runs.
func isClient(pid int, name, client string) bool {
	if strings.HasPrefix(name, client) {
		return true
	}
	b, err := localsock.ReadProc(pid, "cmdline", nil)
	if err != nil {
		return false
	}
	words := strings.SplitN(string(b), "\x00", 3)
	if strings.HasPrefix(filepath.Base(words[0]), client) {
		return true
	}
	switch filepath.Base(words[0]) {
	case "node", "bun", "deno", "python", "python3":
		return len(words) > 1 && strings.Contains(words[1], client)
	}
	return false
}
