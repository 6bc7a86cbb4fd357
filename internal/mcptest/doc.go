// Package mcptest is MCP servers for tests: ones that do what the protocol
// says in either era, and ones that do not.
//
// A server is named by words with commas between them: an era (legacy, modern,
// dual) and how it misbehaves. [Main] makes a test's own program such a server
// where the environment says so, so that a test can start one as a process;
// [Serve] runs one on any pair of streams.
package mcptest
