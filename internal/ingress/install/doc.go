// Package install puts Reeve's hook into the settings of an agent, Claude
// Code's settings.json or Codex's hooks.json, and takes it out again, keeping
// every other byte of the file: comments, order, indentation, line ends, hooks
// of others.
//
// Its main type is [Client]; there are [Claude] and [Codex]. [Client.Add] and
// [Client.Remove] are pure: text in, text out. [Open] finds the real file,
// [File.Save] writes it durably, [Diff] shows the difference, and
// [Client.ExamineAll] reports what would keep the hook from running, acts
// beside it, or never reaches it. Codex runs only hooks that the person trusts:
// [Client.Trusts] are the entries that say so, and ingress/codex writes them.
//
// # What is added
//
// One group for each of the client's events, the last of its list:
//
//	{"matcher": "*", "hooks": [{"type": "command", "command": COMMAND, "timeout": SECONDS}]}
//
// COMMAND is [Client.Command]: the program's absolute path, in quotes, then
// "hook claude || exit 2", since a client lets a call through on every exit
// code but 2 and a program that is gone or killed gives another. Codex obeys
// that code only where something stands on standard error, so that its command
// ends in a word there too. A group is Reeve's when its command has this form,
// whatever the path.
//
// # How it is taken out again
//
// The text is not parsed and printed again; spans are inserted and cut. So
// that the cut needs no memory of what was there, the byte after an opening
// bracket says who made the container: content directly after the bracket
// stands in a list or object that was there and empty; white space before it
// means that the container came with the content and goes with it. Remove of
// Add is therefore the identity, also for a file that did not exist, and
// adding twice is adding once. In a file that was reformatted in between,
// Reeve's groups and the containers that they leave empty are cut.
//
// # What it does not promise
//
// Claude Code 2.1 loads no settings file that holds a comment, a trailing
// comma or a value of the wrong type, and then runs no hook of it. Comments
// and commas are reported, wrong values are not. Versions before 2.1.101 load
// no file that names an event they do not know.
package install
