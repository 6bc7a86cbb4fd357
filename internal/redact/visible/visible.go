// Package visible makes characters visible that a person could not see, or
// that would move what the person does see: a terminal obeys them, and a text
// that holds them can show one thing and be another.
package visible

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text makes what a person could not see visible: control characters,
// bidirectional marks, zero-width and other invisible characters, and bytes
// that are not UTF-8 become escapes such as \x1b and \u202e. Line ends, tabs
// and the mark that asks for a coloured emoji stay (DESIGN 6a).
func Text(s string) string {
	clean := true
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
			b.WriteByte('\r')
		case r == utf8.RuneError && size == 1, r < 0x20 && r != '\n' && r != '\t', r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case invisible(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case invisible(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// invisible are characters without a mark of their own, or that move others:
// the categories control, format, private use, surrogate, line and paragraph
// separator, and blanks that are not a blank.
func invisible(r rune) bool {
	if r < utf8.RuneSelf || r == 0xfe0f {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) ||
		unicode.Is(unicode.Zs, r) || unicode.Is(unicode.Variation_Selector, r) ||
		r == 0x115f || r == 0x2800 || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x034f || r == 0x17b4 || r == 0x17b5
}

// Writer writes to w what Text makes of all that is written to it. A character
// that was cut in two, and a carriage return that may stand before a line end,
// wait for what follows; Close writes what waits and does not close w. Not for
// concurrent use.
func Writer(w io.Writer) io.WriteCloser { return &writer{w: w} }

type writer struct {
	w     io.Writer
	waits string
}

func (v *writer) Write(p []byte) (int, error) {
	s := v.waits + string(p)
	cut := len(s) - unfinished(s)
	v.waits = s[cut:]
	if _, err := io.WriteString(v.w, Text(s[:cut])); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (v *writer) Close() error {
	s := v.waits
	v.waits = ""
	_, err := io.WriteString(v.w, Text(s))
	return err
}

// unfinished is how many bytes at the end of s mean something only with what
// follows.
func unfinished(s string) int {
	if strings.HasSuffix(s, "\r") {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if c := s[len(s)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
