// Package known searches for values that are known to be secret, in the forms
// in which they may turn up: raw, JSON, URL, XML, quoted for a shell, base64 at
// any offset and hex, both perhaps broken into lines; of a value of several
// lines, each line too.
package known

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Set is values, ready to be searched for. It is never changed.
type Set struct {
	Values []string
	heads  [1 << 16 / 64]uint64           // set of hashes of the first headLen bytes
	forms  map[[headLen]byte][]string     // by their first bytes, longest first
	of     map[string]string              // the value of each form
	shorts [headLen]map[[headLen]byte]int // proper beginnings of a head, zero padded, by their length: the length of the shortest form of each
}

// MinLen is the length, in bytes, of the shortest form that is searched for:
// a shorter one would be found everywhere.
const MinLen = 6

const (
	headLen  = 4
	maxForm  = 2 << 10 // longer values are searched for in pieces
	minLine  = 8       // shorter lines of a value are not searched for alone
	minCoded = 7       // shorter base64 cores would be found by chance
)

// Fit says why a value cannot be searched for, or nil. The error does not hold
// the value.
func Fit(value, mark string) error {
	switch {
	case len(value) < MinLen:
		return fmt.Errorf("a secret of %d bytes cannot be masked by its value; at least %d are needed", len(value), MinLen)
	case strings.Contains(mark, value) || strings.Contains(value, mark):
		return fmt.Errorf("a secret that is a part of, or contains, %s cannot be masked by its value", mark)
	}
	return nil
}

// Join adds to have those of the values that fit and are not there, and counts
// the rest that do not fit.
func Join(have, values []string, mark string) (all []string, refused int) {
	there := make(map[string]bool, len(have))
	for _, v := range have {
		there[v] = true
	}
	for _, v := range values {
		switch {
		case Fit(v, mark) != nil:
			refused++
		case !there[v]:
			there[v], have = true, append(have, v)
		}
	}
	return have, refused
}

// New makes the set of the values. Forms for which mark is true, since a mark
// would hold them, are left out.
func New(values []string, mark func(string) bool) *Set {
	k := &Set{Values: values, forms: map[[headLen]byte][]string{}, of: map[string]string{}}
	for i := range k.shorts {
		k.shorts[i] = map[[headLen]byte]int{}
	}
	for _, v := range values {
		for _, f := range formsOf(v) {
			k.add(f, v, mark)
		}
	}
	for _, list := range k.forms {
		slices.SortFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
	return k
}

func (k *Set) add(form, value string, mark func(string) bool) {
	if len(form) < MinLen || mark(form) {
		return
	}
	head := [headLen]byte([]byte(form[:headLen]))
	if slices.Contains(k.forms[head], form) {
		return
	}
	k.forms[head] = append(k.forms[head], form)
	k.of[form] = value
	h := hash4(form)
	k.heads[h/64] |= 1 << (h % 64)
	for n := 1; n < headLen; n++ {
		var short [headLen]byte
		copy(short[:], form[:n])
		if least := k.shorts[n][short]; least == 0 || len(form) < least {
			k.shorts[n][short] = len(form)
		}
	}
}

// Heads yields the first bytes of all forms.
func (k *Set) Heads() iter.Seq[[headLen]byte] { return maps.Keys(k.forms) }

func hash4(s string) uint16 {
	x := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	return uint16(x * 2654435761 >> 16)
}

// formsOf lists the spellings of a value in which it may turn up.
func formsOf(value string) []string {
	pieces := []string{value}
	if strings.ContainsAny(value, "\r\n") {
		for line := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				pieces = append(pieces, line)
			}
		}
	}
	var all []string
	for _, p := range pieces {
		all = append(all, p, quoted(p, true), quoted(p, false), url.QueryEscape(p), url.PathEscape(p), lowerHex(url.QueryEscape(p)), lowerHex(url.PathEscape(p)))
		all = append(all, hex.EncodeToString([]byte(p)), strings.ToUpper(hex.EncodeToString([]byte(p))))
		all = append(all, coded(base64.RawStdEncoding, p)...)
		all = append(all, coded(base64.RawURLEncoding, p)...)
		all = append(all, escaped(p)...)
	}
	all = append(all, apart(value)...)
	return slices.Concat(slices.Collect(chunks(all))...)
}

// chunks splits each form that is longer than a decision can look.
func chunks(forms []string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for _, f := range forms {
			var parts []string
			for len(f) > maxForm {
				parts, f = append(parts, f[:maxForm/2]), f[maxForm/2:]
			}
			if !yield(append(parts, f)) {
				return
			}
		}
	}
}

// quoted is the inside of a JSON string, as writers with and without escapes
// for HTML make it.
func quoted(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return ""
	}
	q := strings.TrimSuffix(b.String(), "\n")
	return q[1 : len(q)-1]
}

// lowerHex writes the escapes %AB as %ab.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			b[i+1], b[i+2] = b[i+1]|0x20, b[i+2]|0x20
		}
	}
	return string(b)
}

// coded is what stands of s in a base64 text, wherever in it s begins: the
// characters that its neighbours have no part in.
func coded(enc *base64.Encoding, s string) (all []string) {
	for offset := range 3 {
		text := enc.EncodeToString([]byte("\x00\x00"[:offset] + s))
		from := (offset*8 + 5) / 6
		to := (offset + len(s)) * 8 / 6
		if to-from >= minCoded {
			all = append(all, text[from:to])
		}
	}
	return all
}

// Begins reports whether s, which ends here, is the beginning of a form and
// more of it may follow, and how many bytes of s do not tell it: a quarter of the
// form at most, as long as that is less than what [Set.At] looks for first.
func (k *Set) Begins(s string) (tellsNothing int, more bool) {
	if _, more = k.At(s, func(int) bool { return true }); !more || len(s) >= headLen {
		return 0, more
	}
	var short [headLen]byte
	copy(short[:], s)
	if len(s) <= k.shorts[len(s)][short]/4 {
		return len(s), true
	}
	return 0, true
}

// Value is the value that s begins with, in the form of which [Set.At] gave
// the length.
func (k *Set) Value(s string) string {
	for _, form := range k.forms[[headLen]byte([]byte(s[:headLen]))] {
		if to, _ := match(s, form); to == len(s) {
			return k.of[form]
		}
	}
	return ""
}

// At is the length of the longest form that s begins with and that ok
// accepts, 0 = none. more says that s is the beginning of a form and ends
// before it does.
func (k *Set) At(s string, ok func(n int) bool) (n int, more bool) {
	if len(s) < headLen {
		var short [headLen]byte
		copy(short[:], s)
		return 0, len(s) == 0 || k.shorts[len(s)][short] > 0
	}
	if h := hash4(s); k.heads[h/64]>>(h%64)&1 == 0 {
		return 0, false
	}
	for _, form := range k.forms[[headLen]byte([]byte(s[:headLen]))] {
		switch to, ends := match(s, form); {
		case ends:
			more = true
		case to > 0 && ok(to):
			return to, more
		}
	}
	return 0, more
}
