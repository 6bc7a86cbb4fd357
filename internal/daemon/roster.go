package daemon

import (
	"path/filepath"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/roster"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/session"
)

// newRoster is the door to which MCP servers there are.
func newRoster(d *Daemon) *roster.Door {
	r := &roster.Roster{File: filepath.Join(d.opt.Paths.Config, servers.File), Judge: d.gateway.judge, Mask: d.clean.Text, Now: time.Now, Home: d.gateway.yard.Folder,
		Store: filepath.Join(d.opt.Paths.Data, "mcp-packages")}
	d.gateway.yard.Installed = r.Installed
	return &roster.Door{Roster: r, Kernel: d.kernel, Tool: d.tools.roster, Hear: d.gateway.hear, NewID: newID, Session: func() (string, error) {
		one, err := d.store.ForClient(session.Session{Client: "cli", Foreign: "mcp settings", Workspace: nowhere(d.opt.Paths), Mode: reeve.ModeDefault, Profile: d.conf.Sandbox.Profile}, d.opt.Paths.Home)
		return one.ID, err
	}}
}
