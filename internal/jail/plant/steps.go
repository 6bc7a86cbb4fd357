package plant

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail/configured"
	"github.com/reeve-gate/reeve/internal/jail/gitconf"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// What git goes on with when a person types git rebase --continue, or the like,
// in one git directory.
const (
	todoFile     = "rebase-merge/git-rebase-todo"
	strategyFile = "rebase-merge/strategy"
	optionsFile  = "sequencer/opts"
)

// maxTodo bounds a list of steps that is read, in bytes.
const maxTodo = 1 << 20

// steps are the commands that stood in the lists of steps of a repository, by
// the list's path.
func steps(git string, into map[string][]string) {
	for _, dir := range configured.GitDirs(git) {
		for _, d := range append(tree.Subdirs(filepath.Join(dir, "worktrees")), dir) {
			path := filepath.Join(d, todoFile)
			if text, err := tree.ReadSmall(path, maxTodo); err == nil {
				into[path] = slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return !runs(line) })
			}
		}
	}
}

// runs reports whether a step starts a program (git-rebase(1), exec).
func runs(step string) bool {
	step = strings.TrimLeft(step, " \t")
	for _, word := range []string{"exec", "x"} {
		if rest, ok := strings.CutPrefix(step, word); ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\r")) {
			return true
		}
	}
	return false
}

// goesOn takes out of what git goes on with the programs that a run put there: a
// person who continues a rebase would start them.
func (q *quarantine) goesOn(dir string) {
	for _, name := range []string{"rebase-merge", "sequencer"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			q.move(filepath.Join(dir, name))
		}
	}
	path := filepath.Join(dir, todoFile)
	q.rewrite(path, func(text []byte) []byte {
		lines := strings.Split(string(text), "\n")
		return []byte(strings.Join(slices.DeleteFunc(lines, func(line string) bool {
			return runs(line) && !slices.Contains(q.before.Steps[path], line)
		}), "\n"))
	})
	// git merge-NAME with a slash in the name is a program at that path.
	q.rewrite(filepath.Join(dir, strategyFile), func(text []byte) []byte {
		if strings.ContainsRune(string(text), '/') {
			return nil
		}
		return text
	})
	q.rewrite(filepath.Join(dir, optionsFile), func(text []byte) []byte {
		set, ok := gitconf.Parse(text)
		if !ok || slices.ContainsFunc(set, func(s gitconf.Setting) bool {
			return s.Key == "options.strategy" && strings.ContainsRune(s.Value, '/')
		}) {
			return nil
		}
		return text
	})
}

// rewrite moves a file away that keep would shorten, and writes the rest of it
// in its place; nothing where nothing is to be kept.
func (q *quarantine) rewrite(path string, keep func([]byte) []byte) {
	text, err := tree.ReadSmall(path, maxTodo)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var kept []byte
	if err == nil {
		if kept = keep(text); len(kept) == len(text) {
			return
		}
	}
	if q.move(path) && len(kept) > 0 {
		q.write(path, kept, 0o644)
	}
}
