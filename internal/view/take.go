package view

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
)

// Conflict is why one change was not taken over. Nothing was touched.
type Conflict struct{ Path, Why string }

func (c *Conflict) Error() string { return fmt.Sprintf("%q %s", c.Path, c.Why) }

// Choose gives the changes at or below the paths, in the order in which they
// are to be taken: what is deleted first, the deepest first of all, then the
// others, a directory before what lies in it. Directories that a chosen change
// needs are chosen with it. No path chooses all. A path without a change is an
// error.
func Choose(all []Change, paths []string) ([]Change, error) {
	chosen := make([]bool, len(all))
	for _, p := range paths {
		found := false
		for i, c := range all {
			if p == "." || c.Path == p || strings.HasPrefix(c.Path, p+"/") {
				chosen[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: nothing was changed at %q", reeve.ErrUsage, p)
		}
	}
	need := map[string]bool{}
	for i, c := range all {
		if chosen[i] && c.Kind != Deleted {
			for up := path.Dir(c.Path); up != "."; up = path.Dir(up) {
				need[up] = true
			}
		}
	}
	var out []Change
	for i, c := range slices.Backward(all) {
		if c.Kind == Deleted && (len(paths) == 0 || chosen[i]) {
			out = append(out, c)
		}
	}
	for i, c := range all {
		if c.Kind != Deleted && (len(paths) == 0 || chosen[i] || need[c.Path] && c.Kind != Mode) {
			out = append(out, c)
		}
	}
	return out, nil
}

// Taking takes changes of one view over, one after the other. It is used by one
// goroutine at a time.
type Taking struct {
	v          View
	base       *base
	root, tree beneath.Dir
	modes      []Change // directories that get their permissions at the end, since nothing could be made in them
}

// Begin opens both sides. The workspace must be the directory that was copied.
func (v View) Begin() (*Taking, error) {
	b, err := v.load()
	if err != nil {
		return nil, err
	}
	root, err := beneath.Open(v.Root)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	info, err := root.Stat(".")
	if now := stampOf(info); err == nil && (now.Dev != b.Top.Dev || now.Ino != b.Top.Ino) {
		err = fmt.Errorf("%w: %s is not the directory that the view was made of: it was replaced meanwhile", reeve.ErrUsage, v.Root)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	tree, err := beneath.Open(v.Tree())
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("open the view: %w", err)
	}
	return &Taking{v: v, base: b, root: root, tree: tree}, nil
}

// End gives directories their permissions and keeps what the workspace holds
// now as what the view begins from.
func (t *Taking) End() error {
	var all []error
	for _, ch := range slices.Backward(t.modes) {
		all = append(all, t.dirMode(ch))
	}
	t.root.Close()
	t.tree.Close()
	t.base.Entries = t.base.Entries[:0:0]
	for _, e := range t.base.by {
		t.base.Entries = append(t.base.Entries, *e)
	}
	slices.SortFunc(t.base.Entries, func(a, b entry) int { return comparePaths(a.Path, b.Path) })
	return errors.Join(append(all, t.v.save(t.base))...)
}

func (t *Taking) dirMode(ch Change) error {
	up, err := t.root.At(filepath.Dir(ch.Path), nil)
	if err != nil {
		return err
	}
	defer up.Close()
	d, err := up.Dir(filepath.Base(ch.Path))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := chmod(d, perm(ch.Is)); err != nil {
		return beneath.Error(ch.Path, err)
	}
	return nil
}

// Take writes one change to the workspace, or says why not: a [Conflict] where
// the change may not be taken, else what went wrong.
func (t *Taking) Take(ch Change) error {
	if why := t.refuses(ch); why != "" {
		return &Conflict{ch.Path, why}
	}
	up, err := t.root.At(filepath.Dir(ch.Path), nil)
	if ch.Kind == Deleted && errors.Is(err, fs.ErrNotExist) {
		delete(t.base.by, ch.Path)
		return nil // as it should be
	}
	if err != nil {
		return &Conflict{ch.Path, "has no directory in the workspace that it could stand in: " + err.Error()}
	}
	defer up.Close()
	name := filepath.Base(ch.Path)
	if ch.Kind != Deleted && t.repository(ch.Path) {
		return &Conflict{ch.Path, "would stand in what git takes for a repository, and obeys: make this change yourself"}
	}
	switch {
	case ch.Kind == Deleted:
		err = t.remove(up, name, ch)
	case ch.Kind == Mode && ch.Is.IsDir():
		err = t.stays(up, name, ch, func(fs.FileInfo) error { t.modes = append(t.modes, ch); return nil })
	case ch.Kind == Mode:
		err = t.fileMode(up, name, ch)
	case ch.Is.IsDir():
		err = t.makeDir(up, name, ch)
	case ch.Is&fs.ModeSymlink != 0:
		err = t.place(up, name, ch, func(temp string) error { return up.Symlink(ch.Link, temp) })
	default:
		err = t.place(up, name, ch, func(temp string) error { return t.write(up, temp, name, ch) })
	}
	if err != nil {
		return err
	}
	if err := up.Flush(); err != nil {
		return err
	}
	t.note(up, name, ch)
	return nil
}

// repository reports whether a directory of the workspace above a path has the
// shape of git's own, or would have it with the path.
func (t *Taking) repository(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		d, err := t.root.At(dir, nil)
		if err != nil {
			return true
		}
		has := func(name string) bool {
			_, err := d.Lstat(name)
			return err == nil || strings.EqualFold(path, filepath.Join(dir, name))
		}
		shape := has("HEAD") && (has("objects") && has("refs") || has("commondir"))
		d.Close()
		if shape || dir == "." {
			return shape
		}
	}
}

// refuses judges a change once more, whoever made it.
func (t *Taking) refuses(ch Change) string {
	switch {
	case ch.Held != "":
		return ch.Held
	case !filepath.IsLocal(ch.Path) || filepath.Clean(ch.Path) != ch.Path || ch.Path == ".":
		return "is no path below the workspace"
	case ch.Is&^(fs.ModePerm|fs.ModeDir|fs.ModeSymlink|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return "is neither a file, a directory nor a link"
	case ch.Is&fs.ModeSymlink != 0:
		if why := t.base.outside(ch.Path, ch.Link); why != "" {
			return why
		}
	}
	if was := t.base.by[ch.Path]; was != nil && was.Left != "" {
		return "stands in the workspace and was not in the view"
	}
	return t.base.held(ch.Path)
}

// stays is done with what stands at a place, which must be what was copied.
func (t *Taking) stays(up beneath.Dir, name string, ch Change, do func(fs.FileInfo) error) error {
	old, err := up.Lstat(name)
	if err != nil {
		return &Conflict{ch.Path, "is gone from the workspace"}
	}
	if why := t.changed(up, name, old, ch); why != "" {
		return &Conflict{ch.Path, why}
	}
	return do(old)
}

// changed says how what stands at a place differs from what was copied.
func (t *Taking) changed(up beneath.Dir, name string, now fs.FileInfo, ch Change) string {
	was := t.base.by[ch.Path]
	const meanwhile = "was changed in the workspace since the session began"
	if was == nil || was.Mode.Type() != now.Mode().Type() {
		return meanwhile
	}
	is := stampOf(now)
	switch {
	case now.IsDir():
		if is.Dev != was.Orig.Dev || is.Ino != was.Orig.Ino {
			return meanwhile
		}
	case now.Mode()&fs.ModeSymlink != 0:
		if to, err := up.Readlink(name); err != nil || to != was.Link {
			return meanwhile
		}
	case is != was.Orig:
		return meanwhile
	}
	return ""
}

func (t *Taking) remove(up beneath.Dir, name string, ch Change) error {
	if _, err := up.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil // as it should be
	}
	return t.stays(up, name, ch, func(fs.FileInfo) error {
		err := up.Remove(name)
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
			return &Conflict{ch.Path, "is not deleted: there is something in it that is not taken over or was added meanwhile"}
		}
		if err != nil {
			return beneath.Error(ch.Path, err)
		}
		return nil
	})
}

