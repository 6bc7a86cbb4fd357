// Package clients knows in which files MCP clients keep their servers, and in
// which form: Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI.
//
// [Client.Files] names the files, [Read] reads the servers of one: each as an
// entry of mcp.json, with what of it has no meaning here said in words. It
// changes nothing. [Move] is the text of a file after its servers have given
// way to one entry, Reeve's own, and [Back] the text after they have come back.
//
// The forms are those of Claude Code 2.1.332, Cursor's and VS Code's
// documentation of October 2026, Codex 0.171 and Gemini CLI 0.61:
//
//	claude          ~/.claude.json: mcpServers, and projects.DIR.mcpServers; DIR/.mcp.json: mcpServers
//	claude-desktop  claude_desktop_config.json: mcpServers
//	cursor          ~/.cursor/mcp.json, DIR/.cursor/mcp.json: mcpServers
//	vscode          mcp.json of the user's profile, DIR/.vscode/mcp.json: servers, with comments
//	codex           ~/.codex/config.toml, DIR/.codex/config.toml: [mcp_servers.NAME]
//	gemini          ~/.gemini/settings.json, DIR/.gemini/settings.json: mcpServers, with comments
//
// The package is pure: text in, text out.
package clients
