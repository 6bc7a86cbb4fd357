// Package mcp is the door for clients of the Model Context Protocol: one
// endpoint in front of all of a person's MCP servers (contract G13 to G27,
// Y119; docs/design/0013).
//
// A [Door] serves conversations. Each has its own view of what the servers
// offer, reads both eras of the protocol (2025-11-25 with a handshake,
// 2026-07-28 without), and turns every use of a server into an invocation of
// the kernel, which decides, asks, records and redacts. What is judged and
// what is sent are the same bytes: of a request only the protocol's own keys in
// _meta, and the name that the gateway had put a server's before, are written
// anew.
//
// What may pass is a table ([Requests], [Notices], [Asks]); a method that does
// not stand in it is refused by its name. A server that asks back (for input, a
// model's answer, roots) is answered by the client where the server was granted
// that and the client can; a call that waits for input from a client of the
// newer era is parked under a word that only that client knows.
//
// What comes back is text from outside: it is bounded, marked with a word that
// its writer could not foresee, and what was cut off can be read on.
package mcp
