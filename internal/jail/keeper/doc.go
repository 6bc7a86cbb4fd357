// Package keeper is the process that keeps one session alive: reeve __keeper.
//
// The daemon decides and starts it ([Starter], a hand that spends the permit);
// from then on it stands alone, in a process session of its own, and outlives
// the daemon that started it (contract Y75). It owns what must not end with a
// daemon: the program's tree behind its wall, the master of its terminal, the
// sockets that stand inside the boundary, and the log of what was shown,
// masked on its way to the disk. The wall is the only thing it starts. When it
// is killed the boundary ends with it; nothing is left behind.
//
// # What it listens to
//
// It is told what to start on descriptor 3, by the daemon that started it, and
// that connection stays the daemon's [Link]. It listens on one unix socket
// below the state directory, which no boundary shows (Y68), and speaks there
// only with the process that serves the daemon's control socket at that
// moment: a later daemon links itself again, and gets the listening sockets
// again; a person's terminal is given a connection by the daemon, which knows
// who is a person. The frames are JSON (request, word, news), those of a
// terminal are package attach's.
//
// # When it ends
//
// When the tree is gone and everything it showed is in the log, the keeper
// writes [EndFile] into the session's folder, tells the daemon and the
// terminals, and ends. Before anybody has left a session by the detach key it
// lives as long as one of its terminals: a window that is closed ends it (see
// Spec.Kept).
//
// It is small on purpose: fifty idle sessions must cost at most 10 MiB each.
package keeper
