package plant

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/reeve-gate/reeve/internal/jail/gitconf"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// Quarantine moves away what the run planted. It is called once, after the
// tree is gone.
func (b *Before) Quarantine() Changes {
	q := &quarantine{before: b, at: time.Now(), same: map[string]bool{}, looked: map[string]bool{}}
	for _, root := range append([]string{b.Plan.Workspace}, b.Plan.Write...) {
		if tree.ChangedSince(root, b.Start) {
			tree.Loosen(root)
		}
	}
	found := map[string]tree.Found{}
	for _, root := range b.Plan.Trees { // first of all: it opens what was closed to keep us from looking
		found[root] = tree.Search(root, b.Start)
	}
	for _, path := range b.Plan.Protect {
		q.same[path] = q.stands(path, b.Was[path])
	}
	for _, pattern := range b.Plan.Absent {
		for _, path := range matches(pattern) {
			if !b.Known[path] {
				q.move(path)
			}
		}
	}
	for _, link := range b.Plan.Links {
		if target, err := os.Readlink(link.Path); err == nil && target == link.Target {
			continue
		}
		if _, err := os.Lstat(link.Path); err == nil {
			q.move(link.Path)
		}
		q.relink(link.Path, link.Target)
	}
	for _, root := range b.Plan.Trees {
		q.repositories(root, found[root])
	}
	q.changes.Where = q.dir
	return q.changes
}

type quarantine struct {
	before  *Before
	at      time.Time
	dir     string          // made when the first thing is moved
	moved   int             //
	same    map[string]bool // protected things that are what they were
	looked  map[string]bool // git directories in which nothing is left that runs
	changes Changes
}

// stands reports whether a protected thing is what it was, and makes it so.
// The boundary alone does not keep it: a program outside that puts a new file
// in its place, as git config does, takes the mount off that protected it,
// and where there are too many for a mount each a directory above can be
// moved.
func (q *quarantine) stands(path string, was Standing) bool {
	now := tree.Identify(path)
	switch {
	case now == was.ID:
		return true
	case now == tree.ID{}:
		return false
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return false
	case was.Kept:
		text, err := tree.ReadSmall(path, gitconf.MaxSize)
		if err == nil && (bytes.Equal(text, was.Text) || gitFile(path) && gitconf.HarmlessSince(was.Text, text)) {
			return true
		}
		if !q.move(path) {
			return false
		}
		former := was.Text
		if merged, ok := gitconf.Merge(was.Text, text); ok && gitFile(path) {
			former = merged // what the person set meanwhile stays
		}
		q.write(path, former, was.Mode)
		q.changes.Restored = append(q.changes.Restored, path)
		return true
	case info.Mode().IsRegular():
		q.problem("%s was replaced while the run lasted, which takes its protection off: look at it before you use it", path)
		return false
	}
	q.move(path)
	return false
}

// gitFile reports whether a protected file is a configuration of git.
func gitFile(path string) bool {
	base := filepath.Base(path)
	return base == "config" || base == "config.worktree"
}

// repositories looks at every repository found below root, old and new.
func (q *quarantine) repositories(root string, found tree.Found) {
	if found.Cut {
		q.problem("%s is too large to be looked through: a repository planted deep in it was not found", root)
	}
	known := map[string]bool{}
	for _, r := range q.before.Plan.Repos {
		known[r.Git] = true
	}
	var pointers []string
	for _, git := range found.Gits {
		info, err := os.Lstat(git)
		switch {
		case err != nil:
		case !info.IsDir():
			pointers = append(pointers, git)
		default:
			q.gitDir(git)
			if !known[git] {
				q.changes.Repos = append(q.changes.Repos, git)
			}
		}
	}
	for _, dir := range found.Bare {
		q.gitDir(dir)
	}
	if filepath.Base(root) == ".git" { // what a linked worktree shares
		q.gitDir(root)
	}
	for _, git := range pointers {
		info, err := os.Lstat(git)
		switch {
		case err != nil || q.protected(git) || q.link(git):
		case !info.Mode().IsRegular() || !q.safePointer(git):
			q.move(git)
		}
	}
}

// link reports whether path is a protected link, which was looked at already.
func (q *quarantine) link(path string) bool {
	for _, l := range q.before.Plan.Links {
		if l.Path == path {
			return true
		}
	}
	return false
}

// safePointer accepts the pointer file of a worktree or submodule whose git
// directory stands where git keeps it, inside a repository, and was looked at.
func (q *quarantine) safePointer(file string) bool {
	target, err := tree.CanonicalDir(tree.PointedTo(file, "gitdir:"))
	if err != nil || !q.looked[target] {
		return false
	}
	for dir := target; dir != "/"; dir = filepath.Dir(dir) {
		switch above := filepath.Dir(dir); filepath.Base(above) {
		case "worktrees", "modules":
			if filepath.Base(filepath.Dir(above)) == ".git" {
				return true
			}
		}
	}
	return false
}

// gitDir looks at everything git executes or obeys in one git directory. What
// was protected during the run could not change and is left alone.
func (q *quarantine) gitDir(dir string) {
	q.looked[dir] = true
	if q.protected(dir) {
		return
	}
	for _, name := range []string{"config.worktree", "info/attributes"} {
		q.unless(filepath.Join(dir, name), func(string) bool { return false })
	}
	q.unless(filepath.Join(dir, "commondir"), func(path string) bool {
		parent := filepath.Dir(dir)
		return filepath.Base(parent) == "worktrees" && tree.PointedTo(path, "") == filepath.Dir(parent)
	})
	q.hooks(filepath.Join(dir, "hooks"))
	q.config(filepath.Join(dir, "config"))
	q.goesOn(dir)
	for _, wt := range tree.Subdirs(filepath.Join(dir, "worktrees")) {
		if !q.looked[wt] {
			q.gitDir(wt)
		}
	}
	q.submodules(filepath.Join(dir, "modules"), 0)
}

