// Package seatbelt is the wall of macOS, made with the system's sandbox-exec.
//
// [Write] turns a [jail.Plan] into the text of a profile and its parameters:
// a pure function, so that it is built and tested on every system. [Wall]
// hands both to /usr/bin/sandbox-exec on its command line, never in a file
// that the contained program could write (contract Y63), and starts nothing on
// another system (Y70).
//
// What the text rests on: everything is denied that no rule allows; of two
// rules for one operation the later wins, so that each deny stands behind the
// allow it takes from; and a rule for one operation (file-write-unlink) is
// stronger than one for the group it belongs to (file-write*), so that what is
// allowed is allowed by the group and what is denied of it may name either. A
// path never stands in the text: it is a parameter, and the patterns that have
// to stand there are quoted. Paths are the kernel's own, without symbolic links
// (/private/tmp, not /tmp).
//
// BUG(reeve): unverified on a Mac. The tests ask an evaluator of the rules
// that are emitted, which knows what is written above and not more; whether the
// kernel knows each name of an operation and whether each service on the list
// is enough for ordinary work was taken from profiles in use.
//
// BUG(reeve): there is no process namespace. A program that leaves its group
// is not stopped with it, and stays inside its profile; what the system says
// of processes is closed instead.
//
// BUG(reeve): a settings file of which the plan gives the process a copy can
// only be read here, and a directory of which it gives an empty one is closed.
package seatbelt
