package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/boundary"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
	"github.com/reeve-gate/reeve/internal/ingress/filter"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/ingress/record"
	"github.com/reeve-gate/reeve/internal/ingress/roster"
	"github.com/reeve-gate/reeve/internal/ingress/secrets"
	"github.com/reeve-gate/reeve/internal/jail/keeper"
	"github.com/reeve-gate/reeve/internal/jail/landlock"
	"github.com/reeve-gate/reeve/internal/jail/probe"
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
	return []command{
		{name: "run", run: cmdRun, summary: "Run a program inside the boundary.",
			usage: "reeve run [--detach] [--name N] [--profile agent|build|strict|read-only] [--net none|ask|open] [--allow-host HOST[:PORT]]... [--write DIR]... [--env NAME[=SERVICE/KEY]]... [--read-only] [--memory SIZE] [--processes N] [--workspace DIR] [--mode M] [--worktree | --review] [--no-receipt] [--host USER@MACHINE --dir DIR] -- CMD ARGS",
			help:  "CMD and everything it starts run in a session of their own: writes only in the workspace (the repository around the working directory), credentials and control sockets hidden, the environment scrubbed. It never runs unprotected: where the boundary does not hold, nothing starts and the exit code is 5 (see reeve doctor). Otherwise the exit code is CMD's own, 128+N where a signal ended it.\n\n--net ask is a network by rule: each new host is decided by your rules, and asked about where none speaks of it (reeve approvals), while the connection waits; --allow-host lets one be reached in this run, and is the one way to a port of this machine (127.0.0.1:PORT). --net none is no network, --net open this machine's own, undecided and unrecorded. The profile build reaches package registries too.\n\n--memory (such as 4GiB) and --processes bound what the run may use; the receipt says which bounds hold on this machine.\n\n--host runs CMD on another machine, in the directory there that --dir names, behind the same boundary, which bubblewrap builds there: Reeve connects with /usr/bin/ssh and your ssh settings, looks, tries the boundary, and starts nothing where it does not hold (exit code 5). --write then names directories there. The network by rule and the hooks do not reach there.\n\nOn a terminal the program has one of its own, in a session that is kept: ^] d leaves it running, reeve sessions attach shows it again, and closing the window ends it, unless somebody has left it so before. --detach leaves it running from the start and prints its id. --name gives a session a name that no other running one has.\n\n--worktree lets CMD work in a checkout of its own with a branch of its own, made from the last commit: nothing in your repository changes meanwhile. What it did is yours to take over or to drop (reeve sessions diff, merge, drop); without work it is dropped at the end.\n\n--review shows CMD a view of the workspace at its usual path: it writes there freely, and your files stay as they are. At the end a terminal shows what was changed and asks whether to take over all of it, some or nothing; without one it is kept (reeve sessions review, apply, drop).\n\nA receipt on standard error says how long it took, what was decided, which files changed and what was refused. The hooks of Claude Code and Codex work inside (reeve install)."},
		{name: "install", run: cmdInstall, summary: "Put an agent's own tool calls behind the gate.",
			usage: "reeve install claude [--project] [--dry-run]\nreeve install codex [--dry-run]\nreeve install claude|claude-desktop|codex|cursor|vscode|gemini --mcp [--project] [--dry-run] [--yes]",
			help:  "Adds Reeve's hook to Claude Code's settings.json, or to Codex's hooks.json, and keeps everything else in it byte for byte. Codex runs only hooks that you trust: install says so for you in its config.toml. --project writes .claude/settings.json of this project. --dry-run shows the difference and writes nothing. What keeps the hook from running or is never shown to it is said on standard error.\n\nWith --mcp the MCP servers of a client go behind the gateway: each is added to mcp.json, and the client has one entry in their place, reeve mcp serve. What cannot be taken over stays where it is, and is told. --project does so in the files of this project, else in your own. A client reads its servers when it starts."},
		{name: "uninstall", run: cmdUninstall, summary: "Take the hook out again.",
			usage: "reeve uninstall claude [--project] [--dry-run]\nreeve uninstall codex [--dry-run]\nreeve uninstall CLIENT --mcp [--project] [--dry-run]",
			help:  "Removes what install added; the settings are then what they were. With --mcp the servers that install took out stand in the client's file again: byte for byte where nobody has changed it since, else beside what was changed. They stay in mcp.json too."},
		{name: "approvals", run: cmdApprovals, summary: "See and answer what is waiting for a person.",
			usage: "reeve approvals [ls] [--json]\nreeve approvals allow ID [--session | --rule]\nreeve approvals deny ID [--word TEXT]\nreeve approvals revoke ID",
			help:  "allow lets the one waiting call run; --session also lets this exact call run again in its session; --rule also saves the rule that the question shows in your policy. deny may carry a word to the agent. revoke takes a standing grant back. The first answer wins; no answer is a denial. A unique beginning or ending of an id, at least four characters, stands for it. An agent cannot answer: the command is refused to what descends from one."},
		{name: "exec", run: cmdExec, summary: "Run one tool through the gate.",
			usage: "reeve exec [--as ACTOR] [--mode plan|auto|default] [--workspace DIR] [--wait DUR] [--json] TOOL [JSON | -]",
			help:  "TOOL is one of reeve tools ls; its arguments are one JSON object, - reads it from standard input. At a terminal, questions are put to you there (default no). Without one nothing is read from standard input and a question is a denial with exit code 4, unless --wait says how long it may stand for reeve approvals. What you ask for yourself is not asked about, only denied; --as agent:NAME asks with an agent's authority, never with more than yours. On a terminal, control, bidirectional and invisible characters are shown as escapes such as \\x1b, here as in every command; piped, the output is as it is."},
		{name: "hook", run: cmdHook, summary: "Answer one event of an agent's hook.",
			usage: "reeve hook claude | codex",
			help:  "Reads one event from standard input and prints the verdict in the form the agent expects. Exit code 0 with an answer, or 2: the call must not run. Every fault of ours is 2."},
		{name: "policy", run: cmdPolicy, summary: "Check, explain and test the rules.",
			usage: policyUsage, help: policyHelp},
		{name: "tools", run: cmdTools, summary: "List the tools and set how each is asked for.",
			usage: "reeve tools [ls] [--json]\nreeve tools set NAME auto|ask|approval|off",
			help:  "auto runs a tool unasked where nothing stricter applies; ask wants one approval for one call; approval blocks it until you change the setting; off disables it. A setting for bash also holds for another agent's tool of that name."},
		{name: "mcp", run: cmdMCP, summary: "Keep MCP servers behind the gate.",
			usage: serveUsage + "\n" + roster.Usage, help: serveHelp + "\n\n" + roster.Help},
		{name: "vault", run: cmdVault, summary: "Keep secrets and pass them on by reference.",
			usage: secrets.Usage, help: secrets.Help},
		{name: "audit", run: cmdAudit, summary: "Read and verify the record.",
			usage: record.Usage, help: record.Help},
		{name: "redact", run: cmdRedact, summary: "Mask the secrets in a text.",
			usage: filter.Usage, help: filter.Help},
		{name: "sessions", run: cmdSessions, summary: "List, show, stop and resume sessions.",
			usage: sessionsUsage, help: sessionsHelp},
		{name: "doctor", run: cmdDoctor, summary: "Try the boundary's promises, and look at Reeve's own files.",
			usage: "reeve doctor [--mend] [--json]", help: doctorHelp},
		{name: "up", run: cmdUp, summary: "Start the daemon.", usage: "reeve up",
			help: "Every command that decides, asks or records starts it by itself; up only makes sure. A second daemon on one state directory says so and ends."},
		{name: "down", run: cmdDown, summary: "End the daemon.", usage: "reeve down [--stop-sessions]",
			help: "Pending questions are denied, programs without a terminal of their own are stopped, the record is flushed within three seconds. Sessions that are kept go on, and down says which; the next daemon finds them. --stop-sessions ends them first."},
		{name: "status", run: cmdStatus, summary: "Tell how the daemon is.", usage: "reeve status [--json]",
			help: "Starts nothing. Exit code 1 where no daemon runs. A note tells of what stands in your files and does not hold: settings that were changed after the daemon began, a policy that cannot be read."},
		{name: "config", run: cmdConfig, summary: "Show every setting and where it comes from.",
			usage: "reeve config explain [--json]\nreeve config explain sandbox [--json]", help: "Settings stand in config.toml; docs/config.md lists them. The daemon reads them when it begins: after a change, reeve down. With sandbox: the profiles of reeve run, and the hosts that they reach by themselves."},
		{name: "version", run: cmdVersion, summary: "Print the version.", usage: "reeve version", help: "One line."},
		{name: "__daemon", run: cmdDaemon, hidden: true},
		{name: layout.Way, run: cmdWay, hidden: true},
		{name: keeper.Command, run: func(*cmdEnv, []string) int { return boundary.Keep() }, hidden: true},
		{name: landlock.Command, run: func(*cmdEnv, []string) int { return landlock.Main() }, hidden: true},
		{name: probe.Command, run: func(_ *cmdEnv, args []string) int { return probe.Main(args) }, hidden: true},
	}
}

