package private

import (
	"path/filepath"

	"github.com/reeve-gate/reeve/internal/config"
)

// Ours are the places of one installation; control is its control socket, which
// may stand outside of the state directory.
func Ours(p config.Paths, control string) []Place {
	all := []Place{
		// A person writes these too, with an editor and a umask of their own.
		// Nobody else may write them; headers and variables of servers may be
		// secrets.
		{Path: p.Config, Loose: 0o055, Strict: []string{"mcp.json", "mcp.json.bak", "mcp.json.bak.2", "mcp.json.bak.3", "policy.toml.bak", "policy.toml.bak.2", "policy.toml.bak.3"}},
		{Path: p.State, Skip: []string{"sessions/*/view/tree", "cache", "quarantine/*"}},
		{Path: p.Data, Skip: []string{"mcp-packages/*"}},
		{Path: p.Work, Skip: []string{"*"}},
	}
	if dir := filepath.Dir(control); dir != p.State {
		all = append(all, Place{Path: dir})
	}
	return all
}
