package install

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reeve-gate/reeve/internal/ingress/codex"
	"github.com/reeve-gate/reeve/internal/jsonc"
)

// Source is one settings file that a client joins into what it obeys.
type Source struct {
	Path    string
	Managed bool // placed by an administrator
	Project bool // of the project the client is started in
}

// Locate names the settings file to change and every file that the client,
// started in dir, reads beside it. The file is the person's own; project asks
// for that of dir, which only Claude Code has here.
func (c *Client) Locate(getenv func(string) string, dir string, project bool) (target string, others []Source, err error) {
	if c == Codex {
		return locateCodex(getenv, dir, project)
	}
	base := getenv("CLAUDE_CONFIG_DIR")
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			return "", nil, fmt.Errorf("neither CLAUDE_CONFIG_DIR nor HOME is set")
		}
		base = filepath.Join(home, ".claude")
	}
	if !filepath.IsAbs(base) {
		return "", nil, fmt.Errorf("the folder of Claude Code's settings, %q, is not absolute: set CLAUDE_CONFIG_DIR or HOME to an absolute path", base)
	}
	// Claude Code 2.1.332 reads a project's settings from the folder it is
	// started in, and not from the root of the repository around it.
	person := filepath.Join(base, "settings.json")
	shared := filepath.Join(dir, ".claude", "settings.json")
	target = person
	if project {
		target = shared
	}
	for _, path := range []string{person, shared, filepath.Join(dir, ".claude", "settings.local.json")} {
		if path != target {
			others = append(others, Source{Path: path})
		}
	}
	return target, append(others, managed()...), nil
}

// managed are the administrator's files of Claude Code, at their documented
// places.
func managed() []Source {
	base := "/etc/claude-code"
	if runtime.GOOS == "darwin" {
		base = "/Library/Application Support/ClaudeCode"
	}
	all := []Source{{Path: filepath.Join(base, "managed-settings.json"), Managed: true}}
	parts, _ := filepath.Glob(filepath.Join(base, "managed-settings.d", "*.json")) // the pattern is well formed
	for _, p := range parts {
		all = append(all, Source{Path: p, Managed: true})
	}
	return all
}