func (t *Taking) fileMode(up beneath.Dir, name string, ch Change) error {
	return t.stays(up, name, ch, func(old fs.FileInfo) error {
		f, info, err := up.File(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if !os.SameFile(old, info) {
			return &Conflict{ch.Path, "was changed in the workspace at this moment"}
		}
		if n := beneath.Links(info); n > 1 {
			return &Conflict{ch.Path, fmt.Sprintf("has %d hard links: the others would get these permissions too; make it yourself", n)}
		}
		if err := f.Chmod(perm(ch.Is) | old.Mode().Perm()&0o002); err != nil {
			return beneath.Error(ch.Path, err)
		}
		return nil
	})
}

func (t *Taking) makeDir(up beneath.Dir, name string, ch Change) error {
	old, err := up.Lstat(name)
	switch {
	case err == nil && old.IsDir():
		return nil // as it should be
	case err == nil:
		if err := t.remove(up, name, ch); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return beneath.Error(ch.Path, err)
	}
	if err := up.Mkdir(name, 0o700); err != nil {
		return beneath.Error(ch.Path, err)
	}
	if perm(ch.Is)&0o700 != 0o700 {
		t.modes = append(t.modes, ch) // something may have to be made in it first
		return nil
	}
	return t.dirMode(ch)
}

// place puts a file or a link that make makes under another name into its
// place.
func (t *Taking) place(up beneath.Dir, name string, ch Change, make func(temp string) error) error {
	old, err := up.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return beneath.Error(ch.Path, err)
	}
	here := err == nil
	switch {
	case here && t.same(up, name, old, ch):
		return nil // as it should be
	case here && ch.Kind == Added:
		return &Conflict{ch.Path, "was made in the workspace too since the session began"}
	case !here && ch.Kind != Added && ch.Was.Type() == ch.Is.Type():
		return &Conflict{ch.Path, "is gone from the workspace"}
	case here:
		if why := t.changed(up, name, old, ch); why != "" {
			return &Conflict{ch.Path, why}
		}
		if n := beneath.Links(old); old.Mode().IsRegular() && n > 1 {
			return &Conflict{ch.Path, fmt.Sprintf("has %d hard links: a change would have to reach the others too; make it yourself", n)}
		}
	}
	temp := tempName()
	if err := make(temp); err != nil {
		up.Remove(temp)
		return err
	}
	err = t.move(up, temp, name, ch, here, old)
	if err != nil {
		up.Remove(temp)
	}
	return err
}

