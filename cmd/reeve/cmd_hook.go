package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Exit codes of reeve hook: a client lets a call through on every other one.
const (
	hookAnswered = 0
	hookDenied   = 2
)

// maxEvent bounds one hook event, in bytes.
const maxEvent = 2 << 20

// cmdHook hands one event of a client's hook to the daemon and prints its
// answer. Whatever goes wrong is a denial that the client obeys.
func cmdHook(env *cmdEnv, args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			code = hookFault(env, fmt.Errorf("internal fault: %v", p))
		}
	}()
	if len(args) != 1 {
		return hookFault(env, fmt.Errorf("write reeve hook claude or reeve hook codex"))
	}
	event, err := io.ReadAll(io.LimitReader(env.Stdin, maxEvent+1))
	if err != nil {
		return hookFault(env, fmt.Errorf("read the event: %w", err))
	}
	if len(event) > maxEvent {
		return hookFault(env, fmt.Errorf("the event is longer than %d bytes", maxEvent))
	}
	c, err := dial(env)
	if err != nil {
		return hookFault(env, err)
	}
	limit := hookLimit(c.Paths.Config)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	h := wire.Hook{Client: args[0], Event: event, Dir: env.Dir}
	if h.Client == "claude" {
		h.ProjectDir = env.Getenv("CLAUDE_PROJECT_DIR")
	}
	out, err := c.Hook(ctx, h)
	if errors.Is(err, context.DeadlineExceeded) {
		return hookFault(env, fmt.Errorf("the daemon gave no answer within %s; reeve status shows whether it lives", limit))
	}
	if err != nil {
		return hookFault(env, err)
	}
	if _, err := env.Stdout.Write(out.Stdout); err != nil {
		return hookFault(env, fmt.Errorf("write the answer: %w", err))
	}
	io.WriteString(env.Stderr, redact.Visible(out.Stderr))
	if out.Exit != hookAnswered {
		return hookDenied
	}
	return hookAnswered
}

// hookLate is how much longer than the daemon's own deadline an answer is
// waited for: the door answers at most 2 s after it.
const hookLate = 5 * time.Second

// hookLimit is when the hook gives up on a daemon that does not answer, and
// denies: before the client's own 600 s, at which it would let the call
// through. Settings that cannot be read are the daemon's to complain about;
// inside a session they are not there to be read.
func hookLimit(dir string) time.Duration {
	const most = 590 * time.Second
	c, err := config.Load(dir)
	if err != nil {
		return most
	}
	return min(config.Duration(c.Gate.HookDeadline)+hookLate, most)
}

func hookFault(env *cmdEnv, err error) int {
	fmt.Fprintf(env.Stderr, "Reeve denies this call, since it could not decide it: %s\n", redact.Visible(err.Error()))
	return hookDenied
}
