package safepath

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/safepath/repo"
)

// maxResolvers bounds how many workspaces a Disk remembers.
const maxResolvers = 64

// Disk answers for every workspace of a daemon: it makes a [Resolver] on
// first use and keeps it. It is safe for concurrent use.
type Disk struct {
	repos repo.Cache

	mu        sync.Mutex // guards what follows
	options   Options
	closed    func() []string // places that no agent opens; made once
	resolvers map[string]*Resolver
}

// NewDisk returns a Disk for the places in o, whose Workspace is not used.
func NewDisk(o Options) *Disk {
	return &Disk{options: o, resolvers: map[string]*Resolver{}, closed: sync.OnceValue(func() []string { return closedPlaces(o) })}
}

// Close makes a file or a directory part of Reeve's own state from now on.
func (d *Disk) Close(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.options.State, path) {
		return
	}
	o := d.options
	o.State = append(slices.Clone(o.State), path)
	d.options, d.closed, d.resolvers = o, sync.OnceValue(func() []string { return closedPlaces(o) }), map[string]*Resolver{}
}

// Own is Reeve's own state: what the Disk was made with, and what was closed since.
func (d *Disk) Own() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.options.State)
}

// Facts is [Resolver.Facts] for a path seen from a workspace. Where the
// workspace cannot be resolved nothing is known of the path, and it is marked
// as outside.
func (d *Disk) Facts(workspace, path string) reeve.PathFacts {
	r, err := d.resolver(workspace)
	if err != nil {
		return reeve.PathFacts{Marks: reeve.PathOutside | nameMark(scanNames(fold(path)))}
	}
	return r.Facts(path)
}

// Alias reports whether a file of a workspace is a second name of a
// credential or of Reeve's own state. A file with one name is not.
func (d *Disk) Alias(workspace string, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink < 2 || !info.Mode().IsRegular() {
		return false
	}
	r, err := d.resolver(workspace)
	return err != nil || r.aliases.has(inode{uint64(st.Dev), st.Ino})
}

// RepoRuns says which setting of the repository around dir makes git start a
// program, and where it stands; "" where none does (see [repo.Cache.Runs]).
func (d *Disk) RepoRuns(dir string) string {
	real, _, err := resolve(filepath.Clean(dir))
	if err != nil {
		return "a directory that cannot be resolved"
	}
	d.mu.Lock()
	o := d.options
	d.mu.Unlock()
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return d.repos.Runs(real, o.Home, now())
}

// FoldsCase reports whether names in a workspace are the same in upper and
// lower case, as far as its first entries show; path rules must then fold too.
func (d *Disk) FoldsCase(workspace string) bool {
	r, err := d.resolver(workspace)
	return err == nil && r.folds()
}

// maxText is how large a file may be whose text is looked at.
const maxText = 16 << 20

// Contents is what the regular file at path holds. There is none where the path
// is no such file, is larger than 16 MiB, or cannot be read.
func (d *Disk) Contents(path string) (string, bool) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // to open a device may do something
		return "", false
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxText {
		return "", false
	}
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	return string(b), err == nil && len(b) <= maxText
}

func (d *Disk) resolver(workspace string) (*Resolver, error) {
	workspace = filepath.Clean(workspace)
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.resolvers[workspace]; r != nil {
		return r, nil
	}
	o := d.options
	o.Workspace = workspace
	r, err := NewResolver(o)
	if err != nil {
		return nil, err
	}
	if len(d.resolvers) >= maxResolvers {
		clear(d.resolvers)
	}
	d.resolvers[workspace] = r
	return r, nil
}
