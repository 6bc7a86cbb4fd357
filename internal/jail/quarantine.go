package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/gitconf"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// Quarantine moves away what the run planted: what stands under a protected
// name that was free before, what git would execute or obey in a repository
// that is new or was exchanged, and whatever took the place of a protected
// link. Nothing is deleted; a person can move it back (research note, 3.3).
//
// Between the planting and this moment a program outside that reacts to files
// by itself, such as direnv or an editor, has had its chance.
func (b *Before) Quarantine() Changes {
	q := &quarantine{before: b, at: time.Now()}
	for _, pattern := range b.plan.Absent {
		for _, path := range matches(pattern) {
			if _, was := b.known[path]; !was {
				q.move(path)
			}
		}
	}
	for _, link := range b.plan.Links {
		if target, err := os.Readlink(link.Path); err == nil && target == link.Target {
			continue
		}
		if _, err := os.Lstat(link.Path); err == nil {
			q.move(link.Path)
		}
		q.relink(link)
	}
	if !b.plan.ReadOnly {
		q.repositories(b.plan.Workspace)
	}
	for _, root := range b.plan.Write {
		if filepath.Base(root) == ".git" {
			q.gitDir(root)
		}
	}
	q.changes.Where = q.dir
	return q.changes
}

type quarantine struct {
	before  *Before
	at      time.Time
	dir     string // made when the first thing is moved
	moved   int
	changes Changes
}

// repositories looks at every repository below the workspace, old and new.
func (q *quarantine) repositories(root string) {
	for _, git := range tree.Look(root).Gits {
		info, err := os.Lstat(git)
		if err != nil {
			continue
		}
		old, was := q.before.git[git]
		same := was && old == inode(info)
		switch {
		case info.IsDir():
			q.gitDir(git)
			if !was {
				q.changes.Repos = append(q.changes.Repos, git)
			}
		case same || slices.Contains(q.before.plan.Protect, git):
		case !info.Mode().IsRegular() || !q.safePointer(git):
			q.move(git)
		}
	}
}

// safePointer accepts the pointer file of a worktree or submodule whose git
// directory stands inside a repository of the same workspace, where it was
// looked at.
func (q *quarantine) safePointer(file string) bool {
	target, err := tree.CanonicalDir(pointedTo(file, "gitdir:"))
	if err != nil {
		return false
	}
	for _, root := range append([]string{q.before.plan.Workspace}, q.before.plan.Write...) {
		if !tree.Within(root, target) {
			continue
		}
		for dir := target; dir != root && tree.Within(root, dir); dir = filepath.Dir(dir) {
			parent := filepath.Dir(dir)
			name := filepath.Base(parent)
			if (name == "worktrees" || name == "modules") && filepath.Base(filepath.Dir(parent)) == ".git" {
				return true
			}
		}
	}
	return false
}

// gitDir looks at everything git executes or obeys in one git directory. What
// was protected during the run could not change and is left alone.
func (q *quarantine) gitDir(dir string) {
	if q.wasProtected(dir) {
		return
	}
	for _, name := range []string{"config.worktree", "commondir", "info/attributes"} {
		q.unless(filepath.Join(dir, name), func(string) bool { return false })
	}
	q.hooks(filepath.Join(dir, "hooks"))
	q.config(filepath.Join(dir, "config"))
	for _, wt := range tree.Subdirs(filepath.Join(dir, "worktrees")) {
		q.unless(filepath.Join(wt, "config.worktree"), func(string) bool { return false })
		q.unless(filepath.Join(wt, "commondir"), func(path string) bool { return pointedTo(path, "") == dir })
	}
	q.submodules(filepath.Join(dir, "modules"), 0)
}

func (q *quarantine) submodules(dir string, depth int) {
	if depth > 6 {
		return
	}
	for _, sub := range tree.Subdirs(dir) {
		if _, err := os.Lstat(filepath.Join(sub, "HEAD")); err == nil {
			q.gitDir(sub)
			continue
		}
		q.submodules(sub, depth+1)
	}
}

