package landlock

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/ruleset"
	"github.com/reeve-gate/reeve/internal/jail/tree"
	"github.com/reeve-gate/reeve/internal/jail/viewed"
)

// MaxRules bounds the rules of one plan: a directory that holds something
// hidden is listed, and each of its entries gets a rule.
const MaxRules = 16384

// system are directories of which every tree has its own or none in a wall
// that mounts. Here the host's are closed, save what is named.
var system = []string{"/tmp", "/var/tmp", "/run", "/dev"}

// devices every program needs, with all rights to files.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// Check refuses a plan that Landlock cannot hold, with [reeve.ErrBoundary] and
// what to ask for instead.
func Check(plan jail.Plan) error {
	const why = "the reduced boundary of Landlock cannot hold profile %s: %s; use --profile strict or --profile read-only, or install bubblewrap and allow user namespaces"
	if err := viewed.Refuse(plan); err != nil {
		return err
	}
	switch {
	case !plan.NoUnix:
		return fmt.Errorf("%w: "+why, reeve.ErrBoundary, plan.Profile, "it leaves unix sockets open, and single ones cannot be hidden")
	case plan.Net == jail.ProxiedNetwork:
		return fmt.Errorf("%w: "+why, reeve.ErrBoundary, plan.Profile, "a network that leads through the proxy alone needs a network namespace")
	}
	return nil
}

// Compute turns a plan into rules and looks into the directories that hold
// something closed. temp is the tree's own temporary directory, tty its
// terminal or empty. Notes say where nothing new can be made. The plan must
// have passed [Check].
func Compute(plan jail.Plan, temp, tty string) (ruleset.Rules, []string, error) {
	c := &computing{}
	for _, path := range slices.Concat(plan.Protect, plan.Private, plan.Pin) {
		if err := exact(path); err != nil {
			return ruleset.Rules{}, nil, err
		}
	}
	shown := slices.Concat([]string{plan.Workspace, temp}, plan.Write, plan.Read)
	roots := append([]string{temp}, plan.Write...)
	if !plan.ReadOnly {
		roots = append(roots, plan.Workspace)
	}
	hidden := slices.Concat(plan.Mask, plan.Private)
	var expose []string
	for _, e := range plan.Expose {
		if e.Write {
			roots, shown = append(roots, e.From), append(shown, e.From)
		} else {
			expose = append(expose, e.From)
		}
	}

	c.add("/", ruleset.ReadDir, false) // names are not hidden
	c.below("/", slices.Concat(hidden, system), ruleset.ReadFile)
	for _, root := range slices.Concat(shown, roots) {
		if err := exact(root); err != nil {
			return ruleset.Rules{}, nil, err
		}
	}
	for _, root := range shown {
		c.below(root, inside(root, hidden), ruleset.ReadFile)
	}
	for _, path := range expose {
		c.add(path, ruleset.ReadFile, false)
	}

	kept := slices.Concat(plan.Protect, hidden, expose)
	for _, l := range plan.Links {
		kept = append(kept, l.Path)
	}
	if plan.ReadOnly {
		kept = append(kept, plan.Workspace)
	}
	for _, root := range roots {
		closed := slices.DeleteFunc(inside(root, kept), func(p string) bool { return slices.Contains(roots, p) })
		c.pins = inside(root, plan.Pin)
		c.below(root, closed, ruleset.Change|ruleset.Make)
	}
	for _, d := range devices {
		c.add(d, ruleset.OfFile, true)
	}
	if tty != "" {
		c.add(tty, ruleset.OfFile, false)
	}
	if c.err != nil {
		return ruleset.Rules{}, nil, c.err
	}
	var notes []string
	for _, dir := range tree.Tidy(c.fixed) {
		notes = append(notes, "nothing new can be made right in "+dir+", which holds a protected or hidden name; below it work goes on")
	}
	return ruleset.Rules{Handled: ruleset.All, Scoped: unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, Rules: c.rules}, notes, nil
}

// exact fails on a place that is gone, or that has a symbolic link in its
// path by now: it was changed since the plan was made.
func exact(path string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return fmt.Errorf("%w: %s changed while the sandbox was made: %w", reeve.ErrBoundary, path, err)
	}
	return unix.Close(fd)
}

// inside keeps the paths that are root or lie below it.
func inside(root string, paths []string) []string {
	var out []string
	for _, p := range paths {
		if tree.Within(root, p) {
			out = append(out, p)
		}
	}
	return out
}

// computing collects rules.
type computing struct {
	rules []ruleset.Rule
	pins  []string // directories that must stay where they are, of the root at hand
	fixed []string // writable directories in which nothing new can be made
	err   error
}

func (c *computing) add(path string, access uint64, seen bool) {
	if len(c.rules) >= MaxRules && c.err == nil {
		c.err = fmt.Errorf("%w: the directories that hold hidden or protected names have more than %d entries, too many for rules of Landlock", reeve.ErrBoundary, MaxRules)
	}
	if c.err == nil {
		c.rules = append(c.rules, ruleset.Rule{Path: path, Access: access, Seen: seen})
	}
}

// below allows access at root and below it, save at what is closed. A
// directory above something closed is listed, and what stands in it is allowed
// one by one; a symbolic link is judged by where it leads.
func (c *computing) below(root string, closed []string, access uint64) {
	if slices.Contains(closed, root) {
		return
	}
	held := access&ruleset.Make != 0 && slices.ContainsFunc(c.pins, func(p string) bool { return p != root && tree.Within(root, p) })
	closed = inside(root, closed)
	if len(closed) == 0 && !held {
		c.add(root, access, true)
		return
	}
	info, err := os.Lstat(root)
	if err != nil || !info.IsDir() {
		return // nothing there, or nothing that can hold something closed
	}
	if access&ruleset.Make != 0 {
		c.fixed = append(c.fixed, root)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return // what cannot be listed is not allowed
	}
	for _, e := range entries {
		path := filepath.Join(root, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
		case e.IsDir():
			c.below(path, closed, access)
		case !slices.Contains(closed, path) && access&ruleset.OfFile != 0:
			c.add(path, access&ruleset.OfFile, true)
		}
	}
}
