package jail

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// agentCLI is what the boundary knows of one agent's command line program.
type agentCLI struct {
	program  string   // base name of the program
	packages []string // as a runner such as npx is told to start it
	folder   string   // its state folder below the home directory
	moved    string   // variable that moves the folder
	starts   []string // in its folder, besides steering: what starts programs or configures the gate
	private  []string // in its folder: scripts, programs and sockets of one session, which another session would run or be reached by
	files    []string // in the home directory: settings it rewrites all the time; it gets a copy of its own
	secrets  []string // in its folder: its own log-in, hidden where the folder is not granted
	pass     []string // variables that pass to it: its keys, addresses and switches; * = any rest
	set      []string // what makes it behave inside
	nested   nested   // its own sandbox, which does not start inside ours
}

// nested is how a CLI is told to leave its own sandbox off.
type nested struct {
	off  []string // any of these, as an argument or in its settings, says so
	in   string   // its settings, in its folder
	note string   // for a person who has not said so
}

// steering are the names that start programs or configure the gate in any
// agent's state folder (amendment 13).
var steering = []string{
	"settings*.json", "mcp*.json", "config.toml", "hooks.json", "hooks", "plugins", "commands", "agents", "skills",
	"extensions", "rules", "policies", "prompts", "local", "bin", ".env",
}

// agentCLIs are the four of contract Y59.
var agentCLIs = []agentCLI{
	{
		program: "claude", packages: []string{"@anthropic-ai/claude-code"}, folder: ".claude", moved: "CLAUDE_CONFIG_DIR",
		starts: []string{"output-styles", ".claude.json", "statusline*", "workflows"}, private: []string{"shell-snapshots", "session-env"},
		files: []string{".claude.json"}, secrets: []string{".credentials.json"},
		pass: []string{
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL",
			"ANTHROPIC_DEFAULT_*", "ANTHROPIC_CUSTOM_HEADERS", "API_TIMEOUT_MS", "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS",
			"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_DISABLE_*", "CLAUDE_CODE_MAX_*", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CONFIG_DIR",
			"DISABLE_*", "MAX_THINKING_TOKENS", "MAX_MCP_OUTPUT_TOKENS", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT",
		},
		set: []string{"DISABLE_AUTOUPDATER=1"},
	},
	{
		program: "codex", packages: []string{"@openai/codex"}, folder: ".codex", moved: "CODEX_HOME",
		starts: []string{"*.config.toml", "environments.toml", "packages", "automations"}, secrets: []string{"auth.json"},
		// Of version 0.171.0: scripts that its shells source, the directory that
		// it puts first into their PATH, plugins on their way in, and the
		// sockets of the app server that a Codex outside shares.
		private: []string{"shell_snapshots", "tmp", ".tmp", "app-server-control", "app-server-daemon"},
		pass:    []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_API_KEY", "CODEX_HOME"},
		nested: nested{
			off: []string{"danger-full-access", "--dangerously-bypass-approvals-and-sandbox"}, in: "config.toml",
			note: "Codex's own sandbox cannot start inside this one: give Codex -s danger-full-access, which here means no more than this boundary lets through (and --no-daemon at a terminal)",
		},
	},
	{
		program: "gemini", packages: []string{"@google/gemini-cli"}, folder: ".gemini",
		starts: []string{"trustedFolders.json", "system.md"}, secrets: []string{"oauth_creds.json", "google_accounts.json"},
		pass: []string{"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"},
	},
	{
		program: "aider", packages: []string{"aider-chat"}, folder: ".aider", starts: []string{"oauth-keys.env"}, secrets: []string{"oauth-keys.env"},
		pass: []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_API_BASE", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY", "AIDER_MODEL", "AIDER_DARK_MODE"},
	},
}

// cliOf tells which known agent a command line starts, also through npx and
// the like; nil where none.
func cliOf(argv []string) *agentCLI {
	if len(argv) == 0 {
		return nil
	}
	name := filepath.Base(argv[0])
	for i := range agentCLIs {
		if agentCLIs[i].program == name {
			return &agentCLIs[i]
		}
	}
	switch name {
	case "npx", "pnpx", "bunx", "uvx", "pipx":
	default:
		return nil
	}
	for _, arg := range argv[1:] {
		for i := range agentCLIs {
			for _, pkg := range agentCLIs[i].packages {
				if arg == pkg || strings.HasPrefix(arg, pkg+"@") {
					return &agentCLIs[i]
				}
			}
		}
	}
	return nil
}

