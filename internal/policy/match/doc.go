// Package match compares the three things a policy rule can name (the words
// of one command, a path, a host) with a pattern.
//
// Every comparison knows which side it stands on. A deny or ask rule reads
// widely: a pattern holds for every spelling that could mean the same thing.
// An allow rule reads narrowly: it covers what it says and nothing that only
// looks like it.
//
// Patterns of commands ([Line]): the words after quote removal, joined by one
// blank. A star stands for any characters, blanks and slashes included; \* is
// a star itself; a final " *" also matches no argument; a final ":*" is the
// same as " *". Quotes in the pattern hold a word together. In a narrow
// comparison a blank of the pattern only matches a border between two words.
//
// Patterns of paths ([Path]): those of gitignore. A star, a question mark and
// a [set] stay inside one name, ** crosses names, {a,b} is either. A lone *
// is everything. "//x" starts at the root of the file system, "~/x" at home,
// "/x" at the root of the workspace; every other pattern is relative: read
// widely it holds at any depth, read narrowly only from the workspace's root.
// Read widely, what lies below a matching folder matches too; read narrowly
// only where the pattern ends in a plain name or in /**.
//
// Patterns of hosts ([Host]): a name, an address, or *.name. Read narrowly
// *.name is its subdomains only, read widely the name itself too. A star on a
// public suffix (*.com, *.github.io) is refused.
package match
