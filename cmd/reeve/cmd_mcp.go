package main

// cmdMCP is what concerns MCP servers and their clients.
func cmdMCP(env *cmdEnv, args []string) int {
	if len(args) > 0 && args[0] == "serve" {
		return mcpServe(env, args[1:])
	}
	return usage(env, "write %s", serveUsage)
}
