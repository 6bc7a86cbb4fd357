// Package host starts programs without any boundary, for the exact calls that
// a person allowed to leave it and where no boundary exists.
//
// [Wall] has the shape of a wall so that the callers are the same, but it is
// never ready and its name says what it is. What it does promise (Y76): a
// process group of its own, no standard input, an end after the wall time, at
// most [jail.MaxUtility], and the end of the whole group. A program that
// leaves its group is not held: only a real wall holds those.
package host

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/group"
	"github.com/reeve-gate/reeve/internal/jail/viewed"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Wall starts programs on the host.
type Wall struct{}

var _ jail.Wall = Wall{}

// Name says that there is no wall.
func (Wall) Name() string { return "host" }

// Ready is always missing: nothing here is a boundary (A7).
func (Wall) Ready(context.Context) jail.Readiness {
	return jail.Readiness{State: reeve.SandboxMissing, Engine: "none: programs run with all your rights"}
}

// Start implements [jail.Wall] without the boundary: of the plan only Dir,
// Env and Limits count. The permit must have been minted for exactly this.
func (Wall) Start(ctx context.Context, p permit.Permit, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := p.Spend(digest); err != nil {
		return nil, fmt.Errorf("start on the host: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start on the host: %w", err)
	}
	if err := viewed.Refuse(plan); err != nil {
		return nil, err
	}
	if len(cmd.Argv) == 0 || plan.Dir == "" {
		return nil, fmt.Errorf("start on the host: %w: a program and its directory are needed", reeve.ErrUsage)
	}
	path, err := group.Find(cmd.Argv[0], plan)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	c := &exec.Cmd{Path: path, Args: cmd.Argv, Dir: plan.Dir, Env: append([]string{}, plan.Env...)}
	proc, err := group.Start(ctx, c, group.Options{
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, TTY: cmd.TTY, Wall: plan.Limits.Wall,
		End: func(code int, _ bool) (jail.Exit, error) {
			return jail.Exit{Code: code, Unheld: []string{"files", "network", "memory", "processes"}}, nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("start on the host: %w", err)
	}
	return proc, nil
}
