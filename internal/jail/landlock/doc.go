// Package landlock is a wall for machines that refuse user namespaces, and
// the rules that another wall may add as a second layer.
//
// [Wall] contains a program with Landlock (landlock(7)) and the system call
// filter of package seccomp alone. It is reduced: Landlock can only allow, and
// what it allows of a directory it allows of all below it. So it takes part
// only where a person chose it by its name, refuses a plan that needs more
// ([Check]), and says in every receipt what it did not hold ([Unheld]). What
// it does hold: nothing is written but in the workspace and the places that
// were named, nothing hidden is read, no protected name is changed or moved,
// no socket reaches out, no power is kept, and no process outside is looked
// into or signalled.
//
// A directory that holds a protected or hidden thing gets no right itself:
// what stood in it at the start gets its own. Therefore nothing new can be made
// right in such a directory, nor anything in it renamed or removed. In a
// repository under the profile strict that is the top of the workspace, which
// holds .git; below it work goes on.
//
// [Layer] is the second layer: the same roots once more, below a wall that
// mounts. It must be applied inside, after the last mount: a thread with
// Landlock rules for files may not mount any more.
//
// BUG(reeve): the profile agent cannot be held, since a unix socket cannot be
// hidden before the ninth version of Landlock.
package landlock
