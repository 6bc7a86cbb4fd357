package redact

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/shape"
	"github.com/reeve-gate/reeve/internal/redact/value"
)

// isToken says that a token of the kind was found.
func (s *scan) isToken(kind string, from, told int) {
	s.of, s.known = origin{rule: kind, kind: kind, from: from, told: told}, true
}

// token looks for a known shape at i.
func (s *scan) token(i int) (span, bool) {
	c := s.Buf[i]
	var n int
	var kind string
	switch {
	case (c == 'M' || c == 'N' || c == 'O') && s.Word(i):
		n, kind = s.form(shape.Discord, i), shape.DiscordToken
	case c == 'Q' && s.At(i+1) == '~' && i-4 >= s.Low(i) && classOf[s.Buf[i-1]]&digit != 0:
		n, kind = s.form(shape.Entra, i), shape.EntraSecret
	case c == 'e' && s.Has(i, "eyJ") && s.Word(i):
		n, kind = s.form(shape.JWT, i), shape.JSONWebToken
	}
	if n > 0 {
		s.isToken(kind, i, i+n)
		return span{at: i, cover: i + n, class: tokenChar}, true
	}
	for _, sh := range s.held.shapes.At(s.Buf[i:s.Hi]) {
		if !s.Has(i, sh.Prefix) || sh.Alone && !s.Word(i) {
			continue
		}
		from := i + len(sh.Prefix)
		end := s.RunTo(from, sh.Class, from+shape.Enough)
		n, ok := sh.Fits(s.Buf[from:end])
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
	n, more := f(s.Buf[i:s.Hi])
	s.Short = s.Short || more
	return n
}

// putty is the body of a private key of PuTTY, behind its "Private-Lines: N",
// whose colon stands at i.
func (s *scan) putty(i int) (span, bool) {
	j := i + 1
	for j < i+16 && (s.At(j) == ' ' || classOf[s.At(j)]&digit != 0) {
		j++
	}
	from := s.Gap(j)
	end := s.Run(from, pemChar)
	if from == j || end-from < 16 {
		return span{}, false
	}
	s.isToken(shape.PuttyKey, from, from)
	return span{at: from, cover: end, pem: true}, true
}

// scheme is what follows the word Bearer or Basic where it looks like a
// credential; headers with their names are read by assigned.
func (s *scan) scheme(i int) (span, bool) {
	bearer := s.HasFold(i, "bearer ")
	if !bearer && !s.HasFold(i, "basic ") || !s.Word(i) {
		return span{}, false
	}
	from := i + len("basic ")
	if bearer {
		from = i + len("bearer ")
	}
	s.keep = from
	end := s.Run(from, base64Char|tokenChar)
	v := s.Buf[from:end]
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
	if !s.Has(i, "-----BEGIN ") {
		return span{}, false
	}
	j := i + len("-----BEGIN ")
	label := j
	for j < s.Hi && j-label < 64 && (classOf[s.Buf[j]]&alnum != 0 || s.Buf[j] == ' ') {
		j++
	}
	if j == s.Hi {
		s.Short = true
	}
	if !strings.Contains(s.Buf[label:j], "PRIVATE KEY") || !s.Has(j, "-----") {
		return span{}, false
	}
	j += len("-----")
	s.body = j
	for range 6 { // headers, as in Proc-Type: 4,ENCRYPTED
		k := s.Gap(j)
		line := k
		for line < s.Hi && line-k < 100 && (classOf[s.Buf[line]]&alnum != 0 || s.Buf[line] == '-') {
			line++
		}
		if s.At(line) != ':' {
			break
		}
		for line < s.Hi && s.Buf[line] != '\n' && s.Buf[line] != '\\' {
			line++
		}
		if line == s.Hi {
			s.Short = true
		}
		j = line
	}
	line := j
	j = s.Gap(j)
	end := s.Run(j, pemChar)
	switch {
	case end-j >= 16:
	case end-j < 4 || strings.IndexAny(s.Buf[line:j], "\n\\") < 0: // no line of its own: a mention
		return span{}, false
	case end < s.Hi && strings.IndexByte("\r\n\\\"'-", s.At(end)) < 0:
		return span{}, false
	}
	s.isToken(shape.PrivateKey, i, i)
	return span{at: i, cover: end, pem: true}, true
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
	if k := s.Gap(j); k > j {
		return k - j, pemGap
	}
	if s.Has(j, "-----END ") {
		for k := j + len("-----END "); k < j+100 && s.At(k) != '\n' && k < s.Hi; k++ {
			if s.Has(k, "-----") {
				return k + 5 - j, pemEnd
			}
		}
		return 0, pemGap
	}
	end := s.Run(j, pemChar)
	switch {
	case end-j >= 16:
		return end - j, pemLine
	case end == j:
		return 0, pemGap
	}
	// A short last line, if the block ends behind it.
	if s.Buf[end-1] == '=' || s.Has(s.Gap(end), "-----END ") {
		return end - j, pemLine
	}
	return 0, pemGap
}
