package finding

import (
	"fmt"
	"strings"
	"unicode"
)

// characters finds what nobody sees and what a terminal obeys.
func (s *scan) characters(text string) {
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			s.add(Control, around(runes, i))
			return
		case hidden(r) && !joins(runes, i):
			s.add(Hidden, around(runes, i))
			return
		}
	}
}

// hidden are characters without a mark of their own.
func hidden(r rune) bool {
	switch {
	case r < 0xa0:
		return false
	case r == 0x00ad, r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x2800, r == 0x3164, r == 0xffa0:
		return true
	case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp), unicode.Is(unicode.Variation_Selector, r):
		return true
	case 0xe0000 <= r && r <= 0xe0fff, 0xfff0 <= r && r <= 0xfff8: // default ignorable, also where not assigned
		return true
	}
	return false
}

// joins reports whether a character that is not seen has its ordinary use: the
// mark that asks for a coloured picture, the joiner between two pictures, and
// the joiners inside a word of a script that is written with them.
func joins(runes []rune, i int) bool {
	at := func(j int) rune {
		if j < 0 || j >= len(runes) {
			return 0
		}
		return runes[j]
	}
	before, after := at(i-1), at(i+1)
	switch runes[i] {
	case 0xfe0f, 0xfe0e:
		return unicode.In(before, unicode.So, unicode.Sm, unicode.Po) || '0' <= before && before <= '9' || before == '#' || before == '*'
	case 0x200d:
		if picture(before) || before == 0xfe0f || before >= 0x1f3fb && before <= 0x1f3ff {
			return picture(after)
		}
		return joined(before) && joined(after)
	case 0x200c:
		return joined(before) && joined(after)
	}
	return false
}

func picture(r rune) bool { return unicode.Is(unicode.So, r) || r == 0x2640 || r == 0x2642 }

func joined(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Mongolian, unicode.Syriac)
}

// around shows the place of a character.
func around(runes []rune, i int) string {
	return visible(string(runes[max(0, i-20):min(len(runes), i+20)]))
}

// visible makes every character of a text seen.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r) && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case r == unicode.ReplacementChar:
			b.WriteString(`\ufffd`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// alphabets finds a word that mixes Latin letters with those of an alphabet
// that has the same shapes.
func (s *scan) alphabets(text string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		latin, other := false, false
		for _, r := range word {
			latin = latin || r < 0x80
			other = other || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee)
			if r == 'µ' || r == 'μ' || r == 'Ω' || r == 'Δ' || r == 'λ' || r == 'π' || r == 'σ' || r == 'α' || r == 'β' {
				other = false // units and symbols: μs, ΔE
			}
		}
		if latin && other && len(word) > 3 {
			s.add(Mixed, fmt.Sprintf("%s (%+q)", word, word))
			return
		}
	}
}

const (
	manyBlanks = 120 // in one line, before more text
	manyLines  = 12  // empty ones, before more text
)

// far finds text behind so much white that a person does not see it.
func (s *scan) far(text string) {
	blanks, lines := 0, 0
	for i, r := range text {
		switch {
		case r == '\n':
			lines, blanks = lines+1, 0
		case unicode.IsSpace(r):
			blanks++
		default:
			if i > 0 && (blanks >= manyBlanks || lines > manyLines) && strings.TrimSpace(text[:i]) != "" {
				s.add(FarAway, visible(clip(text[i:], 60)))
				return
			}
			blanks, lines = 0, 0
		}
	}
}
