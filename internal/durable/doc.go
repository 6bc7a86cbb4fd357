// Package durable keeps small promises about files that must outlive a crash
// and stay private.
//
// [WriteFile] replaces a whole file: whoever opens the path sees the old
// content or the new one, never a part, and after it returns the new content
// survives a power cut. [WriteFileBackup] does so for what a person writes too,
// and keeps what stood there. [File] is a file of state that is Reeve's alone:
// it is read before it is written, and a damaged one is taken from its backup.
// [MkdirAll] and [Private] make directories that only their owner enters.
// [TryLock] lets one process own a directory. [Name] refuses names that could
// leave the directory they are joined to.
//
// Modes are exact under any umask: a umask can only take bits away while a
// file is made, so every mode is set again on the open file.
//
// What it does not promise: a directory entry on a file system that ignores
// fsync, and a file that another program of the same user writes at the same
// moment in its own way. Evidence for the order temp, fsync, rename, fsync of
// the directory: T. S. Pillai and others, "All File Systems Are Not Created
// Equal", OSDI 2014; ext4 and XFS lose the new name, or keep it with length
// zero, when one of the two syncs is missing.
package durable
