package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/boundary"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/wire"
)

func cmdTools(env *cmdEnv, args []string) int {
	if len(args) == 0 {
		args = []string{"ls"}
	}
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	switch {
	case args[0] == "ls":
		f := flags(env, "tools ls")
		asJSON := f.Bool("json", false, "print JSON")
		if code, ok := parseFlags(f, args[1:]); !ok {
			return code
		}
		ts, err := c.Tools(context.Background())
		if err != nil {
			return fail(env, err)
		}
		if *asJSON {
			printJSON(env.Stdout, ts)
			return reeve.ExitOK
		}
		for _, t := range ts {
			fmt.Fprintf(env.Stdout, "%-36s %-12s %-9s %-15s %s\n", t.Name, t.Tier, t.State, t.Source, t.Description)
		}
		return reeve.ExitOK
	case args[0] == "set" && len(args) == 3:
		if err := c.SetTool(context.Background(), wire.SetTool{Name: args[1], State: args[2]}); err != nil {
			return fail(env, err)
		}
		return reeve.ExitOK
	}
	return usage(env, "write reeve tools ls, or reeve tools set NAME auto|ask|approval|off")
}

func cmdConfig(env *cmdEnv, args []string) int {
	if len(args) == 0 || args[0] != "explain" {
		return usage(env, "write reeve config explain")
	}
	args = args[1:]
	sandbox := len(args) > 0 && args[0] == "sandbox"
	if sandbox {
		args = args[1:]
	}
	f := flags(env, "config explain")
	asJSON := f.Bool("json", false, "print JSON")
	if code, ok := parseFlags(f, args); !ok {
		return code
	}
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return fail(env, err)
	}
	c, err := config.Load(paths.Config)
	if err != nil {
		return fail(env, err)
	}
	defer writeNotes(env)
	if sandbox {
		return explainSandbox(env, c, paths.Home, *asJSON)
	}
	if *asJSON {
		printJSON(env.Stdout, c.Settings())
		return reeve.ExitOK
	}
	fmt.Fprintf(env.Stdout, "config  %s\nstate   %s\ndata    %s\n\n", paths.Config, paths.State, paths.Data)
	for _, s := range c.Settings() {
		from := "default"
		if s.Value != s.Default && !(s.Default == "" && s.Value == "[]") {
			from = filepath.Join(paths.Config, "config.toml")
		}
		fmt.Fprintf(env.Stdout, "%-22s %-10s (%s) %s\n", s.Key, s.Value, from, s.Doc)
	}
	return reeve.ExitOK
}

// explainSandbox prints the profiles of the boundary, and the hosts that they
// reach by themselves.
func explainSandbox(env *cmdEnv, c *config.Config, home string, asJSON bool) int {
	own, err := boundary.Profiles(c, home)
	if err != nil {
		return fail(env, err)
	}
	like := func(name string) string { return c.Sandbox.Profiles[name].Like }
	if asJSON {
		printJSON(env.Stdout, layout.Explain(own, like))
		return reeve.ExitOK
	}
	layout.Explain(own, like).Write(env.Stdout)
	return reeve.ExitOK
}

// policyTrust accepts the exact content of the project's policy file as it is
// now.
func policyTrust(env *cmdEnv, args []string) int {
	f := flags(env, "policy trust")
	forget := f.Bool("forget", false, "trust it no longer")
	if code, ok := parseFlags(f, args); !ok {
		return code
	}
	ws := session.Repository(env.Dir)
	file := filepath.Join(ws, ".reeve", "policy.toml")
	src, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fail(env, fmt.Errorf("%w: there is no policy of this project to trust: %s does not exist", reeve.ErrNotFound, file))
	}
	if err != nil {
		return fail(env, fmt.Errorf("read the project's policy: %w", err))
	}
	digest := sha256.Sum256(src)
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	if err := c.Trust(context.Background(), wire.Trust{Workspace: ws, Digest: digest[:], Forget: *forget}); err != nil {
		return fail(env, err)
	}
	fmt.Fprintf(env.Stderr, "%s is trusted as it is now (%x); any change makes it tighten only again\n", file, digest[:6])
	return reeve.ExitOK
}
