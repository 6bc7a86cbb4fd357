package match

// Sig is a fingerprint of the pairs of letters in a text. If a pattern's Sig
// is not within a text's Sig, the pattern cannot match: one comparison of two
// words in place of a search. Case does not count.
type Sig [2]uint64

// SigOf returns the fingerprint of s.
func SigOf(s string) Sig {
	var g Sig
	g.add(s)
	return g
}

// Within reports whether all pairs of g are in text.
func (g Sig) Within(text Sig) bool { return g[0]&^text[0] == 0 && g[1]&^text[1] == 0 }

func (g *Sig) add(s string) {
	last := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if !plain(c) {
			c = 0
		}
		if last != 0 && c != 0 {
			h := (uint32(last)*31 + uint32(c)) * 0x9e3779b1 >> 25
			g[h>>6] |= 1 << (h & 63)
		}
		last = c
	}
}

// plain reports whether c counts: letters, digits and a few signs, whose
// folded form is one byte everywhere.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}
