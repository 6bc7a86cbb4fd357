// Package launch is the tool behind reeve run: it starts one program of the
// person's choice inside a new session's boundary and waits for its end.
//
// A program's streams and its laid-out boundary cannot travel as JSON, so the
// door hands them over beside the invocation, under its id ([Tool.Give]); the
// hand takes them only for the invocation it holds a permit for.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Name is the tool's name.
const Name = "run"

// Job is what one invocation starts.
type Job struct {
	Plan    jail.Plan
	Cmd     jail.Cmd
	Ready   func() error             // called before the tree is started, which an error prevents; nil = nothing to wait for
	Started func(jail.Process) error // called once the tree runs; an error stops it
	Secrets func() ([]string, error) // NAME=value for the environment, asked for right before the start; nil = none
	Exit    jail.Exit                // how the tree ended, valid when Run has returned
	Fault   error                    // why the door stopped what it started, or Secrets gave none

	// Keeper starts the tree in place of the tool's wall, in a process that
	// outlives this one. Run then returns as soon as the tree runs, with an open
	// result: whoever gave the job reports how it ended.
	Keeper jail.Starter

	// Elsewhere starts the tree in place of the tool's wall on another machine,
	// behind a boundary of that machine.
	Elsewhere jail.Starter
}

// Tool starts programs behind one wall.
type Tool struct {
	wall jail.Wall

	tool.Jobs[*Job]
}

var _ tool.Runner = (*Tool)(nil)

// New returns the tool for one wall.
func New(wall jail.Wall) *Tool { return &Tool{wall: wall} }

// Args are the arguments that rules, questions and records see.
type Args struct {
	Argv    []string `json:"argv"`
	Profile string   `json:"profile"`
	Net     string   `json:"net"`
	Write   []string `json:"write,omitzero"`
	Vault   []string `json:"vault,omitzero"` // SERVICE/KEY as NAME; a field called secrets would be masked in the record
	Host    string   `json:"host,omitzero"`  // the other machine it runs on; empty = this one
	Dir     string   `json:"dir,omitzero"`   // the directory there
}

// Spec describes the tool. Its tier is write: what it starts may change the
// workspace, and nothing else that the boundary holds.
func (t *Tool) Spec() tool.Spec {
	return tool.Spec{Name: Name, Source: "native", Tier: reeve.TierWrite, Class: tool.ClassBash, Long: true,
		Description: "Start a program inside the boundary of a new session and wait for its end.",
		Schema: `{"type":"object","additionalProperties":false,"required":["argv","profile","net"],"properties":{
			"argv":{"type":"array","minItems":1,"items":{"type":"string"}},
			"profile":{"type":"string"},"net":{"type":"string"},"write":{"type":"array","items":{"type":"string"}},"vault":{"type":"array","items":{"type":"string"}},
			"host":{"type":"string"},"dir":{"type":"string"}}}`}
}

// Effects is the one program, exactly as given: no shell reads it.
func (t *Tool) Effects(raw []byte, at tool.Place) ([]reeve.Effect, error) {
	var a Args
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	if len(a.Argv) == 0 || a.Argv[0] == "" {
		return nil, fmt.Errorf("argv names no program")
	}
	c := &reeve.Command{Dir: at.Dir, Text: strings.Join(a.Argv, " ")}
	for _, w := range a.Argv {
		c.Words = append(c.Words, reeve.Word{Text: w, Known: true, Quoted: true})
	}
	if filepath.Base(a.Argv[0]) == "reeve" {
		c.Marks |= reeve.CommandSelf
	}
	effects := []reeve.Effect{{Kind: reeve.EffectRun, Command: c}}
	for _, s := range a.Vault {
		effects = append(effects, reeve.Effect{Kind: reeve.EffectUseSecret, Why: s})
	}
	if a.Host != "" {
		effects = append(effects, reeve.Effect{Kind: reeve.EffectConnect, Host: machine(a.Host)})
	}
	return effects, nil
}

// machine is the name of the machine in user@machine, as rules write it.
func machine(host string) string {
	return strings.ToLower(strings.Trim(host[strings.LastIndexByte(host, '@')+1:], "[]"))
}

// Run starts the job and returns when its whole tree is gone. The end of ctx
// stops it.
func (t *Tool) Run(ctx context.Context, c tool.Call) reeve.Result {
	j := t.Take(c.ID)
	if j == nil {
		return tool.Failed("nothing was handed over for this run; start it with reeve run")
	}
	if !c.Contained && j.Elsewhere == nil {
		return tool.Denied("the boundary is missing here, and a run never goes without one; see reeve doctor")
	}
	start := jail.Starter(t.wall)
	switch {
	case j.Keeper != nil:
		start = j.Keeper
	case j.Elsewhere != nil:
		start = j.Elsewhere
	}
	if j.Ready != nil {
		if err := j.Ready(); err != nil {
			return tool.Failed("make ready: %v", err)
		}
	}
	plan := j.Plan
	if j.Secrets != nil {
		set, err := j.Secrets()
		if err != nil {
			j.Fault = err
			return tool.Failed("%v", err)
		}
		plan.Env = with(plan.Env, set)
	}
	p, err := start.Start(ctx, c.Permit, c.Digest, plan, j.Cmd)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return reeve.Result{Status: reeve.StatusError, ExitCode: NotFound, Error: err.Error()}
	case errors.Is(err, fs.ErrPermission):
		return reeve.Result{Status: reeve.StatusError, ExitCode: NotRunnable, Error: err.Error()}
	case err != nil:
		return tool.Failed("start %s: %v", j.Cmd.Argv[0], err)
	}
	if err := j.Started(p); err != nil {
		p.Stop(StopGrace)
	} else if j.Keeper != nil {
		return reeve.Result{Status: reeve.StatusSuccess, Open: true}
	}
	stop := context.AfterFunc(ctx, func() { p.Stop(StopGrace) })
	defer stop()
	j.Exit, err = p.Wait()
	if err != nil {
		return tool.Failed("wait for %s: %v", j.Cmd.Argv[0], err)
	}
	r := reeve.Result{Status: reeve.StatusSuccess, ExitCode: j.Exit.Code}
	if j.Exit.Code != 0 {
		r.Status, r.Error = reeve.StatusError, fmt.Sprintf("%s ended with %d", filepath.Base(j.Cmd.Argv[0]), j.Exit.Code)
	}
	return r
}

// with is an environment with entries in place of those of the same name.
func with(env, set []string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	})
	return append(out, set...)
}

// What a shell answers for a program that it cannot start (POSIX, 2.8.2).
const (
	NotRunnable = 126
	NotFound    = 127
)

// StopGrace is how long a tree may take to end after SIGTERM (contract Y74).
const StopGrace = 2 * time.Second
