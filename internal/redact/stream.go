package redact

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// hold is the most bytes a stream keeps back. A line, or a key in armour, that
// is longer is masked in pieces of this size, cut where no token can stand.
const hold = 16 << 10

// Writer masks what passes through it. It keeps back the current line, and
// everything since the BEGIN of a private key, up to [hold] bytes; Close
// writes what is left. Values that Reeve holds and shapes are found across the
// borders of writes; one that is cut by the bound may be missed.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &stream{r: r, w: w} }

type stream struct {
	r     *Redactor
	w     io.Writer
	kept  []byte
	inPEM bool // the mark for a key stands already; its rest is dropped up to END
}

func (s *stream) Write(p []byte) (int, error) {
	s.kept = append(s.kept, p...)
	for {
		n := s.cut()
		if n == 0 {
			return len(p), nil
		}
		if err := s.flush(s.kept[:n]); err != nil {
			return 0, err
		}
		s.kept = append(s.kept[:0], s.kept[n:]...)
	}
}

// cut is how much of what is kept can go out now.
func (s *stream) cut() int {
	if s.inPEM {
		if i := bytes.Index(s.kept, []byte("-----END ")); i >= 0 {
			if j := bytes.IndexByte(s.kept[i:], '\n'); j >= 0 {
				return i + j + 1
			}
		}
		if len(s.kept) > hold {
			return len(s.kept) - len("-----END ")
		}
		return 0
	}
	n := bytes.LastIndexByte(s.kept, '\n') + 1
	if i := bytes.Index(s.kept, []byte("-----BEGIN ")); i >= 0 && i < n && !bytes.Contains(s.kept[i:n], []byte("-----END ")) {
		if n-i > hold {
			return n
		}
		n = i
	}
	if n == 0 && len(s.kept) > hold {
		if n = bytes.LastIndexAny(s.kept[:hold], " \t,;") + 1; n == 0 {
			n = hold
		}
	}
	return n
}

func (s *stream) flush(b []byte) error {
	text := string(b)
	if s.inPEM {
		_, rest, ended := strings.Cut(text, "-----END ")
		if !ended {
			return nil
		}
		s.inPEM = false
		_, rest, _ = strings.Cut(rest, "\n")
		text = "\n" + rest
	}
	out := s.r.Text(text)
	if i := strings.LastIndex(text, "-----BEGIN "); i >= 0 && strings.HasSuffix(out, Mark) && !strings.Contains(text[i:], "-----END ") {
		s.inPEM = true
	}
	if _, err := io.WriteString(s.w, out); err != nil {
		return fmt.Errorf("write masked text: %w", err)
	}
	return nil
}

// Close writes what is left.
func (s *stream) Close() error {
	b := s.kept
	s.kept = nil
	if len(b) == 0 {
		return nil
	}
	return s.flush(b)
}
