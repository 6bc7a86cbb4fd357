// Package takeover is the tool behind reeve sessions apply: it writes changes
// of a session's view to the workspace (package view), as a person chose them.
//
// The hand is the view's own and cannot travel as JSON; the door hands it over
// beside the invocation, under its id ([Tool.Give]). Rules, questions and
// records see the paths.
package takeover

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Name is the tool's name.
const Name = "take_over"

// Args are the arguments that rules, questions and records see.
type Args struct {
	Session string   `json:"session"` // whose view it is
	Write   []string `json:"write,omitzero"`
	Delete  []string `json:"delete,omitzero"` // both from the workspace's root
}

// Tool takes changes over.
type Tool struct {
	tool.Jobs[func() reeve.Result] // does what the arguments say and nothing else
}

var _ tool.Runner = (*Tool)(nil)

// New returns the tool.
func New() *Tool { return &Tool{} }

// Spec describes the tool.
func (t *Tool) Spec() tool.Spec {
	return tool.Spec{Name: Name, Source: "native", Tier: reeve.TierWrite, Class: tool.ClassWrite, Long: true,
		Description: "Take changes over from the view that a session worked in.",
		Schema: `{"type":"object","additionalProperties":false,"required":["session"],"properties":{"session":{"type":"string","minLength":1},` +
			`"write":{"type":"array","items":{"type":"string","minLength":1}},"delete":{"type":"array","items":{"type":"string","minLength":1}}}}`}
}

// Effects are the paths, each by itself.
func (t *Tool) Effects(raw []byte, at tool.Place) ([]reeve.Effect, error) {
	var a Args
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	var out []reeve.Effect
	add := func(kind reeve.EffectKind, paths []string) error {
		for _, p := range paths {
			if !filepath.IsLocal(p) {
				return fmt.Errorf("%q is no path below the workspace", p)
			}
			out = append(out, reeve.Effect{Kind: kind, Path: filepath.Join(at.Workspace, p)})
		}
		return nil
	}
	if err := errors.Join(add(reeve.EffectWrite, a.Write), add(reeve.EffectDelete, a.Delete)); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no path is named")
	}
	return out, nil
}

// Run lets the hand act.
func (t *Tool) Run(_ context.Context, c tool.Call) reeve.Result {
	hand := t.Take(c.ID)
	if hand == nil {
		return tool.Failed("nothing was handed over to be taken; use reeve sessions apply")
	}
	if err := c.Permit.Spend(c.Digest); err != nil {
		return tool.Denied(err.Error())
	}
	return hand()
}
