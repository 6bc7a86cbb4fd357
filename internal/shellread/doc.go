// Package shellread says what a line of shell text would do, before it runs.
//
// [Read] takes the text that bash would be given and lists every effect it
// may have, worst case: one effect for every program or shell builtin that may
// start, at any depth (a pipe, a substitution, a function's body, the text
// after "bash -c", the words after sudo or find -exec), one for every file
// that a redirection or a known program names, one for every host. What
// cannot be told for certain is an effect of its own, with the reason, so that
// no rule can allow it by accident.
//
// The text is read as bash runs it: bash --norc --noprofile -c TEXT, without
// aliases and without BASH_ENV. Other shells' dialects are told apart where
// they differ.
//
// The package is pure: it knows neither clock, disk nor network. It promises
// never to panic, a bounded stack and a bounded time, and that whatever does
// not parse gives no certain answer. It does not promise to see through
// programs: what make, npm or a script file do inside is for the sandbox.
package shellread
