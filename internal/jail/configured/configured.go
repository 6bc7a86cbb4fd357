// Package configured finds what git's configuration names for git to start or
// to include outside of .git: folders of hooks, attributes, included files
// (contract Y67).
package configured

import (
	"os"
	"path/filepath"

	"github.com/reeve-gate/reeve/internal/jail/gitconf"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// Paths are the files and directories that git starts hooks from, or takes its
// configuration and attributes from, in the working tree at top or for it: as
// the configurations of these git directories say, those of the people whose
// homes these are, and the machine's, with what they include. They are absolute,
// need not exist, and may lie anywhere.
func Paths(top string, homes []string, gitDirs ...string) []string {
	var files []string
	for _, dir := range gitDirs {
		files = append(files, filepath.Join(dir, "config"), filepath.Join(dir, "config.worktree"))
	}
	for _, home := range homes {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config"))
	}
	files = append(files, "/etc/gitconfig")
	return gitconf.Named(files, top, homes, func(path string) ([]byte, error) {
		real, err := tree.Canonical(path) // a person's settings are often links
		if err != nil {
			return nil, err
		}
		return tree.ReadSmall(real, gitconf.MaxSize)
	})
}

// GitDirs are the git directory that a .git stands for, and the one that it
// shares with others; none where there is no such thing.
func GitDirs(git string) []string {
	info, err := os.Stat(git)
	if err != nil {
		return nil
	}
	dir := git
	if !info.IsDir() {
		dir = tree.PointedTo(git, "gitdir:")
	}
	if dir == "" {
		return nil
	}
	if common := tree.PointedTo(filepath.Join(dir, "commondir"), ""); common != "" {
		return []string{dir, common}
	}
	return []string{dir}
}
