package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/client"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/daemon"
	"github.com/reeve-gate/reeve/internal/ingress/cmdline"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/wire"
)

// version is the release; a build from source is "devel".
const version = "devel"

// dial returns the client of this installation.
func dial(env *cmdEnv) (*client.Client, error) {
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return nil, err
	}
	return &client.Client{Paths: paths, Build: client.Build(version), Getenv: env.Getenv}, nil
}

// flags returns a flag set that says what is wrong on the command's stderr.
func flags(env *cmdEnv, name string) *flag.FlagSet {
	return cmdline.New(env.Stderr, name)
}

// parseFlags parses args; ok is false where the command must end with code.
var parseFlags = cmdline.Parse

// printJSON writes one value and a newline.
func printJSON(w io.Writer, v any) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		fmt.Fprintf(w, "{\"error\":%q}\n", err.Error())
		return
	}
	fmt.Fprintf(w, "%s\n", b)
}

func cmdUp(env *cmdEnv, args []string) int {
	if code, ok := parseFlags(flags(env, "up"), args); !ok {
		return code
	}
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	if _, err := c.Up(context.Background()); err != nil {
		return fail(env, err)
	}
	return reeve.ExitOK
}

func cmdDown(env *cmdEnv, args []string) int {
	f := flags(env, "down")
	stop := f.Bool("stop-sessions", false, "end the sessions too that would go on without it")
	if code, ok := parseFlags(f, args); !ok {
		return code
	}
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	on, err := c.Down(ctx, wire.Down{StopSessions: *stop})
	if err != nil {
		return fail(env, err)
	}
	for _, id := range on.Sessions {
		fmt.Fprintf(env.Stderr, "session %s goes on\n", id)
	}
	return reeve.ExitOK
}

func cmdStatus(env *cmdEnv, args []string) int {
	f := flags(env, "status")
	asJSON := f.Bool("json", false, "print JSON")
	if code, ok := parseFlags(f, args); !ok {
		return code
	}
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	s, err := c.Status(context.Background())
	if err != nil {
		return fail(env, err)
	}
	if *asJSON {
		printJSON(env.Stdout, s)
		return reeve.ExitOK
	}
	fmt.Fprintf(env.Stdout, "daemon     %d, since %s\nsocket     %s\nsandbox    %s\naudit      %s\nsigned     %s\nsessions   %d\nquestions  %d\n",
		s.PID, s.Started.Local().Format("2006-01-02 15:04:05"), s.Socket, s.Sandbox, s.Audit, redact.Visible(s.Signed), s.Sessions, s.Questions)
	for _, p := range s.Published {
		fmt.Fprintf(env.Stdout, "published  %s\n", redact.Visible(p))
	}
	if s.Telemetry != "" {
		fmt.Fprintf(env.Stdout, "telemetry  %s\n", redact.Visible(s.Telemetry))
	}
	for _, n := range s.Notes {
		fmt.Fprintf(env.Stdout, "note       %s\n", n)
	}
	return reeve.ExitOK
}

// writeNotes says on standard error what stands in the files of the
// configuration and does not hold in the daemon; nothing where none runs.
func writeNotes(env *cmdEnv) {
	c, err := dial(env)
	if err != nil {
		return
	}
	s, _ := c.Status(context.Background())
	for _, n := range s.Notes {
		fmt.Fprintf(env.Stderr, "reeve: note: %s\n", n)
	}
}

// cmdDaemon is the daemon itself; up and every other command start it.
func cmdDaemon(env *cmdEnv, args []string) int {
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return fail(env, err)
	}
	ready := os.NewFile(3, "ready")
	if _, err := ready.Stat(); err != nil {
		ready = nil
	}
	opt := daemon.Options{Paths: paths, Build: client.Build(version), Getenv: env.Getenv, Log: &localsock.Log{File: os.Stderr}}
	if ready != nil {
		opt.Ready = ready
	}
	if err := daemon.Run(context.Background(), opt); err != nil {
		return fail(env, err)
	}
	return reeve.ExitOK
}

func cmdVersion(env *cmdEnv, args []string) int {
	if code, ok := parseFlags(flags(env, "version"), args); !ok {
		return code
	}
	fmt.Fprintf(env.Stdout, "reeve %s\n", version)
	return reeve.ExitOK
}
