//go:build linux

package jailtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/plant"
	"github.com/reeve-gate/reeve/internal/jail/probe"
)

// Work tries that ordinary work succeeds inside, without the network.
func Work(t *testing.T, wall jail.Wall) {
	none := jail.NetNone
	identity := []string{"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org"}
	opts := jail.Options{Net: &none, Set: identity, Limits: jail.Limits{Wall: 2 * time.Minute}}
	for _, try := range []struct {
		name, needs string
		profiles    []string
		files       map[string]string
		script      string
		want        string // in the output
	}{
		{"shell pipelines", "sh", []string{"agent", "strict"}, nil, "set -e; printf 'b\\na\\n' | sort | tee out | head -1; (cd ${TMPDIR:-/tmp}; echo x > y; mv y z; cat z); test $(wc -l < out) = 2; mkfifo p; (echo piped > p &); cat p", "piped"},
		{"job control and temporary files", "bash", []string{"agent", "strict"}, nil, "bash -c 'set -e; f=$(mktemp); echo $BASHPID > $f; sleep 0.01 & wait; diff <(echo 1) <(echo 1); cat <<<ok'", "ok"},
		{"git from nothing", "git", []string{"agent"}, nil, "set -e; git init -q -b main; echo 1 > a; git add a; git commit -qm one; git branch side; echo 2 > a; git stash -q; git stash pop -q; git commit -qam two; git worktree add -q wt side; git -C wt log --oneline | wc -l; git tag v1; git gc -q; git fsck", ""},
		{"reading git", "git", []string{"strict"}, map[string]string{".repo": ""}, "git log --oneline | cat; git status --short; git diff --stat", "first"},
		{"go build", "go", []string{"agent"}, map[string]string{
			"go.mod": "module example.org/tiny\n\ngo 1.21\n", "main.go": "package main\n\nimport \"example.org/tiny/two\"\n\nfunc main() { println(\"got\", two.Two()) }\n",
			"two/two.go": "package two\n\nfunc Two() int { return 2 }\n",
		}, "go build -o tiny . && ./tiny 2>&1", "got 2"},
		{"npm test", "npm", []string{"agent", "strict"}, map[string]string{
			"package.json": `{"name":"tiny","version":"1.0.0","scripts":{"test":"node --test"}}`,
			"tiny.test.js": "const t=require('node:test'),a=require('node:assert');t('adds',()=>a.equal(1+1,2));\nt('spawns',()=>a.equal(require('node:child_process').execFileSync('echo',['x']).toString(),'x\\n'));\n",
		}, "npm test", "pass 2"},
		{"python's unit tests", "python3", []string{"agent", "strict"}, map[string]string{
			"test_tiny.py": "import multiprocessing,os,tempfile,unittest,subprocess\nclass T(unittest.TestCase):\n def test_all(self):\n  with multiprocessing.Pool(2) as p: self.assertEqual(p.map(abs,[-1,2]),[1,2])\n  with tempfile.TemporaryDirectory() as d: open(os.path.join(d,'x'),'w').close()\n  self.assertEqual(subprocess.run(['true']).returncode,0)\nif __name__=='__main__': unittest.main()\n",
		}, "python3 -m unittest 2>&1", "OK"},
		{"make", "make", []string{"agent", "strict"}, map[string]string{"Makefile": "all: a b\na b:\n\techo $@ > $@\n"}, "make -j2 && cat a b", "b"},
	} {
		for _, profile := range try.profiles {
			if _, partial := wall.(probe.Partial); partial && try.needs == "python3" || !probe.Holds(wall, profile) {
				continue // a reduced boundary has no shared memory of its own, which a pool of processes needs
			}
			t.Run(try.name+"/"+profile, func(t *testing.T) {
				if _, err := exec.LookPath(try.needs); err != nil {
					t.Skipf("%s is not installed", try.needs)
				}
				b := NewBench(t, wall)
				for name, text := range try.files {
					if name == ".repo" {
						b.repository(t)
						continue
					}
					b.Put(t, filepath.Join(b.Workspace, name), text)
				}
				opts := opts
				if try.needs == "go" {
					cache := buildCache(t)
					opts.Write, opts.Set = []string{cache}, append(identity, "GOCACHE="+cache)
				}
				c := b.Shell(t, b.Plan(t, profile, opts), opts.Limits, try.script)
				if c.Exit.Code != 0 || !strings.Contains(c.Stdout.Text, try.want) {
					t.Errorf("code %d, output lacks %q:\n%s%s", c.Exit.Code, try.want, c.Stdout.Text, c.Stderr.Text)
				}
			})
		}
	}
	if !probe.Holds(wall, "agent") {
		return
	}
	t.Run("a linked worktree", func(t *testing.T) { linkedWorktree(t, wall, opts) })
	t.Run("an agent keeps its own state", func(t *testing.T) { agentState(t, wall, opts) })
	t.Run("caches stay between runs and out of the home directory", func(t *testing.T) { caches(t, wall, opts) })
}

