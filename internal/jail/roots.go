package jail

import (
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// roots are the places of a plan after every check.
type roots struct {
	workspace, dir, home string
	homes                []string // home and the account's own home, where they differ
	state                []string
	cache                string
	write                []string
	granted              []string // write, and the workspace where that is written
	notes                []string
}

// insideCache is where the tool caches stand inside the boundary.
const insideCache = "/run/reeve/cache"

func (p Profile) roots(at Place, opts Options) (roots, error) {
	var r roots
	var err error
	if r.home, err = tree.CanonicalDir(at.Home); err != nil {
		return r, fmt.Errorf("home directory: %w", err)
	}
	r.homes = []string{r.home}
	if u, err := user.Current(); err == nil {
		if own, err := tree.CanonicalDir(u.HomeDir); err == nil && own != r.home && own != "/" {
			r.homes = append(r.homes, own)
		}
	}
	for _, s := range at.State {
		c, err := tree.Canonical(s)
		if err != nil {
			return r, fmt.Errorf("reeve's own directory: %w", err)
		}
		r.state = append(r.state, c)
	}
	if r.workspace, err = tree.CanonicalDir(at.Workspace); err != nil {
		return r, fmt.Errorf("workspace: %w", err)
	}
	readOnly := p.ReadOnly || opts.ReadOnly
	if err := r.grantable(r.workspace, readOnly); err != nil {
		return r, fmt.Errorf("workspace: %w", err)
	}
	if r.write, err = r.extraRoots(opts.Write); err != nil {
		return r, err
	}
	if r.granted = r.write; !readOnly {
		r.granted = append([]string{r.workspace}, r.write...)
	}
	if r.dir, err = r.workingDir(at.Dir); err != nil {
		return r, err
	}
	if at.Cache != "" {
		if r.cache, err = tree.CanonicalDir(at.Cache); err != nil {
			return r, fmt.Errorf("cache directory: %w", err)
		}
		if !slices.ContainsFunc(r.state, func(s string) bool { return s != r.cache && tree.Within(s, r.cache) }) {
			return r, fmt.Errorf("cache directory %s does not lie below one of reeve's own directories", r.cache)
		}
	}
	return r, nil
}

// extraRoots checks what a person added by --write.
func (r *roots) extraRoots(asked []string) ([]string, error) {
	if len(asked) > MaxRoots {
		return nil, fmt.Errorf("%d further writable directories asked for; at most %d", len(asked), MaxRoots)
	}
	var out []string
	for _, w := range asked {
		c, err := tree.CanonicalDir(w)
		if err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
		if err := r.grantable(c, false); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
		out = append(out, c)
	}
	return tree.Outermost(out), nil
}

// grantable refuses a root that would give away the machine, the home
// directory or Reeve's own state.
func (r *roots) grantable(root string, readOnly bool) error {
	for _, s := range r.state {
		if tree.Within(root, s) || tree.Within(s, root) {
			return fmt.Errorf("%s overlaps %s, where reeve keeps its own state: choose another directory", root, s)
		}
	}
	if readOnly {
		return nil
	}
	if root == "/" {
		return errors.New("/ as a writable directory would be no boundary: name a directory inside it")
	}
	for _, h := range r.homes {
		if tree.Within(root, h) {
			return fmt.Errorf("%s holds the home directory %s: name a directory inside it", root, h)
		}
		for _, generic := range []string{".config", ".cache", ".local", ".local/share", ".local/state", ".local/bin"} {
			if root == filepath.Join(h, generic) {
				return fmt.Errorf("%s holds the settings of many programs: name a directory inside it", root)
			}
		}
	}
	if slices.Contains(neverWrite, root) {
		return fmt.Errorf("%s belongs to the system: name a directory inside it", root)
	}
	return nil
}

// workingDir refuses a directory that is missing or outside the writable
// roots: a directory that the model chose must never widen the boundary
// (CVE-2025-59532).
func (r *roots) workingDir(dir string) (string, error) {
	if dir == "" {
		return r.workspace, nil
	}
	c, err := tree.CanonicalDir(dir)
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for _, root := range append([]string{r.workspace}, r.write...) {
		if tree.Within(root, c) {
			return c, nil
		}
	}
	return "", fmt.Errorf("working directory %s is outside the workspace %s", c, r.workspace)
}

// private reports whether path lies below a directory the process has for
// itself, so that the host's file there is not seen anyway.
func private(path string) bool {
	return slices.ContainsFunc(privateDirs, func(d string) bool { return tree.Within(d, path) })
}
