package shellread

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// refuse says why a text is not parsed at all; "" = it is. Parser and shell
// disagree about some characters (a NUL is dropped by one and ends a word in
// the other; a lone CR splits a word in one alone), people cannot see others,
// and deep nesting overflows the parser's stack, which nothing can catch.
func refuse(src string) string {
	if len(src) > MaxText {
		return fmt.Sprintf("longer than %d bytes", MaxText)
	}
	c := nesting{}
	for i := 0; i < len(src); i++ {
		b := src[i]
		if b < utf8.RuneSelf {
			if b < 0x20 && b != '\t' && b != '\n' || b == 0x7f {
				return fmt.Sprintf("holds the control character %#02x", b)
			}
			c.add(b)
			continue
		}
		c.add('x')
		ru, size := utf8.DecodeRuneInString(src[i:])
		if ru == utf8.RuneError && size == 1 {
			return "is not valid UTF-8"
		}
		if unseen(ru) {
			return fmt.Sprintf("holds the invisible character U+%04X", ru)
		}
		i += size - 1
	}
	if len(src) > MaxText/4 && strings.Count(src, "then") > maxBranches {
		return fmt.Sprintf("holds more than %d branches", maxBranches)
	}
	return c.why()
}

// unseen: characters that change how text is shown, or are not shown at all,
// and separators that some programs take for the end of a line.
func unseen(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f, r == 0xad, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x180e:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r == 0x3164, r == 0xfeff, r == 0xffa0, r >= 0xfff0 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff, r >= 0x1d173 && r <= 0x1d17a:
		return true
	}
	return false
}

// Bounds of the cheap count. Closing characters within quotes can fool the
// running depth, so the openings are bounded too: 4,000 nested levels of the
// slowest kind take the parser some 20 ms, arithmetic ones much longer.
const (
	maxOpenings   = 4000
	maxArithmetic = 200
	maxBranches   = 2000 // looked for in a long text only
)

// nesting counts brackets without understanding them.
type nesting struct {
	depth, deepest, openings, arithmetic int
	last                                 byte
}

func (c *nesting) add(b byte) {
	switch b {
	case '(', '{', '[':
		c.depth++
		c.openings++
		c.deepest = max(c.deepest, c.depth)
		if b == '(' && c.last == '(' || b == '[' && (c.last == '$' || c.last == '[' || word(c.last)) {
			c.arithmetic++
		}
	case ')', '}', ']':
		c.depth = max(0, c.depth-1)
	case '`':
		c.openings++
	}
	c.last = b
}

func word(b byte) bool {
	return b == '_' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9'
}

func (c *nesting) why() string {
	switch {
	case c.deepest > maxDepth:
		return fmt.Sprintf("nested more than %d deep", maxDepth)
	case c.openings > maxOpenings:
		return fmt.Sprintf("holds more than %d brackets", maxOpenings)
	case c.arithmetic > maxArithmetic && c.openings > 2*maxArithmetic:
		return fmt.Sprintf("holds more than %d subscripts or arithmetic expressions", maxArithmetic)
	}
	return ""
}
