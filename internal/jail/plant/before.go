// Package plant tells what a run left behind, and moves away what would steer
// programs later.
//
// [Snapshot] remembers, right before a run, what stood under the names that
// the boundary protects. After the run [Before.Quarantine] looks again: what
// appeared under a name that was free, what git would execute or obey in a
// repository that is new, and what took the place of something protected goes
// to the quarantine of the plan, and what stood there before stands there
// again. Nothing is deleted; a person can move it back (research note, 3.3).
//
// Between the planting and that moment a program outside that reacts to files
// by itself, such as direnv or an editor, has had its chance.
//
// [Before.Note] keeps what is remembered in a file, so that [Leftover] can do
// the work of a daemon that was killed during a run.
package plant

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/gitconf"
	"github.com/reeve-gate/reeve/internal/jail/tree"
	"github.com/reeve-gate/reeve/internal/jail/viewed"
)

// Before remembers what must be known before a run to tell afterwards what it
// changed and what it planted. Its fields are exported for the file only.
type Before struct {
	Plan  jail.Plan           // the places of it; the environment is not kept
	Start time.Time           // of the file system's own clock
	Known map[string]bool     // paths that matched a watched pattern already
	Was   map[string]Standing // what stood protected
	Steps map[string][]string // what a rebase in progress would start, by its list of steps
}

// Standing is one protected thing as it was.
type Standing struct {
	ID   tree.ID
	Kept bool // Text is its content: a file of at most gitconf.MaxSize bytes
	Text []byte
	Mode fs.FileMode
}

// Bounds of the count (second review 21).
const (
	countEntries = 50000
	countTime    = 150 * time.Millisecond
)

// Snapshot is taken right before a run; start is when the caller began.
func Snapshot(plan jail.Plan, start time.Time) *Before {
	plan = viewed.Watched(plan)
	b := &Before{Plan: plan, Start: start, Known: map[string]bool{}, Was: map[string]Standing{}, Steps: map[string][]string{}}
	b.Plan.Env = nil
	// A file's change time comes from the coarse clock, which lags behind.
	if t := fileClock(); t.Before(start) {
		b.Start = t
	}
	for _, pattern := range plan.Absent {
		for _, m := range matches(pattern) {
			b.Known[m] = true
		}
	}
	for _, path := range plan.Protect {
		s := Standing{ID: tree.Identify(path)}
		if info, err := os.Lstat(path); err == nil {
			s.Mode = info.Mode().Perm()
		}
		if text, err := tree.ReadSmall(path, gitconf.MaxSize); err == nil {
			s.Kept, s.Text = true, text
		}
		b.Was[path] = s
	}
	for _, r := range plan.Repos {
		steps(r.Git, b.Steps)
	}
	return b
}

// Changes is what a run left behind.
type Changes struct {
	Files       int      // files and links in the workspace that were made or changed
	AtLeast     bool     // the bound was reached, there may be more
	Quarantined []string // where the things stood that were moved away
	Where       string   // the directory they were moved to; empty if none
	Restored    []string // protected files that were exchanged meanwhile and stand as before again; a git configuration with the harmless settings that were added
	Repos       []string // repositories that appeared
	Problems    []string // what could not be looked at or moved
}

// String says how many files changed: "3", "at least 50000".
func (c Changes) String() string {
	if c.AtLeast {
		return fmt.Sprintf("at least %d", c.Files)
	}
	return fmt.Sprint(c.Files)
}

// Lines say what was moved away and what is wrong, for a person; a path below
// root is shown from there.
func (c Changes) Lines(root string) []string {
	from := func(path string) string {
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
		return path
	}
	var lines []string
	for _, q := range c.Quarantined {
		lines = append(lines, "moved out, since it would steer programs: "+from(q))
	}
	for _, r := range c.Restored {
		lines = append(lines, "put back as it was before the run, since something took its place meanwhile: "+from(r))
	}
	if c.Where != "" {
		lines = append(lines, "what was moved out stands in "+c.Where)
	}
	for _, p := range c.Problems {
		lines = append(lines, "attention: "+p)
	}
	return lines
}

// Compare looks at what the run left: what appeared under a protected name is
// moved to quarantine, exchanged links are put back, and changed files are
// counted. It is called after the tree is gone.
func (b *Before) Compare(ctx context.Context) Changes {
	c := b.Quarantine()
	c.Files, c.AtLeast = b.count(ctx)
	return c
}

// count counts by change time, which a program cannot set back. A repository
// or a folder of packages counts as one.
func (b *Before) count(ctx context.Context) (files int, atLeast bool) {
	if b.Plan.ReadOnly {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	seen := 0
	queue := []string{b.Plan.Workspace}
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		for _, e := range tree.Entries(dir) {
			if seen++; seen > countEntries || ctx.Err() != nil {
				return files, true
			}
			path := filepath.Join(dir, e.Name())
			collapsed := e.Name() == ".git" || e.Name() == "node_modules"
			switch {
			case collapsed && b.touched(path, 1):
				files++
			case collapsed:
			case e.IsDir():
				queue = append(queue, path)
			case tree.ChangedSince(path, b.Start):
				files++
			}
		}
	}
	return files, false
}

// touched reports whether a directory or one of its own entries changed.
func (b *Before) touched(path string, depth int) bool {
	if tree.ChangedSince(path, b.Start) {
		return true
	}
	if depth == 0 {
		return false
	}
	return slices.ContainsFunc(tree.Entries(path), func(e fs.DirEntry) bool { return b.touched(filepath.Join(path, e.Name()), depth-1) })
}

// matches expands a watched name: the last element may hold stars.
func matches(pattern string) []string {
	if !strings.Contains(pattern, "*") {
		if _, err := os.Lstat(pattern); err == nil {
			return []string{pattern}
		}
		return nil
	}
	var out []string
	dir, last := filepath.Split(pattern)
	for _, e := range tree.Entries(filepath.Clean(dir)) {
		if ok, _ := filepath.Match(last, e.Name()); ok {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(out)
	return out
}
