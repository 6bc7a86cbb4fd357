//go:build linux

package jailtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/plant"
)

// git runs the host's git in a directory, with nothing of the person's.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// repository makes the bench's workspace one with a commit.
func (b *Bench) repository(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	git(t, b.Workspace, "init", "-q")
	b.Put(t, filepath.Join(b.Workspace, "a.txt"), "one\n")
	git(t, b.Workspace, "add", ".")
	git(t, b.Workspace, "commit", "-qm", "first")
}

// Quarantine tries what a run can plant, and looks that it is moved away and
// that honest work is not.
func Quarantine(t *testing.T, wall jail.Wall) {
	for name, try := range map[string]struct {
		script string
		moved  []string // relative to the workspace, or to the home directory with ~
		gone   []string // must not be there afterwards
	}{
		"files that steer programs": {
			script: "mkdir .vscode .claude; echo x > .vscode/tasks.json; echo x > .envrc; echo x > .mcp.json; echo x > .claude/settings.json; ln -s /etc .idea",
			moved:  []string{".claude", ".envrc", ".idea", ".mcp.json", ".vscode"},
		},
		"a configuration by another door": {
			script: "echo ../../evil > .git/commondir; echo '[core]' > .git/config.worktree; mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
			moved:  []string{".git/commondir", ".git/config.worktree", ".git/info/attributes"},
		},
		"an agent's settings": {
			script: "echo '{}' > $HOME/.claude/settings.json; echo '{}' > $HOME/.claude/settings.local.json; mkdir -p $HOME/.claude/hooks $HOME/.claude/plugins/x; echo '{}' > $HOME/.claude/mcp-servers.json",
			moved:  []string{"~/.claude/hooks", "~/.claude/mcp-servers.json", "~/.claude/plugins", "~/.claude/settings.json", "~/.claude/settings.local.json"},
		},
		"a hook in a new repository": {
			script: "git init -q new && printf '#!/bin/sh\n' > new/.git/hooks/post-checkout && git -C new config core.fsmonitor evil && git -C new config user.name kept",
			moved:  []string{"new/.git/config", "new/.git/hooks/post-checkout"},
		},
		"a pointer to a planted git directory": {
			script: "mkdir -p evil sub; git init -q --bare evil; echo 'gitdir: ../evil' > sub/.git",
			moved:  []string{"sub/.git"},
		},
		"a linked worktree that takes its configuration elsewhere": {
			script: "git worktree add -q wt; mkdir evil; echo ../../../evil > .git/worktrees/wt/commondir; echo '[core]' > .git/worktrees/wt/config.worktree",
			moved:  []string{".git/worktrees/wt/commondir", ".git/worktrees/wt/config.worktree"},
		},
		"a submodule's hook": {
			script: "mkdir -p .git/modules/m/hooks; echo x > .git/modules/m/HEAD; echo x > .git/modules/m/hooks/post-update; printf '[core]\\n\\tsshCommand = evil\\n' > .git/modules/m/config",
			moved:  []string{".git/modules/m/config", ".git/modules/m/hooks/post-update"},
		},
		"what keeps its owner out": {
			script: "mkdir .vscode; echo x > .vscode/tasks.json; chmod 0555 .vscode; mkdir d; git init -q d/new; printf '#!/bin/sh\\n' > d/new/.git/hooks/pre-commit; chmod 0311 d/new/.git/hooks d; " +
				"mkdir -p $HOME/.claude/hooks; echo x > $HOME/.claude/hooks/h; chmod 0555 $HOME/.claude/hooks; echo '{}' > $HOME/.claude/settings.json; chmod 0 $HOME/.claude",
			moved: []string{".vscode", "d/new/.git/hooks/pre-commit", "~/.claude/hooks", "~/.claude/settings.json"},
		},
		"a whole repository in a worktree's place": {
			script: "mkdir -p .git/worktrees sub; git init -q --bare .git/worktrees/x; git -C .git/worktrees/x config core.fsmonitor evil; echo 'gitdir: ../.git/worktrees/x' > sub/.git",
			moved:  []string{".git/worktrees/x/config"},
		},
		"a submodule below another": {
			script: "mkdir sub; git init -q --bare .git/modules/a; git init -q --bare .git/modules/a/b; git -C .git/modules/a/b config core.fsmonitor evil; echo 'gitdir: ../.git/modules/a/b' > sub/.git",
			moved:  []string{".git/modules/a/b/config"},
		},
		"a bare repository among the files": {
			script: "git init -q --bare docs; git -C docs config core.fsmonitor evil; git -C docs config core.worktree .",
			moved:  []string{"docs/config"},
		},
		"a repository where nobody looks": {
			script: "p=a/b/c/d/e/f/g/h/i/j/k/l/m/n; for r in $p .git/x; do mkdir -p $r; git init -q $r; printf '#!/bin/sh\\n' > $r/.git/hooks/pre-commit; done",
			moved:  []string{".git/x/.git/hooks/pre-commit", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/.git/hooks/pre-commit"},
		},
		"names that look like more than one": {
			script: "touch \"$HOME/.claude/settings$(printf '\\033')[31m\nx.json\"",
			moved:  []string{"~/.claude/settings\x1b[31m\nx.json"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBench(t, wall)
			b.repository(t)
			if err := os.Mkdir(filepath.Join(b.Home, ".claude"), 0o755); err != nil {
				t.Fatal(err)
			}
			got := b.planted(t, "agent", try.script)
			if !slices.Equal(got, try.moved) {
				t.Errorf("moved %v, want %v", got, try.moved)
			}
			git(t, b.Workspace, "status")
		})
	}
	t.Run("a new repository stays one", func(t *testing.T) {
		b := NewBench(t, wall)
		b.repository(t)
		b.planted(t, "agent", "git init -q new && git -C new config core.fsmonitor evil && git -C new config user.name 'kept \"one\"'")
		if got := git(t, filepath.Join(b.Workspace, "new"), "config", "--local", "user.name"); got != "kept \"one\"\n" {
			t.Errorf("user.name is %q", got)
		}
		if out, err := exec.Command("git", "-C", filepath.Join(b.Workspace, "new"), "config", "--local", "core.fsmonitor").Output(); err == nil {
			t.Errorf("core.fsmonitor survived: %s", out)
		}
	})
	t.Run("a protected link is put back", func(t *testing.T) {
		b := NewBench(t, wall)
		b.Put(t, filepath.Join(b.Workspace, "cfg/x"), "x")
		if err := os.Symlink("cfg", filepath.Join(b.Workspace, ".vscode")); err != nil {
			t.Fatal(err)
		}
		got := b.planted(t, "agent", "rm .vscode; mkdir .vscode; echo evil > .vscode/tasks.json; echo evil > cfg/tasks.json; true")
		if target, err := os.Readlink(filepath.Join(b.Workspace, ".vscode")); err != nil || target != "cfg" {
			t.Errorf("link reads %q %v", target, err)
		}
		if !slices.Equal(got, []string{".vscode"}) {
			t.Errorf("moved %v", got)
		}
		if _, err := os.Stat(filepath.Join(b.Workspace, "cfg/tasks.json")); err == nil {
			t.Error("the directory behind the link was written")
		}
	})
	t.Run("a directory moved and made anew where mounts are too many", func(t *testing.T) {
		b := NewBench(t, wall)
		for i := range 14 {
			git(t, b.Workspace, "init", "-q", "r"+strconv.Itoa(i))
		}
		got := b.planted(t, "agent", "mv r3 old; git init -q r3; printf '#!/bin/sh\\n' > r3/.git/hooks/pre-commit; git -C r3 config core.fsmonitor evil; echo evil > r3/.envrc")
		if !slices.Equal(got, []string{"r3/.envrc", "r3/.git/config", "r3/.git/hooks"}) {
			t.Errorf("moved %v", got)
		}
	})
	t.Run("a protection that a program outside took off", func(t *testing.T) {
		b := NewBench(t, wall)
		b.repository(t)
		b.Put(t, filepath.Join(b.Workspace, ".envrc"), "mine\n")
		outside := func() {
			git(t, b.Workspace, "config", "user.name", "person")
			b.Put(t, filepath.Join(b.Workspace, "new"), "mine\n")
			if err := os.Rename(filepath.Join(b.Workspace, "new"), filepath.Join(b.Workspace, ".envrc")); err != nil {
				t.Fatal(err)
			}
		}
		b.whileInside(t, outside, "git config core.fsmonitor evil; echo evil > .envrc")
		if got := git(t, b.Workspace, "config", "--local", "user.name"); got != "person\n" {
			t.Errorf("the person's own setting is lost: %q", got)
		}
		text, err := os.ReadFile(filepath.Join(b.Workspace, ".git/config"))
		if err != nil || strings.Contains(string(text), "evil") {
			t.Errorf("%v: %s", err, text)
		}
		if text, err := os.ReadFile(filepath.Join(b.Workspace, ".envrc")); err != nil || string(text) != "mine\n" {
			t.Errorf("%v: %s", err, text)
		}
	})
	t.Run("a second directory of work", func(t *testing.T) {
		b := NewBench(t, wall)
		b.repository(t)
		lib := filepath.Join(filepath.Dir(b.Workspace), "lib")
		if err := os.Mkdir(lib, 0o755); err != nil {
			t.Fatal(err)
		}
		git(t, lib, "init", "-q")
		none := jail.NetNone
		plan := b.Plan(t, "agent", jail.Options{Net: &none, Write: []string{lib}})
		before := plant.Snapshot(plan, time.Now())
		b.Shell(t, plan, jail.Limits{}, "cd "+lib+"; git config core.fsmonitor evil; echo x > .git/hooks/pre-commit; echo x > .envrc; echo x > fine")
		if got := before.Quarantine().Quarantined; !slices.Equal(got, []string{filepath.Join(lib, ".envrc")}) {
			t.Errorf("moved %v", got)
		}
		if text, _ := os.ReadFile(filepath.Join(lib, ".git/config")); strings.Contains(string(text), "evil") {
			t.Errorf("%s", text)
		}
		if _, err := os.Stat(filepath.Join(lib, ".git/hooks/pre-commit")); err == nil {
			t.Error("a hook was planted")
		}
	})
	t.Run("a whole repository in strict", func(t *testing.T) {
		b := NewBench(t, wall)
		if got := b.planted(t, "strict", "git init -q ."); !slices.Equal(got, []string{".git"}) {
			t.Errorf("moved %v, want .git", got)
		}
	})
	t.Run("honest work is left alone", func(t *testing.T) {
		b := NewBench(t, wall)
		b.repository(t)
		got := b.planted(t, "agent", "git config --global user.email t@example.org 2>/dev/null; export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@e GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@e; "+
			"set -e; echo two > b.txt; git add b.txt; git commit -qm second; git worktree add -q ../ws/wt; git init -q fresh; git clone -q . copy; echo three >> a.txt; git stash -q; mkdir src; echo x > src/x")
		if len(got) > 0 {
			t.Errorf("moved %v", got)
		}
	})
}

// whileInside runs a script inside after outside was called while its
// boundary stands, and does what follows a run.
func (b *Bench) whileInside(t *testing.T, outside func(), script string) plant.Changes {
	t.Helper()
	none := jail.NetNone
	plan := b.Plan(t, "agent", jail.Options{Net: &none})
	before := plant.Snapshot(plan, time.Now())
	in, toScript, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer toScript.Close()
	fromScript, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer fromScript.Close()
	p, err := b.Wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"/bin/sh", "-c", "echo up; read x; " + script}, Stdin: in, Stdout: out})
	in.Close()
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fromScript.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	outside()
	toScript.Write([]byte("go\n"))
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return before.Quarantine()
}

