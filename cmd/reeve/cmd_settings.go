package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/daemon"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/services"
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
			fmt.Fprintf(env.Stdout, "%-22s %-12s %-9s %-15s %s\n", t.Name, t.Tier, t.State, t.Source, t.Description)
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
	type profile struct {
		Name      string   `json:"name"`
		Workspace string   `json:"workspace"`
		Agents    string   `json:"agents"` // the agents' state folders
		Git       string   `json:"git"`
		Network   string   `json:"network"`
		Unix      string   `json:"unix_sockets"`
		Hosts     []string `json:"hosts,omitzero"`
		Like      string   `json:"like,omitzero"`
		Write     []string `json:"write,omitzero"` // beside the workspace
		Pass      []string `json:"pass_env,omitzero"`
		Limits    string   `json:"limits,omitzero"`
	}
	word := func(yes bool, a, b string) string {
		if yes {
			return a
		}
		return b
	}
	var all []profile
	own, err := daemon.Profiles(c, home)
	if err != nil {
		return fail(env, err)
	}
	for _, p := range append(jail.Profiles(), own...) {
		all = append(all, profile{p.Name, word(p.ReadOnly, "read-only", "writable"), word(p.AgentState, "writable", "read-only"),
			word(p.WholeGit, "read-only", "writable but for what it executes"), p.Net.String(), word(p.NoUnix, "none", "those not hidden"), p.Hosts,
			c.Sandbox.Profiles[p.Name].Like, p.Write, p.Pass, bounds(p.Limits)})
	}
	agents := services.OfAgents
	if asJSON {
		printJSON(env.Stdout, map[string]any{"profiles": all, "agents": agents})
		return reeve.ExitOK
	}
	for _, p := range all {
		if p.Like != "" {
			p.Name += ", of your own, like " + p.Like
		}
		fmt.Fprintf(env.Stdout, "%s\n  workspace %s, agents' folders %s, .git %s\n  network: %s; unix sockets: %s\n", p.Name, p.Workspace, p.Agents, p.Git, p.Network, p.Unix)
		if len(p.Hosts) > 0 {
			fmt.Fprintf(env.Stdout, "  reaches %s\n", strings.Join(p.Hosts, " "))
		}
		if len(p.Write) > 0 {
			fmt.Fprintf(env.Stdout, "  may write %s\n", strings.Join(p.Write, " "))
		}
		if len(p.Pass) > 0 {
			fmt.Fprintf(env.Stdout, "  passes %s\n", strings.Join(p.Pass, " "))
		}
		if p.Limits != "" {
			fmt.Fprintf(env.Stdout, "  bounds: %s\n", p.Limits)
		}
	}
	fmt.Fprint(env.Stdout, "\nWith the network by rules, the profiles agent and build reach the service of the agent that is started:\n")
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		fmt.Fprintf(env.Stdout, "  %-7s %s\n", name, strings.Join(agents[name], " "))
	}
	return reeve.ExitOK
}

// bounds says what a profile bounds.
func bounds(l jail.Limits) string {
	var all []string
	if l.Memory > 0 {
		all = append(all, fmt.Sprintf("%d MiB of memory", l.Memory>>20))
	}
	if l.Processes > 0 {
		all = append(all, fmt.Sprintf("%d processes", l.Processes))
	}
	if l.Processors > 0 {
		all = append(all, fmt.Sprintf("%g processors", float64(l.Processors)/1000))
	}
	return strings.Join(all, ", ")
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
