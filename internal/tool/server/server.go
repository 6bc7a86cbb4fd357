// Package server is the tools of MCP servers: one for everything that a server
// can be asked to do, and the one that starts a server.
//
// What a call sends and what comes back are bytes of a protocol that cannot
// travel as arguments, so the door leaves the act itself beside the
// invocation, under its id ([Tools.Give]); the hand carries it out only for
// the invocation that it holds a permit for.
//
// A tool is named mcp__SERVER__TOOL, as rules write it. What a server is asked
// beside its tools is named by the method, in which there is a slash, as no
// tool has one: mcp__SERVER__resources/read.
package server

import (
	"context"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Start is the name of the tool that starts a server.
const Start = "mcp_server"

// Own is the name of the server that is Reeve itself: what a client can ask of
// the gateway. No configured server has it.
const Own = "reeve"

// Facts are what is known of one tool. The zero Facts deny: nothing is known.
type Facts struct {
	Tier          reeve.Tier
	Unknown       bool   // nobody has said what it does: its tier is write, and it is always asked for
	Held          string // why it may not be used until a person has looked at it; empty = it may
	Private       bool   // what it brings may be private data
	Sends         bool   // what it is given can leave this machine
	Why           string // for people: why it is of that tier
	Unconditional bool   // it touches the gateway's own memory alone

	// Places are where a call sends the server by an argument of its own, as far
	// as that is known; nil = nowhere. An error refuses the call.
	Places func(args []byte) ([]reeve.Effect, error)
}

// Known tells the facts of a tool; name is its server's word for it, without
// regard to case, or a method.
type Known func(server, name string) (Facts, bool)

// Job is the act of one invocation. It spends c.Permit before its first
// effect, or hands it to the one that does.
type Job func(ctx context.Context, c tool.Call) reeve.Result

// Tools is all of them. It is safe for concurrent use.
type Tools struct {
	known Known

	tool.Jobs[Job]
}

// New returns the tools of what is known.
func New(known Known) *Tools { return &Tools{known: known} }

// Name is the name of a tool as the kernel and rules have it.
func Name(server, tool string) string { return "mcp__" + server + "__" + strings.ToLower(tool) }

// Find describes the tool of that name, where its server is known to have it.
func (t *Tools) Find(name string) (tool.Tool, bool) {
	name = strings.ToLower(name)
	if name == Start {
		return starter{t}, true
	}
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return nil, false
	}
	server, one, ok := strings.Cut(rest, "__")
	if !ok || server == "" || one == "" {
		return nil, false
	}
	f, ok := t.known(server, one)
	if !ok {
		return nil, false
	}
	return called{t, name, server, f}, true
}

// hand carries out what was left for the invocation.
func (t *Tools) hand(ctx context.Context, c tool.Call) reeve.Result {
	j := t.Take(c.ID)
	if j == nil {
		return tool.Failed("nothing was handed over for this call; an MCP client makes it through reeve mcp serve")
	}
	return j(ctx, c)
}

// called is one thing that a server can be asked.
type called struct {
	t            *Tools
	name, server string
	facts        Facts
}

var (
	_ tool.Runner = called{}
	_ tool.Barred = called{}
)

// Spec names the server as the source, so that what it brings counts as text
// from outside. The server holds the arguments to its own schema; here they
// are one strict JSON object.
func (c called) Spec() tool.Spec {
	s := tool.Spec{Name: c.name, Source: "mcp:" + c.server, Tier: c.facts.Tier, Class: tool.ClassMCP, Long: true,
		Description: "A tool of the MCP server " + c.server + ".", Schema: `{"type":"object"}`}
	if c.server == Own {
		s.Source, s.Description = "native", "A tool of the gateway itself."
	}
	return s
}

// Effects are where the call sends the server, and what it does there, which
// nobody knows and the tier speaks for.
func (c called) Effects(args []byte, _ tool.Place) ([]reeve.Effect, error) {
	if c.facts.Unconditional {
		return nil, nil
	}
	var effects []reeve.Effect
	if c.facts.Places != nil {
		var err error
		if effects, err = c.facts.Places(args); err != nil {
			return nil, err
		}
	}
	why := c.facts.Why
	if why == "" {
		why = "the server " + c.server + " does what it does"
	}
	return append(effects, reeve.Effect{Kind: reeve.EffectUnknown, Why: why, Private: c.facts.Private, Sends: c.facts.Sends}), nil
}

// Barred is why nobody may use it now.
func (c called) Barred() string { return c.facts.Held }

// Run carries the call out.
func (c called) Run(ctx context.Context, call tool.Call) reeve.Result { return c.t.hand(ctx, call) }

// starter starts a server that a person configured.
type starter struct{ t *Tools }

var _ tool.Runner = starter{}

// Spec: a person has decided what is started, and within which bounds, when
// they wrote it into mcp.json; nobody is asked again. A rule that denies the
// tool, or a setting, keeps every server from starting.
func (s starter) Spec() tool.Spec {
	return tool.Spec{Name: Start, Source: "native", Tier: reeve.TierRead, Class: tool.ClassOther, Long: true,
		Description: "Start a configured MCP server inside its own boundary, or open the connection to its address.",
		Schema: `{"type":"object","additionalProperties":false,"required":["server","hash"],"properties":{
			"server":{"type":"string"},"hash":{"type":"string"},"argv":{"type":"array","items":{"type":"string"}},
			"url":{"type":"string"},"net":{"type":"string"},"vault":{"type":"array","items":{"type":"string"}}}}`}
}

func (s starter) Effects([]byte, tool.Place) ([]reeve.Effect, error) { return nil, nil }

// Run starts it.
func (s starter) Run(ctx context.Context, call tool.Call) reeve.Result { return s.t.hand(ctx, call) }