// buildCache is a cache of compiled packages that stays between test runs:
// compiling the runtime anew each time would take most of the suite's time.
// It is the one that is in use where that holds something.
func buildCache(t *testing.T) string {
	if out, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		dir := strings.TrimSpace(string(out))
		if full, err := filepath.Glob(filepath.Join(dir, "0*")); err == nil && len(full) > 10 {
			if some, err := os.ReadDir(full[0]); err == nil && len(some) > 0 {
				return dir
			}
		}
	}
	dir := "/var/tmp/reeve-jailtest-go-" + strconv.Itoa(os.Getuid())
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
		t.Fatalf("%s is not a directory of ours: %v", dir, err)
	}
	return dir
}

// linkedWorktree: the workspace's .git is a pointer to a repository outside.
func linkedWorktree(t *testing.T, wall jail.Wall, opts jail.Options) {
	b := NewBench(t, wall)
	b.repository(t)
	main := b.Workspace
	b.Workspace = filepath.Join(filepath.Dir(main), "wt")
	git(t, main, "worktree", "add", "-q", b.Workspace)
	plan := b.Plan(t, "agent", opts)
	before := plant.Snapshot(plan, time.Now())
	c := b.Shell(t, plan, opts.Limits, "set -e; echo 2 > b.txt; git add b.txt; git commit -qm second; git log --oneline | wc -l; "+
		"for f in config hooks/x ../a.txt commondir; do echo evil 2>/dev/null >> "+main+"/.git/$f || true; done")
	if c.Exit.Code != 0 || strings.TrimSpace(c.Stdout.Text) != "2" {
		t.Errorf("code %d: %s%s", c.Exit.Code, c.Stdout.Text, c.Stderr.Text)
	}
	moved := before.Quarantine().Quarantined
	if len(moved) != 1 || moved[0] != filepath.Join(main, ".git/commondir") {
		t.Errorf("moved %v, want the planted commondir", moved)
	}
	git(t, main, "fsck")
	for _, name := range []string{".git/config", "a.txt"} {
		if text, err := os.ReadFile(filepath.Join(main, name)); err != nil || strings.Contains(string(text), "evil") {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
}

func agentState(t *testing.T, wall jail.Wall, opts jail.Options) {
	b := NewBench(t, wall)
	b.Put(t, filepath.Join(b.Home, ".claude/projects/p.jsonl"), "old\n")
	b.Put(t, filepath.Join(b.Home, ".claude/shell-snapshots/other.sh"), "old\n")
	b.Put(t, filepath.Join(b.Home, ".claude.json"), `{"mcpServers":{}}`)
	b.Put(t, filepath.Join(b.Home, ".gemini/history"), "old\n")
	if err := os.Symlink(filepath.Join(b.Home, ".gemini"), filepath.Join(b.Home, ".codex")); err != nil {
		t.Fatal(err)
	}
	c := b.Shell(t, b.Plan(t, "agent", opts), opts.Limits, `set -e; cd $HOME
echo new >> .claude/projects/p.jsonl; echo new > .claude/todo; echo new >> .gemini/history
test "$(cat .claude.json)" = '{"mcpServers":{}}'; echo '{"mcpServers":{"evil":{}}}' > .claude.json; grep -q evil .claude.json
ls .claude/shell-snapshots | wc -l; echo evil > .claude/shell-snapshots/other.sh
if echo x 2>/dev/null > .bashrc; then echo home written; fi`)
	if c.Exit.Code != 0 || strings.TrimSpace(c.Stdout.Text) != "0" {
		t.Errorf("code %d: %s%s", c.Exit.Code, c.Stdout.Text, c.Stderr.Text)
	}
	for name, want := range map[string]string{
		".claude/projects/p.jsonl": "old\nnew\n", ".claude/todo": "new\n", ".gemini/history": "old\nnew\n",
		".claude.json": `{"mcpServers":{}}`, ".claude/shell-snapshots/other.sh": "old\n",
	} {
		if text, err := os.ReadFile(filepath.Join(b.Home, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q %v, want %q", name, text, err, want)
		}
	}
}

func caches(t *testing.T, wall jail.Wall, opts jail.Options) {
	b := NewBench(t, wall)
	cache := filepath.Join(b.State, "cache")
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := jail.ProfileNamed("agent")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(jail.Place{Workspace: b.Workspace, Home: b.Home, State: []string{b.State}, Cache: cache, Env: os.Environ()}, opts)
	if err != nil {
		t.Fatal(err)
	}
	b.Shell(t, plan, opts.Limits, "mkdir -p $XDG_CACHE_HOME/x && echo kept > $XDG_CACHE_HOME/x/y")
	c := b.Shell(t, plan, opts.Limits, "cat $XDG_CACHE_HOME/x/y; ls "+b.State+" | wc -l")
	if strings.Join(strings.Fields(c.Stdout.Text), " ") != "kept 0" {
		t.Errorf("the cache reads %q (%s), and the state shows something", c.Stdout.Text, c.Stderr.Text)
	}
	if _, err := os.Stat(filepath.Join(cache, "x/y")); err != nil {
		t.Error(err)
	}
}
