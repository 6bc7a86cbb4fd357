// Package sign tells from a few bytes whether a secret may begin at a place of a
// text, so that nearly every place is passed by at once.
package sign

import (
	"sync"

	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/shape"
)

// What a byte can start.
const (
	Rule  = 1 << iota // a rule of its own: = : - > B p and the mark
	Token             // a known shape
	Known             // a known value
)

// Signs are what a rule, a shape or a known value can begin with: what each
// byte can begin, the bytes that are enough, and else the first three.
type Signs struct {
	Start  [256]uint8
	Enough [256]uint8 // 1 = yes
	Heads  shape.Heads
}

// All are the signs when no value is known.
var All = sync.OnceValue(func() *Signs {
	g := &Signs{Heads: shape.All().Heads}
	add := func(kind uint8, first, second, third string) {
		for _, a := range []byte(first) {
			g.Start[a] |= kind
			for _, b := range []byte(second) {
				for _, c := range []byte(third) {
					g.Heads.Add(a, b, c)
				}
			}
		}
	}
	for i := range shape.Table {
		g.Start[shape.Table[i].Prefix[0]] |= Token
	}
	add(Token, "e", "y", "J")                     // a JSON web token
	add(Token, "Q", "~", lettersAndDigits+"._~-") // what stands in a client secret of Entra
	add(Token, "MNO", "DTjz", lettersAndDigits)   // base64 of the number that a bot's token begins with
	add(Rule, "Bb", "Ee", "Aa")                   // Bearer
	add(Rule, "Bb", "Aa", "Ss")                   // Basic
	add(Rule, "p", "a", "s")                      // password X
	add(Rule, "h", "t", "p")                      // htpasswd
	add(Rule, "Nn", "Ee", "Tt")                   // net use
	add(Rule, "a", "w", "s")                      // aws configure set
	add(Rule, "n", "p", "m")                      // npm config set
	add(Rule, "p", "n", "p")                      // pnpm config set
	add(Rule, "y", "a", "r")                      // yarn config set
	add(Rule, mark.Plain[:1], mark.Plain[1:2], mark.Plain[2:3])
	for _, c := range []byte("=:>-") {
		g.Start[c] |= Rule
		g.Enough[c] = 1
	}
	return g
})

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
