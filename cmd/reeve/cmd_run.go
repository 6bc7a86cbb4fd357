package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/reeve-gate/reeve/client"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/ingress/bell"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/ingress/secrets"
	"github.com/reeve-gate/reeve/internal/wire"
)

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func cmdRun(env *cmdEnv, args []string) int { return runWith(env, "run", args) }

// runWith is reeve run, and reeve vault run, which asks for a secret.
func runWith(env *cmdEnv, name string, args []string) int {
	f := flags(env, name)
	var r wire.Run
	f.StringVar(&r.Name, "name", "", "name of the session")
	f.StringVar(&r.Profile, "profile", "", "agent, build, strict, read-only or one of your own")
	f.StringVar(&r.Net, "net", "", "none, ask or open")
	f.Var((*list)(&r.AllowHosts), "allow-host", "a host, or HOST:PORT, to reach in this run")
	f.StringVar(&r.Workspace, "workspace", "", "root of the workspace")
	f.StringVar(&r.Host, "host", "", "another machine, as ssh names it")
	f.StringVar(&r.HostDir, "dir", "", "the directory on that machine")
	f.StringVar(&r.Mode, "mode", "", "plan, auto or default, for what hooks ask")
	f.BoolVar(&r.ReadOnly, "read-only", false, "write nothing in the workspace either")
	f.Func("memory", "memory the run may use, such as 4GiB", func(s string) (err error) { r.Memory, err = config.Size(s); return err })
	f.Int64Var(&r.Processes, "processes", 0, "processes the run may have at a time")
	f.BoolVar(&r.Detach, "detach", false, "leave the program running in the background and print its session's id")
	f.BoolVar(&r.Worktree, "worktree", false, "work in a checkout of its own, with a branch of its own")
	f.BoolVar(&r.Review, "review", false, "work on a view of the workspace, and ask at the end what of it is taken over")
	f.BoolVar(&r.NoReceipt, "no-receipt", false, "print no receipt at the end")
	f.Var((*list)(&r.Write), "write", "a further directory to write")
	f.Func("env", "a variable to pass although it looks like a secret, or NAME=SERVICE/KEY, a secret of the vault", func(s string) error {
		if !strings.Contains(s, "=") {
			if env.Getenv(s) == "" {
				return fmt.Errorf("the variable %s is not set here; NAME=SERVICE/KEY gives a secret of the vault", cell.Of(s, 0))
			}
			r.PassEnv = append(r.PassEnv, s)
			return nil
		}
		_, _, err := layout.Secret(s)
		r.Secrets = append(r.Secrets, s)
		return err
	})
	if code, ok := parseFlags(f, args); !ok {
		return code
	}
	if name != "run" && len(r.Secrets) == 0 {
		return usage(env, "no secret was named; write reeve vault run --env NAME=SERVICE/KEY -- CMD")
	}
	secrets.WarnOfEnvironment(env.Stderr, env.Getenv, r.PassEnv)
	r.Argv, r.Dir, r.Env = f.Args(), env.Dir, os.Environ()
	old := syscall.Umask(0o077)
	syscall.Umask(old)
	r.Umask = uint32(old)
	if len(r.Argv) == 0 {
		return usage(env, "no program was named; write reeve run -- CMD")
	}
	streams, ok := fileStreams(env)
	if !ok {
		return usage(env, "a run needs real files as its streams")
	}
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	if r.Detach {
		end, err := c.Run(context.Background(), r, streams, nil)
		return detached(env, end, err)
	}
	if t, ok := terminalOf(streams); ok {
		r.TTY, r.Rows, r.Cols = true, t.Rows, t.Cols
		return reviewed(env, c, streams, func(ctx context.Context, started client.Started) (wire.Ran, error) {
			return c.Run(ctx, r, streams, started)
		})
	}
	if term.IsTerminal(int(streams[2].Fd())) {
		c.Asked = bell.New(streams[2], false).Told
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	end, err := c.Run(ctx, r, streams, nil)
	if err != nil {
		return fail(env, err)
	}
	writeReceipt(env.Stderr, end.Receipt)
	return end.Code
}

// writeReceipt prints one line for each of the receipt, whatever names the
// program chose for its files.
func writeReceipt(w io.Writer, receipt []string) {
	lead := "reeve: "
	for _, line := range receipt {
		fmt.Fprintln(w, lead+cell.Of(line, 0))
		lead = "       "
	}
}

// fileStreams are the three streams of the command as files.
func fileStreams(env *cmdEnv) (s [3]*os.File, ok bool) {
	for i, stream := range [...]any{env.Stdin, env.Stdout, env.Stderr} {
		if s[i], ok = fileOf(stream); !ok {
			return s, false
		}
	}
	return s, true
}
