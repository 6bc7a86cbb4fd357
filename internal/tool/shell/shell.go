// Package shell is the tool bash: it runs one line of shell text.
//
// What the line would do is read before it runs (package shellread). It runs
// as bash --norc --noprofile -c TEXT, behind a [Runner] that holds the
// session's boundary, with no standard input, in a group of its own, for at
// most five minutes, and keeps the last 40 KiB of each stream (contract Y76).
// The command never reaches the host because the boundary failed: the Runner
// refuses, and so does the call (A14).
package shell

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/shellread"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Runner runs a program for an allowed call.
type Runner interface {
	// Output runs argv in dir, with env added to the session's environment,
	// for at most wall: inside the session's boundary where c.Contained is
	// set, else on the host. It spends c.Permit before anything starts. The
	// environment it builds is a list of what passes: BASH_ENV, ENV, exported
	// functions and GIT_ variables of the daemon are not among it.
	Output(ctx context.Context, c tool.Call, dir string, argv, env []string, wall time.Duration) (jail.Captured, error)
}

// Bounds of a command's time.
const (
	DefaultTimeout = 60 * time.Second
	MaxTimeout     = 300 * time.Second
)

// Bash is the tool.
type Bash struct{ runner Runner }

var _ tool.Runner = Bash{}

// New returns the tool behind a runner. With none it can say what a call would
// do, and every call of it is refused.
func New(r Runner) Bash { return Bash{r} }

// Spec describes the tool.
func (Bash) Spec() tool.Spec {
	return tool.Spec{
		Name: "bash", Source: "native", Tier: reeve.TierWrite, Class: tool.ClassBash,
		Description: "Run a command line with bash, in cwd below the workspace, for at most timeout_s seconds (60; at most 300). " +
			"host asks to run outside the sandbox.",
		Schema: `{"type":"object","additionalProperties":false,"required":["command"],"properties":{"command":{"type":"string","minLength":1},` +
			`"cwd":{"type":"string","minLength":1},"timeout_s":{"type":"integer","minimum":1},"host":{"type":"boolean"}}}`,
	}
}

type args struct {
	Command string `json:"command"`
	Dir     string `json:"cwd"`
	Timeout int    `json:"timeout_s"`
	Host    bool   `json:"host"`
}

// read reads the arguments and settles where the command starts.
func read(raw []byte, at tool.Place) (args, error) {
	var a args
	if err := json.Unmarshal(raw, &a, json.RejectUnknownMembers(true)); err != nil {
		return a, fmt.Errorf("read arguments: %w", err)
	}
	switch {
	case strings.TrimSpace(a.Command) == "":
		return a, errors.New("the command is empty")
	case strings.IndexByte(a.Command, 0) >= 0:
		return a, errors.New("the command holds a NUL byte")
	case a.Timeout < 0 || time.Duration(a.Timeout)*time.Second > MaxTimeout:
		return a, fmt.Errorf("timeout_s is at most %d", int(MaxTimeout.Seconds()))
	}
	dir := at.Dir
	if a.Dir != "" {
		if dir = filepath.Clean(a.Dir); !filepath.IsAbs(dir) {
			dir = filepath.Join(at.Dir, dir)
		}
		if rel, err := filepath.Rel(at.Workspace, dir); err != nil || !filepath.IsLocal(rel) || strings.IndexByte(dir, 0) >= 0 {
			return a, fmt.Errorf("cwd %s is outside the workspace %s", dir, at.Workspace)
		}
	}
	a.Dir = dir
	return a, nil
}

// Effects is everything the line may do. With host, every command of it is
// marked as one that asks to leave the sandbox.
func (Bash) Effects(raw []byte, at tool.Place) ([]reeve.Effect, error) {
	a, err := read(raw, at)
	if err != nil {
		return nil, err
	}
	effects := shellread.Read(a.Command, shellread.At{Dir: a.Dir, Home: at.Home, Workspace: at.Workspace})
	if !a.Host {
		return effects, nil
	}
	marked := false
	for _, e := range effects {
		if e.Kind == reeve.EffectRun && e.Command != nil {
			e.Command.Marks |= reeve.CommandHost
			marked = true
		}
	}
	if !marked {
		effects = append(effects, reeve.Effect{Kind: reeve.EffectUnknown, Why: "asks to run outside the sandbox"})
	}
	return effects, nil
}

// Run runs the line.
func (b Bash) Run(ctx context.Context, c tool.Call) reeve.Result {
	a, err := read(c.Args, c.Place)
	if err != nil {
		return tool.Failed("%v", err)
	}
	if b.runner == nil {
		return tool.Denied("bash has nothing to run commands with here")
	}
	wall := DefaultTimeout
	if a.Timeout > 0 {
		wall = time.Duration(a.Timeout) * time.Second
	}
	argv := []string{"bash", "--norc", "--noprofile", "-c", a.Command}
	got, err := b.runner.Output(ctx, c, a.Dir, argv, nil, wall)
	if err != nil {
		return tool.Failed("bash: %v", err)
	}
	r := reeve.Result{
		Status: reeve.StatusSuccess, Output: text(got), ExitCode: got.Exit.Code, Duration: got.Duration,
		Truncated: got.Stdout.Truncated() || got.Stderr.Truncated(),
	}
	switch {
	case got.TimedOut:
		r.Status, r.Error = reeve.StatusTimeout, fmt.Sprintf("stopped after %s", wall)
	case got.Exit.Code != 0:
		r.Status, r.Error = reeve.StatusError, fmt.Sprintf("exit code %d", got.Exit.Code)
	}
	return r
}

// text is what the command printed: standard output, then standard error
// under a line of its own where both say something.
func text(c jail.Captured) string {
	out, errs := tail(c.Stdout), tail(c.Stderr)
	if errs == "" {
		return out
	}
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	if out != "" {
		out += "[standard error]\n"
	}
	return out + errs
}

// tail is the kept end of a stream, from a whole line on, with how much is
// missing before it.
func tail(t jail.Tail) string {
	if !t.Truncated() {
		return strings.ToValidUTF8(t.Text, "\ufffd")
	}
	kept := t.Text
	if i := strings.IndexByte(kept, '\n'); i >= 0 && i+1 < len(kept) {
		kept = kept[i+1:]
	}
	return fmt.Sprintf("[%d bytes before this are not shown]\n%s", t.Total-int64(len(kept)), strings.ToValidUTF8(kept, "\ufffd"))
}
