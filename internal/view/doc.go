// Package view gives a session a copy of a workspace to work in, tells how the
// copy has come to differ from the workspace, and takes over of it what a
// person chose.
//
// A [View] is a folder of Reeve's own state: the tree that the session sees in
// the workspace's place, and a list of what stood in the workspace when it was
// copied. [Make] copies, by shared blocks where the file system can, and
// refuses a workspace beyond its named bounds. [View.Changes] compares;
// package shown shows; [Taking.Take] writes one change to the workspace.
//
// # What is never taken over
//
// Everything in the tree was written by an agent, so a change is judged by what
// it would do: names that steer programs (safepath.ProtectedNames, and what the
// session's boundary protected beside them), git's own state, symbolic links
// that lead out of the workspace or through "..", and what is neither file,
// directory nor link are held back, with the reason. No owner, no set-id bit
// and no extended attribute is ever taken over.
//
// # What a change writes
//
// The workspace is reached by descriptor and through no symbolic link (package
// beneath). A file is written beside its place, exclusively, under a name that
// nobody can guess, compared while it is written with what the change said, and
// then moved into place: where nothing may stand by a move that replaces
// nothing. What stands in the workspace must be what was copied. If it is not,
// the change is refused with the path and nothing is touched ([Conflict]); what
// is already as the change wants it is done. The view itself is only read, so
// that a kill at any moment loses nothing: what was taken over is no difference
// any more.
//
// Between the last look at a file and the move that replaces it lie two system
// calls: who saves that very file in that moment is overwritten.
package view