// planted runs a script and tells what was moved away afterwards.
func (b *Bench) planted(t *testing.T, profile, script string) []string {
	t.Helper()
	none := jail.NetNone
	plan := b.Plan(t, profile, jail.Options{Net: &none})
	before := plant.Snapshot(plan, time.Now())
	c := b.Shell(t, plan, jail.Limits{}, script)
	if c.Exit.Code != 0 {
		t.Fatalf("the script ended with %d: %s%s", c.Exit.Code, c.Stdout.Text, c.Stderr.Text)
	}
	changes := before.Compare(t.Context())
	for _, p := range changes.Problems {
		t.Error(p)
	}
	var got []string
	for _, path := range changes.Quarantined {
		if _, err := os.Lstat(path); err == nil && filepath.Base(path) != "config" && !isLink(path) {
			t.Errorf("%s is still there", path)
		}
		if rel, err := filepath.Rel(b.Workspace, path); err == nil && filepath.IsLocal(rel) {
			got = append(got, rel)
		} else if rel, err := filepath.Rel(b.Home, path); err == nil {
			got = append(got, "~/"+rel)
		}
	}
	if len(got) > 0 {
		list, err := os.ReadFile(filepath.Join(changes.Where, "list.tsv"))
		if err != nil || strings.Count(string(list), "\n") != len(got) || !strings.HasPrefix(changes.Where, b.State) {
			t.Errorf("the list in %s: %q %v", changes.Where, list, err)
		}
	}
	slices.Sort(got)
	return got
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}
