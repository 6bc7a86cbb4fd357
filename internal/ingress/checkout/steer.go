package checkout

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail/configured"
	"github.com/reeve-gate/reeve/internal/safepath/gitdir"
)

// Steering gives those of the paths changed below a repository's root which
// steer programs: with .git or one of the protected names in them, at, above or
// below what the repository's configuration names or that of the person whose
// home this is (a folder of hooks, a file that is included), or as a part of
// what git would take for a repository.
func Steering(root, home string, protected, changed []string) (bad []string) {
	named := configured.Paths(root, []string{home}, configured.GitDirs(filepath.Join(root, ".git"))...)
	work := map[string]bool{} // what stands in the work, and its directories
	for _, p := range changed {
		for ; p != "."; p = filepath.Dir(p) {
			work[p] = true
		}
	}
	has := func(dir, name string) bool {
		at := filepath.Join(dir, name)
		info, err := os.Lstat(filepath.Join(root, at))
		return work[at] && (name != "HEAD" || slices.Contains(changed, at)) || err == nil && (name != "HEAD" || !info.IsDir())
	}
	for _, p := range changed {
		at := filepath.Join(root, p)
		switch {
		case slices.ContainsFunc(strings.Split(p, "/"), func(name string) bool { return name == ".git" || slices.Contains(protected, name) }),
			slices.ContainsFunc(named, func(n string) bool {
				return at == n || strings.HasPrefix(at, n+"/") || strings.HasPrefix(n, at+"/")
			}),
			gitdir.Holds(p, has):
			bad = append(bad, p)
		}
	}
	return bad
}
