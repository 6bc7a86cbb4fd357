package redact

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/value"
)

// maxNested bounds JSON in strings in JSON.
const maxNested = 5

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
	return r.document(s, 0)
}

// quiet reports whether nothing in s can be masked: no name is suspect, no
// escape can spell one, and read as one text it has no secret. Most arguments
// are, and need not be read as JSON.
func (r *Redactor) quiet(s string) bool {
	return !name.Suspect(s) && strings.IndexByte(s, '\\') < 0 && !strings.Contains(s, `"-u"`) && !strings.Contains(s, `"--user"`) && r.Text(s) == s
}

func (r *Redactor) document(s string, nested int) []byte {
	w := walk{r: r, in: s, nested: nested, out: make([]byte, 0, len(s)+len(Mark))}
	w.space()
	w.value()
	w.space()
	// A value that spans the JSON around it cannot be cut out of it.
	if r.held.Load().in(string(w.out)) {
		return []byte(strconv.Quote(Mark))
	}
	return w.out
}

// in reports whether a known value stands in text.
func (h *held) in(text string) bool {
	if len(h.set.Values) == 0 {
		return false
	}
	s := scan{held: h, buf: text, hi: len(text)}
	for i := range len(text) {
		if h.start[text[i]]&startKnown != 0 && s.knownAt(i) > 0 {
			return true
		}
	}
	return false
}

// walk copies one valid JSON text from in to out, masking on the way.
type walk struct {
	r      *Redactor
	in     string
	at     int
	out    []byte
	nested int
}

// space copies blanks.
func (w *walk) space() {
	from := w.at
	for w.at < len(w.in) && strings.IndexByte(" \t\r\n", w.in[w.at]) >= 0 {
		w.at++
	}
	w.out = append(w.out, w.in[from:w.at]...)
}

// one copies the byte that must stand here.
func (w *walk) one() {
	w.out = append(w.out, w.in[w.at])
	w.at++
}

func (w *walk) value() {
	switch w.in[w.at] {
	case '{':
		w.object()
	case '[':
		w.list()
	case '"':
		w.text(w.string())
	default:
		from := w.at
		for w.at < len(w.in) && strings.IndexByte(",]} \t\r\n", w.in[w.at]) < 0 {
			w.at++
		}
		if word := w.in[from:w.at]; w.r.Text(word) != word {
			w.out = append(w.out, `"`+Mark+`"`...)
		} else {
			w.out = append(w.out, word...)
		}
	}
}

// hide puts the mark in place of the value that stands here.
func (w *walk) hide() {
	w.skip()
	w.out = append(w.out, `"`+Mark+`"`...)
}

// skip passes over a value.
func (w *walk) skip() {
	depth := 0
	for w.at < len(w.in) {
		switch c := w.in[w.at]; c {
		case '"':
			w.string()
			if depth == 0 {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return // the end of a number in a list or an object
			}
			if depth--; depth == 0 {
				w.at++
				return
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return
			}
		}
		w.at++
	}
}

// string reads the string that stands here, with its quotes.
func (w *walk) string() (raw string) {
	from := w.at
	for w.at++; w.in[w.at] != '"'; w.at++ {
		if w.in[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.in[from:w.at]
}

// plainOf is what a quoted string holds.
func plainOf(raw string) string {
	inner := raw[1 : len(raw)-1]
	if strings.IndexByte(inner, '\\') < 0 && utf8.ValidString(inner) {
		return inner
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return inner
	}
	return s
}

// text writes a string, masked, with the quotes it had where nothing changed.
func (w *walk) text(raw string) {
	s := plainOf(raw)
	masked := s
	if t := strings.TrimSpace(s); w.nested < maxNested && len(t) > 1 && (t[0] == '{' || t[0] == '[') && json.Valid([]byte(s)) {
		masked = string(w.r.document(s, w.nested+1))
	}
	masked = w.r.Text(masked)
	if masked == s {
		// A value may hide in the escapes themselves.
		if !w.escapesHold(raw) {
			w.out = append(w.out, raw...)
			return
		}
		masked = Mark
	}
	w.quote(masked)
}

// escapesHold reports whether a known value stands in the escapes of a string
// and not in what they mean.
func (w *walk) escapesHold(raw string) bool {
	return strings.IndexByte(raw, '\\') >= 0 && w.r.held.Load().in(raw)
}

func (w *walk) quote(s string) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // cannot be: any string can be written
		b.Reset()
		b.WriteString(strconv.Quote(Mark))
	}
	w.out = append(w.out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// object copies an object member by member.
func (w *walk) object() {
	w.one()
	w.space()
	named := false    // a member "name" holds a sensitive name
	from, to := -1, 0 // the member "value", in out
	masks := 0        // names that became marks
	for w.in[w.at] != '}' {
		if w.in[w.at] == ',' {
			w.one()
			w.space()
		}
		field := plainOf(w.key(&masks))
		w.space()
		w.one() // the colon
		w.space()
		start := len(w.out)
		switch low := strings.ToLower(field); {
		case hides(field, w.in[w.at]):
			w.hide()
		case (low == "name" || low == "key" || low == "header") && w.in[w.at] == '"':
			raw := w.string()
			named = named || Sensitive(plainOf(raw))
			w.text(raw)
		case low == "value":
			w.value()
			from, to = start, len(w.out)
		default:
			w.value()
		}
		w.space()
	}
	if named && from >= 0 {
		rest := string(w.out[to:])
		w.out = append(append(w.out[:from], `"`+Mark+`"`...), rest...)
	}
	w.one()
}

// hides reports whether a member of this name, whose value starts with c, is
// hidden whole. A number of tokens is a count.
func hides(field string, c byte) bool {
	if !Sensitive(field) {
		return false
	}
	return !strings.HasSuffix(strings.ToLower(field), "tokens") || c != '-' && (c < '0' || c > '9')
}

// key copies a member's name. Names that became marks are told apart, since
// some readers refuse an object with two equal ones.
func (w *walk) key(masks *int) (raw string) {
	raw = w.string()
	s := plainOf(raw)
	masked := w.r.Text(s)
	switch {
	case masked == s && !w.escapesHold(raw):
		w.out = append(w.out, raw...)
		return raw
	case masked == s:
		masked = Mark
	}
	if *masks++; *masks > 1 {
		masked += " " + strconv.Itoa(*masks)
	}
	w.quote(masked)
	return raw
}

// list copies a list; the word behind a flag such as --token is hidden, and
// so is the second half of the word behind curl's -u.
func (w *walk) list() {
	w.one()
	w.space()
	before, first := "", ""
	for w.in[w.at] != ']' {
		if w.in[w.at] == ',' {
			w.one()
			w.space()
		}
		if w.in[w.at] != '"' {
			before = ""
			w.value()
			w.space()
			continue
		}
		raw := w.string()
		s := plainOf(raw)
		if first == "" {
			first = s
		}
		flag := strings.HasPrefix(before, "-")
		user, password, pair := strings.Cut(s, ":")
		switch {
		case flag && Sensitive(strings.TrimLeft(before, "-")) && s != "" && s[0] != '-' && !value.Placeholder(s):
			w.quote(Mark)
		case (before == "-u" || before == "--user") && strings.HasSuffix(first, "curl") && pair && password != "" && !value.Placeholder(password):
			w.quote(user + ":" + Mark)
		default:
			w.text(raw)
		}
		before = s
		w.space()
	}
	w.one()
}
