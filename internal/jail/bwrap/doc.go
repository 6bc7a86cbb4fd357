// Package bwrap is the wall made with the system's bubblewrap.
//
// [Wall.Start] turns a [jail.Plan] into arguments in a sealed memory file, a
// system call filter in another, and one bubblewrap process. The order of the
// mounts is the meaning of the plan: the whole machine read-only, private
// /tmp, /run, /dev and /proc, then what is shown and writable from the outside
// in, the pins and protected names, the masks, and Reeve's own state last.
// Nothing of bubblewrap's behaviour is left to its defaults: every capability
// is dropped, run by root too (bubblewrap 0.8 keeps them otherwise, and a mask
// could be unmounted), and it starts with an empty environment of its own.
//
// Bubblewrap before 0.12 makes missing mount points, through symbolic links
// of the workspace if there are any (CVE-2026-87766). It is never given a
// place below a writable directory that does not exist, and each place is
// opened without following links right before.
//
// BUG(reeve): between that look and bubblewrap's own, another command that
// runs in the same workspace can exchange a directory for a link. What it can
// gain is an empty directory of a protected name somewhere else.
//
// BUG(reeve): with the host's network, abstract unix sockets of the host are
// reachable, since they belong to the network namespace; so is every port on
// loopback.
package bwrap
