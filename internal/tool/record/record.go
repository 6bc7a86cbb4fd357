// Package record is the tool behind what a person does with the record itself:
// old rows are pruned, and a record that a reseal began is accepted. Each act
// goes through the kernel, so that it is recorded.
//
// The door leaves the act beside the invocation, under its id
// ([tool.Jobs.Give]); called by anybody else, nothing happens.
package record

import (
	"context"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Name is the tool's name.
const Name = "audit"

// Job is the act of one invocation: it says in lines what it did.
type Job func(ctx context.Context) (string, error)

// Args are what rules, questions and records see.
type Args struct {
	Do   string `json:"do"`            // prune, accept
	Keep string `json:"keep,omitzero"` // of prune: how long rows are kept
}

// Tool does what a person does with the record. It is safe for concurrent use.
type Tool struct {
	tool.Jobs[Job]
}

var _ tool.Runner = (*Tool)(nil)

// New returns the tool.
func New() *Tool { return &Tool{} }

// Spec describes the tool.
func (t *Tool) Spec() tool.Spec {
	return tool.Spec{Name: Name, Source: "native", Tier: reeve.TierDestructive, Class: tool.ClassOther,
		Description: "Prune or accept the record; a person's alone, with reeve audit.",
		Schema: `{"type":"object","additionalProperties":false,"required":["do"],"properties":{
			"do":{"type":"string","enum":["prune","accept"]},"keep":{"type":"string"}}}`}
}

// Effects is a change of Reeve itself.
func (t *Tool) Effects([]byte, tool.Place) ([]reeve.Effect, error) {
	return []reeve.Effect{{Kind: reeve.EffectChangeSelf, Why: "the record"}}, nil
}

// Run does what was given for the invocation.
func (t *Tool) Run(ctx context.Context, c tool.Call) reeve.Result {
	job := t.Take(c.ID)
	if job == nil {
		return tool.Denied("the record is pruned with reeve audit, typed by a person, and not by calling this tool")
	}
	if err := c.Permit.Spend(c.Digest); err != nil {
		return tool.Failed("%v", err)
	}
	told, err := job(ctx)
	if err != nil {
		return tool.Failed("%v", err)
	}
	return reeve.Result{Status: reeve.StatusSuccess, Output: told}
}
