package match

import (
	"strings"

	"github.com/reeve-gate/reeve"
)

// couldLimit bounds the work of one comparison of two patterns; beyond it the
// answer is yes.
const couldLimit = 1 << 20

// Template is a command of which some words are not known: pieces of certain
// text with anything between them.
type Template []string

// TemplateOf reads the words of a command. A word that may vanish or become
// several takes the blank before it along; of a word that is known in part,
// the certain beginning counts. more says that further words may follow.
func TemplateOf(words []reeve.Word, more bool) Template {
	t := Template{""}
	add := func(s string) { t[len(t)-1] += s }
	for i, w := range words {
		certain := w.Known && !w.Glob
		if i > 0 && (certain || w.Quoted) {
			add(" ")
		}
		if certain {
			add(w.Text)
			continue
		}
		if lead := certainLead(w.Text); lead != "" && !w.Known {
			if !w.Quoted && i > 0 {
				add(" ")
			}
			add(lead)
		}
		t = append(t, "")
	}
	if more {
		t = append(t, "")
	}
	return t
}

// certainLead is the part of a word's source text that no expansion changes.
func certainLead(src string) string {
	src = strings.TrimPrefix(src, `"`)
	for i := 0; i < len(src); i++ {
		c := src[i]
		if !plain(c|0x20) && strings.IndexByte("/=:,@%+", c) < 0 {
			return src[:i]
		}
	}
	return src
}

// Could reports whether some value of what is not known in t would make the
// pattern match.
func (l *Line) Could(t Template, fold bool) bool {
	p := l.wide
	if fold {
		p = l.fold
		lower := make(Template, len(t))
		for i, s := range t {
			lower[i] = strings.ToLower(s)
		}
		t = lower
	}
	if meet(p, t) {
		return true
	}
	if l.orNone {
		bare := append([]string{}, p[:len(p)-1]...)
		bare[len(bare)-1] = strings.TrimSuffix(bare[len(bare)-1], " ")
		return meet(bare, t)
	}
	return false
}

// meet reports whether two patterns with stars have a text in common.
func meet(a, b []string) bool {
	n := min(len(a[0]), len(b[0]))
	if a[0][:n] != b[0][:n] {
		return false
	}
	x, y := spell(a), spell(b)
	if len(x)*len(y) > couldLimit {
		return true
	}
	// can[j] after round i: x[i:] and y[j:] have a text in common.
	below, can := make([]bool, len(y)+1), make([]bool, len(y)+1)
	for i := len(x); i >= 0; i-- {
		for j := len(y); j >= 0; j-- {
			switch {
			case i == len(x) && j == len(y):
				can[j] = true
			case i < len(x) && x[i] == star:
				can[j] = below[j] || j < len(y) && can[j+1]
			case j < len(y) && y[j] == star:
				can[j] = can[j+1] || i < len(x) && below[j]
			default:
				can[j] = i < len(x) && j < len(y) && x[i] == y[j] && below[j+1]
			}
		}
		below, can = can, below
	}
	return below[0]
}

const star = -1

func spell(pieces []string) []int16 {
	var out []int16
	for i, p := range pieces {
		if i > 0 {
			out = append(out, star)
		}
		for j := 0; j < len(p); j++ {
			out = append(out, int16(p[j]))
		}
	}
	return out
}
