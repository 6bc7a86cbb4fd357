// Package mark is what stands where a secret stood. It has one form:
//
//	[REDACTED]                     a name or a place said so
//	[REDACTED:held#3f2a]           a value that Reeve holds, and which one
//	[REDACTED:private-key]         a known shape, with its kind
//	[REDACTED:github-token#3f2a]   and which one it was
//
// The four digits are the first 16 bits of the SHA-256 of the token (of its
// first 128 bytes behind the prefix), so that the same token has the same mark
// wherever and whenever it was masked, and a reader can tell two apart. They
// are given only for tokens that a machine made at random: 16 bits of a hash of
// one are of no use to who wants to guess it. What a person chose as a password
// never gets them, and a value that Reeve holds gets others: the first 16 bits of its
// HMAC-SHA-256 under a key that nobody else has, so that who guesses a value
// cannot tell whether they guessed right. Without a key it has the plain mark.
package mark

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/shape"
)

const (
	Plain = "[REDACTED]" // contracts G33, G34
	head  = "[REDACTED"
	Max   = len(head) + 1 + maxKind + 1 + digits + 1 // bytes of the longest mark

	held    = "held" // the kind of a value that Reeve holds
	maxKind = 40
	digits  = 4
	// least is the length under which no digits are given.
	least = 20
)

// Of is the mark of a token of the kind; "" is a secret without one. token may
// be empty where it is not known or not random.
func Of(kind, token string) string {
	switch {
	case kind == "":
		return Plain
	case len(token) < least:
		return head + ":" + kind + "]"
	}
	return head + ":" + kind + "#" + Digits(token) + "]"
}

// Held is the mark of a value that Reeve holds, told from others under the key.
func Held(key []byte, value string) string {
	if len(key) == 0 {
		return Plain
	}
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(value))
	return head + ":" + held + "#" + hex.EncodeToString(sum.Sum(nil)[:digits/2]) + "]"
}

// Digits tell one token from another.
func Digits(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:digits/2])
}

// At is the length of the mark that s begins with, 0 = none. more says that s
// is the beginning of one and ends before it does.
func At(s string) (n int, more bool) {
	if len(s) <= len(head) {
		return 0, strings.HasPrefix(head, s)
	}
	if s[:len(head)] != head {
		return 0, false
	}
	i := len(head)
	if s[i] == ']' {
		return i + 1, false
	}
	if s[i] != ':' {
		return 0, false
	}
	from := i + 1
	for i = from; i < len(s) && i-from <= maxKind && inKind(s[i]); i++ {
	}
	if i == len(s) {
		return 0, i-from <= maxKind
	}
	if i-from < 2 || i-from > maxKind || !known(s[from:i]) {
		return 0, false
	}
	if s[i] == '#' {
		from = i + 1
		for i = from; i < len(s) && i-from < digits && inHex(s[i]); i++ {
		}
		if i == len(s) {
			return 0, true
		}
		if i-from < digits {
			return 0, false
		}
	}
	if s[i] != ']' {
		return 0, false
	}
	return i + 1, false
}

// In reports whether a mark stands in s.
func In(s string) bool {
	for {
		i := strings.Index(s, head)
		if i < 0 {
			return false
		}
		if n, _ := At(s[i:]); n > 0 {
			return true
		}
		s = s[i+1:]
	}
}

// Only reports whether a mark stands in s and no letter or digit beside it.
func Only(s string) bool {
	found := false
	for i := 0; i < len(s); i++ {
		if n, _ := At(s[i:]); n > 0 {
			found, i = true, i+n-1
		} else if shape.Classes[s[i]]&shape.Alnum != 0 {
			return false
		}
	}
	return found
}

// Part reports whether s is a part of the plain mark, or holds a mark.
func Part(s string) bool { return strings.Contains(Plain, s) || In(s) }

func inKind(c byte) bool { return 'a' <= c && c <= 'z' || c == '-' || '0' <= c && c <= '9' }

func inHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// known reports whether a kind is one of ours: a text of somebody else's in
// the same brackets is not a mark, and hides nothing.
func known(kind string) bool { return kind == held || shape.Kinds()[kind] }
