// Package secret is the tool behind reeve vault: a person keeps, changes or
// sees secrets with it, and nobody else does (contract M25). Each act goes
// through the kernel, so that it is recorded, and the record has names and no
// values.
//
// Values cannot travel as arguments, so the door leaves the act beside the
// invocation, under its id ([Tool.Give]).
package secret

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Name is the tool's name.
const Name = "vault"

// Job is the act of one invocation: it says in lines, without a value, what it
// did.
type Job func() (string, error)

// Args are what rules, questions and records see.
type Args struct {
	Do     string `json:"do"`
	Name   string `json:"name,omitzero"`   // SERVICE/KEY
	Origin string `json:"origin,omitzero"` // of a secret that is set
	Holder string `json:"holder,omitzero"` // who keeps the key from now on
	Path   string `json:"path,omitzero"`   // of a copy
}

// Tool does what a person does with the vault. It is safe for concurrent use.
type Tool struct {
	tool.Jobs[Job]
}

var _ tool.Runner = (*Tool)(nil)

// New returns the tool.
func New() *Tool { return &Tool{} }

// Spec describes the tool.
func (t *Tool) Spec() tool.Spec {
	return tool.Spec{Name: Name, Source: "native", Tier: reeve.TierWrite, Class: tool.ClassOther,
		Description: "Keep, change or show secrets of the vault; a person's alone, with reeve vault.",
		Schema: `{"type":"object","additionalProperties":false,"required":["do"],"properties":{
			"do":{"type":"string","enum":["init","unlock","lock","set","rotate","get","remove","rekey","export","import"]},
			"name":{"type":"string"},"origin":{"type":"string"},"holder":{"type":"string"},"path":{"type":"string"}}}`}
}

// Effects is a change of Reeve itself, or the showing of a secret.
func (t *Tool) Effects(raw []byte, at tool.Place) ([]reeve.Effect, error) {
	var a Args
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	effects := []reeve.Effect{{Kind: reeve.EffectChangeSelf, Why: "the vault (" + a.Do + ")"}}
	switch a.Do {
	case "get":
		effects = []reeve.Effect{{Kind: reeve.EffectReadSecret, Why: a.Name}}
	case "export":
		effects = append(effects, reeve.Effect{Kind: reeve.EffectWrite, Path: a.Path})
	case "import":
		effects = append(effects, reeve.Effect{Kind: reeve.EffectRead, Path: a.Path})
	}
	return effects, nil
}

// Run does what was given for the invocation.
func (t *Tool) Run(ctx context.Context, c tool.Call) reeve.Result {
	job := t.Take(c.ID)
	if job == nil {
		return tool.Denied("the vault is opened with reeve vault, typed by a person, and not by calling this tool")
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
