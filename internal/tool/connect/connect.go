// Package connect is the tool behind the network of a run: one call of it is
// one host and port that the programs of a session may reach, for as long as
// the session needs it.
//
// The proxy asks for it while the connection waits, and leaves what is to be
// told when the call is allowed ([Tool.Give]); the hand gives it a way to dial
// that host and port and nothing else, and the act goes on until the proxy
// reports what went each way. The record's intent is durable before anything is
// looked up or dialled.
package connect

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Name is the tool's name.
const Name = "connect"

// Args are the arguments that rules, questions and records see.
type Args struct {
	Host  string `json:"host"`
	Port  uint16 `json:"port"`
	Own   bool   `json:"own,omitzero"`   // the service that the session's agent is made of
	Fault string `json:"fault,omitzero"` // what is wrong with the request: it is refused, whatever a rule says
}

// Dial connects to the host and port of one allowed call.
type Dial func(ctx context.Context) (netguard.Conn, error)

// Tool gives connections out through one guard.
type Tool struct {
	guard *netguard.Guard

	tool.Jobs[func(Dial)] // called once, when the invocation is allowed and recorded
}

var _ tool.Runner = (*Tool)(nil)

// New returns the tool over a guard.
func New(g *netguard.Guard) *Tool { return &Tool{guard: g} }

// Spec describes the tool. It is of the class of what fetches an address, so
// that rules on hosts speak of it and it may run in every mode that its rules
// allow; no tier opens a host.
func (t *Tool) Spec() tool.Spec {
	return tool.Spec{Name: Name, Source: "native", Tier: reeve.TierWrite, Class: tool.ClassWeb,
		Description: "Let the programs of a session connect to one host and port.",
		Schema: `{"type":"object","additionalProperties":false,"required":["host","port"],"properties":{
			"host":{"type":"string","maxLength":400},"port":{"type":"integer","minimum":0,"maximum":65535},
			"own":{"type":"boolean"},"fault":{"type":"string","maxLength":1000}}}`}
}

// Effects is the one connection. A host that is not in the one form in which
// hosts are judged, and a request with a fault, are refused.
func (t *Tool) Effects(raw []byte, _ tool.Place) ([]reeve.Effect, error) {
	var a Args
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	if a.Fault != "" {
		return nil, errors.New(a.Fault)
	}
	host, err := netguard.Host(a.Host)
	switch {
	case err != nil:
		return nil, err
	case host != a.Host:
		return nil, fmt.Errorf("the host %s is written %s", netguard.Show(a.Host), host)
	case a.Port == 0:
		return nil, fmt.Errorf("port 0 is none")
	}
	dial := &reeve.Dial{Own: a.Own}
	if ip, err := netip.ParseAddr(host); err == nil {
		dial.Closed = t.guard.Closed(ip)
	}
	return []reeve.Effect{{Kind: reeve.EffectConnect, Host: host, Port: int(a.Port), Dial: dial}}, nil
}

// Run opens the way, which stays open. An address reaches Run
// only where it is public or a rule spells it with its port: that is the
// policy's to say, and the guard is told so.
func (t *Tool) Run(ctx context.Context, c tool.Call) reeve.Result {
	open := t.Take(c.ID)
	if open == nil {
		return tool.Failed("nothing was handed over for this connection; the proxy of reeve run asks for it")
	}
	var a Args
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return tool.Failed("read the arguments: %v", err)
	}
	if err := c.Permit.Spend(c.Digest); err != nil {
		return tool.Denied(err.Error())
	}
	to := netguard.Target{Host: a.Host, Port: a.Port, Spelled: true}
	open(func(ctx context.Context) (netguard.Conn, error) { return t.guard.Dial(ctx, to) })
	return reeve.Result{Status: reeve.StatusSuccess, Open: true}
}
