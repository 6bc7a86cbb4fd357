// Package ssh puts a program behind bubblewrap on another machine.
//
// [Starter.Start] opens a control connection with the system's ssh and sends
// one small script of POSIX sh over it, which looks at the machine: where the
// home directory is, what a credential store, a protected name or a socket is
// there, whether bubblewrap is. From these facts the same boundary is laid as
// here, and written, as another script, into a private directory there. A
// second connection runs that script with the caller's streams or terminal. It
// tries the boundary first, by a few acts through it, and then becomes
// bubblewrap. Where bubblewrap is missing or does not hold, the script ends
// with 97 ([NoBoundary]) and the program was not started (contract Y70).
//
// The control connection stays open: signals go through it, and its end, also
// that of ours or of the network, ends the tree there (SIGTERM, and SIGKILL
// two seconds later, Y74). It asks at last what appeared under protected
// names.
//
// No text of the caller is read by a shell there as anything but a value:
// values stand in single quotes, the command line of a connection holds a path
// of our own making, and the destination cannot be a flag.
//
// BUG(reeve): what a run plants under a protected name that did not exist is
// named in the receipt, not moved away.
//
// BUG(reeve): the session's socket does not reach there: a hook inside has no
// daemon to ask and denies.
package ssh
