package redact

import "github.com/reeve-gate/reeve/internal/redact/sign"

// Waits reports whether something that came in has neither gone out nor been
// masked.
func (s *Stream) Waits() bool {
	return !s.closed && s.err == nil && !s.scan.span.open && s.scan.sent < len(s.scan.buf)
}

// Hasten writes what is kept back although a secret might begin in it, as far
// as that tells nothing of the secret: the name of a field or a header, a quote,
// the prefix that all tokens of a kind share, and of a known value the first
// bytes, a quarter of it and three at most. It is for the end of the time that
// a reader may be kept waiting; see package timely. What follows is masked as
// before, so that after it no more than a token's prefix, or these few bytes,
// stand before a mark where [Redactor.Text] has none.
//
// What may be a part of a secret waits on, however long: it goes out with the
// byte that shows that it is none.
func (s *Stream) Hasten() error {
	if !s.Waits() {
		return s.err
	}
	s.scan.hasten()
	return s.flush()
}

func (s *scan) hasten() {
	i := s.pos
	if i >= len(s.buf) {
		return
	}
	s.decide(i)
	limit := s.body
	for j := i; j < limit; j++ {
		limit = min(limit, s.bare(j))
	}
	s.send(limit)
}

// bare is how far text may go out although a known value or a token may begin
// at j.
func (s *scan) bare(j int) int {
	end := len(s.buf)
	if j >= s.hi {
		return j
	}
	kind := s.held.Start[s.buf[j]]
	if kind&sign.Known != 0 {
		if n, more := s.held.set.Begins(s.buf[j:s.hi]); more {
			end = j + n
		}
	}
	if kind&sign.Token != 0 {
		end = min(end, s.public(j))
	}
	if until, _ := s.starts(j); until > 0 {
		end = j
	}
	return end
}

// guessable is how much of a token without a prefix of its own may go out.
const guessable = 3

// public is how far text may go out although a token may begin at j: its
// prefix is no secret.
func (s *scan) public(j int) int {
	rest, end := s.buf[j:s.hi], len(s.buf)
	if c := rest[0]; c == 'e' || c == 'M' || c == 'N' || c == 'O' || c == 'Q' {
		was := s.short
		s.short = false
		s.token(j)
		if s.short && len(rest) > guessable {
			end = j + guessable
			if c != 'e' {
				end = j
			}
		}
		s.short = was
	}
	for _, sh := range s.held.shapes.At(rest) {
		from := j + len(sh.Prefix)
		if s.has(j, sh.Prefix) && from < s.hi && s.runTo(from, sh.Class, from+len(rest)) == s.hi {
			end = min(end, from)
		}
	}
	return end
}
