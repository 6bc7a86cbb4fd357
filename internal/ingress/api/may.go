package api

import (
	"maps"
	"slices"

	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/wire"
)

// mayAsk returns nil where the peer may use the method, or why not. What
// widens an agent's reach needs a person at a terminal: a yes, a trust, a
// setting; the other personal methods need a person.
func (s *Server) mayAsk(peer localsock.Peer, req *wire.Request) error {
	switch req.Method {
	case wire.MethodTrust, wire.MethodSetTool, wire.MethodServers:
		return s.Governed.AtTerminal(peer, s.clients())
	case wire.MethodVault:
		return s.mayOpen(peer, req)
	case wire.MethodRecord:
		return s.mayPrune(peer, req)
	case wire.MethodSettle:
		var a wire.Settle
		if err := wire.Decode(req.Params, &a); err != nil || a.Allow {
			return s.Governed.AtTerminal(peer, s.clients())
		}
	}
	if personal[req.Method] {
		return s.person(peer)
	}
	return nil
}

// mayOpen reports whether the peer may do this with the vault: look, as a person;
// change it, at a terminal where an agent runs; see a value, or carry all of them
// off, at a terminal always.
func (s *Server) mayOpen(peer localsock.Peer, req *wire.Request) error {
	var w wire.Vault
	if err := wire.Decode(req.Params, &w); err != nil {
		return err
	}
	switch w.Do {
	case "status", "ls":
		return s.person(peer)
	case "get", "export":
		return s.seated(peer)
	}
	return s.Governed.AtTerminal(peer, s.clients())
}

// seated returns nil where the peer is a person's and sits at a terminal.
func (s *Server) seated(peer localsock.Peer) error {
	if err := s.person(peer); err != nil {
		return err
	}
	return Seated(peer.PID)
}

// person returns nil where the peer may act for a person, or why not.
func (s *Server) person(peer localsock.Peer) error { return s.Governed.Person(peer, s.clients()) }

// clients are those whose hook was ever answered here.
func (s *Server) clients() []string {
	var clients []string
	for _, one := range s.Sessions.List() {
		if hookClients[one.Client] && !slices.Contains(clients, one.Client) {
			clients = append(clients, one.Client)
		}
	}
	return clients
}

// hookClients are the clients with a hook; other sessions are a person's own.
var hookClients = map[string]bool{"claude": true, "codex": true}

// Clients are the clients with a hook, for what must be told without a daemon.
func Clients() []string { return slices.Sorted(maps.Keys(hookClients)) }

// mayPrune reports whether the peer may do this with the record: have it signed,
// as a person; remove rows or accept another record, at a terminal.
func (s *Server) mayPrune(peer localsock.Peer, req *wire.Request) error {
	var w wire.Record
	if err := wire.Decode(req.Params, &w); err != nil {
		return err
	}
	if w.Do == "status" {
		return nil // whoever may read the record may verify it
	}
	if w.Do == "checkpoint" || w.Do == "prune" && w.DryRun {
		return s.person(peer)
	}
	return s.seated(peer)
}

// personal are the methods that act for a person.
var personal = map[string]bool{
	wire.MethodDown: true, wire.MethodSettle: true, wire.MethodRevoke: true, wire.MethodSetTool: true, wire.MethodTrust: true,
	wire.MethodServers: true, wire.MethodInspect: true,
	wire.MethodRun: true, wire.MethodWatch: true,
	wire.MethodAttach: true, wire.MethodResume: true, wire.MethodStop: true, wire.MethodRemove: true, wire.MethodLogs: true,
	wire.MethodDiff: true, wire.MethodMerge: true, wire.MethodDrop: true, wire.MethodReview: true, wire.MethodApply: true,
}

// inside are the methods that a session's own socket takes.
var inside = map[string]bool{wire.MethodHook: true, wire.MethodMCP: true}

// looking are the methods that only look on: a daemon that has to give way does
// not wait for them.
var looking = map[string]bool{wire.MethodWatch: true, wire.MethodAttach: true, wire.MethodLogs: true}
