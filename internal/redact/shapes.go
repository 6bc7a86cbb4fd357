package redact

import (
	"encoding/base64"
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/shape"
)

// pairs are the first two bytes of all that a rule or a shape can begin with
// when no value is known, starts what the first of them can begin.
var pairs, starts = func() (p pairSet, t [256]uint8) {
	add := func(kind uint8, firsts, seconds string) {
		for _, a := range []byte(firsts) {
			t[a] |= kind
			for _, b := range []byte(seconds) {
				p.add(a, b)
			}
		}
	}
	for _, sh := range shape.All {
		add(startToken, sh.Prefix[:1], sh.Prefix[1:2])
	}
	add(startToken, "e", "y")      // a JSON web token
	add(startToken, "MNO", "DTjz") // base64 of the number that a bot's token begins with
	var any [256]byte
	for c := range any {
		any[c] = byte(c)
	}
	add(startRule, "=:>", string(any[:]))
	add(startRule, "-", "-"+lettersAndDigits)
	add(startRule, "Bb", "EeAa") // Bearer, Basic
	add(startRule, "p", "a")     // password X
	add(startRule, "h", "t")     // htpasswd
	add(startRule, "Nn", "Ee")   // net use
	add(startRule, "[", Mark[1:2])
	return p, t
}()

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// token looks for a known shape at i.
func (s *scan) token(i int) (span, bool) {
	c := s.buf[i]
	if c == 'M' || c == 'N' || c == 'O' {
		if sp, ok := s.discord(i); ok {
			return sp, true
		}
	}
	if c == 'e' && s.has(i, "eyJ") {
		return s.jwt(i)
	}
	for _, sh := range shape.ByStart[c] {
		if !s.has(i, sh.Prefix) || sh.Alone && !s.word(i) {
			continue
		}
		from := i + len(sh.Prefix)
		end := s.runTo(from, sh.Class, from+shape.Enough)
		if end-from < sh.Min {
			continue
		}
		if sh.Digits && strings.IndexAny(s.buf[from:end], "0123456789") < 0 {
			continue
		}
		if sh.Max > 0 {
			return span{at: i, cover: min(end, from+sh.Max)}, true
		}
		return span{at: i, cover: end, class: sh.Class}, true
	}
	return span{}, false
}

// jwt is a JSON web token: base64url parts joined by dots, the first an
// object (RFC 7519).
func (s *scan) jwt(i int) (span, bool) {
	if !s.word(i) {
		return span{}, false
	}
	const part = alnum
	inPart := func(j int) int {
		for j < s.hi && (classOf[s.buf[j]]&part != 0 || s.buf[j] == '-' || s.buf[j] == '_') {
			j++
		}
		if j == s.hi {
			s.short = true
		}
		return j
	}
	first := inPart(i)
	if first-i < 15 || s.at(first) != '.' {
		return span{}, false
	}
	second := inPart(first + 1)
	if second-first-1 < 8 {
		return span{}, false
	}
	return span{at: i, cover: second, class: tokenChar}, true
}

// discord is a bot's token: a number in base64, a time, a signature.
func (s *scan) discord(i int) (span, bool) {
	if !s.word(i) {
		return span{}, false
	}
	j := i
	for _, n := range [...][2]int{{23, 28}, {6, 6}, {27, 40}} {
		from := j
		for j < s.hi && j-from <= n[1] && (classOf[s.buf[j]]&alnum != 0 || s.buf[j] == '-' || s.buf[j] == '_') {
			j++
		}
		if j == s.hi {
			s.short = true
		}
		if j-from < n[0] || j-from > n[1] {
			return span{}, false
		}
		if n[1] != 40 {
			if s.at(j) != '.' {
				return span{}, false
			}
			j++
		}
	}
	return span{at: i, cover: j, class: tokenChar}, true
}

