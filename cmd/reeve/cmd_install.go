package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/install"
)

// cmdInstall puts the hook into a client's settings.
func cmdInstall(env *cmdEnv, args []string) int {
	c, code, ok := parseInstall(env, "install", args)
	if !ok {
		return code
	}
	program, err := os.Executable()
	if err != nil {
		return fail(env, fmt.Errorf("find this program's own path: %w", err))
	}
	command, err := install.Command(program, env.Getenv("REEVE_HOME"))
	if err != nil {
		return fail(env, err)
	}
	after, err := install.Add(c.file.Text, c.file.Exists, command)
	if err != nil {
		return fail(env, fmt.Errorf("%s is left as it is: %w", c.file.Path, err))
	}
	for _, note := range install.ExamineAll(c.file.Path, after, c.others) {
		fmt.Fprintf(env.Stderr, "reeve: %s\n", note)
	}
	return c.finish(env, after, true, "Reeve's hook is in", "Reeve's hook was there already, in")
}

// cmdUninstall takes the hook out again.
func cmdUninstall(env *cmdEnv, args []string) int {
	c, code, ok := parseInstall(env, "uninstall", args)
	if !ok {
		return code
	}
	after, exists, err := install.Remove(c.file.Text)
	if err != nil {
		return fail(env, fmt.Errorf("%s is left as it is: %w", c.file.Path, err))
	}
	return c.finish(env, after, exists && c.file.Exists, "Reeve's hook is gone from", "Reeve's hook was not there, in")
}

// installCall is one call of install or uninstall.
type installCall struct {
	file   *install.File
	others []install.Source
	dry    bool
}

func parseInstall(env *cmdEnv, name string, args []string) (c *installCall, code int, ok bool) {
	f := flags(env, name)
	project := f.Bool("project", false, "the settings of this folder in place of your own")
	dry := f.Bool("dry-run", false, "show the difference and write nothing")
	var client string
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		client, args = args[0], args[1:]
	}
	if code, ok := parseFlags(f, args); !ok {
		return nil, code, false
	}
	if client == "" && f.NArg() == 1 {
		client = f.Arg(0)
	} else if f.NArg() > 0 {
		return nil, usage(env, "%s takes one client; write reeve %s claude", name, name), false
	}
	if client != "claude" {
		return nil, usage(env, "unknown client %q; write reeve %s claude", client, name), false
	}
	target, others, err := install.Locate(env.Getenv, env.Dir, *project)
	if err != nil {
		return nil, fail(env, err), false
	}
	file, err := install.Open(target)
	if err != nil {
		return nil, fail(env, err), false
	}
	return &installCall{file, others, *dry}, 0, true
}

// finish shows or writes what the file is to be.
func (c *installCall) finish(env *cmdEnv, after []byte, exists bool, done, already string) int {
	if c.dry {
		fmt.Fprint(env.Stdout, install.Diff(c.file.Path, c.file.Text, after))
		return reeve.ExitOK
	}
	if exists == c.file.Exists && string(after) == string(c.file.Text) {
		fmt.Fprintf(env.Stderr, "%s %s\n", already, c.file.Path)
		return reeve.ExitOK
	}
	if err := c.file.Save(after, exists); err != nil {
		return fail(env, err)
	}
	fmt.Fprintf(env.Stderr, "%s %s\n", done, c.file.Path)
	return reeve.ExitOK
}
