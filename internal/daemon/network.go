package daemon

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/outbound"
	"github.com/reeve-gate/reeve/internal/jail/egress"
	"github.com/reeve-gate/reeve/internal/session"
)

// network is the way out of one running session.
type network struct {
	gate *outbound.Session
	end  context.CancelFunc
	done chan struct{} // closed when every connection has ended and is on record
	once sync.Once
}

// stop ends the way out and waits until what went is on record, at most as long
// as a flush may take.
func (n *network) stop() {
	if n == nil {
		return
	}
	n.once.Do(n.end)
	timer := time.NewTimer(flushLimit)
	defer timer.Stop()
	select {
	case <-n.done:
	case <-timer.C:
	}
}

// newOutbound is the door of what the programs of sessions connect to.
func newOutbound(d *Daemon) *outbound.Door {
	return &outbound.Door{Kernel: d.kernel, Connect: d.tools.connect, Granted: d.broker.Granted, Clean: cleaned{d.clean}.Show,
		NewID: newID, Now: time.Now, Askable: d.conf.Approval.Unattended == "wait"}
}

// ServeNetwork serves the one way out of a session's boundary.
func (d *Daemon) ServeNetwork(id string, ln *os.File) error {
	l, err := egress.Listener(ln)
	if err != nil {
		return err
	}
	one, err := d.store.Get(id)
	if err != nil {
		l.Close()
		return err
	}
	actor, err := reeve.ParseActor("agent:" + one.Agent)
	if err != nil {
		actor = "agent:run"
	}
	ctx, end := context.WithCancel(context.Background())
	n := &network{gate: d.outbound.Session(id, actor, ownHosts(one.Allowed)), end: end, done: make(chan struct{})}
	d.mu.Lock()
	t := d.trees[id]
	before := t.network
	t.network = n
	d.trees[id] = t
	d.mu.Unlock()
	before.stop()
	server := &egress.Server{Gate: n.gate, Limits: egress.Usual()}
	go func() {
		defer close(n.done)
		server.Serve(ctx, l)
		n.gate.Close()
	}()
	return nil
}

// ownHosts are the hosts of the service that a session's agent is made of.
func ownHosts(groups []session.Allowed) []string {
	var hosts []string
	for _, g := range groups {
		if g.Own {
			hosts = append(hosts, g.Hosts...)
		}
	}
	return hosts
}

// Network ends a session's way out and says what went by it.
func (d *Daemon) Network(id string) []string {
	d.mu.Lock()
	n := d.trees[id].network
	d.mu.Unlock()
	if n == nil {
		return nil
	}
	n.stop()
	return n.gate.Receipt()
}
