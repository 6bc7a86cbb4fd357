// Package tool is the contract of every tool behind the gate: what it is
// called, what arguments it takes, what a call would do to the world, and the
// hand that does it.
//
// A [Tool] says what a call would do ([Tool.Effects]); a [Runner] can also do
// it. A tool that another program executes (Claude Code's own Bash) is a Tool
// without a hand. The kernel alone calls Run, with a permit for that one
// call; the hand spends it in the moment before it acts.
package tool

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Spec describes a tool to callers and to the policy.
type Spec struct {
	Name        string // lower-case; unique in the registry without regard to case
	Description string // one sentence, for people and models
	Schema      string // JSON Schema (2020-12) of the arguments, additionalProperties false
	Tier        reeve.Tier
	Class       Class
	Source      string // "native", "foreign:claude", "mcp:SERVER" ...

	// Orchestrates marks built-in batch and workflow tools, whose built-in
	// children keep the authority of a person who started them (A39, A51).
	Orchestrates bool
	// Long marks a tool that ends when its program or its caller does, not at
	// the kernel's deadline.
	Long bool
}

// Place is where a call happens. All paths are absolute and clean.
type Place struct {
	Workspace string // root of the session's workspace
	Home      string // the person's home directory
	Dir       string // the caller's working directory; below Workspace unless the caller moved
}

// Tool judges nothing and does nothing; it says what a call would do.
type Tool interface {
	Spec() Spec
	// Effects lists everything the call would do, worst case. args is one
	// JSON object that matches the schema. An error is a refusal of the call.
	Effects(args []byte, at Place) ([]reeve.Effect, error)
}

// Runner is a tool whose hand is ours.
type Runner interface {
	Tool
	// Run acts. It spends c.Permit exactly once, immediately before the first
	// effect, and acts on nothing that Effects did not list.
	Run(ctx context.Context, c Call) reeve.Result
}

// Escalator is a tool with an opinion of its own: a non-empty reason raises
// an allow to a question and never lowers anything (contract A42).
type Escalator interface {
	Escalate(args []byte, at Place) (reason string)
}

// Author is a tool whose arguments hold text for files.
type Author interface {
	// Texts are what a call would put into which files, as far as its arguments
	// say; args are those that Effects took.
	Texts(args []byte, at Place) []Text
}

// Text is what a call would put into one file.
type Text struct {
	Path  string // absolute and clean, as in the effects
	New   string
	Old   string // what New replaces there, as the caller has it
	Whole bool   // New replaces all that the file holds
}

// Barred is a tool that may be out of use: a non-empty reason refuses every
// call of it, which no rule and no person's yes to a call lifts.
type Barred interface {
	Barred() (reason string)
}

// Call is one allowed invocation on its way to a hand.
type Call struct {
	Permit    permit.Permit
	Digest    [32]byte // of the invocation; what Permit is spent for
	ID        string   // invocation id
	Session   string   // session id
	Args      []byte
	Place     Place
	Profile   string // sandbox profile of the session
	Contained bool   // processes run inside the boundary; false = on the host, allowed by name or by a person
}

// Denied is a result for a call that did not run.
func Denied(reason string) reeve.Result {
	return reeve.Result{Status: reeve.StatusDenied, Error: reason}
}

// Failed is a result for a call that ran and could not do its work.
func Failed(format string, args ...any) reeve.Result {
	return reeve.Result{Status: reeve.StatusError, Error: fmt.Sprintf(format, args...)}
}

// Registry is the list of tools that exist. It is built once, in the open, in
// the daemon, and read-only after that.
type Registry struct{ byName map[string]Tool }

// NewRegistry lists tools. Two tools of one name, a name that is not
// lower-case, or a tool without a tier above denied and without a class is a
// programmer's mistake and panics.
func NewRegistry(tools ...Tool) *Registry {
	r := &Registry{byName: make(map[string]Tool, len(tools))}
	for _, t := range tools {
		s := t.Spec()
		if s.Name == "" || s.Name != strings.ToLower(s.Name) {
			panic(fmt.Sprintf("tool name %q is not lower-case", s.Name))
		}
		if _, twice := r.byName[s.Name]; twice {
			panic(fmt.Sprintf("tool %q is listed twice", s.Name))
		}
		r.byName[s.Name] = t
	}
	return r
}

// Find returns the tool of that name, without regard to case.
func (r *Registry) Find(name string) (Tool, bool) {
	if t, ok := r.byName[name]; ok {
		return t, true
	}
	t, ok := r.byName[strings.ToLower(name)]
	return t, ok
}

// All lists the tools by name.
func (r *Registry) All() []Tool {
	all := make([]Tool, 0, len(r.byName))
	for _, t := range r.byName {
		all = append(all, t)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Spec().Name < all[j].Spec().Name })
	return all
}
