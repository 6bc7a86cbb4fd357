package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/codex"
	"github.com/reeve-gate/reeve/internal/ingress/install"
	"github.com/reeve-gate/reeve/internal/ingress/roster"
)

// cmdInstall puts the hook into a client's settings.
func cmdInstall(env *cmdEnv, args []string) int {
	if slices.Contains(args, "--mcp") {
		return atDesk(env, func(d *roster.Desk) int { return d.Move("install", args) })
	}
	c, code, ok := parseInstall(env, "install", args)
	if !ok {
		return code
	}
	program, err := os.Executable()
	if err != nil {
		return fail(env, fmt.Errorf("find this program's own path: %w", err))
	}
	command, err := c.client.Command(program, env.Getenv)
	if err != nil {
		return fail(env, err)
	}
	hooks, err := c.client.Add(c.hooks.Text, c.hooks.Exists, command)
	if err != nil {
		return fail(env, leftAsItIs(c.hooks, err))
	}
	c.hooks.become(hooks, true)
	var trusting []byte
	if c.trust != nil {
		trusting, err = codex.Add(c.trust.Text, c.trust.Exists, c.target, c.client.Trusts(c.target, hooks), c.digests())
		if err != nil {
			return fail(env, leftAsItIs(c.trust, err))
		}
		c.trust.become(trusting, true)
	}
	for _, note := range c.client.ExamineAll(c.target, hooks, trusting, c.others) {
		fmt.Fprintf(env.Stderr, "reeve: %s\n", note)
	}
	// The trust first: without its hook it means nothing.
	return c.finish(env, []*edited{c.trust, c.hooks}, "Reeve's hook is in", "Reeve's hook was there already, in")
}

// cmdUninstall takes the hook out again.
func cmdUninstall(env *cmdEnv, args []string) int {
	if slices.Contains(args, "--mcp") {
		return atDesk(env, func(d *roster.Desk) int { return d.Move("uninstall", args) })
	}
	c, code, ok := parseInstall(env, "uninstall", args)
	if !ok {
		return code
	}
	hooks, exists, err := c.client.Remove(c.hooks.Text)
	if err != nil {
		return fail(env, leftAsItIs(c.hooks, err))
	}
	c.hooks.become(hooks, exists && c.hooks.Exists)
	if c.trust != nil {
		trusting, exists, err := codex.Remove(c.trust.Text, c.target, c.digests())
		if err != nil {
			return fail(env, leftAsItIs(c.trust, err))
		}
		c.trust.become(trusting, exists && c.trust.Exists)
	}
	return c.finish(env, []*edited{c.hooks, c.trust}, "Reeve's hook is gone from", "Reeve's hook was not there, in")
}

func leftAsItIs(f *edited, err error) error {
	return fmt.Errorf("%s is left as it is: %w", f.Path, err)
}

// edited is a file and what it is to be.
type edited struct {
	*install.File
	after  []byte
	exists bool
}

func (f *edited) become(after []byte, exists bool) { f.after, f.exists = after, exists }

func (f *edited) changes() bool { return f.exists != f.Exists || string(f.after) != string(f.Text) }

// installCall is one call of install or uninstall.
type installCall struct {
	client *install.Client
	target string // the hooks' file as the client spells it
	hooks  *edited
	trust  *edited // where the client keeps what the person trusts; nil where it asks for none
	others []install.Source
	dry    bool
}

// digests are of Reeve's hooks as they stood.
func (c *installCall) digests() []string {
	var all []string
	for _, t := range c.client.Trusts(c.target, c.hooks.Text) {
		all = append(all, t.Digest)
	}
	return all
}

func parseInstall(env *cmdEnv, name string, args []string) (c *installCall, code int, ok bool) {
	f := flags(env, name)
	project := f.Bool("project", false, "the settings of this folder in place of your own (claude only)")
	dry := f.Bool("dry-run", false, "show the difference and write nothing")
	var word string
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		word, args = args[0], args[1:]
	}
	if code, ok := parseFlags(f, args); !ok {
		return nil, code, false
	}
	if word == "" && f.NArg() == 1 {
		word = f.Arg(0)
	} else if f.NArg() > 0 {
		return nil, usage(env, "%s takes one client; write reeve %s claude or reeve %s codex", name, name, name), false
	}
	client := install.Named(word)
	if client == nil && word == "" {
		return nil, usage(env, "%s takes a client; write reeve %s claude or reeve %s codex", name, name, name), false
	}
	if client == nil {
		return nil, usage(env, "%q is no client that has a hook for this; write reeve %s claude or reeve %s codex, and run any other agent with reeve run -- %s", word, name, name, word), false
	}
	target, others, err := client.Locate(env.Getenv, env.Dir, *project)
	if err != nil {
		return nil, fail(env, err), false
	}
	c = &installCall{client: client, target: target, others: others, dry: *dry}
	if c.hooks, err = open(target); err != nil {
		return nil, fail(env, err), false
	}
	if path := client.TrustFile(target); path != "" {
		if c.trust, err = open(path); err != nil {
			return nil, fail(env, err), false
		}
	}
	return c, 0, true
}

func open(path string) (*edited, error) {
	f, err := install.Open(path)
	if err != nil {
		return nil, err
	}
	return &edited{File: f}, nil
}

// finish shows or writes what the files are to be, in the order given.
func (c *installCall) finish(env *cmdEnv, files []*edited, done, already string) int {
	files = slices.DeleteFunc(files, func(f *edited) bool { return f == nil })
	if c.dry {
		for _, f := range files {
			fmt.Fprint(env.Stdout, install.Diff(f.Path, f.Text, f.after))
		}
		return reeve.ExitOK
	}
	says := already
	for _, f := range files {
		if !f.changes() {
			continue
		}
		if err := f.Save(f.after, f.exists); err != nil {
			return fail(env, err)
		}
		says = done
	}
	fmt.Fprintf(env.Stderr, "%s %s\n", says, c.hooks.Path)
	return reeve.ExitOK
}
