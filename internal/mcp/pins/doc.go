// Package pins keeps what a person saw of an MCP server when it was first used
// and when it was trusted, and holds back what is another since (contract A32,
// G24, G25; a "rug pull": a server that was harmless when it was looked at).
//
// A [Pin] is one server's: its settings, every definition of a tool, a prompt
// and a resource template, its instructions, what its package was, and what
// the person said of single tools. Resources come and go and are not pinned;
// their names and texts are looked at each time.
//
// [Judge] compares a pin with what the server offers now. First sight of a
// server that a person added needs no question: its definitions are kept as
// they are, all its tools ask at each call, and no annotation of it counts.
// From then on what is new or another is held: it is not shown to a client and
// is not called, until the person accepts it. So is, from the start, whatever
// package finding finds. [Pin.Trust] is the person's acceptance: of all, or of
// single definitions. For other settings than the pin's nothing is trusted, as
// another program, argument or address is another server (CVE-2025-54136).
//
// [Book] keeps pins on disk, one file a server, in Reeve's own state and never
// in a project: JSON, mode 0600, written whole, with a version; a name that is
// not known in it is an error. A pin that cannot be read holds everything back
// ([Unreadable]): nobody knows then what was trusted.
package pins
