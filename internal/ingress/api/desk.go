package api

import (
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/localsock"
)

// cliIdle is how long a session of the command line stays open though nobody
// uses it.
const cliIdle = 12 * time.Hour

// desks are the sessions of the command line that calls were made in, and who
// leads the terminal at which a person made them: such a session ends with
// that terminal, so that what was allowed in it is not allowed to the next one
// that has the terminal's name. The zero value knows none.
type desks struct {
	mu  sync.Mutex
	all map[string]*desk // by session
}

type desk struct {
	leader localsock.Process // of the terminal; zero where there is none
	calls  int               // in progress
}

// sit notes a call in a session until the returned function is called.
func (d *desks) sit(session string, peer localsock.Peer) (rise func()) {
	var leader localsock.Process
	if pid, terminal, err := localsock.Seat(peer.PID); err == nil && terminal {
		leader, _, _, _ = localsock.Look(pid) // one that is gone leads nothing
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]*desk{}
	}
	one := d.all[session]
	if one == nil {
		one = &desk{}
		d.all[session] = one
	}
	one.calls++
	if leader.PID != 0 {
		one.leader = leader
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		one.calls--
	}
}

// left lists the sessions whose terminal is gone, and forgets them.
func (d *desks) left() (ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, one := range d.all {
		if one.calls > 0 || one.leader.PID == 0 {
			continue
		}
		if now, _, _, err := localsock.Look(one.leader.PID); err != nil || now != one.leader {
			ids = append(ids, id)
			delete(d.all, id)
		}
	}
	return ids
}

// forget drops a session that has ended.
func (d *desks) forget(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, session)
}

// closeLeft ends the sessions of the command line that nobody will use again,
// with the answers that hold in them. It is called before one is looked for, and
// before they are listed.
func (s *Server) closeLeft() {
	for _, id := range append(s.desks.left(), s.Sessions.Idle("cli", cliIdle)...) {
		s.desks.forget(id)
		s.Broker.CloseSession(id)
		_ = s.Sessions.End(id) // one that could not be written ends with the next daemon's first look
	}
}
