package redact

import (
	"encoding/json"
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/document"
	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/sight"
	"github.com/reeve-gate/reeve/internal/redact/sign"
)

// JSON masks what is secret in a JSON text, and gives JSON for JSON. Names
// decide first: what a sensitive name holds becomes [Mark], whatever it is
// (contract G34). Pairs such as {"name":"X-Api-Key","value":"..."} and lists
// such as ["--token","..."] count as names. Strings are masked as text, and as
// JSON where that is what they hold. Everything else stays byte for byte. What
// is no JSON is masked as text.
// A text in which nothing is secret may come back as b itself.
func (r *Redactor) JSON(b []byte) []byte {
	s := string(b)
	if r.quiet(s) {
		return b
	}
	if !json.Valid(b) {
		return []byte(r.Text(s))
	}
	return document.Mask(s, document.Rules{Text: r.Text, Holds: r.held.Load().in, Mark: Mark})
}

// quiet reports whether nothing in s can be masked: no name is suspect, no
// escape can spell one, and read as one text it has no secret. Most arguments
// are, and need not be read as JSON.
func (r *Redactor) quiet(s string) bool {
	return !name.Suspect(s) && strings.IndexByte(s, '\\') < 0 && !document.ListsFlag(s) && r.Text(s) == s
}

// in reports whether a known value stands in text.
func (h *held) in(text string) bool {
	if len(h.set.Values) == 0 {
		return false
	}
	s := scan{held: h, Sight: sight.Sight{Buf: text, Hi: len(text)}}
	for i := 0; i < len(text); i++ {
		if text[i] == '[' {
			if n := s.markAt(i); n > 0 { // what a mark says is not the value
				i += n - 1
				continue
			}
		}
		if h.Start[text[i]]&sign.Known != 0 && s.knownAt(i) > 0 {
			return true
		}
	}
	return false
}
