package jail

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// tree is what one bounded walk over a writable directory found.
type tree struct {
	gits    []string // every .git, of any type, the outermost first
	sockets []string // unix sockets: the host's, since the process has not started
	aliases []string // other names of the wanted inodes
	cut     bool     // the bound was reached
}

// walkTree looks for repositories and sockets below root. Directories that
// hold installed packages are not entered: their repositories are nobody's
// working tree. At most walkDirs directories, walkLevels deep.
func walkTree(root string) tree {
	var t tree
	walk(root, &t.cut, func(path string, e fs.DirEntry) bool {
		switch {
		case e.Name() == ".git":
			t.gits = append(t.gits, path)
			return false
		case e.Type()&fs.ModeSocket != 0:
			t.sockets = append(t.sockets, path)
		}
		return e.Name() != "node_modules"
	})
	return t
}

// walk visits the entries below root level by level, without following
// symbolic links; visit says whether a directory is entered.
func walk(root string, cut *bool, visit func(path string, e fs.DirEntry) bool) {
	type level struct {
		dir   string
		depth int
	}
	queue := []level{{root, 0}}
	for seen := 0; seen < len(queue); seen++ {
		if seen >= walkDirs {
			*cut = true
			return
		}
		here := queue[seen]
		for _, e := range entries(here.dir) {
			path := filepath.Join(here.dir, e.Name())
			if !visit(path, e) || !e.IsDir() {
				continue
			}
			if here.depth+1 >= walkLevels {
				*cut = true
				continue
			}
			queue = append(queue, level{path, here.depth + 1})
		}
	}
}

// entries reads one directory unsorted; one that cannot be read is empty: the
// process inside has no more rights to it than we have.
func entries(dir string) []fs.DirEntry {
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

// readSmall reads a regular file of at most limit bytes; a symbolic link, a
// device or a longer file is an error.
func readSmall(path string, limit int64) ([]byte, error) {
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
