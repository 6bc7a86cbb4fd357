// Package ref is how a secret of the vault is named: service/key, and as a
// reference in settings reeve://service/key. A reference stands for a value and
// is none; whoever needs the value asks a [Resolver] in the moment of use.
package ref

import (
	"fmt"
	"strings"

	"github.com/reeve-gate/reeve/internal/late"
)

// Scheme begins every reference.
const Scheme = "reeve://"

// Name names one secret.
type Name struct{ Service, Key string }

func (n Name) String() string { return n.Service + "/" + n.Key }

// Reference is the name as settings write it.
func (n Name) Reference() string { return Scheme + n.String() }

var part = late.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`)

// ParseName reads SERVICE/KEY: two words of letters, digits, dot, dash and
// underscore, at most 63 bytes each, which do not begin with a dot or a dash
// (contract Y101).
func ParseName(s string) (Name, error) {
	service, key, found := strings.Cut(s, "/")
	if !found || !part.MatchString(service) || !part.MatchString(key) {
		return Name{}, fmt.Errorf("%q names no secret; write SERVICE/KEY, such as github/token: letters, digits, dot, dash and underscore, at most 63 of each", s)
	}
	return Name{service, key}, nil
}

// Parse reads a text that is a reference as a whole. ok is false where it is
// none; an error says that it begins like one and names no secret.
func Parse(s string) (n Name, ok bool, err error) {
	rest, found := strings.CutPrefix(s, Scheme)
	if !found {
		return Name{}, false, nil
	}
	n, err = ParseName(rest)
	return n, true, err
}

// Resolver gives the value that a reference stands for. The caller owns the
// slice and wipes it when it is done; the error holds no value and says what a
// person can do. Nothing is remembered at this end (contract Y97): a value that
// was changed is the changed one from the next use on.
type Resolver interface {
	Resolve(n Name) ([]byte, error)
}

// ResolverFunc is a function as a Resolver.
type ResolverFunc func(n Name) ([]byte, error)

// Resolve calls f.
func (f ResolverFunc) Resolve(n Name) ([]byte, error) { return f(n) }

// Wipe overwrites values. What copies of them the runtime, a driver or the
// system may have made is out of its reach.
func Wipe(values ...[]byte) {
	for _, v := range values {
		clear(v[:cap(v)])
	}
}
