// Package audit is the record of everything that was asked at the gate: rows
// that are durable when [Log.Append] returns nil, chained by hashes, so that a
// later change shows.
//
// One process writes ([Open]); anybody of the same user reads ([OpenRead])
// and checks ([Verify]), with or without the writer. A person repairs
// ([Reseal]); nothing repairs itself. What lies on disk, and how a fault in it
// is named, is specified in package chain, and what is signed of it in package
// seal; [Log.Cut] removes rows from the front for whoever has signed them.
//
// A writer that was killed loses no record it acknowledged. A disk that is
// full, or a file that is no longer the one at its path, makes Append fail,
// and the kernel then denies.
package audit
