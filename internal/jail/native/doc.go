// Package native is the wall made of the kernel's own parts, without any
// program but ours.
//
// [Wall.Start] makes a process in new user, mount, process, network, IPC, host
// name and cgroup namespaces, which runs the small program of package first from
// a sealed file in memory, and tells it what to mount, in the order of
// [jail.Plan.Mounts]. That program builds the file system with the calls that
// take descriptors (open_tree, mount_setattr, move_mount; Linux 5.12): each
// place is looked up once on the host and once inside, without following a
// symbolic link, and what is mounted is what was found, so that nothing can be
// exchanged in between. It detaches the old root, gives up every capability for
// good, sets the filter, and starts the program.
//
// The places are looked up by that program and not by us, since the kernel
// copies no mount of another mount namespace than the caller's (open_tree(2),
// EINVAL); before its first mount it stands in an exact copy of ours.
//
// It promises what package bwrap promises, and differs in this:
//
//   - Nothing that is mounted outside later appears inside, and nothing that was
//     mounted outside before can be unmounted there for good while a tree runs.
//   - An error names the step, the place and the reason, and Start returns it.
//   - Start returns when the program runs, not when it is about to.
//   - Its cost grows with the number of places, not with the square of it.
//
// BUG(reeve): with the host's network every port on loopback is reachable.
package native
