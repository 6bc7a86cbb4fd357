package safepath

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds on looking for the files that a hard link may alias.
const (
	aliasEntries = 20_000          // names looked at in the workspace, and again in all stores together
	aliasAge     = 2 * time.Second // how long a look is good for
)

// inode names one file on this machine.
type inode struct{ dev, ino uint64 }

// aliasSet knows the inodes of credential files and of Reeve's own state, so
// that a second hard link to one of them is known by whatever name it has
// (contract A22). It looks only when somebody asks of a file with more than
// one link, which package stores have and sources seldom do.
//
// BUG(reeve): a credential beyond the first 20,000 names of the workspace is
// not found, and an alias to it is then known as a hard link only.
type aliasSet struct {
	home, root string
	state      []string
	now        func() time.Time

	mu    sync.Mutex // guards what follows
	taken time.Time
	found map[inode]bool
}

// globLiteral makes a pattern that matches a path and nothing else.
var globLiteral = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

func (a *aliasSet) has(i inode) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.now(); a.found == nil || now.Sub(a.taken) > aliasAge {
		a.found, a.taken = map[inode]bool{}, now
		a.takeStores()
		a.takeWorkspace()
	}
	return a.found[i]
}

// takeStores notes the files of the home's credential stores and of Reeve.
func (a *aliasSet) takeStores() {
	left := aliasEntries
	if a.home != "" && a.home != "/" {
		for _, list := range [][]string{CredentialPaths, AgentCredentials, {".env*", ".git/config"}} {
			for _, name := range list {
				matches, _ := filepath.Glob(filepath.Join(globLiteral.Replace(a.home), name))
				for _, m := range matches {
					left = a.take(m, left, func(string) bool { return true })
				}
			}
		}
	}
	for _, dir := range a.state {
		left = a.take(dir, left, func(string) bool { return true })
	}
}

// takeWorkspace notes the workspace's own files that are named as credentials.
func (a *aliasSet) takeWorkspace() {
	a.take(a.root, aliasEntries, func(path string) bool { return Credential(strings.TrimPrefix(path, a.root)) })
}

// take walks below dir, looks at no more than left names, notes the regular
// files that want says yes to and returns what is left. Folders of installed
// packages and of git's objects are not entered: nobody keeps a credential
// there, and they are large.
func (a *aliasSet) take(dir string, left int, want func(path string) bool) int {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		if err != nil {
			return nil // a folder that cannot be read holds nothing that could be linked from it
		}
		if d.IsDir() {
			switch d.Name() {
			case "node_modules", "objects", "Cache", "cache2", "Code Cache":
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !want(path) {
			return nil
		}
		if info, err := os.Lstat(path); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				a.found[inode{uint64(st.Dev), st.Ino}] = true
			}
		}
		return nil
	})
	return left
}
