package match

import (
	"strings"
	"unicode/utf8"
)

// one matches the first element of a name's pattern, which is not a star,
// with the first character of s: how much of both it takes, and whether it
// matches.
func one(p, s string) (width, eaten int, ok bool) {
	r, size := utf8.DecodeRuneInString(s)
	switch p[0] {
	case '?':
		return 1, size, true
	case '\\':
		return 2, 1, len(p) > 1 && p[1] == s[0]
	case '[':
		end := strings.IndexByte(p[2:], ']') + 2
		return end + 1, size, inSet(p[1:end], r)
	}
	return 1, 1, p[0] == s[0]
}

// inSet matches r with the inside of [a-z_], [!a-z] or [^a-z].
func inSet(set string, r rune) bool {
	not := set[0] == '!' || set[0] == '^'
	if not && len(set) > 1 {
		set = set[1:]
	} else {
		not = false
	}
	list := []rune(set)
	for i := 0; i < len(list); i++ {
		lo, hi := list[i], list[i]
		if i+2 < len(list) && list[i+1] == '-' {
			hi, i = list[i+2], i+2
		}
		if lo <= r && r <= hi {
			return !not
		}
	}
	return not
}
