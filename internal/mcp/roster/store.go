package roster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/mcp/packages"
	"github.com/reeve-gate/reeve/internal/mcp/pins"
	"github.com/reeve-gate/reeve/internal/mcp/standing"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Modules is the directory of a package's tree, as npm lays it.
const Modules = "node_modules"

func (r *Roster) store(server string) string {
	return filepath.Join(r.Store, filepath.Base(server))
}

// Bounds of a tree that is kept.
const (
	maxFiles = 200_000
	maxTree  = 2 << 30 // bytes
)

// pin keeps the package that npm has installed into a directory; the server is
// started from there from now on. npm has held every file to the digest in the
// lock file; the copy is Reeve's own, which no session and no server can write.
func (r *Roster) pin(c wire.Servers) (string, error) {
	s, err := r.server(c.Server)
	if err != nil {
		return "", err
	}
	l := packages.Of(s.Command, s.Args)
	if why := l.Lockable(); why != "" {
		return "", fmt.Errorf("%w: server %s: %s", reeve.ErrUsage, c.Server, why)
	}
	src, err := os.ReadFile(filepath.Join(c.Dir, "package-lock.json"))
	if err != nil {
		return "", fmt.Errorf("read what npm locked: %w", err)
	}
	tree, err := packages.ReadLock(src, l.Name)
	if err != nil {
		return "", err
	}
	if l.Exact && l.Version != tree.Version {
		return "", fmt.Errorf("the settings of server %s name version %s of %s, and npm installed %s", c.Server, l.Version, l.Name, tree.Version)
	}
	manifest, err := os.ReadFile(filepath.Join(c.Dir, Modules, filepath.FromSlash(l.Name), "package.json"))
	if err != nil {
		return "", fmt.Errorf("read the manifest of %s: %w", l.Name, err)
	}
	program, err := l.ProgramOf(manifest)
	if err != nil {
		return "", err
	}
	if err := r.take(c.Server, filepath.Join(c.Dir, Modules)); err != nil {
		return "", fmt.Errorf("keep the package of server %s: %w", c.Server, err)
	}
	pkg := pins.Package{Registry: string(packages.NPM), Name: l.Name, Version: tree.Version, Integrity: tree.Integrity, Tree: tree.Tree, Program: program}
	err = r.Judge.Pins.Change(c.Server, func(p *pins.Pin) (*pins.Pin, error) {
		out := pins.Pin{Version: pins.Version, Server: c.Server, Settings: s.Hash()}
		if p != nil && p.Settings == s.Hash() {
			out = *p
		} else if p != nil { // what was seen of other settings is of another server
			out.Words = p.Words
		}
		out.Package = pkg
		return &out, nil
	})
	return fmt.Sprintf("server %s starts from %s %s now, with %d packages held to their digests", c.Server, l.Name, tree.Version, tree.Packages), err
}

// unpin drops the package of a server: it is started by its runner again.
func (r *Roster) unpin(server string) error {
	err := r.Judge.Pins.Change(server, func(p *pins.Pin) (*pins.Pin, error) {
		if p == nil || p.Package == (pins.Package{}) {
			return nil, fmt.Errorf("%w: no package of server %s is kept", reeve.ErrNotFound, server)
		}
		out := *p
		out.Package = pins.Package{}
		return &out, nil
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(r.store(server))
}

// take copies a tree into the store, in place of the one before.
func (r *Roster) take(server, from string) error {
	if err := durable.Private(r.Store); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(r.Store, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := copyTree(from, filepath.Join(fresh, Modules)); err != nil {
		return err
	}
	if err := os.RemoveAll(r.store(server)); err != nil {
		return err
	}
	if err := os.Rename(fresh, r.store(server)); err != nil {
		return err
	}
	return durable.SyncDir(r.Store)
}

// copyTree copies files, directories and links that stay inside. Anything else
// is an error: no package needs it.
func copyTree(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	files, size := 0, int64(0)
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if files++; files > maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		at := filepath.Join(to, path)
		switch {
		case d.IsDir():
			return os.Mkdir(at, 0o700)
		case d.Type() == fs.ModeSymlink:
			link, err := root.Readlink(path)
			if err != nil {
				return err
			}
			if filepath.IsAbs(link) || !filepath.IsLocal(filepath.Join(filepath.Dir(path), link)) {
				return fmt.Errorf("%s is a link that leads out of the package", path)
			}
			return os.Symlink(link, at)
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is no file, directory or link", path)
		}
		if size += info.Size(); size > maxTree {
			return fmt.Errorf("more than %d bytes", int64(maxTree))
		}
		return copyFile(root, path, at, info.Mode().Perm()&0o700|0o400)
	})
}

func copyFile(root *os.Root, path, at string, perm fs.FileMode) error {
	in, err := root.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Installed is where a server's package is kept and which of its programs the
// server is, below that; "" where it has none. A package that should be there
// and is not is an error: the server is then started from nowhere else.
func (r *Roster) Installed(name string) (dir, program string, err error) {
	s, err := r.server(name)
	if err != nil {
		return "", "", err
	}
	p, err := r.Judge.Pins.Pin(name)
	if err != nil {
		return "", "", err
	}
	if standing.Lock(p) == nil || p.Settings != s.Hash() {
		return "", "", nil
	}
	dir, program = r.store(name), filepath.Join(Modules, ".bin", filepath.Base(p.Package.Program))
	if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
		return "", "", fmt.Errorf("the package of server %s is not where it was kept: %w; run reeve mcp pin %[1]s again", name, err)
	}
	return dir, program, nil
}
