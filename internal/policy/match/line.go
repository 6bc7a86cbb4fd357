package match

import (
	"fmt"
	"strings"

	"github.com/reeve-gate/reeve"
)

// border stands between two words in narrow texts; no word can hold it.
// unsure stands for a word that is not known; only a star covers it.
const (
	border = "\x00"
	unsure = "\x01"
)

// Line is a compiled pattern over the words of one command.
type Line struct {
	text   string
	wide   []string // pieces between stars, blanks as they are
	fold   []string // the same in lower case
	narrow []string // pieces between stars, with borders between words
	head   []string // words of the pattern that stand before its first star; the last may be cut by it
	orNone bool     // ends in " *", which matches nothing too
	sig    Sig
}

// ParseLine compiles a pattern; the empty pattern and "*" match every command.
func ParseLine(pattern string) (Line, error) {
	l := Line{text: pattern}
	p := strings.TrimSpace(pattern)
	if rest, ok := strings.CutSuffix(p, ":*"); ok && !strings.HasSuffix(rest, `\`) {
		p = rest + " *"
	}
	if strings.ContainsAny(p, "\x00\x01\n\r") {
		return l, fmt.Errorf("a command pattern is one line of text without control characters")
	}
	if p == "" {
		p = "*"
	}
	l.narrow = pieces(p)
	n := len(l.narrow)
	l.orNone = n > 1 && l.narrow[n-1] == "" && strings.HasSuffix(l.narrow[n-2], border)
	for _, s := range l.narrow {
		w := strings.ReplaceAll(s, border, " ")
		l.wide = append(l.wide, w)
		l.fold = append(l.fold, strings.ToLower(w))
		l.sig.add(w)
	}
	l.head = strings.Split(strings.TrimSuffix(l.narrow[0], border), border)
	return l, nil
}

// pieces splits a pattern at its stars, removes quotes where they are
// balanced, and puts a border for each run of blanks outside of quotes.
func pieces(p string) []string {
	quotes := balanced(p)
	out := []string{}
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case c == '\\' && i+1 < len(p) && (p[i+1] == '*' || p[i+1] == '\\'):
			i++
			b.WriteByte(p[i])
		case c == '*':
			out = append(out, b.String())
			b.Reset()
		case quotes && quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quotes && quote != 0 && c == quote:
			quote = 0
		case (c == ' ' || c == '\t') && quote == 0:
			if s := b.String(); !strings.HasSuffix(s, border) {
				b.WriteString(border)
			}
		default:
			b.WriteByte(c)
		}
	}
	return append(out, b.String())
}

// balanced reports whether p's quotes open at the start of a word or after an
// equals sign and all close.
func balanced(p string) bool {
	quote := byte(0)
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case quote == 0 && (c == '"' || c == '\''):
			if i > 0 && p[i-1] != ' ' && p[i-1] != '=' {
				return false
			}
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		}
	}
	return quote == 0
}

// Exact reports whether the pattern has no star.
func (l *Line) Exact() bool { return len(l.narrow) == 1 }

// All reports whether the pattern matches every command.
func (l *Line) All() bool { return len(l.narrow) == 2 && l.narrow[0] == "" && l.narrow[1] == "" }

// Head is the words before the first star. The last may be cut short by the
// star; whole says whether it is not.
func (l *Line) Head() (words []string, whole bool) {
	return l.head, l.Exact() || strings.HasSuffix(l.narrow[0], border)
}

// Program is the program the pattern names, or "" where a star stands in its
// name.
func (l *Line) Program() string {
	if len(l.head) > 1 || l.Exact() || strings.HasSuffix(l.narrow[0], border) {
		return l.head[0]
	}
	return ""
}

// Sig is what a command's text must hold.
func (l *Line) Sig() Sig { return l.sig }

// Wide reports whether the pattern matches text, the words of a command joined
// by blanks. With fold, case does not count and text is in lower case.
func (l *Line) Wide(text string, fold bool) bool {
	p := l.wide
	if fold {
		p = l.fold
	}
	return glob(p, text) || l.orNone && glob(p[:len(p)-1], text+" ")
}

// Narrow reports whether the pattern covers the words of a command as they
// are. An exact pattern covers exactly these words, all of them known.
func (l *Line) Narrow(text string) bool {
	return glob(l.narrow, text) || l.orNone && glob(l.narrow[:len(l.narrow)-1], text+border)
}

// HeadCovers reports whether text, without borders at its ends, lies wholly
// in the part of the pattern before its first star, up to the end of a word.
func (l *Line) HeadCovers(text string) bool {
	rest, ok := strings.CutPrefix(l.narrow[0], text)
	return ok && (rest == "" || strings.HasPrefix(rest, border))
}

// NarrowText is the text that Narrow compares: words with borders between
// them; a word that is not known can only be covered by a star.
func NarrowText(words []reeve.Word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(border)
		}
		if w.Known {
			b.WriteString(w.Text)
		} else {
			b.WriteString(unsure)
		}
	}
	return b.String()
}

// NarrowWords turns the text of a wrapper, words joined by blanks, into the
// form that Narrow compares.
func NarrowWords(text string) string { return strings.ReplaceAll(text, " ", border) }

// Join puts a wrapper's narrow text before a command's.
func Join(wrapper, command string) string { return wrapper + border + command }

// glob matches pieces with any text between them.
func glob(pieces []string, text string) bool {
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return text == first
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, p := range pieces[1 : len(pieces)-1] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, last)
}
