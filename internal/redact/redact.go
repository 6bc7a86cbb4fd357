// Package redact masks secrets in everything that is stored or shown:
// arguments, previews, results, errors, records (contract G33, G34, G39).
//
// A [Redactor] knows three ways to find one:
//
//   - by name: the value of a field whose name has one of the words of
//     [sensitive] in it, whatever the value (G34), in JSON and in text of the
//     form name=value, name: value or "name": "value";
//   - by shape: tokens of known services, keys in PEM armour, JSON web tokens,
//     passwords in addresses, authorization and cookie headers (G33);
//   - by value: secrets that Reeve itself holds ([Redactor.AddSecret]), also in
//     their JSON, URL, base64 and hexadecimal forms.
//
// What is found becomes [Mark]. A placeholder ($X, ${X}, <x>, ***, the mark
// itself) is left as it is, so that masking twice is masking once. One pass of
// an automaton over the text finds the places worth looking at; what follows
// is read by hand-written scanners that look no further than one line, PEM
// armour apart. Misses are possible: a password that stands alone in prose has
// neither name nor shape.
//
// The package is pure and a Redactor is safe for concurrent use.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// Mark stands where a secret stood.
const Mark = "[REDACTED]"

// minSecret is the length, in bytes, below which a value is not searched for:
// it would blot out ordinary text.
const minSecret = 6

// Redactor masks secrets. Make one with [New].
type Redactor struct {
	known atomic.Pointer[known]
}

// known is the held values and an automaton over their forms.
type known struct {
	values []string
	find   *automaton
}

// New returns a redactor that holds no values yet.
func New() *Redactor { return &Redactor{} }

// AddSecret makes a value known. A value of under six bytes is refused, since
// masking it would blot out ordinary text.
func (r *Redactor) AddSecret(value string) error {
	if len(value) < minSecret {
		return fmt.Errorf("a value of %d bytes is too short to be masked wherever it appears; at least %d", len(value), minSecret)
	}
	for {
		old := r.known.Load()
		next := &known{}
		if old != nil {
			if slices.Contains(old.values, value) {
				return nil
			}
			next.values = slices.Clone(old.values)
		}
		next.values = append(next.values, value)
		var forms []string
		for _, v := range next.values {
			forms = append(forms, formsOf(v)...)
		}
		slices.Sort(forms)
		next.find = newAutomaton(slices.Compact(forms), false)
		if r.known.CompareAndSwap(old, next) {
			return nil
		}
	}
}

// formsOf lists the spellings of a value: itself, each of its longer lines, as
// JSON and URLs write it, base64 at three offsets, hexadecimal.
func formsOf(v string) []string {
	forms := []string{v}
	if lines := strings.Split(v, "\n"); len(lines) > 1 {
		for _, l := range lines {
			if l = strings.TrimSpace(l); len(l) >= 8 {
				forms = append(forms, l)
			}
		}
	}
	if q, err := jsontext.AppendQuote(nil, v); err == nil {
		forms = append(forms, string(q[1:len(q)-1]))
	}
	forms = append(forms, url.QueryEscape(v), url.PathEscape(v), hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))))
	for offset := range 3 {
		// The characters that depend on neighbours are left out at both ends.
		for _, enc := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			e := enc.EncodeToString([]byte("\x00\x00\x00"[:offset] + v))
			lo, hi := (offset*8+5)/6, len(e)
			if (offset+len(v))%3 != 0 {
				hi--
			}
			if hi-lo >= 8 {
				forms = append(forms, e[lo:hi])
			}
		}
	}
	return slices.DeleteFunc(forms, func(f string) bool { return len(f) < minSecret || strings.Contains(f, Mark) })
}

// span is a stretch of the text to mask.
type span struct{ from, to int }

// Text masks secrets in any text. Where nothing is found it returns s itself.
func (r *Redactor) Text(s string) string {
	var spans []span
	if k := r.known.Load(); k != nil {
		k.find.each(s, func(_ int, from, to int) { spans = append(spans, span{from, to}) })
	}
	at := 0 // behind what a scanner has taken already
	leads().each(s, func(id, from, to int) {
		if from < at {
			return
		}
		if m, ok := patterns[id].scan(s, from, to); ok {
			spans = append(spans, m)
			if patterns[id].consumes {
				at = m.to
			}
		}
	})
	if len(spans) == 0 {
		return s
	}
	return mask(s, spans)
}

