package jail

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/reeve-gate/reeve/internal/jail/configured"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// ProtectedNames are the files and directories at the root of a working tree
// that start programs, or steer the tools that do (A17, Y67): settings of
// agents and editors, and the files that shells and package managers obey.
func ProtectedNames() []string {
	return []string{
		".a3s", ".agents", ".aider.conf.yml", ".claude", ".claude.json", ".codex", ".continue", ".cursor", ".gemini", ".mcp.json",
		".opencode", ".reeve", ".roo", ".windsurf",
		".devcontainer", ".envrc", ".husky", ".idea", ".vscode", ".zed",
		".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".gitconfig", ".inputrc", ".pnpmfile.cjs", ".profile", ".ripgreprc",
		".yarnrc", ".yarnrc.yml", ".zlogin", ".zlogout", ".zprofile", ".zshenv", ".zshrc", "bunfig.toml",
	}
}

// gitNames are what git executes, or takes its configuration from, inside
// one git directory. commondir and config.worktree belong to it because a
// planted one makes git read a configuration the process wrote
// (CVE-2026-40068).
var gitNames = []string{"config", "config.worktree", "commondir", "hooks", "info/attributes"}

// protectRoots fills in what stays read-only inside the workspace and every
// further directory that a person made writable, the repositories found there,
// and the sockets that must not be reached (Y67: of each working repository).
func (p Profile) protectRoots(plan *Plan, r roots) {
	p.protectRoot(plan, r, plan.Workspace, plan.ReadOnly)
	for _, root := range r.write {
		p.protectRoot(plan, r, root, false)
	}
	for _, e := range plan.Expose {
		for _, root := range append([]string{plan.Workspace}, r.write...) {
			if tree.Within(root, e.From) && root != e.From && !e.Write {
				// Shown inside means used inside, and Reeve's own program is
				// used outside too: nothing may be put in its place.
				guard{plan: plan, root: root}.protect(e.From)
			}
		}
	}
}

func (p Profile) protectRoot(plan *Plan, r roots, root string, readOnly bool) {
	found := tree.Look(root)
	if found.Cut {
		plan.Notes = append(plan.Notes, root+" is very large: repositories deep inside it were not looked for")
	}
	if !readOnly {
		plan.Trees = append(plan.Trees, root)
	}
	bases := []string{root}
	for _, git := range found.Gits {
		if dir := filepath.Dir(git); dir != root {
			bases = append(bases, dir)
		}
	}
	g := guard{plan: plan, root: root, homes: r.homes}
	for up := filepath.Dir(root); up != filepath.Dir(up); up = filepath.Dir(up) { // a part of a repository
		if git := filepath.Join(up, ".git"); exists(git) {
			g.configured(up, configured.GitDirs(git)...)
		}
	}
	for _, base := range bases {
		for _, name := range ProtectedNames() {
			g.name(filepath.Join(base, name))
		}
	}
	for _, git := range found.Gits {
		p.protectGit(g, git, r)
	}
	for _, dir := range found.Bare {
		plan.Repos = append(plan.Repos, Repo{Git: dir})
		g.pin(dir)
		g.gitDir(dir)
		g.configured(dir, dir)
	}
	if p.WholeGit && len(found.Gits) == 0 {
		g.name(filepath.Join(root, ".git"))
	}
	plan.Mask = append(plan.Mask, found.Sockets...)
}

// protectGit guards one .git: a directory, the pointer file of a linked
// worktree or a submodule, or a symbolic link.
func (p Profile) protectGit(g guard, git string, r roots) {
	info, err := os.Lstat(git)
	if err != nil {
		return
	}
	g.plan.Repos = append(g.plan.Repos, Repo{Git: git})
	if p.WholeGit || !info.IsDir() {
		g.name(git)
	}
	g.configured(filepath.Dir(git), configured.GitDirs(git)...)
	switch {
	case p.WholeGit:
	case info.IsDir():
		g.pin(git)
		g.gitDir(git)
	case info.Mode().IsRegular() && filepath.Dir(git) == g.plan.Workspace && !g.plan.ReadOnly:
		common, ok := registeredWorktree(git)
		if !ok || r.grantable(common, false) != nil {
			g.plan.Notes = append(g.plan.Notes, git+" points to a git directory outside the workspace that does not point back: commits will fail")
			return
		}
		g.plan.Write = tree.Outermost(append(g.plan.Write, common))
		g.plan.Notes = append(g.plan.Notes, "this is a linked worktree of "+filepath.Dir(common)+": its .git is writable, save what it executes")
		g.plan.Trees = append(g.plan.Trees, common)
		shared := guard{plan: g.plan, root: common, homes: g.homes}
		shared.gitDir(common)
		shared.configured(filepath.Dir(git), common)
	}
}

