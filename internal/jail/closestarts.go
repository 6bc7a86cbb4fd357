package jail

import (
	"fmt"
	"path/filepath"

	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/places"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// closeStarts refuses a writable root inside a place from which programs
// outside start others, and keeps such places below a root as they are: also
// those that the home directory has links to, as from .bashrc to a file of a
// repository.
func closeStarts(plan *Plan, at Place, r roots) error {
	all := places.OfMachine()
	for _, home := range r.homes {
		all = append(all, places.Starts(home, func(name string) string { return environ.Lookup(at.Env, name) })...)
	}
	above := map[string]string{} // few directories hold all the places
	for _, start := range all {
		dir, name := filepath.Split(start.Path)
		if _, known := above[dir]; !known {
			real, err := tree.Canonical(dir)
			if err != nil {
				return fmt.Errorf("look for what starts programs in %s: %w", dir, err)
			}
			above[dir] = real
		}
		path := filepath.Join(above[dir], name)
		leads := tree.Leads(path)
		for _, root := range r.granted {
			if tree.Within(leads, root) {
				return fmt.Errorf("write: %s: %s starts programs from what stands in %s, outside of the boundary too: choose another directory, or change it there yourself", root, start.By, start.Path)
			}
			for _, kept := range []string{path, leads} {
				if tree.Within(root, kept) {
					guard{plan: plan, root: root, homes: r.homes}.name(kept)
				}
			}
		}
	}
	return nil
}
