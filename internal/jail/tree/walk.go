// Package tree looks at paths and directories for a boundary: whether one
// path lies below another, what a path is without its symbolic links, and what
// stands below a root, in walks that are bounded and follow no link.
package tree

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of one walk.
const (
	maxDirs   = 20000
	maxLevels = 12
)

// Found is what one walk over a writable directory found.
type Found struct {
	Gits    []string // every .git, of any type, the outermost first
	Sockets []string // unix sockets
	Cut     bool     // the bound was reached
}

// Look looks for repositories and sockets below root. Directories that
// hold installed packages are not entered: their repositories are nobody's
// working tree. At most maxDirs directories, maxLevels deep.
func Look(root string) Found {
	var t Found
	Walk(root, &t.Cut, func(path string, e fs.DirEntry) bool {
		switch {
		case e.Name() == ".git":
			t.Gits = append(t.Gits, path)
			return false
		case e.Type()&fs.ModeSocket != 0:
			t.Sockets = append(t.Sockets, path)
		}
		return e.Name() != "node_modules"
	})
	return t
}

// Walk visits the entries below root level by level, without following
// symbolic links; visit says whether a directory is entered.
func Walk(root string, cut *bool, visit func(path string, e fs.DirEntry) bool) {
	type level struct {
		dir   string
		depth int
	}
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

// Entries reads one directory unsorted; one that cannot be read is empty: the
// process inside has no more rights to it than we have.
func Entries(dir string) []fs.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil && len(list) == 0 {
		return nil
	}
	return list
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