const exitCodes = "0 done; 1 failed; 2 usage; 3 denied; 4 needed a person and none answered; 5 boundary missing. reeve run passes the command's own code."

// dispatch finds and runs the command named by the first argument.
func dispatch(env *cmdEnv, args []string) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		args = append([]string{"help"}, args[min(1, len(args)):]...)
	}
	if args[0] == "--version" {
		args[0] = "version"
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

func cmdRedact(env *cmdEnv, args []string) int {
	err := filter.Run(filter.World{In: env.Stdin, Out: env.Stdout, Say: env.Stderr, Dir: env.Dir, Getenv: env.Getenv}, args)
	switch {
	case errors.As(err, &filter.Bad{}):
		return usage(env, "%v", err)
	case err != nil:
		return fail(env, err)
	}
	return reeve.ExitOK
}

// usage says what is wrong with the command line.
func usage(env *cmdEnv, format string, args ...any) int {
	fmt.Fprintf(env.Stderr, "reeve: "+format+"\n", args...)
	return reeve.ExitUsage
}

// fail says what went wrong while doing it.
func fail(env *cmdEnv, err error) int {
	fmt.Fprintf(env.Stderr, "reeve: %v\n", err)
	if errors.Is(err, reeve.ErrUsage) { // perhaps for what the settings say by now
		writeNotes(env)
	}
	return exitCode(err)
}

// helpWidth is how wide help is printed, in characters: a pager shows it too.
const helpWidth = 80

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
			fmt.Fprintf(env.Stdout, "%s\n\nUsage:\n%s\n\n%s\n", c.summary, cell.Wrap(indent(c.usage), helpWidth, 4), cell.Wrap(c.help, helpWidth, 0))
			return reeve.ExitOK
		}
	}
	return usage(env, "unknown command %q; reeve help lists them", args[0])
}

func writeOverview(w io.Writer) {
	fmt.Fprint(w, "Reeve is the one gate through which everything an AI agent does on this machine\nmust pass.\n\nCommands:\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
		}
	}
	fmt.Fprintf(w, "\n%s\n", cell.Wrap("reeve help COMMAND tells more. Exit codes: "+exitCodes, helpWidth, 0))
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
