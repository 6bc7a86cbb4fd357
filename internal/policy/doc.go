// Package policy is the judge: rules written by people, and the facts of one
// call, make a [reeve.Decision] that names the rule that decided.
//
// A policy file becomes a [Layer] ([Parse]); the layers that hold for a
// session are joined into a [Set] ([Join]); [Set.Judge] is step 5 of the kernel
// and [Turn] is step 7a, the matrix of modes. The package is pure: no clock,
// no disk, no network. A shell line has been read into effects before it comes
// here, and what the disk says of a path comes with the effect.
//
// # The file
//
// TOML, or JSON with the same keys. Unknown keys are refused.
//
//	deny, ask, allow   lists of rules
//	default            allow, ask (as when absent) or deny: what no rule speaks of; also written defaultDecision
//	enabled            false voids the allow rules of this layer, nothing else
//	tiers              table: tool (may hold stars) = read, write, destructive or denied
//	when               conditions that hold for every rule of the file
//	import             "claude": the lists are read as Claude Code reads them
//	permissions        table with allow, ask, deny as in Claude Code's settings
//	interactive        false: nobody can answer; in test cases only
//
// A rule is a string or a table:
//
//	rule         the text below
//	reason       one sentence for the person
//	when         table of conditions: actor, origin, mode, sandbox, interactive, cwd, tier;
//	             each a value or a list of values, all must hold
//	destructive  true: an allow that also covers what deletes or drops work
//	tests        table with match and not_match: lists of commands or paths, tried when the file is read
//
// A rule's text is TOOL or TOOL(PATTERN). Case does not count in TOOL. The
// words read, write, edit (a change of a file that exists), bash (also exec,
// shell), web, mcp, addon and desktop stand for every tool of that kind and
// for the same act inside other tools: read(x) also speaks of "cat x", write(x)
// of "echo > x". Any other word is a tool's own name and may hold stars after
// a literal start. Claude Code's names (Bash, Read, Edit, Write, WebFetch,
// mcp__server, mcp__server__tool) mean what they mean there: Edit covers every
// tool that writes. host(bash(PATTERN)) is permission to leave the sandbox.
// Patterns are those of package match; web takes domain:HOST or
// domain:HOST:PORT; on a tool that has neither path nor command, KEY:TEXT speaks
// of one argument, in deny and ask only.
//
// Where Reeve makes the connection itself (the proxy of reeve run), an allow
// without a port covers the ports 80 and 443, and one with a port lets anything
// be spoken there; deny and ask without a port cover every port. An address of
// this machine or of its network is opened by no pattern, but only by a rule
// that spells it with its port.
//
// # The order
//
// Each part of a call (a command, a path, a host) is judged by itself:
// deny, ask, allow, the table of read-only commands, the tool's tier, the
// default; the strictest part decides. Deny and ask read widely and look
// through wrappers; allow reads narrowly. An allow with a star covers ordinary
// arguments only: not what runs another program, writes a file by a flag,
// loads code by a variable, is not known before it runs, or leaves the
// workspace. No layer takes back another's deny or ask. A layer that cannot be
// read allows nothing and makes every call a question ([Broken]).
package policy