// locateCodex spells the folder as Codex 0.171 does, since the trust of a hook
// is kept under its file's name: CODEX_HOME with every link resolved, and
// ~/.codex as it is.
func locateCodex(getenv func(string) string, dir string, project bool) (target string, others []Source, err error) {
	if project {
		return "", nil, fmt.Errorf("there is no --project for codex: Codex's hooks are installed in your own settings")
	}
	base := getenv("CODEX_HOME")
	switch home := getenv("HOME"); {
	case base != "":
		if base, err = filepath.EvalSymlinks(base); err != nil {
			return "", nil, fmt.Errorf("CODEX_HOME: %w", err)
		}
	case home == "":
		return "", nil, fmt.Errorf("neither CODEX_HOME nor HOME is set")
	default:
		base = filepath.Join(home, ".codex")
	}
	if !filepath.IsAbs(base) {
		return "", nil, fmt.Errorf("the folder of Codex's settings, %q, is not absolute: set CODEX_HOME or HOME to an absolute path", base)
	}
	profiles, _ := filepath.Glob(filepath.Join(base, "*.config.toml")) // the pattern is well formed
	for _, p := range profiles {
		others = append(others, Source{Path: p})
	}
	for at, depth := dir, 0; depth < maxParents; at, depth = filepath.Dir(at), depth+1 {
		own := filepath.Join(at, ".codex")
		if own != base {
			others = append(others, Source{Path: filepath.Join(own, "config.toml"), Project: true}, Source{Path: filepath.Join(own, "hooks.json"), Project: true})
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil || at == filepath.Dir(at) {
			break
		}
	}
	for _, name := range []string{"config.toml", "hooks.json", "managed_config.toml", "requirements.toml"} {
		others = append(others, Source{Path: filepath.Join("/etc/codex", name), Managed: true})
	}
	return filepath.Join(base, "hooks.json"), others, nil
}

// maxParents bounds the way up to the root of a project.
const maxParents = 64

// TrustFile is the file beside target in which the client keeps which hooks
// the person trusts, or "" where it asks for no trust.
func (c *Client) TrustFile(target string) string {
	if c != Codex {
		return ""
	}
	return filepath.Join(filepath.Dir(target), "config.toml")
}

// ExamineAll is [Client.Examine] for settings whose text is after, in target,
// and the other files as they are; trusting is the text of the file that
// [Client.TrustFile] names. A file that cannot be read, but is there, is a
// note.
func (c *Client) ExamineAll(target string, after, trusting []byte, others []Source) []string {
	notes := c.Examine(target, after, false)
	var ours []string
	if c == Codex {
		ours = digests(c.Trusts(target, after))
		notes = append(notes, codex.Examine(c.TrustFile(target), trusting, codex.Person, ours)...)
	}
	pinned := false
	for _, s := range others {
		text, err := os.ReadFile(s.Path)
		switch {
		case err == nil && filepath.Ext(s.Path) == ".toml":
			notes = append(notes, codex.Examine(s.Path, text, s.kind(), ours)...)
			pinned = pinned || s.kind() == codex.Requirements && codex.Pinned(text)
		case err == nil:
			notes = append(notes, c.Examine(s.Path, text, s.Managed)...)
		case !os.IsNotExist(err):
			notes = append(notes, fmt.Sprintf("%s: cannot be looked at: %v", s.Path, err))
		}
	}
	return append(notes, c.holes(pinned)...)
}

func (s Source) kind() codex.Kind {
	switch {
	case s.Project:
		return codex.Project
	case filepath.Base(s.Path) == "requirements.toml":
		return codex.Requirements
	}
	return codex.Person
}

// holes are what the client runs without Reeve's word however its settings
// stand; pinned says that an administrator keeps hooks on.
func (c *Client) holes(pinned bool) []string {
	if c != Codex {
		return nil
	}
	notes := []string{
		"Codex runs a call whose hook it could not hear out: where the shell that starts Reeve is killed, or 600 s pass",
		"Codex shows no hook what is typed into a command that runs already (write_stdin), what its automatic review runs, and what OpenAI's servers do (web search)",
		"Codex calls no hook where it is started with --ignore-user-config or --disable hooks",
	}
	if !pinned {
		notes = append(notes, "a project that you trust in Codex can switch hooks off; /etc/codex/requirements.toml with [features] hooks = true forbids it")
	}
	return notes
}

func digests(all []codex.Trust) []string {
	var d []string
	for _, t := range all {
		d = append(d, t.Digest)
	}
	return d
}

// Trusts are the entries under which Codex runs the hooks of Reeve's in the
// text of target, as they stand there. Other clients have none.
func (c *Client) Trusts(target string, text []byte) []codex.Trust {
	root, err := jsonc.Read(text)
	if err != nil || c != Codex {
		return nil
	}
	var all []codex.Trust
	hooks, _ := root.Member("hooks")
	for _, e := range c.Events {
		groups, _ := hooks.Member(e.Name)
		if groups == nil {
			continue
		}
		for i, g := range groups.Kids {
			list, _ := g.Value.Member("hooks")
			if list == nil {
				continue
			}
			for j, h := range list.Kids {
				if c.isOurs(h.Value.Str("command")) {
					all = append(all, codex.Trust{Key: codex.Key(target, e.Name, i, j), Digest: digest(e, g.Value, h.Value)})
				}
			}
		}
	}
	return all
}

// digest is of a hook as it stands in its group.
func digest(e Event, group, hook *jsonc.Node) string {
	var matcher *string
	if m, _ := group.Member("matcher"); m != nil && m.Kind == '"' && e.Matcher {
		matcher = &m.Text
	}
	timeout := e.Timeout
	if v, _ := hook.Member("timeout"); v != nil {
		fmt.Sscan(strings.TrimSpace(v.Text), &timeout) // what is no number has another digest, and Codex does not load it
	}
	return codex.Digest(e.Name, matcher, hook.Str("command"), timeout)
}
