// Package beneath works on a directory tree by descriptor and never leaves it.
//
// A [Dir] is a directory that was reached from a top without following a
// symbolic link. Every step looks at a name, opens it, and compares what was
// opened with what was looked at, so that looking and opening are one: who
// exchanges names meanwhile gets an error, [ErrSwapped], and never another
// file (contract Y50, M34). It stands on os.Root, which alone would follow
// links that stay inside.
//
// [Dir.Stage] writes a file beside the one it will replace and flushes it;
// [Staged.Commit] puts it in place (M33). [RenameNew] moves a name where
// nothing stands. What is removed or made through the embedded os.Root goes by
// one name only, since os.Root follows links in longer paths.
package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// ErrSwapped is what a walk ends with when a name stops being what it was.
var ErrSwapped = errors.New("it was replaced by something else at this moment; try again")

// ErrNoDir is what a path ends with that is no directory where one is needed.
var ErrNoDir = errors.New("is not a directory")

// Linked is the error of a path that goes through a symbolic link.
type Linked struct{ Path, To string }

func (l Linked) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s; name the real path", l.Path, l.To)
}

// Dir is a directory that was reached without following a link. The zero Dir
// is none. Whoever gets one closes it.
type Dir struct {
	*os.Root
	rel string // from the top
}

// Open opens the top of a tree. A symbolic link in path is followed: the top
// is who calls to choose.
func Open(path string) (Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return Dir{}, err
	}
	return Dir{root, "."}, nil
}

// Rel is the directory's path from the top; "." is the top.
func (d Dir) Rel() string { return d.rel }

// Path is the path from the top of a name in d.
func (d Dir) Path(name string) string { return filepath.Join(d.rel, name) }

// At opens the directory at rel below d, a local path, going through no link.
// Where made is not nil, missing directories are made and their paths from the
// top added to it.
func (d Dir) At(rel string, made *[]string) (Dir, error) {
	root, err := d.OpenRoot(".")
	if err != nil {
		return Dir{}, Error(d.rel, err)
	}
	at := Dir{root, d.rel}
	if rel == "." {
		return at, nil
	}
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		next, err := at.Dir(name)
		if made != nil && errors.Is(err, fs.ErrNotExist) {
			if err = at.Mkdir(name, 0o755); err == nil {
				*made = append(*made, at.Path(name))
			}
			if err == nil || errors.Is(err, fs.ErrExist) {
				next, err = at.Dir(name)
			}
		}
		at.Close()
		if err != nil {
			return Dir{}, err
		}
		at = next
	}
	return at, nil
}

// Dir opens the directory called name in d, if it is one and no link to
// one. Looking first and comparing afterwards makes the two one step: what
// was opened is what stood there as a directory.
func (d Dir) Dir(name string) (Dir, error) {
	rel := filepath.Join(d.rel, name)
	before, err := d.Lstat(name)
	if err != nil {
		return Dir{}, Error(rel, err)
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		to, _ := d.Readlink(name)
		return Dir{}, Linked{rel, to}
	}
	if !before.IsDir() {
		return Dir{}, fmt.Errorf("%s %w", rel, ErrNoDir)
	}
	sub, err := d.OpenRoot(name)
	if err != nil {
		return Dir{}, Error(rel, err)
	}
	after, err := sub.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		sub.Close()
		return Dir{}, fmt.Errorf("%s: %w", rel, ErrSwapped)
	}
	return Dir{sub, rel}, nil
}

// File opens the regular file called name in d for reading, if it is one
// and no link to one. It never waits on a pipe put in its place.
func (d Dir) File(name string) (*os.File, fs.FileInfo, error) {
	rel := filepath.Join(d.rel, name)
	before, err := d.LookFile(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := d.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, Error(rel, err)
	}
	after, err := f.Stat()
	if err != nil || !os.SameFile(before, after) {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", rel, ErrSwapped)
	}
	return f, after, nil
}

// LookFile looks at name in d, which must be a regular file.
func (d Dir) LookFile(name string) (fs.FileInfo, error) {
	rel := filepath.Join(d.rel, name)
	info, err := d.Lstat(name)
	switch {
	case err != nil:
		return nil, Error(rel, err)
	case info.Mode()&fs.ModeSymlink != 0:
		to, _ := d.Readlink(name)
		return nil, Linked{rel, to}
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", rel)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file (%s)", rel, info.Mode().Type())
	}
	return info, nil
}

// Entries reads at most limit entries, by name.
func (d Dir) Entries(limit int) (list []fs.DirEntry, more bool, err error) {
	f, err := d.Open(".")
	if err != nil {
		return nil, false, Error(d.rel, err)
	}
	defer f.Close()
	list, err = f.ReadDir(limit + 1)
	if err != nil && err != io.EOF {
		return nil, false, Error(d.rel, err)
	}
	if len(list) > limit {
		list, more = list[:limit], true
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	return list, more, nil
}

// Links is how many hard links a file has.
func Links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// Error says what happened to a path from the top, without the system call.
func Error(rel string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", rel, err)
}

// Flush makes the names of a directory durable.
func (d Dir) Flush() error {
	f, err := d.Open(".")
	if err != nil {
		return Error(d.rel, err)
	}
	defer f.Close()
	// A file system that cannot flush a directory says EINVAL.
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return Error(d.rel, err)
	}
	return nil
}
