package words

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxAlternatives bounds how many words one word may become; a word that
// would become more is not known.
const maxAlternatives = 64

// parts is one word as a list of parts. Brace expansion is done on the parts,
// before quotes are removed, as bash does.
type parts []syntax.WordPart

// hasBraces reports whether a word may be a brace expansion: an unquoted {
// with an unquoted comma or two dots somewhere.
func hasBraces(w *syntax.Word) bool {
	open, list := false, false
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			open = open || strings.Contains(lit.Value, "{")
			list = list || strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, "..")
		}
	}
	return open && list
}

// token is a brace character or a stretch of anything else.
type token struct {
	brace byte // '{', '}', ',' or 0
	part  syntax.WordPart
}

// tokens cuts the unquoted literals of a word at their brace characters.
func tokens(w *syntax.Word) []token {
	var all []token
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			all = append(all, token{0, p})
			continue
		}
		s, from := lit.Value, 0
		for i := 0; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '{', '}', ',':
				if from < i {
					all = append(all, token{0, &syntax.Lit{Value: s[from:i]}})
				}
				all = append(all, token{s[i], nil})
				from = i + 1
			}
		}
		if from < len(s) {
			all = append(all, token{0, &syntax.Lit{Value: s[from:]}})
		}
	}
	return all
}

// expandBraces gives the words that a word becomes. It answers false where
// the braces do not pair, or where there are too many alternatives: bash has
// rules for these that are not worth copying.
func expandBraces(w *syntax.Word) ([]parts, bool) {
	all, rest, ok := sequence(tokens(w), 0)
	return all, ok && len(rest) == 0
}

// sequence reads up to a closing brace or comma of the level above (depth >
// 0), or to the end.
func sequence(in []token, depth int) (all []parts, rest []token, ok bool) {
	all = []parts{nil}
	for len(in) > 0 {
		t := in[0]
		switch {
		case t.brace == '{':
			var inner []parts
			if inner, in, ok = group(in[1:], depth+1); !ok {
				return nil, nil, false
			}
			if all = product(all, inner); len(all) > maxAlternatives {
				return nil, nil, false
			}
			continue
		case t.brace == '}' && depth == 0:
			return nil, nil, false
		case depth > 0 && t.brace != 0:
			return all, in, true
		case t.brace != 0:
			t.part = &syntax.Lit{Value: string(t.brace)}
		}
		for i := range all {
			all[i] = append(all[i][:len(all[i]):len(all[i])], t.part)
		}
		in = in[1:]
	}
	return all, nil, depth == 0
}

// group reads the inside of braces and gives its alternatives; braces without
// a comma are literal, unless they are a sequence such as 1..5.
func group(in []token, depth int) (all []parts, rest []token, ok bool) {
	if depth > 16 {
		return nil, nil, false
	}
	commas := 0
	for {
		var some []parts
		if some, in, ok = sequence(in, depth); !ok || len(in) == 0 {
			return nil, nil, false
		}
		all = append(all, some...)
		if in[0].brace == '}' {
			break
		}
		commas++
		in = in[1:]
	}
	in = in[1:]
	if commas > 0 {
		return all, in, true
	}
	if seq, is := counted(all); is {
		return seq, in, len(seq) > 0
	}
	for i, p := range all {
		whole := append(parts{&syntax.Lit{Value: "{"}}, p...)
		all[i] = append(whole, &syntax.Lit{Value: "}"})
	}
	return all, in, true
}

// counted expands 1..5, a..e and their steps. is reports whether the inside
// is a sequence at all; an empty answer is one that is too long.
func counted(all []parts) (seq []parts, is bool) {
	if len(all) != 1 || len(all[0]) != 1 {
		return nil, false
	}
	lit, ok := all[0][0].(*syntax.Lit)
	if !ok {
		return nil, false
	}
	ends := strings.Split(lit.Value, "..")
	if len(ends) != 2 && len(ends) != 3 {
		return nil, false
	}
	step := 1
	if len(ends) == 3 {
		n, err := strconv.Atoi(ends[2])
		if err != nil {
			return nil, false
		}
		step = max(n, -n, 1)
	}
	from, to, format, ok := bounds(ends[0], ends[1])
	if !ok {
		return nil, false
	}
	if format == nil || max(to-from, from-to)/step >= maxAlternatives {
		return nil, true
	}
	if from > to {
		step = -step
	}
	for n := from; step > 0 && n <= to || step < 0 && n >= to; n += step {
		seq = append(seq, parts{&syntax.Lit{Value: format(n)}})
	}
	return seq, true
}

// bounds reads the two ends of a sequence: both numbers, or both letters. The
// format is nil where the ends are too far apart to count, or of two cases,
// between which stand characters that are no letters.
func bounds(a, b string) (from, to int, format func(int) string, ok bool) {
	if len(a) == 1 && len(b) == 1 && isLetter(a[0]) && isLetter(b[0]) {
		if (a[0]^b[0])&0x20 != 0 {
			return 0, 0, nil, true
		}
		return int(a[0]), int(b[0]), func(n int) string { return string(rune(n)) }, true
	}
	from, err1 := strconv.Atoi(a)
	to, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil {
		return 0, 0, nil, false
	}
	const far = 1 << 40
	if max(from, to) > far || min(from, to) < -far {
		return 0, 0, nil, true
	}
	width := 0
	if padded(a) || padded(b) {
		width = max(len(a), len(b))
	}
	return from, to, func(n int) string { return pad(n, width) }, true
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func padded(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}

func pad(n, width int) string {
	s := strconv.Itoa(max(n, -n))
	sign := ""
	if n < 0 {
		sign = "-"
	}
	return sign + strings.Repeat("0", max(0, width-len(s)-len(sign))) + s
}

// product joins every start with every end.
func product(starts, ends []parts) []parts {
	if len(starts)*len(ends) > maxAlternatives {
		return make([]parts, maxAlternatives+1)
	}
	all := make([]parts, 0, len(starts)*len(ends))
	for _, s := range starts {
		for _, e := range ends {
			all = append(all, append(s[:len(s):len(s)], e...))
		}
	}
	return all
}
