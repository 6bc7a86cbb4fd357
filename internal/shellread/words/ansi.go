package words

import "unicode/utf8"

// ansiSimple are the one-letter escapes of $'..'.
var ansiSimple = map[byte]byte{
	'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': '\n', 'r': '\r', 't': '\t', 'v': 11,
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// decodeANSI resolves the escapes of $'..' as bash does in a UTF-8 locale. It
// answers false where the outcome is not certain: a NUL, which ends the
// string, and characters above ASCII by number, which depend on the locale.
func decodeANSI(s string) (string, bool) {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		c := s[i]
		if plain, ok := ansiSimple[c]; ok {
			out = append(out, plain)
			continue
		}
		value, n := 0, 0
		switch {
		case c >= '0' && c <= '7':
			value, n = digits(s[i:], 8, 3)
			n--
		case c == 'x':
			value, n = digits(s[i+1:], 16, 2)
		case c == 'u':
			value, n = digits(s[i+1:], 16, 4)
		case c == 'U':
			value, n = digits(s[i+1:], 16, 8)
		default:
			if c == 'c' {
				return "", false
			}
			out = append(out, '\\', c)
			continue
		}
		if n < 0 || n == 0 && (c == 'x' || c == 'u' || c == 'U') || value <= 0 || value >= utf8.RuneSelf {
			return "", false
		}
		out = append(out, byte(value))
		i += n
	}
	return string(out), true
}

// digits reads at most limit digits of a base: the value and how many there were.
func digits(s string, base, limit int) (value, n int) {
	for n < limit && n < len(s) {
		d := hexDigit(s[n])
		if d < 0 || d >= base {
			break
		}
		value = value*base + d
		n++
	}
	return value, n
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
