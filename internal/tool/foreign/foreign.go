// Package foreign describes the tools of other agents, so that a call which
// another program will carry out is judged by the same effects as our own.
//
// The tools here have no hand: they say what a call would do and nothing
// more. [Tools] lists those of one client, for the registry; [Find] makes one
// for a name that no list holds: a tool of an MCP server, or one that the
// client learnt after this was written. What is not known is an unknown
// effect, which no rule allows by accident.
//
// A tool's name here is the client's, a colon and the client's own name for
// it, in lower case: claude:bash. An MCP tool keeps the name that rules use,
// mcp__server__tool.
package foreign

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// clients are the agents whose tools are described.
var clients = map[string][]kind{"claude": claude, "codex": codex}

// kind is one tool of a client.
type kind struct {
	name    string // lower-case, without the client
	about   string
	schema  string
	tier    reeve.Tier
	class   tool.Class
	effects func(args []byte, at tool.Place) ([]reeve.Effect, error)
}

// described is a kind under its client's name.
type described struct {
	kind
	spec tool.Spec
}

var _ tool.Author = described{}

func (d described) Spec() tool.Spec { return d.spec }

// Effects lists what the client's tool would do with args.
func (d described) Effects(args []byte, at tool.Place) ([]reeve.Effect, error) {
	return d.effects(args, at)
}

func describe(client string, k kind, name string) described {
	return described{k, tool.Spec{
		Name: name, Description: k.about, Schema: k.schema, Tier: k.tier, Class: k.class, Source: "foreign:" + client,
	}}
}

// Tools lists the tools of one client; an unknown client has none.
func Tools(client string) []tool.Tool {
	var all []tool.Tool
	for _, k := range clients[strings.ToLower(client)] {
		all = append(all, describe(client, k, Canonical(client, k.name)))
	}
	return all
}

// Names are what the tools of a client are called there, in lower case.
func Names(client string) []string {
	var all []string
	for _, k := range clients[strings.ToLower(client)] {
		all = append(all, k.name)
	}
	return all
}

// Canonical is the registry's name for a client's tool.
func Canonical(client, name string) string {
	return strings.ToLower(client) + ":" + strings.ToLower(name)
}

// Find answers for any name of Canonical's form whose client is known. A tool
// that no list holds is one of unknown effect; of an MCP server's tool the
// name is kept as rules write it.
func Find(canonical string) (tool.Tool, bool) {
	client, name, ok := strings.Cut(strings.ToLower(canonical), ":")
	list, known := clients[client]
	if !ok || !known || name == "" {
		return nil, false
	}
	for _, k := range list {
		if k.name == name {
			return describe(client, k, Canonical(client, name)), true
		}
	}
	if strings.HasPrefix(name, "mcp__") {
		k := kind{name, "a tool of an MCP server", anyObject, reeve.TierWrite, tool.ClassMCP, unknown("nothing is known of what " + name + " does")}
		return describe(client, k, name), true
	}
	k := kind{name, "a tool that Reeve does not know", anyObject, reeve.TierWrite, tool.ClassOther, unknown("Reeve does not know the tool " + name)}
	return describe(client, k, Canonical(client, name)), true
}

// anyObject is the schema of arguments that nothing is asked of.
const anyObject = `{"type":"object"}`

// nothing is the effect of a tool that touches only the client's own state.
func nothing([]byte, tool.Place) ([]reeve.Effect, error) { return nil, nil }

func unknown(why string) func([]byte, tool.Place) ([]reeve.Effect, error) {
	return func([]byte, tool.Place) ([]reeve.Effect, error) {
		return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: why}}, nil
	}
}

func external(why string) func([]byte, tool.Place) ([]reeve.Effect, error) {
	return func([]byte, tool.Place) ([]reeve.Effect, error) {
		return []reeve.Effect{{Kind: reeve.EffectExternal, Why: why}}, nil
	}
}

// rest collects arguments that are not in a tool's list. A client may carry a
// second meaning in one, so that a call with such an argument is not known.
type rest map[string]jsontext.Value

func (r rest) effects() []reeve.Effect {
	if len(r) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(r))
	return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: "an argument that Reeve does not know: " + clip(strings.Join(names, ", "), 120)}}
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + " ..."
}

func decode(args []byte, into any) error {
	if err := json.Unmarshal(args, into); err != nil {
		return fmt.Errorf("read arguments: %w", err)
	}
	return nil
}

// path makes a client's path absolute and clean: relative to the client's
// directory, with a leading ~ for the home.
func path(p string, at tool.Place) (string, error) {
	switch {
	case p == "" || strings.IndexByte(p, 0) >= 0:
		return "", fmt.Errorf("path %q is not usable", p)
	case p == "~" || strings.HasPrefix(p, "~/"):
		if at.Home == "" {
			return "", fmt.Errorf("path %q: the home directory is not known", p)
		}
		return filepath.Join(at.Home, p[1:]), nil
	case filepath.IsAbs(p):
		return filepath.Clean(p), nil
	}
	return filepath.Join(at.Dir, p), nil
}
