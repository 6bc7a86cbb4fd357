// Package vault keeps secrets sealed in one file, vault.db, and gives one out in
// the moment of its use. Nothing in it ever writes a value unsealed.
//
// [Create] makes a vault, [Open] opens one: locked, so that it can be listed and
// nothing else. [Vault.Unlock] takes the key from its [Holder] (package holder:
// the system's keychain, a passphrase, a key file); then [Vault.Get], [Vault.Put],
// [Vault.Remove], [Vault.Rekey] work. A Vault may be used by any number of
// goroutines, and by several processes on one file.
//
// # Keys
//
//	wrapping key   32 bytes, held outside of the file by the holder
//	  └ KEK        32 random bytes, in the file, sealed under the wrapping key
//	      ├ root   32 random bytes, sealed under the KEK; the same for the vault's
//	      │        whole life: the keys of the MACs below, and of those of caches
//	      │        ([Vault.CacheKey]), come from it by HKDF
//	      └ data key   32 random bytes for each version of each secret, sealed
//	                   under the KEK; the value is sealed under it
//
// Everything is sealed with AES-256-GCM under a random nonce, which stands in
// front (contract G37). The additional data is a list of length-prefixed texts:
//
//	KEK       "reeve vault kek 1", vault id, KEK id, holder, the holder's note
//	root      "reeve vault root 1", vault id, KEK id
//	data key  "reeve vault key 1", vault id, KEK id, service, key, version
//	value     "reeve vault value 1", vault id, service, key, version
//
// so that nothing sealed opens in another place, under another name, in another
// version or in another vault. [Vault.Rekey] makes a new KEK and seals root and
// data keys anew, in one transaction; values stay as they are.
//
// # What the file tells
//
// Names, versions, times, origins and sizes of secrets stand in it unsealed:
// what there is can be listed while the vault is locked. Each change counts meta.counter up,
// and meta.mac is an HMAC-SHA256 over the vault id, the counter and every row:
// a row that was removed, put back or exchanged is noticed. An older copy of the
// whole file is noticed by vault.head, which stands in another directory, holds
// the newest counter under an HMAC of its own, and is written after each change.
// Somebody who can write both files can put both back; see the threat model.
//
// # What is not promised
//
// Values and keys are overwritten in memory after use where they are ours.
// Go's runtime may have moved a stack that held one, the AES key schedule of an
// unlocked vault stays in memory until it is locked or collected, and memory may be swapped.
package vault
