package shape

import "strings"

// The forms that are more than a prefix and a class. Each reads a text that
// begins where the token would, and says how many bytes of it belong to it, 0 =
// it is none; more says that the text ended before that was known.

// JWT is a JSON web token: base64url parts joined by dots, the first an object
// (RFC 7519). s begins with eyJ.
func JWT(s string) (n int, more bool) {
	first := part(s, 0, len(s))
	if first < 15 || first == len(s) || s[first] != '.' {
		return 0, first == len(s)
	}
	second := part(s, first+1, len(s))
	if second-first-1 < 8 {
		return 0, second == len(s)
	}
	return second, second == len(s)
}

// Discord is a bot's token: a number in base64, a time, a signature.
func Discord(s string) (n int, more bool) {
	for k, p := range [...][2]int{{23, 28}, {6, 6}, {27, 40}} {
		end := part(s, n, n+p[1]+1)
		if end == len(s) {
			more = true
		}
		if end-n < p[0] || end-n > p[1] {
			return 0, more
		}
		if n = end; k < 2 {
			if n == len(s) || s[n] != '.' {
				return 0, more
			}
			n++
		}
	}
	return n, more
}

// Entra is a client secret of Entra, from its fifth byte on: Q~ and 31 to 34
// bytes; three characters and a digit stand before it.
func Entra(s string) (n int, more bool) {
	n = min(len(s), len("Q~"))
	for n < len(s) && n <= 36 && (Classes[s[n]]&Token != 0 || s[n] == '~') {
		n++
	}
	if n < 33 || n > 36 {
		return 0, n == len(s)
	}
	return n, n == len(s)
}

// part is the end of a run of base64url from i, at most at limit.
func part(s string, i, limit int) int {
	for i < min(limit, len(s)) && (Classes[s[i]]&Alnum != 0 || s[i] == '-' || s[i] == '_') {
		i++
	}
	return i
}

// Gap is how much of s may stand between two lines of a private key in armour:
// blanks, line ends, their escapes, quotes, commas and the minus of a diff, limit bytes at most. more
// says that s ends before that was known.
func Gap(s string, limit int) (n int, more bool) {
	for n < len(s) && n < limit {
		switch c := s[n]; {
		case c == '\\':
			if n+1 == len(s) {
				return n + 1, true
			}
			if strings.IndexByte("nrt", s[n+1]) >= 0 {
				n++
			}
			n++
		case strings.IndexByte(" \t\r\n\"',>|#", c) >= 0:
			n++
		case c == '-' && n > 0 && s[n-1] == '\n': // of a diff, unless the END line begins here
			dashes := len(s[n:]) - len(strings.TrimLeft(s[n:], "-"))
			if dashes < 6 && dashes == len(s[n:]) {
				return n, true
			}
			if dashes == 5 {
				return n, false
			}
			n++
		default:
			return n, false
		}
	}
	return n, n == len(s)
}