// registeredWorktree reads the pointer file of a linked worktree and returns
// the shared git directory, if that one names this worktree in turn: only
// somebody who could write there can have made it so.
func registeredWorktree(pointer string) (common string, ok bool) {
	dir := tree.PointedTo(pointer, "gitdir:")
	if dir == "" || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return "", false
	}
	common = filepath.Dir(filepath.Dir(dir))
	back, err := tree.Canonical(tree.PointedTo(filepath.Join(dir, "gitdir"), ""))
	if err != nil || back != pointer {
		return "", false
	}
	if tree.PointedTo(filepath.Join(dir, "commondir"), "") != common {
		return "", false
	}
	real, err := tree.CanonicalDir(common)
	return real, err == nil && real == common
}

// guard adds protected names below one writable root to a plan.
type guard struct {
	plan  *Plan
	root  string
	homes []string // of the person
}

// name protects one path: read-only and pinned where it exists, watched for
// where it does not, compared where it is a symbolic link.
func (g guard) name(path string) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		g.plan.Absent = append(g.plan.Absent, path)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return
		}
		g.plan.Links = append(g.plan.Links, Link{Path: path, Target: target})
		if real, err := tree.Canonical(path); err == nil && tree.Within(g.root, real) && real != g.root {
			if _, err := os.Lstat(real); err == nil {
				g.protect(real)
			}
		}
	default:
		g.protect(path)
	}
}

func (g guard) protect(path string) {
	g.plan.Protect = append(g.plan.Protect, path)
	g.pinAbove(path)
}

// pinAbove binds every directory between the root and path on itself:
// renaming a mount point gives EBUSY, renaming a directory above one does not.
func (g guard) pinAbove(path string) {
	for dir := filepath.Dir(path); dir != g.root && tree.Within(g.root, dir); dir = filepath.Dir(dir) {
		g.plan.Pin = append(g.plan.Pin, dir)
	}
}

func (g guard) pin(dir string) {
	if dir != g.root {
		g.plan.Pin = append(g.plan.Pin, dir)
	}
	g.pinAbove(dir)
}

// gitDir protects what git executes in one git directory, in the submodules
// and in the linked worktrees kept below it.
func (g guard) gitDir(dir string) {
	for _, name := range gitNames {
		g.name(filepath.Join(dir, name))
	}
	for _, wt := range tree.Subdirs(filepath.Join(dir, "worktrees")) {
		g.name(filepath.Join(wt, "commondir"))
		g.name(filepath.Join(wt, "config.worktree"))
	}
	g.modules(filepath.Join(dir, "modules"), 0)
}

// modules descends into .git/modules, where a submodule named a/b keeps its
// git directory two levels down.
func (g guard) modules(dir string, depth int) {
	if depth > 6 {
		return
	}
	for _, sub := range tree.Subdirs(dir) {
		if _, err := os.Lstat(filepath.Join(sub, "HEAD")); err == nil {
			g.gitDir(sub)
			continue
		}
		g.modules(sub, depth+1)
	}
}

// configured protects what the configurations of git directories name for git
// to start or to include in the working tree at top: what is not part of .git,
// and so is no more closed by a profile that closes .git than by another.
func (g guard) configured(top string, gitDirs ...string) {
	for _, path := range configured.Paths(top, g.homes, gitDirs...) {
		real, err := tree.Canonical(path)
		if err != nil {
			continue
		}
		for at := path; at != real && tree.Within(g.root, at) && at != g.root; at = filepath.Dir(at) {
			if target, err := os.Readlink(at); err == nil && !slices.Contains(g.plan.Links, Link{Path: at, Target: target}) {
				g.plan.Links = append(g.plan.Links, Link{Path: at, Target: target}) // it must lead where it does
			}
		}
		if tree.Within(g.root, real) && real != g.root {
			g.name(real)
		}
	}
}
