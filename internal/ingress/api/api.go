// Package api is the local door: it serves the sockets of one daemon, turns
// each request into a call of the kernel or of a room, and knows which peers
// may act for a person.
//
// Two kinds of socket are served. The control socket takes every method. A
// session's own socket is the only one visible inside that session's boundary
// and takes hook calls and MCP clients alone, for that session alone (amendment 3).
//
// Being the same user proves nothing, since an agent is the same user. What
// needs a person (answering, trusting, changing settings, ending the daemon,
// acting with a person's authority) is refused to a peer that is or descends
// from a process of a session or from an agent client that has called the
// hook ([Governed], amendment 2 and second review 3).
package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Kernel is the part of the kernel this door uses.
type Kernel interface {
	Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result)
	Explain(ctx context.Context, inv *reeve.Invocation) reeve.Decision
}

// HookDoor answers one event of a client's hook; inSession is the session
// whose boundary the peer is inside, or "".
type HookDoor interface {
	Hook(ctx context.Context, h wire.Hook, inSession string) wire.Hooked
}

// MCPDoor serves one client of the Model Context Protocol over its streams.
type MCPDoor interface {
	Serve(ctx context.Context, m wire.MCP, streams []*os.File, inSession string) error
}

// RosterDoor keeps which MCP servers there are.
type RosterDoor interface {
	Servers(ctx context.Context, w wire.Servers) (wire.Told, error)
	Inspect(ctx context.Context, w wire.Inspect) (wire.Roster, error)
}

// VaultDoor is where a person keeps secrets.
type VaultDoor interface {
	Vault(ctx context.Context, w wire.Vault, files []*os.File) (wire.Vaulted, error)
}

// RecordDoor signs and prunes the record.
type RecordDoor interface {
	Record(ctx context.Context, w wire.Record) (wire.Recorded, error)
}

// RunDoor starts programs in sessions, and knows those that are kept. started
// sends the first event.
type RunDoor interface {
	Run(ctx context.Context, r wire.Run, streams []*os.File, started func(wire.Started, *os.File) error) (wire.Ran, error)
	Attach(ctx context.Context, a wire.Attach, started func(wire.Started, *os.File) error) (wire.Ran, error)
	Resume(ctx context.Context, r wire.Resume, started func(wire.Started, *os.File) error) (wire.Ran, error)
	Stop(ctx context.Context, id string) (wire.Ran, error)
	Remove(id string) error
	Logs(ctx context.Context, l wire.Logs, give func(wire.Log, []*os.File) error) (wire.Ran, error)
	List() []wire.Session // the kept ones
	Diff(ctx context.Context, id string, out *os.File) error
	Merge(ctx context.Context, id string) ([]string, error)
	Drop(ctx context.Context, id string, force bool) error
	Review(ctx context.Context, r wire.Review, out *os.File) (wire.Reviewed, error)
	Apply(ctx context.Context, a wire.Apply) (wire.Applied, error)
}

// Daemon is what the door asks of the daemon itself.
type Daemon interface {
	Status() wire.Status
	Down(context.Context, wire.Down) wire.Downed // begin to end
	Yield(build string) bool                     // end for a client of another build, where nothing is going on
	Tools() []wire.Tool                          // with the person's settings
	SetTool(wire.SetTool) error
	Trust(wire.Trust) error
	SaveRule(rule string) error // append an allow rule to the user policy
}

// Server serves one daemon's sockets.
type Server struct {
	Kernel   Kernel
	Sessions *session.Store
	Broker   *approval.Broker
	Hook     HookDoor
	MCP      MCPDoor
	Roster   RosterDoor
	Vault    VaultDoor
	Record   RecordDoor
	Run      RunDoor
	Daemon   Daemon
	Governed *Governed
	Home     string
	NewID    func() string
	Build    string
	Inside   func(session string, pid int) bool // the peer runs inside the session's boundary
	Config   struct {
		Mode    reeve.Mode
		Profile string
	}

	busy  sync.WaitGroup
	desks desks
	mu    sync.Mutex
	live  int // requests in progress, watchers not counted
}

// maxInside is how many connections of one session's own socket are served at
// once; one more is closed. Each call of a hook is one.
const maxInside = 256

