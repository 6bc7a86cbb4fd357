package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/reeve-gate/reeve/internal/safepath"
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
	root *os.Root
	made []string // directories that this call made, deepest last
}

func openWorkspace(at tool.Place, disk Disk) (*workspace, error) {
	root, err := os.OpenRoot(at.Workspace)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &workspace{at: at, disk: disk, root: root}, nil
}

func (w *workspace) close() { w.root.Close() }

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

// errSwapped is what a walk ends with when a name stops being what it was.
var errSwapped = errors.New("it was replaced by something else at this moment; try again")

// linked says that a path goes through a symbolic link, and where to.
type linked struct{ path, to string }

func (l linked) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s; name the real path", l.path, l.to)
}

// dir is a directory that was reached without following a link.
type dir struct {
	*os.Root
	rel string // from the workspace
}

// openDir opens the directory called name in d, if it is one and no link to
// one. Looking first and comparing afterwards makes the two one step: what
// was opened is what stood there as a directory.
func (d dir) openDir(name string) (dir, error) {
	rel := filepath.Join(d.rel, name)
	before, err := d.Lstat(name)
	if err != nil {
		return dir{}, pathError(rel, err)
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		to, _ := d.Readlink(name)
		return dir{}, linked{rel, to}
	}
	if !before.IsDir() {
		return dir{}, fmt.Errorf("%s is not a directory", rel)
	}
	sub, err := d.OpenRoot(name)
	if err != nil {
		return dir{}, pathError(rel, err)
	}
	after, err := sub.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		sub.Close()
		return dir{}, fmt.Errorf("%s: %w", rel, errSwapped)
	}
	return dir{sub, rel}, nil
}

// openFile opens the regular file called name in d for reading, if it is one
// and no link to one. It never waits on a pipe put in its place.
func (d dir) openFile(name string) (*os.File, fs.FileInfo, error) {
	rel := filepath.Join(d.rel, name)
	before, err := d.lstatFile(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := d.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, pathError(rel, err)
	}
	after, err := f.Stat()
	if err != nil || !os.SameFile(before, after) {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", rel, errSwapped)
	}
	return f, after, nil
}

// lstatFile looks at name in d, which must be a regular file.
func (d dir) lstatFile(name string) (fs.FileInfo, error) {
	rel := filepath.Join(d.rel, name)
	info, err := d.Lstat(name)
	switch {
	case err != nil:
		return nil, pathError(rel, err)
	case info.Mode()&fs.ModeSymlink != 0:
		to, _ := d.Readlink(name)
		return nil, linked{rel, to}
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", rel)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file (%s)", rel, info.Mode().Type())
	}
	return info, nil
}

// top is the workspace itself.
func (w *workspace) top() (dir, error) {
	root, err := w.root.OpenRoot(".")
	if err != nil {
		return dir{}, pathError(".", err)
	}
	return dir{root, "."}, nil
}

// dirAt opens the directory at rel, going through no link. With make it makes
// the ones that are missing. The caller closes it.
func (w *workspace) dirAt(rel string, make bool) (dir, error) {
	d, err := w.top()
	if err != nil || rel == "." {
		return d, err
	}
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		next, err := d.openDir(name)
		if make && errors.Is(err, fs.ErrNotExist) {
			if err = d.Mkdir(name, 0o755); err == nil {
				w.made = append(w.made, filepath.Join(d.rel, name))
			}
			if err == nil || errors.Is(err, fs.ErrExist) {
				next, err = d.openDir(name)
			}
		}
		d.Close()
		if err != nil {
			return dir{}, err
		}
		d = next
	}
	return d, nil
}

// parentOf opens the directory that holds p and gives p's own name in it. The
// workspace itself has no parent here.
func (w *workspace) parentOf(p place, make bool) (dir, string, error) {
	if p.rel == "." {
		return dir{}, "", fmt.Errorf("%s is the workspace itself", p.abs)
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
		info, err := w.root.Lstat(next)
		if err != nil {
			return place{}, pathError(p.rel, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return place{}, fmt.Errorf("%s goes through more than %d symbolic links", p.rel, maxLinks)
		}
		to, err := w.root.Readlink(next)
		if err != nil {
			return place{}, pathError(p.rel, err)
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

// links is how many hard links a file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// pathError says what happened to a path from the workspace, without the
// system call.
func pathError(rel string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", rel, err)
}
