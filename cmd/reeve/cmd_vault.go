package main

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/ingress/secrets"
)

// cmdVault is where a person keeps secrets.
func cmdVault(env *cmdEnv, args []string) int {
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return fail(env, err)
	}
	d := &secrets.Desk{Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr, Dir: env.Dir, Home: paths.Home, Environ: os.Environ(), Exit: exitCode,
		Client:  func() (secrets.Keeper, error) { return dial(env) },
		Present: func(what, word string) error { return present(env, what, word) },
		Program: func(args []string) int { return runWith(env, "vault run", args) },
	}
	if in, ok := fileOf(env.Stdin); ok && term.IsTerminal(int(in.Fd())) {
		d.Hidden = func(prompt string) ([]byte, error) { return hidden(prompt) }
	}
	return d.Run(args)
}

// hidden reads one line of the terminal without showing it.
func hidden(prompt string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the terminal: %w", err)
	}
	defer tty.Close()
	return secrets.Hidden(tty, prompt)
}
