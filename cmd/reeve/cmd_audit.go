package main

import (
	"github.com/reeve-gate/reeve/client"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/ingress/record"
)

// cmdAudit is where a person reads the record.
func cmdAudit(env *cmdEnv, args []string) int {
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return fail(env, err)
	}
	d := &record.Desk{Stdout: env.Stdout, Stderr: env.Stderr, Dir: paths.State, Settings: paths.Config, Build: client.Build(version),
		Present: func(what, word string) error { return present(env, what, word) },
		Fail:    func(err error) int { return fail(env, err) },
	}
	return d.Run(args)
}