// scheme is what follows the word Bearer or Basic where it looks like a
// credential; headers with their names are read by assigned.
func (s *scan) scheme(i int) (span, bool) {
	bearer := s.hasFold(i, "bearer ")
	if !bearer && !s.hasFold(i, "basic ") || !s.word(i) {
		return span{}, false
	}
	from := i + len("basic ")
	if bearer {
		from = i + len("bearer ")
	}
	s.keep = from
	end := s.run(from, base64Char|tokenChar)
	v := s.buf[from:end]
	switch {
	case bearer && (len(v) < 8 || strings.IndexAny(v, "0123456789") < 0 && len(v) < 20):
		return span{}, false
	case !bearer && !userPass(v):
		return span{}, false
	}
	return span{at: from, cover: end, class: base64Char | tokenChar}, true
}

// userPass reports whether v is base64 of user:password.
func userPass(v string) bool {
	if len(v) < 6 {
		return false
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	if err != nil || strings.IndexByte(string(text), ':') < 0 {
		return false
	}
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

// pem is a private key in armour (RFC 7468), at its BEGIN; other armour and a
// mere mention stay.
func (s *scan) pem(i int) (span, bool) {
	if !s.has(i, "-----BEGIN ") {
		return span{}, false
	}
	j := i + len("-----BEGIN ")
	label := j
	for j < s.hi && j-label < 64 && (classOf[s.buf[j]]&alnum != 0 || s.buf[j] == ' ') {
		j++
	}
	if j == s.hi {
		s.short = true
	}
	if !strings.Contains(s.buf[label:j], "PRIVATE KEY") || !s.has(j, "-----") {
		return span{}, false
	}
	j += len("-----")
	for range 6 { // headers, as in Proc-Type: 4,ENCRYPTED
		k := s.gap(j)
		line := k
		for line < s.hi && line-k < 100 && (classOf[s.buf[line]]&alnum != 0 || s.buf[line] == '-') {
			line++
		}
		if s.at(line) != ':' {
			break
		}
		for line < s.hi && s.buf[line] != '\n' && s.buf[line] != '\\' {
			line++
		}
		if line == s.hi {
			s.short = true
		}
		j = line
	}
	line := j
	j = s.gap(j)
	end := s.run(j, pemChar)
	switch {
	case end-j >= 16:
	case end-j < 4 || strings.IndexAny(s.buf[line:j], "\n\\") < 0: // no line of its own: a mention
		return span{}, false
	case end < s.hi && strings.IndexByte("\r\n\\\"'-", s.at(end)) < 0:
		return span{}, false
	}
	return span{at: i, cover: end, pem: true}, true
}

// gap is the end of what may stand between two lines of a body: blanks, line
// ends, their escapes, quotes and commas.
func (s *scan) gap(j int) int {
	for limit := j + back; j < s.hi && j < limit; {
		c := s.buf[j]
		switch {
		case c == '\\':
			if n := s.at(j + 1); n == 'n' || n == 'r' || n == 't' {
				j++
			}
			j++
		case strings.IndexByte(" \t\r\n\"',>|#", c) >= 0:
			j++
		default:
			return j
		}
	}
	if j >= s.hi {
		s.short = true
	}
	return j
}

// Parts of a PEM block behind its first line.
type pemPart uint8

const (
	pemGap  pemPart = iota // belongs to the block if more follows
	pemLine                // a line of the body
	pemEnd                 // the END line
)

// pemBody is how many bytes from j go on with a block, and as what.
func (s *scan) pemBody(j int) (n int, part pemPart) {
	if k := s.gap(j); k > j {
		return k - j, pemGap
	}
	if s.has(j, "-----END ") {
		for k := j + len("-----END "); k < j+100 && s.at(k) != '\n' && k < s.hi; k++ {
			if s.has(k, "-----") {
				return k + 5 - j, pemEnd
			}
		}
		return 0, pemGap
	}
	end := s.run(j, pemChar)
	switch {
	case end-j >= 16:
		return end - j, pemLine
	case end == j:
		return 0, pemGap
	}
	// A short last line, if the block ends behind it.
	if s.buf[end-1] == '=' || s.has(s.gap(end), "-----END ") {
		return end - j, pemLine
	}
	return 0, pemGap
}