// grantAgentState makes the state folders of the agent CLIs writable (Y59),
// real directories of this account only (Y69), and keeps everything in them
// read-only that would start a program in the next run outside. The folder of
// the CLI that is started is made where it is missing, as the CLI itself would
// do at its first start: inside, the home directory is read-only.
func (p Profile) grantAgentState(plan *Plan, at Place, argv []string, r roots) {
	started := cliOf(argv)
	for i, cli := range agentCLIs {
		dir := cli.place(at, r)
		if started == &agentCLIs[i] && tree.CheckPath(dir) == nil && !tree.Within(dir, r.home) {
			os.Mkdir(dir, 0o700) // an error shows in the next look
		}
		info, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		real, err := tree.CanonicalDir(dir)
		if err != nil || !info.IsDir() || !mine(info) || r.grantable(real, false) != nil || tree.Within(real, plan.Workspace) {
			plan.Notes = append(plan.Notes, dir+" is not a plain directory of yours: it stays read-only")
			continue
		}
		plan.Write = append(plan.Write, real)
		g := guard{plan: plan, root: real}
		if started == &agentCLIs[i] {
			cli.prepare(real)
			cli.nest(plan, real, argv)
		}
		cli.close(g, real)
		if git := filepath.Join(real, ".git"); exists(git) {
			p.protectGit(g, git, r)
		} else {
			g.name(git)
		}
		for _, name := range cli.files {
			g.private(filepath.Join(r.home, name))
		}
	}
	plan.Write = tree.Outermost(plan.Write)
}

// place is where the CLI keeps its state folder.
func (cli agentCLI) place(at Place, r roots) string {
	if moved := environ.Lookup(at.Env, cli.moved); cli.moved != "" && moved != "" {
		return moved
	}
	return filepath.Join(r.home, cli.folder)
}

// close keeps read-only, in the state folder at dir, what starts programs or
// configures the gate.
func (cli agentCLI) close(g guard, dir string) {
	for _, pattern := range cli.closed() {
		g.pattern(dir, pattern)
	}
	for _, name := range cli.private {
		g.private(filepath.Join(dir, name))
	}
}

// prepare makes the directories that the process gets its own of, in the
// state folder of the CLI that is started, as the CLI would: one that appeared
// during the run would have to be put aside after each.
func (cli agentCLI) prepare(dir string) {
	for _, name := range cli.private {
		os.Mkdir(filepath.Join(dir, name), 0o700) // what fails is watched for
	}
}

// nest says how the CLI's own sandbox is left off, where nobody has.
func (cli agentCLI) nest(plan *Plan, dir string, argv []string) {
	if cli.nested.note == "" {
		return
	}
	settings := readSettings(filepath.Join(dir, cli.nested.in))
	for _, word := range cli.nested.off {
		if strings.Contains(settings, word) || slices.ContainsFunc(argv, func(arg string) bool { return strings.Contains(arg, word) }) {
			return
		}
	}
	plan.Notes = append(plan.Notes, cli.nested.note)
}

// readSettings is the beginning of a plain file, or nothing.
func readSettings(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, 1<<20)) // what cannot be read says nothing
	return string(b)
}

func (cli agentCLI) closed() []string {
	return append(cli.starts[:len(cli.starts):len(cli.starts)], steering...)
}

// closeAgentState does the same for the state folders that a person made
// writable as a workspace, or by naming a directory above, and refuses one
// inside of which everything starts programs.
func closeAgentState(plan *Plan, at Place, r roots) error {
	for _, cli := range agentCLIs {
		dir, err := tree.CanonicalDir(cli.place(at, r))
		if err != nil {
			continue
		}
		for _, root := range r.granted {
			if tree.Within(root, dir) {
				cli.close(guard{plan: plan, root: root}, dir)
			}
			if below, inside := strings.CutPrefix(root, dir+"/"); inside {
				first, _, _ := strings.Cut(below, "/")
				for _, pattern := range cli.closed() {
					if ok, _ := filepath.Match(pattern, first); ok {
						return fmt.Errorf("%s lies in %s, from which %s starts programs: choose another directory", root, filepath.Join(dir, first), cli.program)
					}
				}
			}
		}
	}
	return nil
}

// pattern protects what matches now, and names the pattern as one whose new
// matches are quarantined.
func (g guard) pattern(dir, name string) {
	matches, pattern := tree.Named(dir, name), filepath.Join(dir, name)
	for _, m := range matches {
		g.name(m)
	}
	if len(matches) == 0 || strings.Contains(name, "*") {
		g.plan.Absent = append(g.plan.Absent, pattern)
	}
}

// private gives the process its own copy of what exists: a file starts as a
// copy, a directory empty. What does not exist cannot be stood in for without
// leaving a stub on the host; inside a writable folder its appearance is
// quarantined.
func (g guard) private(path string) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && (info.IsDir() || info.Mode().IsRegular()) && mine(info):
		g.plan.Private = append(g.plan.Private, path)
		g.pinAbove(path)
	case tree.Within(g.root, path):
		g.name(path)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// mine reports whether a file belongs to the account we run as.
func mine(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
