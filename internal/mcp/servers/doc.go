// Package servers reads which MCP servers a person has: the file mcp.json in
// the configuration directory, in the form that other clients have it too.
//
//	{"mcpServers": {
//	  "files":   {"command": "mcp-server-filesystem", "args": ["."],
//	              "x-guard": {"sandbox": {"read": ["."]}}},
//	  "tracker": {"type": "http", "url": "https://mcp.example.com/mcp",
//	              "headers": {"Authorization": "Bearer ${TRACKER_TOKEN}"}}}}
//
// command, args, env, cwd, type, url, headers and disabled mean what they mean
// elsewhere; what else a client keeps beside them is not used, and [Set.Notes]
// says so. ${NAME} in env, headers, args and url stands for a variable of the
// environment that the daemon was started from. reeve://SERVICE/KEY as a whole
// value of env or headers, or ${reeve://SERVICE/KEY} within one, stands for a
// secret of the vault, which is looked up at each start.
//
// What is Reeve's own stands in x-guard, where an unknown key is an error, and
// so is everything that would open more than is written there:
//
//	sandbox.read, sandbox.write  directories that the server is shown, and may
//	                             change; "." is the session's workspace
//	sandbox.net                  "none" (the default), "open", or a list of
//	                             hosts: those without a question, others by rule
//	sandbox.sockets              true: unix sockets among its own processes, as a
//	                             browser needs them; those of this machine that
//	                             it could see are covered
//	limits.start, call, total    how long a start, a call without a sign of
//	                             life, and a call in all may take
//	limits.idle                  without use before it is stopped
//	limits.memory, processes, processors
//	limits.output                bytes of one message
//	stateful                     it is not stopped when idle
//	protocol                     "auto", "2025-11-25" or "2026-07-28"
//	asks.roots                   "granted" (the workspace, where it is shown),
//	                             "client" or "none"
//	asks.elicitation             "client" or "none"
//	asks.sampling                "none" or "client"
//
// A server's name is lower case letters, digits, - and _, without two _ in a
// row, since two of them stand between the server and the tool in every name
// that a client and a rule sees.
package servers
