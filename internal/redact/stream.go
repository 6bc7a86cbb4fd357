package redact

import (
	"errors"
	"fmt"
	"io"
)

// Writer masks what passes through it on its way to w, as [Redactor.Text]
// would mask the whole. It keeps back what may still become a secret: at most
// 8 KiB, mostly nothing, and never a finished line without a sign of one.
// A value that the Redactor is told later is masked from then on. Close writes
// what is kept; it does not close w. Not for concurrent use.
func (r *Redactor) Writer(w io.Writer) *Stream {
	return &Stream{r: r, w: w}
}

// Stream is a [Redactor.Writer].
type Stream struct {
	r      *Redactor
	w      io.Writer
	scan   scan
	gone   int // bytes of scan.out that were written and are kept as context
	closed bool
	err    error // of w; nothing is written after it
}

func (s *Stream) Write(p []byte) (int, error) {
	if s.closed {
		return 0, errors.New("write masked text: the writer is closed")
	}
	if s.err != nil {
		return 0, s.err
	}
	s.scan.held = s.r.held.Load() // with what it was told meanwhile
	s.scan.Buf += string(p)
	s.scan.advance(false)
	s.scan.forget()
	return len(p), s.flush()
}

// Close writes what is left.
func (s *Stream) Close() error {
	if s.closed || s.err != nil {
		s.closed = true
		return s.err
	}
	s.closed = true
	s.scan.held = s.r.held.Load()
	s.scan.advance(true)
	return s.flush()
}

func (s *Stream) flush() error {
	out := s.scan.out
	if len(out) > s.gone {
		if _, err := s.w.Write(out[s.gone:]); err != nil {
			s.err = fmt.Errorf("write masked text: %w", err)
		}
		if keep := lineBack + look; len(out) > 2*keep { // what a decision may look at, and what may be ahead of it
			s.scan.dropped += len(out) - keep
			out = append(out[:0], out[len(out)-keep:]...)
		}
		s.scan.out, s.gone = out, len(out)
	}
	return s.err
}

// forget drops what no decision can look back to.
func (s *scan) forget() {
	from := s.pos
	if s.span.open {
		from = s.span.at
		if s.span.pem {
			from = min(from, s.span.last)
		}
	}
	cut := from - back - 1 // one more: what stands at 0 is the start of the text to others
	if cut < 4*back {
		return
	}
	s.Buf = s.Buf[cut:]
	s.gone += cut
	s.pos -= cut
	s.sent = max(0, s.sent-cut)
	s.Mark = max(0, s.Mark-cut)
	s.read = max(0, s.read-cut)
	s.span.at -= cut
	s.span.cover -= cut
	s.span.last -= cut
}
