// Package cell is what the walls of Linux have in common: the check of a
// command before anything is started, the filter and the limits of a plan, the
// running [Tree] behind a boundary, and the small program that is the first
// one inside it ([First]).
//
// That program (package first) is carried compiled, one for each architecture
// that has a system call table, with its SHA-256 beside it. It runs from a
// sealed file in memory, so that nothing on the disk stands for it. Its wall
// tells it what to do in one memory file and hears of it over a [Door]; over
// the same door comes the listening socket of a network that leads through a
// proxy ([jail.ProxiedNetwork]).
package cell

//go:generate go run ../forge
