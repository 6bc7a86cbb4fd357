package redact

import "github.com/reeve-gate/reeve/internal/redact/known"

// held is the values that are masked wherever they stand, and what each byte
// can start. It is never changed.
type held struct {
	set   *known.Set
	start [256]uint8
	pairs pairSet
}

// pairSet is a set of pairs of bytes.
type pairSet [256][4]uint64

func (p *pairSet) add(a, b byte) { p[a][b/64] |= 1 << (b % 64) }

func (p *pairSet) has(a, b byte) bool { return p[a][b/64]>>(b%64)&1 != 0 }

// What a byte can start.
const (
	startRule  = 1 << iota // a rule of its own: = : - > B p and the mark
	startToken             // a known shape
	startKnown             // a known value
)

func newHeld(values []string) *held {
	h := &held{set: known.New(values, Mark), start: starts, pairs: pairs}
	for head := range h.set.Heads() {
		h.start[head[0]] |= startKnown
		h.pairs.add(head[0], head[1])
	}
	return h
}

// knownAt is the length of the longest known value at j, 0 = none. A value
// that would cut a mark in two is not there: it was found before.
func (s *scan) knownAt(j int) int {
	n, more := s.held.set.At(s.buf[j:s.hi], func(n int) bool { return !s.cutsMark(j, j+n) })
	s.short = s.short || more
	return n
}

// cutsMark reports whether a mark stands across one end of buf[from:to].
func (s *scan) cutsMark(from, to int) bool {
	for i := max(s.low(from), from-len(Mark)+1); i < from; i++ {
		if s.buf[i] == '[' && s.has(i, Mark) {
			return true
		}
	}
	for i := max(from, to-len(Mark)+1); i < to; i++ {
		if s.buf[i] == '[' && s.has(i, Mark) {
			return true
		}
	}
	return false
}
