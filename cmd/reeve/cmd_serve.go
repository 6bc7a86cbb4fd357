package main

import (
	"context"
	"flag"
	"io"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/cmdline"
	"github.com/reeve-gate/reeve/internal/wire"
)

const serveUsage = "reeve mcp serve [--client NAME] [--server NAME] [--only PATTERN]... [--hide PATTERN]... [--workspace DIR] [--http [--listen ADDR]]"

const serveHelp = "serve is what an MCP client has in its settings as its one server: it speaks the protocol on its standard streams, in either era, and has all servers of mcp.json behind it, each started at its first use inside a boundary of its own. Tools are named SERVER__TOOL; every call is decided, asked about, recorded and masked like any other act. --server serves one of them alone, under its own names. --only and --hide say by patterns of names (* is any text) what the client is shown; what is hidden is found and called by two tools of Reeve's own. --client names the client in the record. --workspace is the directory that servers are shown where they are shown the workspace; without it, the repository around the working directory.\n\n--http serves streamable HTTP at /mcp in place of the standard streams, on an address of this machine alone (127.0.0.1:8765), to whoever carries the bearer token that stands in the file it names; requests under another host's name or from another origin are refused."

// mcpServe hands this process's streams to the daemon, which serves the client
// on them, and waits until it has.
func mcpServe(env *cmdEnv, args []string) int {
	m := wire.MCP{Dir: env.Dir}
	f := flag.NewFlagSet("mcp serve", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&m.Client, "client", "", "")
	f.StringVar(&m.Server, "server", "", "")
	f.BoolVar(&m.HTTP, "http", false, "")
	listen := f.String("listen", "127.0.0.1:8765", "")
	f.StringVar(&m.Workspace, "workspace", "", "")
	f.Func("only", "", func(s string) error { m.Only = append(m.Only, s); return nil })
	f.Func("hide", "", func(s string) error { m.Hide = append(m.Hide, s); return nil })
	if err := f.Parse(args); err != nil {
		return usage(env, "mcp serve: %s; reeve help mcp tells more", cmdline.Said(err.Error()))
	}
	if f.NArg() > 0 {
		return usage(env, "mcp serve takes no %q", f.Arg(0))
	}
	if m.Workspace != "" && !filepath.IsAbs(m.Workspace) {
		m.Workspace = filepath.Join(env.Dir, m.Workspace)
	}
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	if err := c.MCP(ctx, m, *listen, env.Stderr); err != nil && ctx.Err() == nil {
		return fail(env, err)
	}
	return reeve.ExitOK
}