// Serve accepts on l until it is closed. session is the session the socket
// belongs to, or "" for the control socket. Where no descriptor is left it goes
// on when there is one again: what used them up may have been an agent.
func (s *Server) Serve(ctx context.Context, l *localsock.Listener, session string) {
	room := make(chan struct{}, maxInside)
	for {
		conn, err := l.Accept()
		if localsock.Passing(err) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
			continue
		}
		if err != nil {
			return
		}
		if session != "" {
			select {
			case room <- struct{}{}:
			default:
				conn.Close()
				continue
			}
		}
		s.busy.Go(func() {
			defer conn.Close()
			s.one(ctx, conn, session)
			if session != "" {
				<-room
			}
		})
	}
}

// Wait returns when every connection has ended.
func (s *Server) Wait() { s.busy.Wait() }

// Live is how many requests are in progress.
func (s *Server) Live() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live
}

func (s *Server) count(n int) {
	s.mu.Lock()
	s.live += n
	s.mu.Unlock()
}

// reply is one connection's way back.
type reply struct {
	s    *Server
	conn *localsock.Conn
	mu   sync.Mutex
}

func (r *reply) send(m wire.Message, files ...*os.File) error {
	m.Hello = wire.Hello{Proto: wire.Proto, Build: r.s.Build}
	b, err := wire.Encode(m)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn.SetDeadline(time.Now().Add(10 * time.Second))
	defer r.conn.SetDeadline(time.Time{})
	return r.conn.Write(b, files...)
}

func (r *reply) event(name string, body any, files ...*os.File) error {
	b, err := wire.Encode(body)
	if err != nil {
		return err
	}
	return r.send(wire.Message{Event: name, Body: b}, files...)
}

// started tells of a program that runs, with the connection to its terminal
// where it has one.
func (r *reply) started(st wire.Started, screen *os.File) error {
	if screen == nil {
		return r.event(wire.EventStarted, st)
	}
	return r.event(wire.EventStarted, st, screen)
}

func (r *reply) end(body any, err error) {
	if err != nil {
		r.send(wire.Message{Error: wire.Fail(err)})
		return
	}
	b, err := wire.Encode(body)
	if err != nil {
		r.send(wire.Message{Error: wire.Fail(err)})
		return
	}
	r.send(wire.Message{Body: b})
}

