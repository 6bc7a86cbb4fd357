// Package git is the reading git tools: git_status, git_diff, git_log and
// git_show.
//
// Reading with git is not harmless by itself: a repository's configuration
// names programs that status, diff, log and show start, and a revision that
// begins with a dash is a flag. So git runs behind the session's boundary
// (see [Runner]) with settings of ours that no configuration overrides, and
// its answer is filtered (contract A23):
//
//   - no hook, no fsmonitor, no pager, no external diff, no text conversion,
//     no signature program, no transport, no submodule; every filter the
//     repository configures is set to nothing by name; GIT_ variables are ours
//   - a revision must name commits, is never a flag, and is no path in disguise
//   - changes of credential files are left out and counted; a path that is one
//     is refused
//   - nothing outside the workspace is shown, wherever the repository's root is
//   - remotes are shown without user, password and query
package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/safepath/repo"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Runner runs a program for an allowed call.
type Runner interface {
	// Output runs argv in dir, with env added to the session's environment,
	// for at most wall: inside the session's boundary where c.Contained is
	// set, else on the host. It spends c.Permit before anything starts.
	Output(ctx context.Context, c tool.Call, dir string, argv, env []string, wall time.Duration) (jail.Captured, error)
}

// timeout is how long git may take to read.
const timeout = 60 * time.Second

// maxCommits is the most that git_log shows.
const maxCommits = 200

// Tools lists the git tools behind a runner. With none they can say what a call
// would do, and every call of them is refused.
func Tools(r Runner) []tool.Tool {
	var all []tool.Tool
	for _, c := range []command{status, diff, log, show} {
		all = append(all, reader{c, r})
	}
	return all
}

// args are the arguments of all four; each schema takes its own.
type args struct {
	Path   string `json:"path"`
	Rev    string `json:"rev"`
	Staged bool   `json:"staged"`
	Max    int    `json:"max"`
}

// command is one of the tools.
type command struct {
	name, about, schema string
	// argv is git's words after its global options; where is the path from
	// the workspace, "." for the workspace itself.
	argv func(a args, r revisions, where string) []string
	// shown turns git's output into ours; cut says its beginning is missing.
	shown func(a args, out string, cut bool, w *worktree) string
}

// reader makes a command a tool.
type reader struct {
	command
	runner Runner
}

var _ tool.Runner = reader{}

func (g reader) Spec() tool.Spec {
	return tool.Spec{
		Name: g.name, Source: "native", Tier: reeve.TierRead, Class: tool.ClassRead, Description: g.about,
		Schema: `{"type":"object","additionalProperties":false,` + g.schema + `}`,
	}
}

// Effects is reading the path, or everything below the workspace.
func (g reader) Effects(raw []byte, at tool.Place) ([]reeve.Effect, error) {
	a, err := read(raw)
	if err != nil {
		return nil, err
	}
	path, err := locate(a.Path, at)
	if err != nil {
		return nil, err
	}
	if _, err := parseRevisions(a.Rev); err != nil {
		return nil, err
	}
	return []reeve.Effect{{Kind: reeve.EffectRead, Path: path, Deep: true}}, nil
}

func read(raw []byte) (a args, err error) {
	if err := json.Unmarshal(raw, &a, json.RejectUnknownMembers(true)); err != nil {
		return a, fmt.Errorf("read arguments: %w", err)
	}
	return a, nil
}

// locate makes a path of the arguments absolute; empty is the workspace.
func locate(path string, at tool.Place) (string, error) {
	switch {
	case path == "":
		return at.Workspace, nil
	case strings.IndexByte(path, 0) >= 0:
		return "", errors.New("the path holds a NUL byte")
	case !filepath.IsAbs(path):
		path = filepath.Join(at.Dir, path)
	}
	path = filepath.Clean(path)
	if rel, err := filepath.Rel(at.Workspace, path); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is outside the workspace %s", path, at.Workspace)
	}
	return path, nil
}

