package redact

import (
	"strings"
	"sync"

	"github.com/reeve-gate/reeve/internal/redact/shape"
	"github.com/reeve-gate/reeve/internal/redact/value"
)

// signs are what a rule, a shape or a known value can begin with: what each
// byte can begin, the bytes that are enough, and else the first three.
type signs struct {
	start  [256]uint8
	enough [256]uint8 // 1 = yes
	heads  shape.Heads
}

// ours are the signs when no value is known.
var ours = sync.OnceValue(func() *signs {
	g := &signs{heads: shape.All().Heads}
	add := func(kind uint8, first, second, third string) {
		for _, a := range []byte(first) {
			g.start[a] |= kind
			for _, b := range []byte(second) {
				for _, c := range []byte(third) {
					g.heads.Add(a, b, c)
				}
			}
		}
	}
	for i := range shape.Table {
		g.start[shape.Table[i].Prefix[0]] |= startToken
	}
	add(startToken, "e", "y", "J")                     // a JSON web token
	add(startToken, "Q", "~", lettersAndDigits+"._~-") // what stands in a client secret of Entra
	add(startToken, "MNO", "DTjz", lettersAndDigits)   // base64 of the number that a bot's token begins with
	add(startRule, "Bb", "Ee", "Aa")                   // Bearer
	add(startRule, "Bb", "Aa", "Ss")                   // Basic
	add(startRule, "p", "a", "s")                      // password X
	add(startRule, "h", "t", "p")                      // htpasswd
	add(startRule, "Nn", "Ee", "Tt")                   // net use
	add(startRule, Mark[:1], Mark[1:2], Mark[2:3])
	for _, c := range []byte("=:>-") {
		g.start[c] |= startRule
		g.enough[c] = 1
	}
	return g
})

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// isToken says that a token of the kind was found.
func (s *scan) isToken(kind string, from, told int) {
	s.of, s.known = origin{rule: kind, kind: kind, from: from, told: told}, true
}

// token looks for a known shape at i.
func (s *scan) token(i int) (span, bool) {
	c := s.buf[i]
	var n int
	var kind string
	switch {
	case (c == 'M' || c == 'N' || c == 'O') && s.word(i):
		n, kind = s.form(shape.Discord, i), shape.DiscordToken
	case c == 'Q' && s.at(i+1) == '~' && i-4 >= s.low(i) && classOf[s.buf[i-1]]&digit != 0:
		n, kind = s.form(shape.Entra, i), shape.EntraSecret
	case c == 'e' && s.has(i, "eyJ") && s.word(i):
		n, kind = s.form(shape.JWT, i), shape.JSONWebToken
	}
	if n > 0 {
		s.isToken(kind, i, i+n)
		return span{at: i, cover: i + n, class: tokenChar}, true
	}
	for _, sh := range s.held.shapes.At(s.buf[i:s.hi]) {
		if !s.has(i, sh.Prefix) || sh.Alone && !s.word(i) {
			continue
		}
		from := i + len(sh.Prefix)
		end := s.runTo(from, sh.Class, from+shape.Enough)
		n, ok := sh.Fits(s.buf[from:end])
		if !ok {
			continue
		}
		sp := span{at: i, cover: from + n}
		s.isToken(sh.Kind, i, from+n)
		if sh.Max == 0 {
			sp.class = sh.Class
		}
		return sp, true
	}
	return span{}, false
}

// form asks how long the token of a form at i is, 0 = there is none.
func (s *scan) form(f func(string) (int, bool), i int) int {
	n, more := f(s.buf[i:s.hi])
	s.short = s.short || more
	return n
}

// putty is the body of a private key of PuTTY, behind its "Private-Lines: N",
// whose colon stands at i.
func (s *scan) putty(i int) (span, bool) {
	j := i + 1
	for j < i+16 && (s.at(j) == ' ' || classOf[s.at(j)]&digit != 0) {
		j++
	}
	from := s.gap(j)
	end := s.run(from, pemChar)
	if from == j || end-from < 16 {
		return span{}, false
	}
	s.isToken(shape.PuttyKey, from, from)
	return span{at: from, cover: end, pem: true}, true
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
	case !bearer && !value.UserPass(v):
		return span{}, false
	}
	return span{at: from, cover: end, class: base64Char | tokenChar}, true
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
	s.isToken(shape.PrivateKey, i, i)
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
