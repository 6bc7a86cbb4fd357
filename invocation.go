package reeve

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Bounds on what a door may hand to the kernel.
const (
	MaxArgs      = 1 << 20 // bytes of arguments
	MaxArgsDepth = 64      // nesting of the arguments' JSON
)

// Invocation is one request to use one tool, as a door understood it. The
// door turns a foreign request into an Invocation and nothing more.
type Invocation struct {
	ID      string // UUIDv7, minted by the door
	Session string // session id, UUIDv7
	Actor   Actor
	Channel Channel
	Origin  Origin
	Tool    string // as the caller spelled it
	Args    []byte // one strict JSON object
	Parent  string // id of the calling invocation, for nested calls
	Depth   int    // how many invocations stand above this one
	Dir     string // the caller's working directory, absolute; empty = the workspace root

	Incomplete bool   // arguments were cut off while streaming: never run (Y36)
	Contained  bool   // the door has proof that the caller runs inside the session's boundary
	Hook       Answer // what the calling client's own hooks or rules said; may only tighten

	Askable  bool      // the door can wait for a person's answer
	Again    bool      // the caller may make the same call again: a question stands when it no longer waits
	Deadline time.Time // when the door must have its answer; zero = the broker's own deadline
}

// Answer is an opinion that may only tighten a decision.
type Answer struct {
	Verdict Verdict // meaningful where Reason is not empty
	Reason  string
}

// Digest binds an approval or a permit to the exact call: who, where, which
// tool, which bytes. Any change in any field changes it. The fields are
// length-prefixed, so that no two calls share an encoding.
func (i *Invocation) Digest() [32]byte {
	h := sha256.New()
	var n [8]byte
	field := func(s string) {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	field("reeve invocation v1")
	field(i.ID)
	field(i.Session)
	field(string(i.Actor))
	field(string(i.Channel))
	field(i.Origin.String())
	field(i.Tool)
	field(i.Dir)
	binary.BigEndian.PutUint64(n[:], uint64(len(i.Args)))
	h.Write(n[:])
	h.Write(i.Args)
	return [32]byte(h.Sum(nil))
}

// CallDigest is the digest of what is asked apart from which time it is
// asked: session, actor, tool, directory and arguments. "Always allow this
// exact call for the session" is a grant to a CallDigest.
func (i *Invocation) CallDigest() [32]byte {
	same := *i
	same.ID, same.Channel, same.Origin = "", "", OriginAgent
	return same.Digest()
}
