package clients

import (
	"fmt"
	"path/filepath"
)

// Client is one client of MCP servers.
type Client struct {
	Name    string // as in reeve mcp import --from NAME
	Product string // as people call it
	Key     string // the member that holds the servers
	TOML    bool
	Loose   bool // it reads comments in its JSON
}

// All is every client, by name.
var All = []*Client{Claude, Desktop, Codex, Cursor, Gemini, VSCode}

// The clients.
var (
	Claude  = &Client{Name: "claude", Product: "Claude Code", Key: "mcpServers"}
	Desktop = &Client{Name: "claude-desktop", Product: "Claude Desktop", Key: "mcpServers"}
	Codex   = &Client{Name: "codex", Product: "Codex", Key: "mcp_servers", TOML: true}
	Cursor  = &Client{Name: "cursor", Product: "Cursor", Key: "mcpServers", Loose: true}
	Gemini  = &Client{Name: "gemini", Product: "Gemini CLI", Key: "mcpServers", Loose: true}
	VSCode  = &Client{Name: "vscode", Product: "VS Code", Key: "servers", Loose: true}
)

// Named is the client of the name, or nil.
func Named(name string) *Client {
	for _, c := range All {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Place is where a client keeps servers: a file, and the object inside it that
// holds the list, as in projects./home/ada/work of Claude Code.
type Place struct {
	Path    string
	Inside  []string
	Project bool // it is of one project, and perhaps written by others
}

// Files names the places of a client, the person's own first. dir is the
// directory of the project; darwin says which system it is.
func (c *Client) Files(getenv func(string) string, dir string, darwin bool) ([]Place, error) {
	home := getenv("HOME")
	in := func(variable, fallback string) string {
		if v := getenv(variable); v != "" {
			return v
		}
		return filepath.Join(home, fallback)
	}
	var all []Place
	switch c {
	case Claude:
		file := filepath.Join(home, ".claude.json")
		if v := getenv("CLAUDE_CONFIG_DIR"); v != "" {
			file = filepath.Join(v, ".claude.json")
		}
		all = []Place{{Path: file}, {Path: file, Inside: []string{"projects", dir}}, {Path: filepath.Join(dir, ".mcp.json"), Project: true}}
	case Desktop:
		base := in("XDG_CONFIG_HOME", ".config")
		if darwin {
			base = filepath.Join(home, "Library", "Application Support")
		}
		all = []Place{{Path: filepath.Join(base, "Claude", "claude_desktop_config.json")}}
	case Codex:
		all = []Place{{Path: filepath.Join(in("CODEX_HOME", ".codex"), "config.toml")}, {Path: filepath.Join(dir, ".codex", "config.toml"), Project: true}}
	case Cursor:
		all = []Place{{Path: filepath.Join(home, ".cursor", "mcp.json")}, {Path: filepath.Join(dir, ".cursor", "mcp.json"), Project: true}}
	case Gemini:
		all = []Place{{Path: filepath.Join(home, ".gemini", "settings.json")}, {Path: filepath.Join(dir, ".gemini", "settings.json"), Project: true}}
	case VSCode:
		base := in("XDG_CONFIG_HOME", ".config")
		if darwin {
			base = filepath.Join(home, "Library", "Application Support")
		}
		all = []Place{{Path: filepath.Join(base, "Code", "User", "mcp.json")}, {Path: filepath.Join(dir, ".vscode", "mcp.json"), Project: true}}
	}
	if !filepath.IsAbs(all[0].Path) || !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("where %s keeps its servers cannot be told: HOME is not set to an absolute path", c.Product)
	}
	return all, nil
}
