// Package viewed lays a plan over a view of its workspace (package view): what
// of it is shown, what is looked at afterwards, and who cannot show one.
package viewed

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// By reports whether the wall of this name can show a view.
func By(wall string) bool { return wall == "native" || wall == "bwrap" }

// Refuse refuses a plan with a view, for a wall that mounts nothing.
func Refuse(p jail.Plan) error {
	if p.View != "" {
		return fmt.Errorf("%w: this boundary mounts nothing, so that it cannot show a view of the workspace: leave --review out", reeve.ErrBoundary)
	}
	return nil
}

// Guarded are the paths below the workspace, as patterns from it, that the
// boundary protects or watches: what a view of it holds there is never taken
// over.
func Guarded(p jail.Plan) []string {
	var out []string
	add := func(path string) {
		if rel, err := filepath.Rel(p.Workspace, path); err == nil && filepath.IsLocal(rel) && rel != "." {
			out = append(out, rel)
		}
	}
	for _, path := range slices.Concat(p.Protect, p.Absent, p.Mask, p.Private) {
		add(path)
	}
	for _, link := range p.Links {
		add(link.Path)
		if real, err := tree.Canonical(link.Path); err == nil {
			add(real)
		}
	}
	return out
}

// Hidden are the paths below the workspace, from it, that the run does not see:
// a view of it lacks them, so that no later run that knows less of them does.
func Hidden(p jail.Plan) []string {
	var out []string
	for _, path := range p.Mask {
		if rel, err := filepath.Rel(p.Workspace, path); err == nil && filepath.IsLocal(rel) {
			out = append(out, rel)
		}
	}
	return out
}

// Through shows dir, a view of the workspace (package view), in its place. The
// workspace itself must not be reached by another way.
func Through(p jail.Plan, dir string) (jail.Plan, error) {
	if p.ReadOnly {
		return jail.Plan{}, fmt.Errorf("a workspace that is read-only needs no view: leave --review out, or --read-only")
	}
	for _, w := range p.Write {
		if w != p.Workspace && tree.Within(w, p.Workspace) {
			return jail.Plan{}, fmt.Errorf("%s is writable and holds the workspace, so that the files themselves could be moved: leave it out, or --review", w)
		}
	}
	if info, err := os.Lstat(filepath.Join(p.Workspace, ".git")); err == nil && !info.IsDir() {
		return jail.Plan{}, fmt.Errorf("%s is a linked worktree, or its .git leads elsewhere: what it shares with its repository cannot be shown in a view; run in the repository itself", p.Workspace)
	}
	p.View = dir
	return p, nil
}

// Watched is the part of a plan that is looked at when the run has ended: of a
// workspace that is shown through a view nothing can have been changed, and who
// changed it meanwhile was somebody else.
func Watched(p jail.Plan) jail.Plan {
	if p.View == "" {
		return p
	}
	inside := func(path string) bool { return tree.Within(p.Workspace, path) }
	p.ReadOnly = true
	p.Protect = slices.DeleteFunc(slices.Clone(p.Protect), inside)
	p.Absent = slices.DeleteFunc(slices.Clone(p.Absent), inside)
	p.Trees = slices.DeleteFunc(slices.Clone(p.Trees), inside)
	p.Links = slices.DeleteFunc(slices.Clone(p.Links), func(l jail.Link) bool { return inside(l.Path) })
	p.Repos = slices.DeleteFunc(slices.Clone(p.Repos), func(r jail.Repo) bool { return inside(r.Git) })
	return p
}
