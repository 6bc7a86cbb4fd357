// Package tree looks at paths and directories for a boundary: whether one
// path lies below another, what a path is without its symbolic links, and what
// stands below a root, in walks that are bounded and follow no link. It also
// moves out of a root what a run left there.
package tree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Bounds of a walk before a run, which must not take time, and of one after it.
const (
	maxDirs    = 20000
	maxLevels  = 12
	deepDirs   = 100000
	deepLevels = 64
)

// Found is what one walk over a writable directory found.
type Found struct {
	Gits    []string // every .git, of any type, the outermost first
	Bare    []string // git directories of another name: bare repositories, those of submodules and of worktrees
	Sockets []string // unix sockets
	Cut     bool     // the bound was reached
}

// Look looks for repositories and sockets below root, itself included.
// Directories that hold installed packages are not entered: their
// repositories are nobody's working tree. At most maxDirs directories,
// maxLevels deep.
func Look(root string) Found {
	s := search{dirs: maxDirs, levels: maxLevels}
	s.run(root)
	return s.found
}

// Search is Look after a run that may have hidden what it made: it goes
// deeper, enters .git, and opens to this account each directory that cannot
// be listed and was changed after since.
func Search(root string, since time.Time) Found {
	s := search{dirs: deepDirs, levels: deepLevels, after: true, since: since}
	s.run(root)
	return s.found
}

// search is one walk.
type search struct {
	dirs, levels int
	after        bool
	since        time.Time
	found        Found
	queue        []level
}

// level is a directory on its way, and how deep it stands.
type level struct {
	dir   string
	depth int
}

func (s *search) run(root string) {
	s.queue = []level{{root, 0}}
	for seen := 0; seen < len(s.queue); seen++ {
		if seen >= s.dirs {
			s.found.Cut = true
			return
		}
		s.look(s.queue[seen])
	}
}

func (s *search) look(here level) {
	entries, err := List(here.dir)
	if errors.Is(err, fs.ErrPermission) && s.after && ChangedSince(here.dir, s.since) {
		Loosen(here.dir)
		entries, _ = List(here.dir)
	}
	git := gitDir(entries)
	if git && filepath.Base(here.dir) != ".git" {
		s.found.Bare = append(s.found.Bare, here.dir)
	}
	for _, e := range entries {
		path := filepath.Join(here.dir, e.Name())
		switch {
		case e.Name() == ".git":
			if s.found.Gits = append(s.found.Gits, path); !s.after {
				continue
			}
		case e.Type()&fs.ModeSocket != 0:
			s.found.Sockets = append(s.found.Sockets, path)
		}
		if !e.IsDir() || e.Name() == "node_modules" || git && (e.Name() == "objects" || e.Name() == "logs") {
			continue
		}
		if here.depth+1 >= s.levels {
			s.found.Cut = true
			continue
		}
		s.queue = append(s.queue, level{path, here.depth + 1})
	}
}

// gitDir reports whether git would take a directory with these entries for a
// repository (gitrepository-layout(5)).
func gitDir(entries []fs.DirEntry) bool {
	var head, objects, refs, common bool
	for _, e := range entries {
		switch e.Name() {
		case "HEAD":
			head = !e.IsDir()
		case "objects":
			objects = true
		case "refs":
			refs = true
		case "commondir":
			common = true
		}
	}
	return head && (common || objects && refs)
}

// Walk visits the entries below root level by level, without following
// symbolic links; visit says whether a directory is entered. Its bounds are
// those of [Look].
func Walk(root string, cut *bool, visit func(path string, e fs.DirEntry) bool) {
	queue := []level{{root, 0}}
	for seen := 0; seen < len(queue); seen++ {
		if seen >= maxDirs {
			*cut = true
			return
		}
		here := queue[seen]
		for _, e := range Entries(here.dir) {
			path := filepath.Join(here.dir, e.Name())
			if !visit(path, e) || !e.IsDir() {
				continue
			}
			if here.depth+1 >= maxLevels {
				*cut = true
				continue
			}
			queue = append(queue, level{path, here.depth + 1})
		}
	}
}

// List reads one directory unsorted, with what it could read where it fails
// half way.
func List(dir string) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// Entries is List where one that cannot be read is empty: the process inside
// has no more rights to it than we have.
func Entries(dir string) []fs.DirEntry {
	list, _ := List(dir)
	return list
}

// ChangedSince reports whether the entry at path, its mode or its content was
// changed at t or later: by change time, which no program can set back.
func ChangedSince(path string, t time.Time) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && !changed(st).Before(t)
}

// ReadSmall reads a regular file of at most limit bytes; a symbolic link, a
// device or a longer file is an error.
func ReadSmall(path string, limit int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
