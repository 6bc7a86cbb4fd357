package redact

import (
	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/reason"
	"github.com/reeve-gate/reeve/internal/redact/shape"
	"github.com/reeve-gate/reeve/internal/redact/sight"
	"github.com/reeve-gate/reeve/internal/redact/sign"
)

// The classes of characters, under the names that the rules use.
type class = shape.Class

const (
	letter     = shape.Letter
	digit      = shape.Digit
	alnum      = shape.Alnum
	base64Char = shape.Base64
	pemChar    = shape.PEM
	tokenChar  = shape.Token
	identChar  = shape.Ident
	valueChar  = shape.Value
	lineChar   = shape.Line
	headerChar = shape.Header
	textChar   = shape.Text
	pathChar   = shape.Path
	wordChar   = shape.Word
)

var classOf = shape.Classes

const (
	look = sight.Look
	back = sight.Back
)

// scan is one pass over a text that may come in pieces.
type scan struct {
	held *held
	sight.Sight
	pos   int  // where the next decision is made
	sent  int  // what stands before it is in out, or was masked
	span  span // the mask that is being extended
	out   []byte
	hits  int
	whole bool // out is wanted only where something was masked

	found   func(Finding) // is told of each mask, may be nil
	finding Finding       // the one that is not told yet
	gone    int           // bytes of the text that are no longer in buf

	dropped int // bytes of out that are no longer there
	read    int // up to here the text was read for names of programs
	named   int // one more than the place in out behind the last of them; 0 = none

	// Of the decision at work:
	keep  int  // where a mask would start at the earliest
	body  int  // where what is secret of it would; what stands before is known to everybody
	known bool // of is filled in
	of    origin
}

// span is a mask: from where it started, as long as one of these holds.
type span struct {
	open   bool
	at     int   // decided up to here
	cover  int   // up to here in any case
	class  class // or as long as the characters are of the class
	quote  byte  // or up to this quote,
	esc    int   // before which as many backslashes stand
	indent int8  // or as long as its lines are set in as far,
	pem    bool  // or as long as it is the body of a PEM block,
	last   int   // which ended here so far
}

// origin is what is known of a span beside its place.
type origin struct {
	rule string // which rule found it
	name string // and by which name, if any
	held string // the form in which a held value was found, "" = none was
	kind string // of a known shape, "" = none
	from int    // where the token begins
	told int    // and ends, as far as it was looked at
}

// verdict of one decision.
type verdict uint8

const (
	pass verdict = iota // nothing here
	skip                // go on at the span's cover; what stands before stays
	hit                 // the span is secret
)

// advance decides as much of buf as can be decided. last says that nothing
// will follow.
func (s *scan) advance(last bool) {
	for {
		if s.span.open && !s.extend(last) {
			return
		}
		i := s.next(s.pos)
		if i == len(s.Buf) {
			s.pos = i
			if !s.whole || s.hits > 0 {
				s.send(i)
			}
			return
		}
		s.pos = i
		sp, v := s.decide(i)
		if v == hit {
			s.reach(i, &sp)
			s.identify(sp.at)
		}
		if s.Short && !last && s.Hi == len(s.Buf) {
			s.send(s.safe(i))
			return
		}
		switch v {
		case pass:
			s.pos = i + 1
		case skip:
			s.pos, s.Mark = sp.cover, sp.cover // an earlier mask ends the context as our own does
		case hit:
			s.send(sp.at)
			s.out = append(s.out, s.stands()...)
			s.hits++
			s.note(sp.at)
			sp.open, sp.last = true, sp.cover
			s.span = sp
		}
	}
}

// next is the first place from i on where something may start. Three bytes tell
// that, for some one is enough; both tables are asked at every byte, in one
// branch that the processor seldom guesses wrong. At the end of the text, where
// three are not there, one tells.
func (s *scan) next(i int) int {
	enough, heads, buf := &s.held.Enough, &s.held.Heads, s.Buf
	if i+2 < len(buf) {
		a, b := buf[i], buf[i+1]
		for _, c := range []byte(buf[i+2:]) {
			if uint64(enough[a])|heads.Bit(a, b, c) != 0 {
				return i
			}
			a, b = b, c
			i++
		}
	}
	for i < len(buf) && s.held.Start[buf[i]] == 0 {
		i++
	}
	return i
}

// send puts out what stands before i.
func (s *scan) send(i int) {
	if i > s.sent {
		s.out = append(s.out, s.Buf[s.sent:i]...)
		s.sent = i
	}
}

// extend carries the open span on to its end and reports whether it got there.
func (s *scan) extend(last bool) bool {
	sp := &s.span
	for sp.at < len(s.Buf) {
		s.Hi, s.Short = min(len(s.Buf), sp.at+look), false
		n, part := 1, pemGap
		if sp.at >= sp.cover {
			n, part = s.goesOn()
		}
		if n == 0 && !(s.Short && !last && s.Hi == len(s.Buf)) {
			break
		}
		// A value or a token that starts inside and reaches further is a part of it.
		more := 0
		for j := sp.at; j < sp.at+n; j++ {
			more = max(more, s.inner(j))
		}
		if s.Short && !last && s.Hi == len(s.Buf) {
			return false
		}
		sp.cover = max(sp.cover, more)
		sp.at += n
		if part != pemGap {
			sp.last = sp.at
			sp.pem = part != pemEnd
		}
	}
	end := sp.at
	if sp.pem {
		end = max(sp.last, sp.cover)
	}
	if sp.at >= len(s.Buf) && !last {
		return false
	}
	s.tell(end)
	s.pos, s.sent, s.Mark = end, max(s.sent, end), end
	s.span = span{}
	return true
}

