// Package codex reads and edits what decides about hooks in Codex's
// config.toml: which hooks the person trusts, and whether hooks run at all.
//
// Codex 0.171 runs a hook of the person's only where config.toml holds, under
// the hook's key, the digest of the hook as it stands; without it the hook is
// passed over, in codex exec without a word. [Trust] is such an entry, [Digest]
// and [Key] are how Codex makes them, [Add] and [Remove] put entries into the
// text of the file and take them out, [Examine] reports what keeps hooks from
// running. All are pure: text in, text out.
//
// # What is added
//
// At the end of the file, behind an empty line:
//
//	# reeve install codex: ... (one line)
//	[hooks.state."/home/ada/.codex/hooks.json:pre_tool_use:0:0"]
//	trusted_hash = "sha256:..."
//
// and so on for each entry. The text is not parsed and printed again, so that
// everything else stays byte for byte. Remove of Add is the identity, also for
// a file that did not exist, was empty, or had no line end at its end; in a
// file that Codex or a person changed in between, the entries and the comment
// above them go.
//
// # What it does not promise
//
// A key names a hook by its place in its list: another hook put before it in
// hooks.json takes its key away, and it no longer runs until reeve install
// codex was run again.
package codex
