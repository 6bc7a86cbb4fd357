// Package roster is the tool behind reeve mcp add, rm, trust and their like: it
// changes which MCP servers there are and what of them is trusted. That decides
// what every agent may do, so it is a change of Reeve itself, which the kernel
// lets a person make and nobody else, and records (DESIGN 3, contract Y77).
//
// Settings of a server may hold secrets, so that the door leaves the act beside
// the invocation, under its id ([Tool.Give]); rules and records see what is
// changed, without values.
package roster

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Name is the tool's name.
const Name = "mcp_settings"

// Job is the act of one invocation: it says in lines what it did.
type Job func() (string, error)

// Args are what rules, questions and records see.
type Args struct {
	Do     string   `json:"do"`
	Server string   `json:"server"`
	Argv   []string `json:"argv,omitzero"`
	URL    string   `json:"url,omitzero"`
	Env    []string `json:"env,omitzero"` // names
	Only   []string `json:"only,omitzero"`
	Tool   string   `json:"tool,omitzero"`
	Class  string   `json:"class,omitzero"`
	Seen   string   `json:"seen,omitzero"` // digest of what the person was shown
}

// Tool changes settings. It is safe for concurrent use.
type Tool struct {
	tool.Jobs[Job]
}

var _ tool.Runner = (*Tool)(nil)

// New returns the tool.
func New() *Tool { return &Tool{} }

// Spec describes the tool.
func (t *Tool) Spec() tool.Spec {
	return tool.Spec{Name: Name, Source: "native", Tier: reeve.TierWrite, Class: tool.ClassOther,
		Description: "Change which MCP servers there are and what of them is trusted; a person's alone, with reeve mcp.",
		Schema: `{"type":"object","additionalProperties":false,"required":["do","server"],"properties":{
			"do":{"type":"string","enum":["add","remove","enable","disable","trust","say","pin","unpin"]},"server":{"type":"string"},
			"argv":{"type":"array","items":{"type":"string"}},"url":{"type":"string"},"env":{"type":"array","items":{"type":"string"}},
			"only":{"type":"array","items":{"type":"string"}},"tool":{"type":"string"},"class":{"type":"string"},"seen":{"type":"string"}}}`}
}

// Effects is a change of Reeve itself.
func (t *Tool) Effects(raw []byte, at tool.Place) ([]reeve.Effect, error) {
	var a Args
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	return []reeve.Effect{{Kind: reeve.EffectChangeSelf, Why: "the settings of MCP servers (" + a.Do + " " + a.Server + ")"}}, nil
}

// Run does what was given for the invocation.
func (t *Tool) Run(ctx context.Context, c tool.Call) reeve.Result {
	job := t.Take(c.ID)
	if job == nil {
		return tool.Denied("the settings of MCP servers are changed with reeve mcp, and not by calling this tool")
	}
	if err := c.Permit.Spend(c.Digest); err != nil {
		return tool.Failed("%v", err)
	}
	told, err := job()
	if err != nil {
		return tool.Failed("%v", err)
	}
	return reeve.Result{Status: reeve.StatusSuccess, Output: told}
}
