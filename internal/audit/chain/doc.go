// Package chain is the record as it lies on disk: its files, its table, the
// chain of hashes over its rows and the anchor of that chain, for the one that
// writes them and for whoever reads and checks them.
//
// [Conn] is a connection to the database, [Row] a row of it, [Checker] walks
// the chain and finds the first [Break], and [Snapshot] reads a record without
// leaving a trace in its directory. Nothing here writes a row.
//
// # Files
//
// All in one directory of mode 0700, each of mode 0600:
//
//	audit.db       SQLite, WAL, synchronous FULL; with -wal and -shm while open
//	audit.head     the anchor: number and hash of a recent row
//	audit.lock     held by the writer
//	audit.reserve  space given up when the disk is full, so that this is recorded
//	audit.start    where a record begins that was pruned; not there = at row 1
//	audit.tree, audit.checkpoints, audit.key, audit.witnessed   see package seal
//	FILE.broken-TIME   kept by a reseal
//
// # Rows
//
// Table tool_executions (contract G28, G30) has two rows for a call: phase
// intent, durable before the hand moves, and phase outcome. A denial has the
// outcome alone. Rows are never changed, and removed only from the front by a
// prune; id counts from 1 without gaps. View executions is the last row of each call: one line for one call,
// with result_status unknown where no outcome came.
//
//	timestamp       RFC 3339, UTC, six decimals: 2026-08-05T10:11:12.131415Z
//	session_id, call_id, approval_id, parent_id   UUIDs
//	tool_source     native, mcp:SERVER, skill:NAME, addon:ID, foreign:CLIENT
//	risk_tier       read, write, destructive, denied
//	arguments       JSON, redacted; above 64 KiB {"bytes":N,"sha256":"..."} of it
//	result_status   success, error, denied, timeout, unknown; NULL in an intent
//	result_summary  at most 500 characters; NULL in an intent
//	duration_ms     NULL in an intent
//	user_confirmed, dangerous_mode, contained     0 or 1
//	rule, rule_at, approval_id, parent_id, arguments   NULL where there is none
//
// # Chain
//
// Two SHA-256 for a row. All integers are big-endian.
//
//	leaf = SHA-256(0x00, "reeve audit v1", column...)   call_id to parent_id, as in the table
//	hash = SHA-256(0x01, prev_hash, id as 8 bytes, leaf)
//	column = 0x00                                NULL
//	       | 0x01, 8 bytes two's complement      INTEGER
//	       | 0x02, length as 8 bytes, bytes      TEXT
//	       | 0x03, length as 8 bytes, bytes      BLOB
//	       | 0x04, 8 bytes IEEE 754              REAL (never written)
//
// prev_hash is the hash of the row before, 32 zero bytes for row 1.
//
// # Anchor
//
// A bare chain does not notice that its tail was cut, or that an older copy
// of the file was put back. audit.head holds one line of fixed length:
//
//	reeve-audit-head v1 ID HASH CHECK\n
//
// ID is 19 decimal digits, HASH 64 hex digits, CHECK the first 8 hex digits of
// SHA-256 of what stands before it and its blank. It is written in place after
// a commit, without a sync of its own, at most every 200 ms and when the log
// closes. The database is always synced first, so a database ahead of its
// anchor is good and one behind it was cut.
//
// What chain and anchor do not show: a record rewritten together with its anchor
// by code that runs as the same user, rows forged behind the newest anchored
// one, and an act that never passed the gate. Signed checkpoints (package seal)
// show the first, up to the newest of them.
//
// # Start
//
// A prune removes rows from the front. audit.start says which row was the last
// of them:
//
//	reeve-audit-start v1 ID HASH
//	NODE...
//
//	CHECKPOINT
//
// HASH is that of row ID, each NODE one of the tree over the rows up to it, 64 hex
// digits, the largest subtree first, and CHECKPOINT the signed one of ID rows. It is
// written before the rows are removed, so rows up to ID that are still there are
// left over; they must lead to HASH. A row that names ID and HASH tells of the prune.
package chain
