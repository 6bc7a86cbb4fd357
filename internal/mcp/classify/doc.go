// Package classify says what an MCP tool is: whether it reads, writes, may
// destroy, never runs, or is not known (contract G13 to G15, G24, A32;
// amendments 18, 19 and 26).
//
// [Of] asks, in this order, and the first that speaks decides:
//
//  1. Held: what is in quarantine never runs.
//  2. A person's word for the tool, which holds for the very definition that
//     the person saw. For another one a word that lowers counts no more, and
//     the tool asks; a word that forbids stays.
//  3. What a tool says against itself, by its hints or by its name: that
//     raises it without anybody's trust.
//  4. The built-in lists, for servers whose package was verified. The same
//     name from anywhere else says nothing.
//  5. Its annotations, where a person trusts the server and the definition is
//     the one that was trusted: readOnlyHint true, nothing beside it that says
//     otherwise, and no verb in its name that changes something.
//
// All else is unknown, and asks. A hint is a claim of the program that is to
// be held (MCP 2026-07-28, ToolAnnotations: "clients must consider tool
// annotations to be untrusted").
//
// [Places] says which host a browser is sent to, from the arguments of a call,
// which comes first: a tool that only reads still asks about a host that no
// rule opens.
//
// The package is pure: it knows values only.
package classify
