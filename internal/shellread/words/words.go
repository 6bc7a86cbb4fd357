// Package words turns the words of a parsed shell line into what a program
// would be given: quotes removed, escapes resolved, braces expanded, and a
// note of everything that is not certain before the line runs.
//
// The parser keeps quotes and escapes as they were written; bash removes them
// late. The package removes them by its own code, so that s'u'do, su\do and
// $'sudo' are the same word. It expands no variable: a word with an expansion
// is not known, and says how far it is known ([Word.Lead]) and whether it
// could become several words.
//
// The main type is [Reader]. It is used by one goroutine at a time.
package words

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
)

// Word is one word of a command.
type Word struct {
	reeve.Word
	Lead  string // certain text before the first part that is not known and before the first glob character; Text where there is neither
	Tilde bool   // starts with an unquoted ~, which stands for a home directory
	Digit bool   // all that is not known is numbers
	Pipe  bool   // stands for a process substitution and nothing else
}

// Plain makes a word that is certain.
func Plain(text string) Word {
	return Word{Word: reeve.Word{Text: text, Known: true}, Lead: text}
}

// Unknown makes a word of which nothing is certain.
func Unknown(text string) Word { return Word{Word: reeve.Word{Text: text}} }

// Certain reports whether the program is given exactly Text: known, without
// a glob and without a tilde.
func (w *Word) Certain() bool { return w.Known && !w.Glob && !w.Tilde }

// MayBeFlag reports whether a word that is not certain could become an option,
// or several words of which one is an option.
func (w *Word) MayBeFlag() bool {
	switch {
	case w.Known && !w.Glob, w.Digit:
		return false
	case !w.Known && !w.Quoted:
		return true
	}
	return w.Lead == "" || w.Lead[0] == '-'
}

// From is the word without its first n bytes of certain text, such as the
// value in --output=value. n must not pass the certain text.
func (w *Word) From(n int) Word {
	rest := *w
	n = min(n, len(rest.Lead))
	rest.Lead = rest.Lead[n:]
	rest.Tilde = false
	if w.Known {
		rest.Text = rest.Text[min(n, len(rest.Text)):]
	}
	return rest
}

// Reader removes quotes from the words of one text.
type Reader struct {
	Src    string                 // the text that was parsed
	Number func(name string) bool // the variable is certain to hold a number; nil = none is
	Split  bool                   // IFS is not the usual one, so that numbers may split
}

// One reads a word where bash expands no braces: an assignment, a here-string,
// a case pattern, a redirection.
func (r *Reader) One(w *syntax.Word) Word {
	pipe := false
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, special) {
			return Plain(lit.Value)
		}
		_, pipe = w.Parts[0].(*syntax.ProcSubst)
	}
	b := builder{r: r}
	for _, p := range w.Parts {
		b.part(p, false)
	}
	out := b.word(r.Source(w))
	out.Pipe = pipe
	return out
}

// special are the bytes of an unquoted literal that need a closer look.
const special = "\\*?[~"

// Append reads a word of a command and appends what it becomes to dst: one
// word, or one for each brace alternative.
func (r *Reader) Append(dst []Word, w *syntax.Word) []Word {
	if !hasBraces(w) {
		return append(dst, r.One(w))
	}
	alternatives, ok := expandBraces(w)
	if !ok {
		return append(dst, Unknown(r.Source(w)))
	}
	for _, a := range alternatives {
		if len(a) == 0 {
			continue // bash drops an empty word that nothing quotes
		}
		b := builder{r: r}
		for _, p := range a {
			b.part(p, false)
		}
		dst = append(dst, b.word(""))
	}
	return dst
}

// Source is the text a node was parsed from.
func (r *Reader) Source(n syntax.Node) string {
	from, to := n.Pos(), n.End()
	if !from.IsValid() || !to.IsValid() {
		return ""
	}
	i, j := int(from.Offset()), int(to.Offset())
	if i > j || j > len(r.Src) {
		return ""
	}
	return r.Src[i:j]
}

