// Package permit is the key for one allowed invocation. Only the kernel mints
// one; every hand (a tool, a wall) spends it in the moment before it acts.
//
// A Permit is bound to the digest of the exact invocation, can be spent once
// and expires. The zero Permit opens nothing. It is a value inside one
// process: it cannot be sent to another.
package permit

import (
	"errors"
	"sync/atomic"
	"time"
)

// Why a permit does not open.
var (
	ErrZero    = errors.New("no permit: the call did not pass the kernel")
	ErrSpent   = errors.New("permit was spent already")
	ErrExpired = errors.New("permit has expired")
	ErrOther   = errors.New("permit was given for another invocation")
)

// Permit opens one hand once.
type Permit struct{ key *key }

type key struct {
	digest  [32]byte
	expires time.Time
	now     func() time.Time
	spent   atomic.Bool
}

// Issuer mints permits. Only the kernel makes one; layers_test.go forbids it
// elsewhere.
type Issuer struct{ now func() time.Time }

// NewIssuer returns an issuer that reads the time from now.
func NewIssuer(now func() time.Time) *Issuer { return &Issuer{now: now} }

// Mint makes a permit for the invocation with this digest, good for ttl.
func (i *Issuer) Mint(digest [32]byte, ttl time.Duration) Permit {
	return Permit{&key{digest: digest, expires: i.now().Add(ttl), now: i.now}}
}

// Inherited is the permit of a process that was started to carry out one
// invocation, by a hand that had spent its own permit for it: the process that
// keeps a session. Only that process makes one, once; layers_test.go forbids
// it elsewhere.
func Inherited(digest [32]byte, now func() time.Time) Permit {
	return NewIssuer(now).Mint(digest, time.Minute)
}

// Digest is the digest of the invocation the permit was minted for; the zero
// Permit has the zero digest.
func (p Permit) Digest() [32]byte {
	if p.key == nil {
		return [32]byte{}
	}
	return p.key.digest
}

// Spend opens the permit for the invocation with this digest. It returns nil
// once; a wrong digest spends nothing.
func (p Permit) Spend(digest [32]byte) error {
	switch {
	case p.key == nil:
		return ErrZero
	case p.key.digest != digest:
		return ErrOther
	case !p.key.now().Before(p.key.expires):
		return ErrExpired
	case !p.key.spent.CompareAndSwap(false, true):
		return ErrSpent
	}
	return nil
}
