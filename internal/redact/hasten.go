package redact

import "github.com/reeve-gate/reeve/internal/redact/sign"

// Waits reports whether something that came in has neither gone out nor been
// masked.
func (s *Stream) Waits() bool {
	return !s.closed && s.err == nil && !s.scan.span.open && s.scan.sent < len(s.scan.Buf)
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
	if i >= len(s.Buf) {
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
	end := len(s.Buf)
	if j >= s.Hi {
		return j
	}
	kind := s.held.Start[s.Buf[j]]
	if kind&sign.Known != 0 {
		if n, more := s.held.set.Begins(s.Buf[j:s.Hi]); more {
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
	rest, end := s.Buf[j:s.Hi], len(s.Buf)
	if c := rest[0]; c == 'e' || c == 'M' || c == 'N' || c == 'O' || c == 'Q' {
		was := s.Short
		s.Short = false
		s.token(j)
		if s.Short && len(rest) > guessable {
			end = j + guessable
			if c != 'e' {
				end = j
			}
		}
		s.Short = was
	}
	for _, sh := range s.held.shapes.At(rest) {
		from := j + len(sh.Prefix)
		if s.Has(j, sh.Prefix) && from < s.Hi && s.RunTo(from, sh.Class, from+len(rest)) == s.Hi {
			end = min(end, from)
		}
	}
	return end
}
