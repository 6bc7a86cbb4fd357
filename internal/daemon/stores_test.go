package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/safepath"
)

// The file tools know names by safepath and the boundary by jail, which must
// not import each other: here both are at hand.
func TestTheBoundaryHidesWhatTheFileToolsRefuse(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, ws := filepath.Join(base, "home"), filepath.Join(base, "home/work")
	if err := os.MkdirAll(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	var stores []string
	for _, list := range [][]string{safepath.CredentialPaths, safepath.AgentCredentials} {
		for _, name := range list {
			if strings.HasPrefix(name, "Library/") {
				continue // another system's
			}
			path := filepath.Join(home, strings.ReplaceAll(name, "*", "-x"))
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			stores = append(stores, path)
		}
	}
	strict, _ := jail.ProfileNamed("strict")
	plan, err := strict.Plan(jail.Place{Workspace: ws, Home: home}, jail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stores {
		if !slices.ContainsFunc(plan.Mask, func(m string) bool { return m == path || strings.HasPrefix(path, m+"/") }) {
			t.Errorf("%s can be read inside", path)
		}
	}
}

func TestTheBoundaryKeepsWhatTheFileToolsProtect(t *testing.T) {
	kept := jail.ProtectedNames()
	for _, name := range safepath.ProtectedNames {
		switch name {
		case ".git", ".gitmodules": // what is executed of .git; git itself runs nothing that .gitmodules says
			continue
		}
		if !slices.Contains(kept, name) {
			t.Errorf("%s can be planted inside", name)
		}
	}
}
