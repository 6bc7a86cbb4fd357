// Package probe finds out whether a wall bites, by trying to get through it.
//
// A [Wall] wraps another wall and answers Ready by a trial (contract A12,
// amendment 40): a program of ours runs once outside, in a throw-away folder,
// where every [Act] must succeed, and then through the real boundary, where
// each must fail with the errno that the boundary promises. An act that fails
// outside too proves nothing and is said so; one that succeeds inside, or
// leaves a trace outside, makes the wall missing. The answer is kept in the
// state directory for this boot, this wall program, this binary and this
// account.
//
// The program is our own binary, started with the hidden argument [Command]:
// main hands what follows it to [Main]. That is the one thing a wall starts
// without a permit.
package probe
