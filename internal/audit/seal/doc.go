// Package seal is what makes a record provable to others: a tree over its
// rows, and checkpoints of that tree, signed with a key that lies in the vault.
//
// A [Range] grows with the rows and knows the root at every size; [Tree] keeps
// its hashes in a file, for proofs. [Signer] signs a [Checkpoint], [Book] is
// the file of them, and [Checker] holds them against the rows as these are read.
// Nothing here reads a row or the vault.
//
// # Tree
//
// A Merkle tree hash as in RFC 6962, section 2.1, over the rows from row 1 on.
// The entry of a row is its 32 bytes of hash in the chain (package chain), so
// a leaf is SHA-256(0x00, hash). audit.tree has the stored hashes of
// golang.org/x/mod/sumdb/tlog one behind the other, 32 bytes each. It is made
// from the rows, and made anew where it does not fit.
//
// # Checkpoints
//
// Signed notes (c2sp.org/signed-note) of the form c2sp.org/tlog-checkpoint:
//
//	reeve/INSTALLATION
//	SIZE
//	ROOT in base64
//
//	— reeve/INSTALLATION SIGNATURE
//
// INSTALLATION is 32 hex digits, made with the key. The signature is Ed25519.
// audit.checkpoints has them in the order in which they were made, an empty line
// behind each; it grows at its end, and only a prune makes it shorter. A piece of
// one at the end was being written when the power went, and counts as nothing.
// audit.key has the verifier key as it is written for such notes; whoever wants to
// be sure has noted it elsewhere.
package seal
