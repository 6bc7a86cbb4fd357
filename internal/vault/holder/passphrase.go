// Package holder is who keeps the key of a vault: the system's keychain, a
// passphrase in a person's head, or a key file that a person asked for by its
// path. Each is a vault.Holder; none of them writes a key where others read it.
package holder

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"golang.org/x/crypto/argon2"

	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// Kinds of holders, as the vault notes them.
const (
	KindKeychain   = "keychain"
	KindPassphrase = "passphrase"
	KindKeyFile    = "key file"
)

// MinPassphrase is the length, in bytes, under which a new passphrase is refused.
const MinPassphrase = 12

// Passphrase derives the key from what a person types, with Argon2id (RFC
// 9106). The zero Cost is the usual one for new keys; it is stored, so that it can be
// raised later.
type Passphrase struct {
	Text []byte // the caller's, to be wiped
	Cost Cost
}

var _ vault.Holder = (*Passphrase)(nil)

// Cost is what one guess costs: 64 MiB, three passes, four lanes take 112 ms
// on one core of 2024.
type Cost struct {
	Memory  uint32 `json:"memory_kib"`
	Passes  uint32 `json:"passes"`
	Threads uint8  `json:"threads"`
}

var usual = Cost{Memory: 64 << 10, Passes: 3, Threads: 4}

// Bounds of a cost that is read from a file: below the first a guess is cheap
// (OWASP names 19 MiB with two passes as the least), above the second, which takes
// about two seconds, a file that somebody else made could use up the machine.
var (
	least = Cost{Memory: 19 << 10, Passes: 2, Threads: 1}
	most  = Cost{Memory: 256 << 10, Passes: 10, Threads: 16}
)

// derivation is the note of a passphrase: how the key came from it.
type derivation struct {
	Function string `json:"function"`
	Salt     []byte `json:"salt"`
	Cost
}

// Kind names the holder.
func (p *Passphrase) Kind() string { return KindPassphrase }

// Make derives a key with a new salt.
func (p *Passphrase) Make(_ context.Context, vaultID, kek string) (key, note []byte, err error) {
	if len(p.Text) < MinPassphrase {
		return nil, nil, fmt.Errorf("the passphrase is too short: %d bytes are needed, such as five words", MinPassphrase)
	}
	d := derivation{Function: "argon2id", Salt: make([]byte, 16), Cost: p.Cost}
	if d.Cost == (Cost{}) {
		d.Cost = usual
	}
	rand.Read(d.Salt)
	if note, err = json.Marshal(d); err != nil {
		return nil, nil, err
	}
	key, err = p.Key(context.Background(), vaultID, kek, note)
	return key, note, err
}

// Key derives the key again. Whether it is the right one shows where it is used.
func (p *Passphrase) Key(_ context.Context, _, _ string, note []byte) ([]byte, error) {
	var d derivation
	if err := json.Unmarshal(note, &d, json.RejectUnknownMembers(true)); err != nil || d.Function != "argon2id" || len(d.Salt) < 16 {
		return nil, fmt.Errorf("%w: it does not say how the key comes from the passphrase", vault.ErrDamaged)
	}
	c := d.Cost
	if c.Memory < least.Memory || c.Passes < least.Passes || c.Threads < least.Threads || c.Memory > most.Memory || c.Passes > most.Passes || c.Threads > most.Threads {
		return nil, fmt.Errorf("%w: its Argon2id cost (%d KiB, %d passes, %d lanes) is out of bounds", vault.ErrDamaged, c.Memory, c.Passes, c.Threads)
	}
	if len(p.Text) == 0 {
		return nil, errors.New("no passphrase was given")
	}
	return argon2.IDKey(p.Text, d.Salt, c.Passes, c.Memory, c.Threads, 32), nil
}

// Forget has nothing to remove: the key was never kept.
func (p *Passphrase) Forget(context.Context, string, string, []byte) error { return nil }

// Wipe overwrites the passphrase.
func (p *Passphrase) Wipe() { ref.Wipe(p.Text) }