// goesOn says how many bytes from the span's place belong to it by its kind,
// and as which part of a PEM block.
func (s *scan) goesOn() (n int, part pemPart) {
	sp := &s.span
	switch {
	case sp.quote != 0:
		return s.Quoted(sp.at, sp.quote, sp.esc), pemGap
	case sp.pem:
		return s.pemBody(sp.at)
	case sp.indent > 0:
		return s.BlockLine(sp.at, int(sp.indent)), pemGap
	case classOf[s.Buf[sp.at]]&sp.class != 0:
		return 1, pemGap
	}
	return 0, pemGap
}

// reach lets a mask begin earlier where a known value or a token starts
// between the place of the decision and the value that it found.
func (s *scan) reach(i int, sp *span) {
	of := s.of
	for j := i + 1; j < sp.at; j++ {
		if end, _ := s.starts(j); end > 0 {
			sp.cover = max(sp.cover, sp.at, end)
			sp.at, of.kind, of.held = j, "", ""
			s.of = of
			return
		}
	}
}

// identify gives a value that a name or a place led to its kind, where it
// begins as a known token does.
func (s *scan) identify(at int) {
	if s.of.kind != "" || s.of.held != "" || at >= s.Hi {
		return
	}
	if len(s.held.key) > 0 && s.held.Start[s.Buf[at]]&sign.Known != 0 {
		if n := s.knownAt(at); n > 0 && classOf[s.At(at+n)]&alnum == 0 {
			s.of.held = s.Buf[at : at+n]
			return
		}
	}
	of, ok := s.of, false
	if c := s.Buf[at]; s.held.Start[c]&sign.Token != 0 {
		_, ok = s.token(at)
	} else if c == '-' {
		_, ok = s.pem(at)
	}
	if ok {
		s.of.rule, s.of.name = of.rule, of.name
	} else {
		s.of = of
	}
}

// stands is what stands for the span that was found.
func (s *scan) stands() string {
	switch {
	case s.of.held != "" && len(s.held.key) > 0:
		return s.held.mark(s.of.held)
	case s.of.kind == "":
		return Mark
	}
	return mark.Of(s.of.kind, s.Buf[s.of.from:s.of.told])
}

// is says what was found; what is said first holds.
func (s *scan) is(of origin) {
	if !s.known {
		s.known, s.of = true, of
	}
}

// safe is how far text can go out although the decision at i must wait: up to
// where a mask would start.
func (s *scan) safe(i int) int {
	s.Short = false
	for j := i + 1; j < min(s.keep, s.Hi); j++ {
		if end, _ := s.starts(j); end > 0 || s.Short {
			return j
		}
	}
	return min(s.keep, len(s.Buf))
}

// starts says where a known value or a token that starts at j ends, and which
// class carries it on; 0 = none does.
func (s *scan) starts(j int) (end int, cl class) {
	kind := s.held.Start[s.Buf[j]]
	if kind&sign.Known != 0 {
		if n := s.knownAt(j); n > 0 {
			end = j + n
		}
	}
	if kind&sign.Token != 0 {
		if sp, ok := s.token(j); ok {
			end, cl = max(end, sp.cover), sp.class
		}
	}
	return end, cl
}

// inner finds a known value or a token at j and says where it ends; a token's
// class is added to the span's.
func (s *scan) inner(j int) int {
	end, cl := s.starts(j)
	if !s.span.pem {
		s.span.class |= cl
	}
	return end
}

// decide judges position i, which can start something.
func (s *scan) decide(i int) (span, verdict) {
	c := s.Buf[i]
	kind := s.held.Start[c]
	s.keep, s.body, s.Short, s.known = i, len(s.Buf), false, false
	s.Hi = min(len(s.Buf), i+look)
	if c == '[' {
		if n := s.markAt(i); n > 0 {
			return span{cover: i + n}, skip
		}
	}
	if kind&sign.Known != 0 {
		if n := s.knownAt(i); n > 0 {
			s.is(origin{rule: reason.Held, held: s.Buf[i : i+n]})
			return span{at: i, cover: i + n}, hit
		}
	}
	if kind&sign.Token != 0 {
		if sp, ok := s.token(i); ok {
			return sp, hit
		}
	}
	if kind&sign.Rule == 0 {
		return span{}, pass
	}
	return s.ruled(i)
}

// ruled judges position i by the rules.
func (s *scan) ruled(i int) (span, verdict) {
	open := s.Short // a known value or a token may begin here too
	var sp span
	var ok bool
	var rule string
	switch s.Buf[i] {
	case '=', ':':
		sp, ok = s.assigned(i)
		rule = reason.Name
	case '-':
		if sp, ok = s.pem(i); !ok {
			sp, ok = s.flagged(i)
			rule = reason.Command
		}
	case '>':
		sp, ok = s.element(i)
		rule = reason.Element
	case 'B', 'b':
		sp, ok = s.scheme(i)
		rule = reason.Scheme
	case 'p':
		if sp, ok = s.netrc(i); !ok && s.At(i+1) == 'n' {
			sp, ok = s.operand(i)
		}
		rule = reason.Netrc
	case 'h', 'n', 'N', 'a', 'y':
		sp, ok = s.operand(i)
		rule = reason.Command
	}
	if s.keep > i {
		s.body = min(s.body, s.keep)
	}
	if open {
		s.keep = i
	}
	if !ok {
		return span{}, pass
	}
	s.is(origin{rule: rule})
	return sp, hit
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
