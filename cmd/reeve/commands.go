package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/reeve-gate/reeve"
)

// command is one word after reeve. Its help is the manual: docs/cli.md is
// made from it.
type command struct {
	name    string
	summary string // one line
	usage   string // forms, one a line
	help    string // what it does, its exit codes
	hidden  bool   // Reeve starts it itself
	run     func(*cmdEnv, []string) int
}

// commands is every command, in the order of the manual.
func commands() []command {
	return []command{}
}

const exitCodes = "0 done; 1 failed; 2 usage; 3 denied; 4 needed a person and none answered; 5 boundary missing. reeve run passes the command's own code."

// dispatch finds and runs the command named by the first argument.
func dispatch(env *cmdEnv, args []string) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		args = append([]string{"help"}, args[min(1, len(args)):]...)
	}
	if args[0] == "help" {
		return cmdHelp(env, args[1:])
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		if len(args) > 1 && (args[1] == "-h" || args[1] == "--help") {
			return cmdHelp(env, args[:1])
		}
		return c.run(env, args[1:])
	}
	return usage(env, "unknown command %q; reeve help lists them", args[0])
}

// usage says what is wrong with the command line.
func usage(env *cmdEnv, format string, args ...any) int {
	fmt.Fprintf(env.Stderr, "reeve: "+format+"\n", args...)
	return reeve.ExitUsage
}

// fail says what went wrong while doing it.
func fail(env *cmdEnv, err error) int {
	fmt.Fprintf(env.Stderr, "reeve: %v\n", err)
	return exitCode(err)
}

func cmdHelp(env *cmdEnv, args []string) int {
	switch {
	case len(args) == 0:
		writeOverview(env.Stdout)
		return reeve.ExitOK
	case args[0] == "--markdown":
		writeMarkdown(env.Stdout)
		return reeve.ExitOK
	}
	for _, c := range commands() {
		if c.name == args[0] {
			fmt.Fprintf(env.Stdout, "%s\n\nUsage:\n%s\n\n%s\n", c.summary, indent(c.usage), c.help)
			return reeve.ExitOK
		}
	}
	return usage(env, "unknown command %q; reeve help lists them", args[0])
}

func writeOverview(w io.Writer) {
	fmt.Fprint(w, "Reeve is the one gate through which everything an AI agent does on this machine must pass.\n\nCommands:\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
		}
	}
	fmt.Fprintf(w, "\nreeve help COMMAND tells more. Exit codes: %s\n", exitCodes)
}

func writeMarkdown(w io.Writer) {
	fmt.Fprint(w, "# Commands\n\nThis page is generated from the program's own help: `reeve help --markdown`.\n\nExit codes: "+exitCodes+"\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "\n## reeve %s\n\n%s\n\n```\n%s\n```\n\n%s\n", c.name, c.summary, strings.TrimSpace(c.usage), c.help)
		}
	}
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ")
}
