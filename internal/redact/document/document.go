// Package document masks JSON texts. Names decide first: what a sensitive name
// holds becomes the mark, whatever it is (contract G34). Pairs such as
// {"name":"X-Api-Key","value":"..."} and lists such as ["--token","..."] count
// as names, and so does the place of a word in a command that is written as a
// list. Strings are masked as text, and as JSON where that is what they hold.
// Everything else stays byte for byte.
package document

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reeve-gate/reeve/internal/redact/command"
	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/value"
)

// maxNested bounds JSON in strings in JSON.
const maxNested = 5

// Rules are how text is masked.
type Rules struct {
	Text  func(string) string
	Holds func(string) bool // whether a value that must not be shown stands in a text
	Mark  string
}

// ListsFlag reports whether a word that begins with a dash stands in a list.
func ListsFlag(s string) bool {
	for {
		i := strings.Index(s, `"-`)
		if i < 0 {
			return false
		}
		if before := strings.TrimRight(s[:i], " \t\r\n"); strings.HasSuffix(before, "[") || strings.HasSuffix(before, ",") {
			return true
		}
		s = s[i+2:]
	}
}

// Mask masks a JSON text, which must be valid, and gives JSON.
func Mask(s string, rules Rules) []byte { return mask(s, rules, 0) }

func mask(s string, rules Rules, nested int) []byte {
	w := walk{rules: rules, in: s, nested: nested, out: make([]byte, 0, len(s)+len(rules.Mark))}
	w.space()
	w.value()
	w.space()
	// A value that spans the JSON around it cannot be cut out of it.
	if rules.Holds(string(w.out)) {
		return []byte(strconv.Quote(rules.Mark))
	}
	return w.out
}

// walk copies one valid JSON text from in to out, masking on the way.
type walk struct {
	rules  Rules
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
		if word := w.in[from:w.at]; w.rules.Text(word) != word {
			w.out = append(w.out, `"`+w.rules.Mark+`"`...)
		} else {
			w.out = append(w.out, word...)
		}
	}
}

// hide puts the mark in place of the value that stands here.
func (w *walk) hide() {
	w.skip()
	w.out = append(w.out, `"`+w.rules.Mark+`"`...)
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
		masked = string(mask(s, w.rules, w.nested+1))
	}
	masked = w.rules.Text(masked)
	if masked == s {
		// A value may hide in the escapes themselves.
		if !w.escapesHold(raw) {
			w.out = append(w.out, raw...)
			return
		}
		masked = w.rules.Mark
	}
	w.quote(masked)
}

// escapesHold reports whether a known value stands in the escapes of a string
// and not in what they mean.
func (w *walk) escapesHold(raw string) bool {
	return strings.IndexByte(raw, '\\') >= 0 && w.rules.Holds(raw)
}

func (w *walk) quote(s string) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // cannot be: any string can be written
		b.Reset()
		b.WriteString(strconv.Quote(w.rules.Mark))
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
		case w.in[w.at] == '"' && assigns(field):
			if raw := w.string(); hidden(field, plainOf(raw)) {
				w.quote(w.rules.Mark)
			} else {
				w.text(raw)
			}
		case (low == "name" || low == "key" || low == "header") && w.in[w.at] == '"':
			raw := w.string()
			named = named || name.Of(plainOf(raw)).Secret()
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
		w.out = append(append(w.out[:from], `"`+w.rules.Mark+`"`...), rest...)
	}
	w.one()
}

// hides reports whether a member of this name, whose value starts with c, is
// hidden whole. A number of tokens is a count.
func hides(field string, c byte) bool {
	if !name.Of(field).Secret() {
		return false
	}
	return !strings.HasSuffix(strings.ToLower(field), "tokens") || c != '-' && (c < '0' || c > '9')
}

// assigns reports whether a member's value decides with its name: pass, ENC_KEY.
func assigns(field string) bool {
	m := name.Of(field)
	return m == name.Pass || m == name.Key
}

func hidden(field, v string) bool {
	if v == "" || value.Placeholder(v) {
		return false
	}
	return name.Of(field) == name.Key && value.Random(v) || name.Of(field) == name.Pass && !value.Outcome(v)
}

// key copies a member's name. Names that became marks are told apart, since
// some readers refuse an object with two equal ones.
func (w *walk) key(masks *int) (raw string) {
	raw = w.string()
	s := plainOf(raw)
	masked := w.rules.Text(s)
	switch {
	case masked == s && !w.escapesHold(raw):
		w.out = append(w.out, raw...)
		return raw
	case masked == s:
		masked = w.rules.Mark
	}
	if *masks++; *masks > 1 {
		masked += " " + strconv.Itoa(*masks)
	}
	w.quote(masked)
	return raw
}

// list copies a list. Its words may be a command's: the word behind a flag such
// as --token is hidden, and what a program is given as a secret.
func (w *walk) list() {
	w.one()
	w.space()
	var words []string // the texts so far, as far as a command's words go
	for w.in[w.at] != ']' {
		if w.in[w.at] == ',' {
			w.one()
			w.space()
		}
		if w.in[w.at] != '"' {
			words = nil
			w.value()
			w.space()
			continue
		}
		raw := w.string()
		s := plainOf(raw)
		if from, ok := secretWord(words, s); ok && !value.Placeholder(s[from:]) && !mark.In(s[from:]) {
			w.quote(s[:from] + w.rules.Mark)
		} else {
			w.text(raw)
		}
		words = append(words, s)
		w.space()
	}
	w.one()
}

// secretWord is where a secret begins in the word that follows the others in a
// list.
func secretWord(words []string, word string) (from int, ok bool) {
	if len(words) == 0 {
		return 0, false
	}
	flag := words[len(words)-1]
	if strings.HasPrefix(flag, "-") && word != "" && word[0] != '-' {
		if name.Of(strings.TrimLeft(flag, "-")).Secret() {
			return 0, true
		}
		if command.Suspect(flag) {
			if part, glued := command.Flag(joined(words[:len(words)-1]), flag); glued == 0 {
				return part.Secret(word)
			}
		}
	}
	if strings.HasPrefix(word, "-") && command.Suspect(word[:min(len(word), 2)]) {
		if part, glued := command.Flag(joined(words), word); glued > 0 {
			from, ok = part.Secret(word[glued:])
			return glued + from, ok
		}
	}
	if len(words) < 16 && command.Starts(words[0]) && command.Operand(append(words[:len(words):len(words)], word)) == len(words) {
		return 0, true
	}
	return 0, false
}

// joined is words as a line: what could be read as a quote or the end of a
// command does not go into it.
func joined(words []string) string {
	var b strings.Builder
	for _, word := range words[max(0, len(words)-64):] {
		if len(word) < 64 && strings.IndexAny(word, "\"'\\|;& \n") < 0 {
			b.WriteString(word)
			b.WriteByte(' ')
		}
	}
	return b.String()
}
