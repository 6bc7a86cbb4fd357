package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	"github.com/reeve-gate/reeve/internal/tool"
)

// place is one path of a call: as the caller meant it, and from the workspace.
type place struct {
	abs string // absolute, clean
	rel string // below the workspace; "." is the workspace itself
}

// locate makes a path of the arguments a place. A path that leaves the
// workspace by its text is refused here; one that leaves it by a link, when
// it is walked.
func locate(path string, at tool.Place) (place, error) {
	switch {
	case path == "":
		return place{}, errors.New("the path is empty")
	case strings.IndexByte(path, 0) >= 0:
		return place{}, errors.New("the path holds a NUL byte")
	case len(path) > 4096:
		return place{}, errors.New("the path is longer than 4,096 bytes")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(at.Dir, path)
	}
	path = filepath.Clean(path)
	rel, err := filepath.Rel(at.Workspace, path)
	if err != nil || !filepath.IsLocal(rel) {
		return place{}, fmt.Errorf("%s is outside the workspace %s; the file tools stay inside it", path, at.Workspace)
	}
	return place{path, rel}, nil
}

// workspace is an open workspace, for one call.
type workspace struct {
	at   tool.Place
	disk Disk
	top  beneath.Dir
	made []string // directories that this call made, deepest last
}

func openWorkspace(at tool.Place, disk Disk) (*workspace, error) {
	top, err := beneath.Open(at.Workspace)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &workspace{at: at, disk: disk, top: top}, nil
}

func (w *workspace) close() { w.top.Close() }

// unmake removes the directories that a failed call made, where nothing has
// come to stand in them.
func (w *workspace) unmake() {
	for i := len(w.made) - 1; i >= 0; i-- {
		d, err := w.dirAt(filepath.Dir(w.made[i]), false)
		if err != nil {
			return
		}
		name := filepath.Base(w.made[i])
		if info, err := d.Lstat(name); err == nil && info.IsDir() {
			d.Remove(name)
		}
		d.Close()
	}
}

func (w *workspace) locate(path string) (place, error) { return locate(path, w.at) }

// dirAt opens the directory at rel, going through no link. With make it makes
// the ones that are missing. The caller closes it.
func (w *workspace) dirAt(rel string, make bool) (beneath.Dir, error) {
	if !make {
		return w.top.At(rel, nil)
	}
	return w.top.At(rel, &w.made)
}

// parentOf opens the directory that holds p and gives p's own name in it. The
// workspace itself has no parent here.
func (w *workspace) parentOf(p place, make bool) (beneath.Dir, string, error) {
	if p.rel == "." {
		return beneath.Dir{}, "", fmt.Errorf("%s is the workspace itself", p.abs)
	}
	d, err := w.dirAt(filepath.Dir(p.rel), make)
	return d, filepath.Base(p.rel), err
}

// maxLinks is how many symbolic links one path may go through (as Linux).
const maxLinks = 40

// follow gives the real place of a path that is read: every link that stays
// inside the workspace is resolved, one that leaves it is refused. A name
// that does not exist ends it. Walking the result again without links is what
// keeps the answer true.
func (w *workspace) follow(p place) (place, error) {
	todo := strings.Split(p.rel, string(filepath.Separator))
	at := "."
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == "." || name == "" {
			continue
		}
		next := filepath.Join(at, name)
		if !filepath.IsLocal(next) {
			return place{}, fmt.Errorf("%s leads outside the workspace %s; the file tools stay inside it", p.rel, w.at.Workspace)
		}
		info, err := w.top.Lstat(next)
		if err != nil {
			return place{}, beneath.Error(p.rel, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return place{}, fmt.Errorf("%s goes through more than %d symbolic links", p.rel, maxLinks)
		}
		to, err := w.top.Readlink(next)
		if err != nil {
			return place{}, beneath.Error(p.rel, err)
		}
		if filepath.IsAbs(to) {
			inside, err := w.locate(to)
			if err != nil {
				return place{}, fmt.Errorf("%s is a symbolic link to %s, outside the workspace; the file tools stay inside it", next, to)
			}
			at, to = ".", inside.rel
		}
		todo = append(strings.Split(to, string(filepath.Separator)), todo...)
	}
	return place{filepath.Join(w.at.Workspace, at), at}, nil
}

// through calls f with the place of something that is read, and again with
// its real place where f met a symbolic link.
func through[T any](w *workspace, p place, f func(place) (T, error)) (T, error) {
	if err := secret(p); err != nil {
		return *new(T), err
	}
	v, err := f(p)
	var met beneath.Linked
	if !errors.As(err, &met) {
		return v, err
	}
	real, err := w.follow(p)
	if err == nil {
		err = secret(real)
	}
	if err != nil {
		return *new(T), err
	}
	return f(real)
}

// secret refuses what is a credential by its name.
func secret(p place) error {
	if safepath.Credential(p.abs) {
		return fmt.Errorf("%s holds credentials; the file tools do not open it", p.rel)
	}
	return nil
}

// alias refuses a file that is a second name of a credential.
func (w *workspace) alias(rel string, info fs.FileInfo) error {
	if w.disk.Alias(w.at.Workspace, info) {
		return fmt.Errorf("%s is another name of a file that holds credentials; the file tools do not open it", rel)
	}
	return nil
}