// move puts what was made into its place, if that is still what was looked at.
func (t *Taking) move(up beneath.Dir, temp, name string, ch Change, here bool, old fs.FileInfo) error {
	if here && old.IsDir() {
		if err := t.remove(up, name, ch); err != nil {
			return err
		}
		here = false
	}
	if !here {
		err := beneath.RenameNew(up, temp, up, name)
		if errors.Is(err, fs.ErrExist) {
			return &Conflict{ch.Path, "was made in the workspace at this moment"}
		}
		if err != nil {
			return beneath.Error(ch.Path, err)
		}
		return nil
	}
	return t.stays(up, name, ch, func(fs.FileInfo) error {
		if err := up.Rename(temp, name); err != nil {
			return beneath.Error(ch.Path, err)
		}
		return nil
	})
}

// same reports whether what stands in the workspace is what the change wants.
func (t *Taking) same(up beneath.Dir, name string, now fs.FileInfo, ch Change) bool {
	switch {
	case now.Mode().Type() != ch.Is.Type():
		return false
	case now.Mode()&fs.ModeSymlink != 0:
		to, err := up.Readlink(name)
		return err == nil && to == ch.Link
	case now.Size() != ch.Size || perm(now.Mode()) != perm(ch.Is):
		return false
	}
	f, _, err := up.File(name)
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(f, MaxFile+1))
	return err == nil && [sha256.Size]byte(h.Sum(nil)) == ch.Sum
}

// write makes a file with the content of the view, which must be what the
// change says, with the owner of the file that it replaces.
func (t *Taking) write(up beneath.Dir, temp, name string, ch Change) error {
	from, err := t.tree.At(filepath.Dir(ch.Path), nil)
	if err != nil {
		return err
	}
	defer from.Close()
	in, _, err := from.File(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := up.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return beneath.Error(ch.Path, err)
	}
	defer out.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, h), io.LimitReader(in, MaxFile+1)); err != nil {
		return beneath.Error(ch.Path, err)
	}
	if [sha256.Size]byte(h.Sum(nil)) != ch.Sum {
		return &Conflict{ch.Path, "was changed in the view since it was looked at"}
	}
	mode := perm(ch.Is)
	if old, err := up.Lstat(name); err == nil && old.Mode().IsRegular() {
		mode |= old.Mode().Perm() & 0o002
		if err := keepOwner(out, old); err != nil {
			return beneath.Error(ch.Path, err)
		}
	}
	if err := errors.Join(out.Chmod(mode), out.Sync(), out.Close()); err != nil {
		return beneath.Error(ch.Path, err)
	}
	return nil
}

func keepOwner(f *os.File, old fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok1 := old.Sys().(*syscall.Stat_t)
	is, ok2 := now.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		return fmt.Errorf("it belongs to another user or group, which cannot be kept: %w", err)
	}
	return nil
}

// note keeps what stands in the workspace now as what the view begins from.
func (t *Taking) note(up beneath.Dir, name string, ch Change) {
	if ch.Kind == Deleted {
		delete(t.base.by, ch.Path)
		return
	}
	now, err := up.Lstat(name)
	if err != nil {
		return
	}
	e := &entry{Path: ch.Path, Mode: now.Mode(), Orig: stampOf(now), Link: ch.Link}
	if now.IsDir() {
		e.Mode = now.Mode()&^fs.ModePerm | ch.Is.Perm()
	}
	if from, err := t.tree.At(filepath.Dir(ch.Path), nil); err == nil {
		if info, err := from.Lstat(name); err == nil && info.Mode().IsRegular() {
			e.Copy = stampOf(info)
		}
		from.Close()
	}
	t.base.by[ch.Path] = e
}

// tempName cannot be guessed.
func tempName() string {
	var random [12]byte
	rand.Read(random[:])
	return ".reeve-" + hex.EncodeToString(random[:]) + ".tmp"
}