// Run asks git.
func (g reader) Run(ctx context.Context, c tool.Call) reeve.Result {
	if _, err := g.Effects(c.Args, c.Place); err != nil {
		return tool.Failed("%v", err)
	}
	if g.runner == nil {
		return tool.Denied(g.name + " has nothing to run git with here")
	}
	a, _ := read(c.Args)
	revs, _ := parseRevisions(a.Rev)
	path, _ := locate(a.Path, c.Place)
	if safepath.Credential(path) {
		return tool.Failed("%s holds credentials; the git tools do not show it", a.Path)
	}
	w, err := open(c.Place)
	if err != nil {
		return tool.Failed("%v", err)
	}
	where, err := filepath.Rel(c.Place.Workspace, path)
	if err != nil {
		return tool.Failed("%v", err)
	}
	got, err := g.runner.Output(ctx, c, c.Place.Workspace, slices.Concat(fixed, g.argv(a, revs, where)), w.environment(), timeout)
	switch {
	case err != nil:
		return tool.Failed("git: %v", err)
	case got.TimedOut:
		return reeve.Result{Status: reeve.StatusTimeout, Error: fmt.Sprintf("git did not end within %s", timeout)}
	case got.Exit.Code != 0:
		return reeve.Result{Status: reeve.StatusError, ExitCode: got.Exit.Code, Error: complaint(got.Stderr.Text)}
	}
	cut := got.Stdout.Truncated()
	return reeve.Result{Status: reeve.StatusSuccess, Output: g.shown(a, got.Stdout.Text, cut, w), Truncated: cut, Duration: got.Duration}
}

// complaint is the last line that git wrote about its failure.
func complaint(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	last := lines[len(lines)-1]
	if len(last) > 300 {
		last = last[:300] + "..."
	}
	return "git: " + strings.ToValidUTF8(strings.TrimPrefix(last, "fatal: "), "?")
}

// worktree is the repository of one call.
type worktree struct{ repo.Info }

func open(at tool.Place) (*worktree, error) {
	found, err := repo.Find(at.Workspace, at.Home)
	if err != nil {
		return nil, err
	}
	if found.Top == "" {
		return nil, fmt.Errorf("%s is a bare repository; it has no working tree", at.Workspace)
	}
	return &worktree{found}, nil
}

// fixed are the program and the options before every command.
var fixed = []string{"git", "--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"}

// settings override what any configuration says. Programs first; then what
// would change the form of the output that is filtered here.
var settings = [][2]string{
	{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.pager", "cat"}, {"core.editor", "false"}, {"core.sshCommand", "false"},
	{"core.askPass", ""}, {"core.gitProxy", "false"}, {"core.alternateRefsCommand", "false"}, {"credential.helper", ""}, {"diff.external", ""},
	{"interactive.diffFilter", ""}, {"gpg.program", "false"}, {"gpg.ssh.program", "false"}, {"gpg.x509.program", "false"}, {"log.showSignature", "false"},
	{"core.attributesFile", "/dev/null"}, {"core.untrackedCache", "false"}, {"core.quotePath", "true"}, {"color.ui", "false"}, {"diff.noprefix", "false"}, {"diff.mnemonicPrefix", "false"},
	{"diff.renames", "false"}, {"diff.submodule", "short"}, {"diff.ignoreSubmodules", "all"}, {"diff.orderFile", "/dev/null"}, {"diff.relative", "false"}, {"diff.wordRegex", ""},
	{"diff.colorMoved", "no"}, {"status.submoduleSummary", "false"}, {"status.renames", "false"}, {"log.follow", "false"}, {"log.showRoot", "true"}, {"log.mailmap", "false"},
	{"protocol.allow", "never"}, {"fetch.recurseSubmodules", "false"}, {"submodule.recurse", "false"},
}

// environment hands git its settings and its place as variables: they come
// after every configuration file, can hold any name, and leave nothing of the
// caller's own GIT_ variables in force.
func (w *worktree) environment() []string {
	all := slices.Clone(settings)
	for _, name := range w.Drivers {
		for _, key := range []string{"clean", "smudge", "process"} {
			all = append(all, [2]string{"filter." + name + "." + key, ""})
		}
		all = append(all, [2]string{"filter." + name + ".required", "false"})
	}
	env := []string{
		"GIT_DIR=" + w.GitDir, "GIT_WORK_TREE=" + w.Top, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C.UTF-8",
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(all)),
	}
	for i, s := range all {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}
