// Package rule reads policy files: TOML or JSON becomes a [Layer] of compiled
// [Rule] values, each with the place it stands at. The language is described
// in package policy, which judges by the rules; here it is parsed, checked
// and tried against the examples that a rule carries.
//
// [Parse] reads a file or refuses it whole, with line and column; [Broken]
// stands for a file that cannot be read; [Layer.Untrusted] is what counts of a
// project's file that nobody has trusted. A Rule does not decide anything: it
// can only say whether its conditions hold and offer its patterns.
package rule
