package main

import (
	"context"
	"errors"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/client"
	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/daemon"
	"github.com/reeve-gate/reeve/internal/ingress/record"
	"github.com/reeve-gate/reeve/internal/wire"
)

// cmdAudit is where a person reads the record.
func cmdAudit(env *cmdEnv, args []string) int {
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return fail(env, err)
	}
	d := &record.Desk{Stdout: env.Stdout, Stderr: env.Stderr, Dir: paths.State, Settings: paths.Config, Build: client.Build(version),
		Present: func(what, word string) error { return present(env, what, word) },
		Recall:  func() (*seal.Memory, error) { return recall(env, paths) },
		Client:  func() (record.Keeper, error) { return dial(env) },
		Fail:    func(err error) int { return fail(env, err) },
	}
	return d.Run(args)
}

// recall asks what the vault remembers of the record: the daemon, where one
// runs, else the vault itself, where its key needs no person.
func recall(env *cmdEnv, paths config.Paths) (*seal.Memory, error) {
	c, err := dial(env)
	if err != nil {
		return nil, err
	}
	r, err := c.Record(context.Background(), wire.Record{Do: "status"})
	if errors.Is(err, reeve.ErrUnavailable) {
		return daemon.Remembered(context.Background(), paths)
	}
	if err != nil || len(r.Memory) == 0 {
		return nil, err
	}
	m, err := seal.ParseMemory(r.Memory)
	return &m, err
}
