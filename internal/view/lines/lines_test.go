package lines

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestEditsLeadFromOneTextToTheOther: whatever the texts are, what is kept and
// left out is the one and what is kept and put in the other, each line once and
// in its order; of short ones it is the shortest way, by a slow count.
func TestEditsLeadFromOneTextToTheOther(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(most, kinds int) []string {
		out := make([]string, r.IntN(most+1))
		for i := range out {
			out[i] = string(rune('a' + r.IntN(kinds)))
		}
		return out
	}
	for n := range 3000 {
		most := 12
		if n%100 == 0 {
			most = 3 * maxSteps // the search is given up
		}
		a, b := text(most, 4), text(most, 4)
		var left, right []string
		changed := 0
		for _, e := range Edits(a, b) {
			if e.Op != '+' {
				if e.A != len(left) {
					t.Fatalf("%q to %q: line %d of the left comes as %d", a, b, e.A, len(left))
				}
				left = append(left, a[e.A])
			}
			if e.Op != '-' {
				if e.B != len(right) {
					t.Fatalf("%q to %q: line %d of the right comes as %d", a, b, e.B, len(right))
				}
				right = append(right, b[e.B])
			}
			if e.Op != ' ' {
				changed++
			} else if a[e.A] != b[e.B] {
				t.Fatalf("%q to %q: %q is kept as %q", a, b, a[e.A], b[e.B])
			}
		}
		if !slices.Equal(left, a) || !slices.Equal(right, b) {
			t.Fatalf("%q to %q: got %q to %q", a, b, left, right)
		}
		if want := len(a) + len(b) - 2*common(a, b); most == 12 && changed != want {
			t.Fatalf("%q to %q: %d lines changed, %d suffice", a, b, changed, want)
		}
	}
}

// common is the length of the longest common part, by the book.
func common(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			up := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diagonal = up
		}
	}
	return row[len(b)]
}
