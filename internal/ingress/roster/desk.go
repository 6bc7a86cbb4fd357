// Package roster is the door through which a person keeps MCP servers: reeve
// mcp add, import, ls, inspect, trust, enable, disable and rm, and the way of a
// client's servers behind the gateway and back (reeve install --mcp).
//
// [Desk] is where the person stands. [Desk.Run] carries out one command: it
// reads flags and files, shows what would be, asks where a yes is needed, and
// leaves the change itself to the daemon ([Keeper]), which makes it behind the
// kernel. Of a client's own file, which is the person's, [Desk.Move] writes the
// text here. No value that may be a secret is shown.
package roster

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/cmdline"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Keeper makes changes and tells what is known: the daemon.
type Keeper interface {
	Servers(ctx context.Context, w wire.Servers) (wire.Told, error)
	Inspect(ctx context.Context, w wire.Inspect) (wire.Roster, error)
}

// Desk is where a person types a command. Every field is required.
type Desk struct {
	Stdout, Stderr io.Writer
	Dir            string // working directory, absolute
	Getenv         func(string) string
	Client         func() (Keeper, error)
	Terminal       func() *os.File                     // where the person's answer is read; nil = nobody can be asked
	Exit           func(error) int                     // the exit code of an error
	Program        string                              // the absolute path of reeve
	Contained      func(dir string, args []string) int // reeve run in a directory: its exit code
}

// Run carries out one command, what stands after reeve mcp, and gives its exit
// code.
func (d *Desk) Run(args []string) int {
	if len(args) == 0 || verbs[args[0]] == nil {
		return usage(d, "mcp takes one of serve, add, import, ls, inspect, trust, pin, enable, disable, rm; reeve help mcp tells more")
	}
	return verbs[args[0]](d, args[1:])
}

func (d *Desk) absolute(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(d.Dir, p)
}

func flags(d *Desk, name string) *flag.FlagSet {
	return cmdline.New(d.Stderr, name)
}

// mixed parses flags that may stand before, between or after operands.
var mixed = cmdline.Mixed

func usage(d *Desk, format string, args ...any) int {
	fmt.Fprintf(d.Stderr, "reeve: "+format+"\n", args...)
	return reeve.ExitUsage
}

func fail(d *Desk, err error) int {
	fmt.Fprintf(d.Stderr, "reeve: %s\n", redact.Visible(err.Error()))
	return d.Exit(err)
}

func printJSON(w io.Writer, v any) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		fmt.Fprintf(w, "{\"error\":%q}\n", err.Error())
		return
	}
	fmt.Fprintf(w, "%s\n", b)
}

// barred is text whose further lines stand behind a bar, so that none of it
// passes for ours.
func barred(s string) string {
	return strings.ReplaceAll(redact.Visible(s), "\n", "\n         | ")
}
