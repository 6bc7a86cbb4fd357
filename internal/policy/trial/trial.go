// Package trial tries a policy without a kernel: it turns a tool call, as a
// person or a file of cases writes it, into what the judge looks at, and says
// what the judge and the mode would answer.
//
// [Bench] makes the input of one call: the tool's own effects and the facts of
// the disk. [ReadCases] and [Bench.Run] are "reeve policy test": a file of
// cases, each with its rules, its call and the verdict that is right. Nothing
// is run and nothing is written.
//
// # The file of cases
//
// Tab-separated; the first line names the columns, in any order:
//
//	rules-json     the only layer beside the hard guards
//	tool           a tool's name, a class word (bash, read, write, edit, web), or a client's name for it
//	input-json     the tool's arguments; file_path and path mean the same
//	verdict        allow, ask or deny
//	context-json   optional; see [Context]
//	also-ok        optional; further verdicts that are right, separated by commas
//	why            optional; printed with a miss
//
// Other columns are left alone, fields are raw (no quoting), @W@ and @H@ stand
// for the workspace and the home. Where a case says nothing: mode default, no
// sandbox, somebody can answer, and a tool whose tier is write, so that the
// rules alone decide.
package trial

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/policy/look"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Bench is where calls are tried.
type Bench struct {
	// Find returns the tools that a name may mean, ours or a client's, the
	// likeliest first. The first that knows every argument given is taken.
	Find      func(name string) []tool.Tool
	Disk      look.Disk
	Workspace string // absolute and clean
	Home      string
}

// classTools are the tools that the class words stand for in a trial.
var classTools = map[string]string{"exec": "bash", "shell": "bash", "web": "webfetch"}

// Input turns one call into what the judge looks at. dir is the caller's
// directory; empty means the workspace. Facts of session and mode are left to
// the caller. An error is a refusal of the call, as in the kernel's first step.
func (b *Bench) Input(name string, args []byte, dir string) (policy.Input, error) {
	if other, ok := classTools[strings.ToLower(name)]; ok {
		name = other
	}
	var given map[string]jsontext.Value
	if err := json.Unmarshal(args, &given); err != nil {
		return policy.Input{}, fmt.Errorf("the arguments of %s are one JSON object, such as {\"command\":\"git status\"} for bash: %w", name, err)
	}
	t := choose(b.Find(name), given)
	if t == nil {
		return policy.Input{}, fmt.Errorf("there is no tool %q", name)
	}
	if dir == "" {
		dir = b.Workspace
	}
	spec := t.Spec()
	args, err := sameNames(spec, given, args)
	if err != nil {
		return policy.Input{}, err
	}
	at := tool.Place{Workspace: b.Workspace, Home: b.Home, Dir: dir}
	effects, err := t.Effects(args, at)
	if err != nil {
		return policy.Input{}, fmt.Errorf("%s: %w", spec.Name, err)
	}
	in := policy.Input{Tool: spec.Name, Class: spec.Class, Source: spec.Source, Tier: spec.Tier, Args: args, Effects: effects,
		Facts: policy.Facts{Workspace: b.Workspace, Home: b.Home, Dir: dir, Interactive: true, Mode: reeve.ModeDefault, Actor: "agent:trial"}}
	assertChange(name, given, in.Effects)
	in.Effects, in.Facts.RepoRuns = look.Fill(b.Disk, look.Place{Workspace: b.Workspace, Home: b.Home, Dir: dir}, in.Effects)
	return in, nil
}

// choose takes the first tool whose schema names every argument, else the
// first of all.
func choose(tools []tool.Tool, given map[string]jsontext.Value) tool.Tool {
	for _, t := range tools {
		schema, all := t.Spec().Schema, true
		for key := range given {
			all = all && (strings.Contains(schema, `"`+key+`"`) || key == "path" || key == "file_path")
		}
		if all {
			return t
		}
	}
	if len(tools) == 0 {
		return nil
	}
	return tools[0]
}

// assertChange takes a case that edits a file and does not say how for a
// change of a file that exists.
func assertChange(name string, given map[string]jsontext.Value, effects []reeve.Effect) {
	if !strings.Contains(strings.ToLower(name), "edit") || given["old_string"] != nil || given["old"] != nil || given["edits"] != nil {
		return
	}
	for i := range effects {
		effects[i].Exists = effects[i].Exists || effects[i].Kind == reeve.EffectWrite
	}
}

// sameNames lets file_path and path stand for each other: whichever of the two
// the tool does not know is given the other's name.
func sameNames(spec tool.Spec, given map[string]jsontext.Value, args []byte) ([]byte, error) {
	for have, want := range map[string]string{"path": "file_path", "file_path": "path"} {
		v, ok := given[have]
		if !ok || given[want] != nil || strings.Contains(spec.Schema, `"`+have+`"`) || !strings.Contains(spec.Schema, `"`+want+`"`) {
			continue
		}
		delete(given, have)
		given[want] = v
		return json.Marshal(given, json.Deterministic(true))
	}
	return args, nil
}