// builder collects one word.
type builder struct {
	r       *Reader
	text    strings.Builder
	lead    string
	cut     bool // lead is settled
	unknown bool
	split   bool // an unknown part may become several words
	glob    bool
	loose   bool // an extended pattern
	tilde   bool
	other   bool // an unknown part that is no number
}

// word closes the builder. source is the text to show where the word is not
// known; empty = what was collected.
func (b *builder) word(source string) Word {
	w := Word{Tilde: b.tilde}
	w.Text, w.Known, w.Glob, w.Loose = b.text.String(), !b.unknown, b.glob, b.loose
	w.Lead = w.Text
	if b.cut {
		w.Lead = b.lead
	}
	if b.unknown {
		w.Quoted = !b.split
		w.Digit = !b.other && !b.split && !b.glob
		if source != "" {
			w.Text = source
		}
	}
	return w
}

// settle ends the certain lead of the word.
func (b *builder) settle() {
	if !b.cut {
		b.cut, b.lead = true, b.text.String()
	}
}

func (b *builder) part(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		if quoted {
			b.quoted(p.Value)
		} else {
			b.literal(p.Value)
		}
	case *syntax.SglQuoted:
		if !p.Dollar {
			b.text.WriteString(p.Value)
			return
		}
		text, ok := decodeANSI(p.Value)
		if !ok {
			b.expansion(p, true, false)
			return
		}
		b.text.WriteString(text)
	case *syntax.DblQuoted:
		if p.Dollar { // looked up in a message catalogue
			b.expansion(p, true, false)
			return
		}
		for _, q := range p.Parts {
			b.part(q, true)
		}
	case *syntax.ParamExp:
		number := b.r.number(p)
		b.expansion(p, number && !b.r.Split || quoted && !several(p), number)
	case *syntax.ArithmExp:
		b.expansion(p, quoted || !b.r.Split, true)
	case *syntax.ProcSubst:
		b.text.WriteString("/dev/fd/") // bash puts this in its place
		b.expansion(p, true, false)
	case *syntax.ExtGlob:
		b.settle()
		b.glob, b.loose = true, true
		b.text.WriteString(b.r.Source(p))
	default: // a command substitution, or what a newer parser knows
		b.expansion(p, quoted, false)
	}
}

// expansion adds a part whose text is not known.
func (b *builder) expansion(p syntax.WordPart, whole, number bool) {
	b.settle()
	b.unknown = true
	b.split = b.split || !whole
	b.other = b.other || !number
	b.text.WriteString(b.r.Source(p))
}

// literal adds unquoted text.
func (b *builder) literal(s string) {
	if b.text.Len() == 0 && !b.unknown && strings.HasPrefix(s, "~") {
		b.tilde = true
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case '\\':
			if i+1 < len(s) {
				i++
				if s[i] == '\n' {
					continue
				}
				c = s[i]
			}
		case '*', '?':
			b.settle()
			b.glob = true
		case '[':
			if len(s) > 1 || b.text.Len() > 0 {
				b.settle()
				b.glob = true
			}
		}
		b.text.WriteByte(c)
	}
}

// quoted adds text from within double quotes, where a backslash escapes only
// four characters and the newline.
func (b *builder) quoted(s string) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '$', '`', '"', '\\':
				i++
				c = s[i]
			case '\n':
				i++
				continue
			}
		}
		b.text.WriteByte(c)
	}
}

// number reports whether an expansion is certain to be a number.
func (r *Reader) number(p *syntax.ParamExp) bool {
	if p.Length {
		return true
	}
	if p.Param == nil || p.Excl || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 {
		return false
	}
	switch p.Param.Value {
	case "?", "#", "$":
		return true
	}
	return r.Number != nil && r.Number(p.Param.Value)
}

// several reports whether an expansion stays several words within quotes.
func several(p *syntax.ParamExp) bool {
	if p.Param != nil && p.Param.Value == "@" || p.Names == syntax.NamesPrefixWords {
		return true
	}
	if w, ok := p.Index.(*syntax.Word); ok && w.Lit() == "@" {
		return true
	}
	return p.Excl // may name "@" or an array
}
