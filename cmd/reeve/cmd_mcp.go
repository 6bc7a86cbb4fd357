package main

import (
	"fmt"
	"os"

	"github.com/reeve-gate/reeve/internal/ingress/roster"
)

// cmdMCP is what concerns MCP servers and their clients.
func cmdMCP(env *cmdEnv, args []string) int {
	if len(args) > 0 && args[0] == "serve" {
		return mcpServe(env, args[1:])
	}
	return atDesk(env, func(d *roster.Desk) int { return d.Run(args) })
}

// atDesk is where a person keeps MCP servers.
func atDesk(env *cmdEnv, do func(*roster.Desk) int) int {
	program, err := os.Executable()
	if err != nil {
		return fail(env, fmt.Errorf("find this program's own path: %w", err))
	}
	return do(&roster.Desk{Stdout: env.Stdout, Stderr: env.Stderr, Dir: env.Dir, Getenv: env.Getenv, Exit: exitCode, Program: program,
		Client: func() (roster.Keeper, error) { return dial(env) }, Terminal: func() *os.File { return seat(env) },
		Contained: func(dir string, args []string) int { at := *env; at.Dir = dir; return cmdRun(&at, args) }})
}
