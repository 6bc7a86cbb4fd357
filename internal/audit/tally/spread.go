package tally

import (
	"cmp"
	"math/bits"
	"slices"
)

// Spread counts how often each length of time came, in steps that grow with the
// length: one millisecond below 64, and 32 steps for each doubling from there, as
// HdrHistogram has them. The zero Spread is empty.
type Spread struct {
	n, max int64
	counts map[uint16]int64 // by step; most groups see few
}

// fine is how many steps a doubling has.
const fine = 32

// step is the step of a length in milliseconds.
func step(ms int64) uint16 {
	if ms < 2*fine {
		return uint16(max(ms, 0))
	}
	shift := bits.Len64(uint64(ms)) - bits.Len64(2*fine-1)
	return uint16(shift*fine) + uint16(ms>>shift)
}

// edges are the first length of a step and the last.
func edges(s uint16) (first, last int64) {
	if s < 2*fine {
		return int64(s), int64(s)
	}
	shift := int(s)/fine - 1
	first = (int64(s)%fine + fine) << shift
	return first, first + 1<<shift - 1
}

// Add counts one.
func (s *Spread) Add(ms int64) {
	if s.counts == nil {
		s.counts = map[uint16]int64{}
	}
	s.counts[step(ms)]++
	s.n++
	s.max = max(s.max, ms)
}

// Quantile is the length below which the part q of them lies; 0 where there is
// none. It is the middle of its step.
func (s *Spread) Quantile(q float64) int64 {
	if s.n == 0 {
		return 0
	}
	type one struct {
		step  uint16
		count int64
	}
	all := make([]one, 0, len(s.counts))
	for at, n := range s.counts {
		all = append(all, one{at, n})
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(a.step, b.step) })
	rank := int64(q*float64(s.n-1)) + 1
	for _, o := range all {
		if rank -= o.count; rank <= 0 {
			first, last := edges(o.step)
			return min(first+(last-first)/2, s.max)
		}
	}
	return 0 // not reached: the counts sum to n
}