// mask replaces each stretch, joined with those it overlaps or touches.
func mask(s string, spans []span) string {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for i := 0; i < len(spans); {
		m := spans[i]
		for i++; i < len(spans) && spans[i].from <= m.to; i++ {
			m.to = max(m.to, spans[i].to)
		}
		b.WriteString(s[at:m.from])
		b.WriteString(Mark)
		at = m.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// JSON masks secrets in a JSON value and keeps it valid. Names decide first:
// everything below a sensitive name is masked whatever it is. Strings are
// masked as text, or as JSON where they hold an object or a list. What is not
// valid JSON is masked as text.
func (r *Redactor) JSON(b []byte) []byte {
	if r.quiet(b) {
		return b
	}
	out, ok := r.json(b, 0)
	if !ok {
		return []byte(r.Text(string(b)))
	}
	return out
}

// quiet reports whether nothing in b can lead to a secret: no lead of a
// pattern, no word of a sensitive name, no held value, and no escape that
// could spell one of them. Most arguments are quiet, and are not read further.
func (r *Redactor) quiet(b []byte) bool {
	if k := r.known.Load(); k != nil && k.find.in(b) {
		return false
	}
	return !suspects().in(b)
}

// maxNested bounds JSON inside strings inside JSON.
const maxNested = 5

func (r *Redactor) json(b []byte, depth int) ([]byte, bool) {
	dec := jsontext.NewDecoder(strings.NewReader(string(b)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	w := writer{r: r, depth: depth}
	for {
		name := false
		if kind, length := dec.StackIndex(dec.StackDepth()); kind == '{' {
			name = length%2 == 0
		}
		tok, err := dec.ReadToken()
		if err != nil {
			return w.out, err.Error() == "EOF" && w.values == 1
		}
		w.token(tok, name, dec.StackDepth())
	}
}

// writer writes the tokens again, with secrets masked.
type writer struct {
	r      *Redactor
	depth  int // of JSON inside strings
	out    []byte
	values int  // at the top
	after  bool // a value stands before in this object or list
	hide   int  // depth of the stack below which everything is masked; 0 = nothing
	hiding bool // the next value is masked
}

func (w *writer) token(tok jsontext.Token, name bool, depth int) {
	if w.hide > 0 { // inside a masked value
		if depth < w.hide {
			w.hide = 0
			w.after = true
		}
		return
	}
	kind := tok.Kind()
	if kind == '}' || kind == ']' {
		w.out = append(w.out, byte(kind))
		w.after = true
		w.top(depth)
		return
	}
	if w.after && depth > 0 {
		w.out = append(w.out, ',')
	}
	w.after = false
	switch {
	case name:
		s := tok.String()
		w.hiding = Sensitive(s)
		w.quote(w.r.Text(s))
		w.out = append(w.out, ':')
		return
	case w.hiding:
		w.hiding = false
		if kind == '{' || kind == '[' {
			w.hide = depth
			w.quote(Mark)
			return
		}
		if kind == '"' && placeholder(tok.String()) || kind == 'n' || kind == 't' || kind == 'f' {
			w.plain(tok)
		} else {
			w.quote(Mark)
		}
	case kind == '{' || kind == '[':
		w.out = append(w.out, byte(kind))
		return
	default:
		w.plain(tok)
	}
	w.after = true
	w.top(depth)
}

func (w *writer) top(depth int) {
	if depth == 0 {
		w.values++
		w.after = false
	}
}

// plain writes a value that no name hides.
func (w *writer) plain(tok jsontext.Token) {
	if tok.Kind() != '"' {
		w.out = append(w.out, tok.String()...)
		return
	}
	s := tok.String()
	if t := strings.TrimSpace(s); w.depth < maxNested && len(t) > 1 && (t[0] == '{' || t[0] == '[') {
		if inner, ok := w.r.json([]byte(t), w.depth+1); ok {
			w.quote(w.r.Text(string(inner)))
			return
		}
	}
	w.quote(w.r.Text(s))
}

func (w *writer) quote(s string) {
	q, err := jsontext.AppendQuote(w.out, s)
	if err != nil { // bad UTF-8: the replacement character takes its place
		q, _ = jsontext.AppendQuote(w.out, strings.ToValidUTF8(s, "\uFFFD"))
	}
	w.out = q
}
