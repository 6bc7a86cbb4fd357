package api

import (
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
// A process that called a hook is known for as long as the daemon lives. A
// daemon that begins anew knows from its sessions which clients have called,
// and takes every process of such a client for an agent's until it has called
// again: an agent gains nothing by ending the daemon.
type Governed struct {
	mu    sync.Mutex
	procs map[localsock.Process]bool
}

// Add marks a process, and with it everything that descends from it.
func (g *Governed) Add(pid int) {
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
	g.procs[p] = true
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
// BUG: a process that an agent starts without a boundary and that outlives its
// starter (a job in the background is enough) has lost its ancestors and is
// then taken for a person's. Inside a session's boundary the control socket
// does not exist; docs/threat-model.md says so.
func (g *Governed) Person(peer localsock.Peer, clients []string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if localsock.Descends(peer.PID, func(p localsock.Process) bool { return g.procs[p] || ofClient(p.PID, clients) }) {
		return fmt.Errorf("%w: process %d was started by an agent; a person does this in a shell of their own", reeve.ErrPresence, peer.PID)
	}
	return nil
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
func (g *Governed) Saw(peer localsock.Peer, req *wire.Request) {
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
			g.Add(pid)
			return
		}
		pid = parent
	}
}

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
