// Package safepath says what the disk knows of a path, and which names on it
// are special.
//
// names.go is the one table of special names: metadata that steers programs
// (contract A17, Y67), credential stores (A18, A20), the state folders of
// agent programs (Y59). The policy, the file tools and the walls all read it.
//
// A [Resolver] belongs to one workspace: [Resolver.Facts] resolves a path as
// the operating system would (contract Y50, M9) and marks it. A [Disk] keeps
// resolvers for every workspace, and [Disk.RepoRuns] says which setting of a
// repository would make git start a program (package repo). They look and touch nothing.
//
// What Facts says was true when it looked. Whoever acts on a path holds the
// promise itself: the file tools by walking descriptors (os.Root), processes
// by their wall.
package safepath
