package jail

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// Before remembers what must be known before a run to tell afterwards what it
// changed and what it planted.
type Before struct {
	plan  Plan
	start time.Time           // of the file system's own clock
	known map[string]struct{} // paths that matched a watched pattern already
	git   map[string]uint64   // .git to its inode
}

// Bounds of the count (second review 21).
const (
	countEntries = 50000
	countTime    = 150 * time.Millisecond
)

// Snapshot is taken right before a run; start is when the caller began.
func Snapshot(plan Plan, start time.Time) *Before {
	b := &Before{plan: plan, start: start, known: map[string]struct{}{}, git: map[string]uint64{}}
	// A file's change time comes from the coarse clock, which lags behind.
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err == nil {
		if t := time.Unix(now.Unix()); t.Before(start) {
			b.start = t
		}
	}
	for _, pattern := range plan.Absent {
		for _, m := range matches(pattern) {
			b.known[m] = struct{}{}
		}
	}
	for _, r := range plan.Repos {
		b.git[r.Git] = r.Inode
	}
	return b
}

// Changes is what a run left behind.
type Changes struct {
	Files       int      // files and links in the workspace that were made or changed
	AtLeast     bool     // the bound was reached, there may be more
	Quarantined []string // where the things stood that were moved away
	Where       string   // the directory they were moved to; empty if none
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
	if b.plan.ReadOnly {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	seen := 0
	queue := []string{b.plan.Workspace}
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
			case b.changed(path):
				files++
			}
		}
	}
	return files, false
}

// touched reports whether a directory or one of its own entries changed.
func (b *Before) touched(path string, depth int) bool {
	if b.changed(path) {
		return true
	}
	if depth == 0 {
		return false
	}
	return slices.ContainsFunc(tree.Entries(path), func(e fs.DirEntry) bool { return b.touched(filepath.Join(path, e.Name()), depth-1) })
}

func (b *Before) changed(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && !time.Unix(st.Ctim.Unix()).Before(b.start)
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
