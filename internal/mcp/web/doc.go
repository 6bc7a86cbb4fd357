// Package web is the transport of an MCP server behind an address: streamable
// HTTP of either era (MCP 2025-11-25 and 2026-07-28, transports).
//
// Every message goes out as a POST of its own. The answer is one JSON object,
// or a stream of events that ends with it. A legacy server may name a session,
// which is repeated to it and ended with the connection, may send what belongs
// to no call on a stream of its own, and may let a broken stream be taken up
// again.
//
// The address is one that a person wrote. It is dialled through package
// netguard: a name that leads to this machine or to a private network is
// refused, unless it is written as an address with its port or as localhost.
// Without encryption nothing but this machine is spoken to. A redirection is
// an error and never followed, since a person approved one address. No proxy
// is used, and nothing but the headers that the settings name is sent along.
//
// Not spoken: the transport of 2024-11-05 with two addresses (HTTP+SSE), and
// OAuth; a server that wants a token gets one that the settings hold.
package web
