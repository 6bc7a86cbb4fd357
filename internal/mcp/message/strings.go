package message

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Strings gives a JSON value in which every string, also one that is a name, is
// what change makes of it. Everything else keeps the bytes it had; what is no
// valid JSON comes back as it is.
func Strings(v []byte, change func(string) string) []byte {
	dec := decoder(v)
	var out []byte
	from := 0
	for {
		t, err := dec.ReadToken()
		if err != nil {
			break
		}
		if t.Kind() != '"' {
			continue
		}
		was := t.String()
		now := change(was)
		if now == was {
			continue
		}
		end := int(dec.InputOffset())
		begin := start(v, end)
		out = append(append(out, v[from:begin]...), Quote(now)...)
		from = end
	}
	if out == nil {
		return v
	}
	return append(out, v[from:]...)
}

// Canonical is a JSON value in its canonical form (RFC 8785), so that neither
// the order of members nor the spelling makes a difference; what has none, such
// as half a pair of surrogates, comes back as it is.
func Canonical(v []byte) []byte {
	c := jsontext.Value(bytes.Clone(v))
	if c.Canonicalize() != nil {
		return v
	}
	return c
}

// start is where the string begins that ends before end.
func start(v []byte, end int) int {
	for i := end - 2; i >= 0; i-- {
		if v[i] != '"' {
			continue
		}
		slashes := 0
		for j := i - 1; j >= 0 && v[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return 0
}
