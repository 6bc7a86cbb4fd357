package redact

import (
	"github.com/reeve-gate/reeve/internal/redact/known"
	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/shape"
	"github.com/reeve-gate/reeve/internal/redact/sight"
	"github.com/reeve-gate/reeve/internal/redact/sign"
)

// held is the values that are masked wherever they stand, and what each byte
// can start. It is never changed.
type held struct {
	set    *known.Set
	key    []byte
	marks  map[string]string // of the values that have a known shape
	shapes *shape.Index
	sign.Signs
}

func newHeld(values []string, key []byte) *held {
	h := &held{set: known.New(values, mark.Part), key: key, marks: map[string]string{}, shapes: shape.All(), Signs: *sign.All()}
	if len(key) > 0 {
		for _, v := range values {
			if m := h.shaped(v); m != "" {
				h.marks[v] = m
			}
		}
	}
	for head := range h.set.Heads() {
		h.Start[head[0]] |= sign.Known
		h.Heads.Add(head[0], head[1], head[2])
	}
	return h
}

// shaped is the mark of a value that is a token of a known kind, as the token
// has it wherever it is found; "" = it is none.
func (h *held) shaped(value string) string {
	s := scan{held: h, Sight: sight.Sight{Buf: value, Hi: len(value)}}
	if h.Start[value[0]]&sign.Token == 0 {
		return ""
	}
	if sp, ok := s.token(0); ok && s.RunTo(sp.cover, sp.class, len(value)) == len(value) {
		return mark.Of(s.of.kind, value[s.of.from:s.of.told])
	}
	return ""
}

// mark is what stands for the value in the form that was found.
func (h *held) mark(form string) string {
	value := h.set.Value(form)
	if m := h.marks[value]; m != "" {
		return m
	}
	if value == "" {
		return Mark
	}
	return mark.Held(h.key, value)
}

// knownAt is the length of the longest known value at j, 0 = none. A value
// that would cut a mark in two is not there: it was found before.
func (s *scan) knownAt(j int) int {
	n, more := s.held.set.At(s.Buf[j:s.Hi], func(n int) bool { return !s.cutsMark(j, j+n) })
	s.Short = s.Short || more
	return n
}

// cutsMark reports whether a mark stands across one end of buf[from:to].
func (s *scan) cutsMark(from, to int) bool {
	for i := max(s.Low(from), from-mark.Max+1); i < from; i++ {
		if s.Buf[i] == '[' && i+s.markAt(i) > from {
			return true
		}
	}
	for i := max(from, to-mark.Max+1); i < to; i++ {
		if s.Buf[i] == '[' && i+s.markAt(i) > to {
			return true
		}
	}
	return false
}

// markAt is the length of the mark at i, 0 = none.
func (s *scan) markAt(i int) int {
	if i >= s.Hi {
		s.Short = true
		return 0
	}
	n, more := mark.At(s.Buf[i:s.Hi])
	s.Short = s.Short || more
	return n
}