func (q *quarantine) submodules(dir string, depth int) {
	if depth > 6 {
		return // deeper ones are found as git directories
	}
	for _, sub := range tree.Subdirs(dir) {
		if _, err := os.Lstat(filepath.Join(sub, "HEAD")); err == nil && !q.looked[sub] {
			q.gitDir(sub)
			continue
		}
		q.submodules(sub, depth+1)
	}
}

// hooks leaves the samples that git itself puts there and never runs.
func (q *quarantine) hooks(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || q.protected(dir) {
		return
	}
	entries, err := tree.List(dir)
	if !info.IsDir() || err != nil {
		q.move(dir)
		return
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".sample") {
			q.move(filepath.Join(dir, e.Name()))
		}
	}
}

// config replaces a configuration that starts programs by its harmless part,
// so that a repository cloned during the run stays one.
func (q *quarantine) config(path string) {
	text, err := tree.ReadSmall(path, gitconf.MaxSize)
	if errors.Is(err, fs.ErrNotExist) || q.protected(path) || err == nil && gitconf.Harmless(text) {
		return
	}
	if q.move(path) && err == nil {
		q.write(path, gitconf.HarmlessPart(text), 0o644)
	}
}

// unless moves path away where it exists, could change and fails the test.
func (q *quarantine) unless(path string, fine func(string) bool) {
	if _, err := os.Lstat(path); err != nil || q.protected(path) {
		return
	}
	if q.before.Known[path] || fine(path) {
		return
	}
	q.move(path)
}

// protected reports whether path is, or lies in, something protected that is
// still what it was.
func (q *quarantine) protected(path string) bool {
	return slices.ContainsFunc(q.before.Plan.Protect, func(p string) bool { return tree.Within(p, path) && q.same[p] })
}

func (q *quarantine) problem(format string, args ...any) {
	q.changes.Problems = append(q.changes.Problems, fmt.Sprintf(format, args...))
}

// move takes one thing out of its writable root and reports whether its place
// is free now. What cannot be moved out gets a name that no program looks for.
func (q *quarantine) move(path string) bool {
	root, rel, err := q.root(path)
	if err == nil {
		defer root.Close()
		err = q.moveOut(root, rel, path)
	}
	switch {
	case err == nil:
		q.changes.Quarantined = append(q.changes.Quarantined, path)
		return true
	case errors.Is(err, fs.ErrNotExist) || root == nil:
		if _, gone := os.Lstat(path); gone == nil {
			q.problem("%s could not be moved away: %v", path, err)
		}
		return false // else it went with a directory above it
	}
	aside, more := tree.Aside(root, rel)
	if more != nil {
		q.problem("%s would steer programs and could not be moved away: %v", path, errors.Join(err, more))
		return false
	}
	q.problem("%s would steer programs and could not be moved out (%v): it is called %s now", path, err, filepath.Base(aside))
	return true
}

func (q *quarantine) moveOut(root *os.Root, rel, path string) error {
	if _, err := root.Lstat(rel); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := q.open(); err != nil {
		return err
	}
	q.moved++
	base := filepath.Base(rel)
	if len(base) > 200 {
		base = base[:200]
	}
	name := fmt.Sprintf("%03d-%s", q.moved, base)
	if err := tree.MoveOut(root, rel, filepath.Join(q.dir, name)); err != nil {
		return err
	}
	if err := q.list(name, path); err != nil {
		q.problem("%s is in quarantine as %s, which could not be written into the list: %v", path, name, err)
	}
	return nil
}

// root opens the writable root a path stands below.
func (q *quarantine) root(path string) (*os.Root, string, error) {
	for _, dir := range append([]string{q.before.Plan.Workspace}, q.before.Plan.Write...) {
		if rel, err := filepath.Rel(dir, path); err == nil && rel != "." && filepath.IsLocal(rel) {
			root, err := os.OpenRoot(dir)
			return root, rel, err
		}
	}
	return nil, "", fmt.Errorf("%s is below no writable directory of the run", path)
}

// open makes the directory of this run in quarantine.
func (q *quarantine) open() error {
	if q.dir != "" {
		return nil
	}
	base := q.before.Plan.Quarantine
	if base == "" {
		return errors.New("no quarantine directory is set")
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(base, q.at.UTC().Format("20060102T150405")+"-")
	q.dir = dir
	return err
}

// list writes down what stood where, for the person who moves it back: a name
// with a control character in quotes, so that each has one line.
func (q *quarantine) list(name, path string) error {
	f, err := os.OpenFile(filepath.Join(q.dir, "list.tsv"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for _, s := range []*string{&name, &path} {
		if strings.ContainsFunc(*s, unicode.IsControl) {
			*s = strconv.Quote(*s)
		}
	}
	_, err = fmt.Fprintf(f, "%s\t%s\n", name, path)
	return errors.Join(err, f.Close())
}

// relink puts a protected symbolic link back.
func (q *quarantine) relink(path, target string) {
	root, rel, err := q.root(path)
	if err == nil {
		err = root.Symlink(target, rel)
		root.Close()
	}
	if err != nil {
		q.problem("link %s could not be put back: %v", path, err)
	}
}

func (q *quarantine) write(path string, text []byte, mode fs.FileMode) {
	root, rel, err := q.root(path)
	if err == nil {
		if err = root.WriteFile(rel, text, mode|0o200); err == nil {
			err = root.Chmod(rel, mode)
		}
		root.Close()
	}
	if err != nil {
		q.problem("write %s as it was: %v", path, err)
	}
}
