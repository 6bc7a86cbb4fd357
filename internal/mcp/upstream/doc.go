// Package upstream speaks to one MCP server (MCP 2025-11-25 and 2026-07-28).
//
// A [Conn] is one live connection: it finds out which era of the protocol the
// server speaks, gives every request an id and a progress token of its own,
// bounds how long an answer may take, carries what the server asks back for,
// and ends every call with one result or one error, whatever the server does.
// A [Server] keeps at most one Conn: it opens it at the first use, closes it
// when nobody has used it for a while, and waits longer and longer before it
// opens one again that keeps failing. A call that may have reached a server is
// never made twice.
//
// How the messages travel is a [Transport]: package pipes has that of a
// program.
//
// A server is not trusted. What it prints that is no message is counted and
// passed over; an answer to no question, a second answer and a request it has
// no right to make are counted and dropped; everything it can make us keep has
// a bound.
package upstream