// hooks leaves the samples that git itself puts there and never runs.
func (q *quarantine) hooks(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || q.wasProtected(dir) {
		return
	}
	if !info.IsDir() {
		q.move(dir)
		return
	}
	for _, e := range tree.Entries(dir) {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".sample") {
			q.move(filepath.Join(dir, e.Name()))
		}
	}
}

// config replaces a configuration that starts programs by its harmless part,
// so that a repository cloned during the run stays one.
func (q *quarantine) config(path string) {
	text, err := tree.ReadSmall(path, gitconf.MaxSize)
	if errors.Is(err, fs.ErrNotExist) || q.wasProtected(path) || err == nil && gitconf.Harmless(text) {
		return
	}
	if q.move(path) && err == nil {
		q.write(path, gitconf.HarmlessPart(text))
	}
}

// unless moves path away where it exists, could change and fails the test.
func (q *quarantine) unless(path string, fine func(string) bool) {
	if _, err := os.Lstat(path); err != nil || q.wasProtected(path) {
		return
	}
	if _, was := q.before.known[path]; was || fine(path) {
		return
	}
	q.move(path)
}

func (q *quarantine) wasProtected(path string) bool {
	return slices.ContainsFunc(q.before.plan.Protect, func(p string) bool { return tree.Within(p, path) })
}

// move takes one thing out of its writable root. The directory it stands in
// is opened without leaving that root, so that a link planted on the way
// leads nowhere.
func (q *quarantine) move(path string) bool {
	err := q.tryMove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false // gone with a directory above it that was moved already
	}
	if err != nil {
		q.changes.Problems = append(q.changes.Problems, fmt.Sprintf("%s could not be moved away: %v", path, err))
		return false
	}
	q.changes.Quarantined = append(q.changes.Quarantined, path)
	return true
}

func (q *quarantine) tryMove(path string) error {
	root, rel, err := q.root(path)
	if err != nil {
		return err
	}
	defer root.Close()
	parent, err := root.Open(filepath.Dir(rel))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := q.open(); err != nil {
		return err
	}
	q.moved++
	base := filepath.Base(rel)
	name := fmt.Sprintf("%03d-%s", q.moved, base)
	err = unix.Renameat(int(parent.Fd()), base, unix.AT_FDCWD, filepath.Join(q.dir, name))
	if errors.Is(err, unix.EXDEV) {
		if err = tree.Copy(root, rel, filepath.Join(q.dir, name)); err == nil {
			err = root.RemoveAll(rel)
		}
	}
	if err != nil {
		return err
	}
	return q.list(name, path)
}

// root opens the writable root a path stands below.
func (q *quarantine) root(path string) (*os.Root, string, error) {
	for _, dir := range append([]string{q.before.plan.Workspace}, q.before.plan.Write...) {
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
	base := q.before.plan.Quarantine
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

// list writes down what stood where, for the person who moves it back.
func (q *quarantine) list(name, path string) error {
	f, err := os.OpenFile(filepath.Join(q.dir, "list.tsv"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\t%s\n", name, path)
	return errors.Join(err, f.Close())
}

// relink puts a protected symbolic link back.
func (q *quarantine) relink(link Link) {
	root, rel, err := q.root(link.Path)
	if err == nil {
		err = root.Symlink(link.Target, rel)
		root.Close()
	}
	if err != nil {
		q.changes.Problems = append(q.changes.Problems, fmt.Sprintf("link %s could not be put back: %v", link.Path, err))
	}
}

func (q *quarantine) write(path string, text []byte) {
	root, rel, err := q.root(path)
	if err == nil {
		err = root.WriteFile(rel, text, 0o644)
		root.Close()
	}
	if err != nil {
		q.changes.Problems = append(q.changes.Problems, fmt.Sprintf("write the harmless part of %s: %v", path, err))
	}
}