// one serves the one request of a connection.
func (s *Server) one(ctx context.Context, conn *localsock.Conn, inSession string) {
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	frame, files, err := conn.Read()
	if err != nil {
		return
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	conn.SetDeadline(time.Time{})
	out := &reply{s: s, conn: conn}
	var req wire.Request
	if err := wire.Decode(frame, &req); err != nil {
		out.end(nil, err)
		return
	}
	if req.Hello.Proto != wire.Proto {
		out.end(nil, fmt.Errorf("%w: this daemon speaks protocol %d, the program %d; run reeve down and try again", reeve.ErrUnavailable, wire.Proto, req.Hello.Proto))
		return
	}
	if inSession == "" && req.Hello.Build != s.Build && s.Daemon.Yield(req.Hello.Build) {
		out.event(wire.EventYield, struct{}{})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go hangup(conn, cancel)
	s.dispatch(ctx, conn.Peer, inSession, &req, files, out)
}

// hangup cancels the request when its caller goes away: a client sends nothing
// after its request, so reading ends only then.
func hangup(conn *localsock.Conn, cancel context.CancelFunc) {
	defer cancel()
	for {
		_, files, err := conn.Read()
		for _, f := range files {
			f.Close()
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

func (s *Server) dispatch(ctx context.Context, peer localsock.Peer, inSession string, req *wire.Request, files []*os.File, out *reply) {
	if inSession != "" && (!inside[req.Method] || !s.Inside(inSession, peer.PID)) {
		out.end(nil, fmt.Errorf("%w: a session's own socket takes hook calls and MCP clients from inside its boundary and nothing else", reeve.ErrPresence))
		return
	}
	if err := s.mayAsk(peer, req); err != nil {
		out.end(nil, fmt.Errorf("%s: %w", req.Method, err))
		return
	}
	if !looking[req.Method] {
		s.count(1)
		defer s.count(-1)
	}
	switch req.Method {
	case wire.MethodStatus:
		out.end(s.Daemon.Status(), nil)
	case wire.MethodDown:
		serve(out, req, func(down wire.Down) (wire.Downed, error) { return s.Daemon.Down(ctx, down), nil })
	case wire.MethodExec:
		serve(out, req, func(e wire.Exec) (wire.Executed, error) { return s.exec(ctx, peer, e, out) })
	case wire.MethodExplain:
		serve(out, req, func(e wire.Exec) (wire.Executed, error) { return s.explain(ctx, e) })
	case wire.MethodRun:
		serve(out, req, func(r wire.Run) (wire.Ran, error) { return s.Run.Run(ctx, r, files, s.shown(ctx, out)) })
	case wire.MethodAttach:
		serve(out, req, func(a wire.Attach) (wire.Ran, error) { return s.Run.Attach(ctx, a, s.shown(ctx, out)) })
	case wire.MethodResume:
		serve(out, req, func(r wire.Resume) (wire.Ran, error) { return s.Run.Resume(ctx, r, s.shown(ctx, out)) })
	case wire.MethodStop:
		serve(out, req, func(n wire.Named) (wire.Ran, error) { return s.Run.Stop(ctx, n.ID) })
	case wire.MethodRemove:
		serve(out, req, func(n wire.Named) (struct{}, error) { return struct{}{}, s.Run.Remove(n.ID) })
	case wire.MethodLogs:
		serve(out, req, func(l wire.Logs) (wire.Ran, error) {
			return s.Run.Logs(ctx, l, func(log wire.Log, files []*os.File) error { return out.event(wire.EventLog, log, files...) })
		})
	case wire.MethodDiff:
		serve(out, req, func(n wire.Named) (struct{}, error) {
			if len(files) != 1 {
				return struct{}{}, fmt.Errorf("%w: a patch needs one stream to be written to", reeve.ErrUsage)
			}
			return struct{}{}, s.Run.Diff(ctx, n.ID, files[0])
		})
	case wire.MethodMerge:
		serve(out, req, func(n wire.Named) (wire.Merged, error) {
			lines, err := s.Run.Merge(ctx, n.ID)
			return wire.Merged{Lines: lines}, err
		})
	case wire.MethodDrop:
		serve(out, req, func(w wire.Drop) (struct{}, error) { return struct{}{}, s.Run.Drop(ctx, w.ID, w.Force) })
	case wire.MethodReview:
		serve(out, req, func(r wire.Review) (wire.Reviewed, error) {
			var to *os.File // without one the changes are listed and not shown
			if len(files) > 0 {
				to = files[0]
			}
			return s.Run.Review(ctx, r, to)
		})
	case wire.MethodApply:
		serve(out, req, func(a wire.Apply) (wire.Applied, error) { return s.Run.Apply(ctx, a) })
	case wire.MethodHook:
		s.Governed.Saw(peer, inSession != "", req)
		serve(out, req, func(h wire.Hook) (wire.Hooked, error) { return s.Hook.Hook(ctx, h, inSession), nil })
	case wire.MethodMCP:
		serve(out, req, func(m wire.MCP) (struct{}, error) {
			if inSession == "" && !m.HTTP { // who reaches HTTP is not known
				s.Governed.Serves(peer)
			}
			return struct{}{}, s.MCP.Serve(ctx, m, files, inSession)
		})
	case wire.MethodPending:
		out.end(wire.Approvals{Questions: s.Broker.Questions(), Grants: s.Broker.Grants()}, nil)
	case wire.MethodSettle:
		serve(out, req, func(a wire.Settle) (struct{}, error) { return struct{}{}, s.settle(a) })
	case wire.MethodRevoke:
		serve(out, req, func(a wire.Settle) (struct{}, error) { return struct{}{}, s.Broker.Revoke(a.ID) })
	case wire.MethodWatch:
		s.watch(ctx, out)
	case wire.MethodTools:
		out.end(s.Daemon.Tools(), nil)
	case wire.MethodSetTool:
		serve(out, req, func(t wire.SetTool) (struct{}, error) { return struct{}{}, s.Daemon.SetTool(t) })
	case wire.MethodTrust:
		serve(out, req, func(t wire.Trust) (struct{}, error) { return struct{}{}, s.Daemon.Trust(t) })
	case wire.MethodServers:
		serve(out, req, func(w wire.Servers) (wire.Told, error) { return s.Roster.Servers(ctx, w) })
	case wire.MethodInspect:
		serve(out, req, func(w wire.Inspect) (wire.Roster, error) { return s.Roster.Inspect(ctx, w) })
	case wire.MethodVault:
		serve(out, req, func(w wire.Vault) (wire.Vaulted, error) { return s.Vault.Vault(ctx, w, files) })
	case wire.MethodRecord:
		serve(out, req, func(w wire.Record) (wire.Recorded, error) { return s.Record.Record(ctx, w) })
	case wire.MethodSessions:
		out.end(s.list(), nil)
	default:
		out.end(nil, fmt.Errorf("%w: the daemon has no method %q", reeve.ErrUsage, req.Method))
	}
}

func serve[P, R any](out *reply, req *wire.Request, do func(P) (R, error)) {
	var p P
	if err := wire.Decode(req.Params, &p); err != nil {
		out.end(nil, err)
		return
	}
	r, err := do(p)
	out.end(r, err)
}

func (s *Server) settle(a wire.Settle) error {
	answer := approval.Answer{State: approval.Denied, Scope: a.Scope, Word: a.Word, By: "cli"}
	if !a.Allow {
		return s.Broker.Settle(a.ID, answer)
	}
	if answer.State = approval.Allowed; answer.Scope == "" {
		answer.Scope = approval.Once
	}
	if answer.Scope == approval.Rule {
		if err := s.saveSuggested(a); err != nil {
			return err
		}
	}
	return s.Broker.Settle(a.ID, answer)
}

// saveSuggested keeps the rule that the question showed; a rule that the
// question did not offer is refused.
func (s *Server) saveSuggested(a wire.Settle) error {
	for _, q := range s.Broker.Questions() {
		if q.ID != a.ID {
			continue
		}
		if q.Suggest == "" || q.Suggest != a.Rule {
			return fmt.Errorf("%w: this question offers no such rule", reeve.ErrUsage)
		}
		return s.Daemon.SaveRule(a.Rule)
	}
	return fmt.Errorf("%w: no question %s is pending", reeve.ErrNotFound, a.ID)
}

// shown tells a caller that shows a session of its start, and from then on of
// its questions and of those of the sessions in it.
func (s *Server) shown(ctx context.Context, out *reply) func(wire.Started, *os.File) error {
	return func(st wire.Started, screen *os.File) error {
		if err := out.started(st, screen); err != nil {
			return err
		}
		events, pending, stop := s.Broker.Watch(false)
		go func() {
			defer stop()
			for _, q := range pending {
				if s.within(q.Session, st.Session) && out.event(wire.EventQuestion, approval.Event{Question: q, State: approval.Pending}) != nil {
					return
				}
			}
			for {
				select {
				case e, ok := <-events:
					if !ok || s.within(e.Question.Session, st.Session) && out.event(wire.EventQuestion, e) != nil {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}()
		return nil
	}
}

// within reports whether a session is another one or lies in it.
func (s *Server) within(id, outer string) bool {
	for id != outer {
		one, err := s.Sessions.Get(id)
		if err != nil || one.Parent == "" {
			return false
		}
		id = one.Parent
	}
	return true
}

func (s *Server) watch(ctx context.Context, out *reply) {
	events, pending, stop := s.Broker.Watch(true)
	defer stop()
	for _, q := range pending {
		if out.event(wire.EventQuestion, approval.Event{Question: q, State: approval.Pending}) != nil {
			return
		}
	}
	for {
		select {
		case e, ok := <-events:
			if !ok {
				out.end(nil, errors.New("fell too far behind the questions; watch again"))
				return
			}
			if out.event(wire.EventQuestion, e) != nil {
				return
			}
		case <-ctx.Done():
			out.end(struct{}{}, nil)
			return
		}
	}
}

func (s *Server) list() []wire.Session {
	s.closeLeft()
	out := append([]wire.Session{}, s.Run.List()...)
	kept := map[string]bool{}
	for _, k := range out {
		kept[k.ID] = true
	}
	for _, one := range s.Sessions.List() {
		if !kept[one.ID] {
			w := wire.Session{ID: one.ID, Name: one.Name, Client: one.Client, Workspace: one.Workspace,
				Mode: one.Mode.String(), Profile: one.Profile, Started: one.Started, State: "running"}
			if one.Client == "cli" { // it stands for the calls of one terminal; nothing of it runs
				w.State = "open"
			}
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b wire.Session) int { return strings.Compare(a.ID, b.ID) })
	return out
}
