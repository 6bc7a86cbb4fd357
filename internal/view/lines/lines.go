// Package lines finds how one text of lines becomes another ([Edits]), within a
// bound on the work.
package lines

// Edit is one line of a difference.
type Edit struct {
	Op   byte // ' ', '-' or '+'
	A, B int  // line numbers from 0; of '-' only A, of '+' only B says which line it is
}

// maxSteps bounds how many lines may differ between two files before the
// search for what they share is given up.
const maxSteps = 400

// Edits is the shortest way from a to b (Myers 1986); where it is longer than
// maxSteps, everything between the common beginning and end is replaced.
func Edits(a, b []string) []Edit {
	var out []Edit
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		out = append(out, Edit{' ', head, head})
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for _, e := range middle(a[head:len(a)-tail], b[head:len(b)-tail]) {
		out = append(out, Edit{e.Op, e.A + head, e.B + head})
	}
	for i := tail; i > 0; i-- {
		out = append(out, Edit{' ', len(a) - i, len(b) - i})
	}
	return out
}

func middle(a, b []string) []Edit {
	trace, found := walk(a, b)
	if !found {
		var out []Edit
		for i := range a {
			out = append(out, Edit{'-', i, 0})
		}
		for i := range b {
			out = append(out, Edit{'+', len(a), i})
		}
		return out
	}
	var back []Edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d > 0; d-- {
		was := trace[d-1]
		at := func(k int) int { // furthest x on diagonal k after d-1 steps
			if k < -(d-1) || k > d-1 {
				return -1
			}
			return was[k+d-1]
		}
		k := x - y
		down := k == -d || k != d && at(k-1) < at(k+1)
		from := k - 1
		if down {
			from = k + 1
		}
		px := at(from)
		py := px - from
		// The step goes from (px, py) to its end; equal lines follow it.
		ex, ey := px+1, py
		if down {
			ex, ey = px, py+1
		}
		for x > ex && y > ey {
			x, y = x-1, y-1
			back = append(back, Edit{' ', x, y})
		}
		if down {
			y--
			back = append(back, Edit{'+', x, y})
		} else {
			x--
			back = append(back, Edit{'-', x, y})
		}
	}
	for x > 0 {
		x, y = x-1, y-1
		back = append(back, Edit{' ', x, y})
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// walk finds how far each diagonal comes with every number of steps; entry k+d
// of trace[d] is that of diagonal k.
func walk(a, b []string) (trace [][]int, found bool) {
	last := []int{}
	for d := 0; d <= min(maxSteps, len(a)+len(b)); d++ {
		now := make([]int, 2*d+1)
		at := func(k int) int {
			if k < -(d-1) || k > d-1 {
				return -1
			}
			return last[k+d-1]
		}
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && at(k-1) < at(k+1):
				x = at(k + 1)
			default:
				x = at(k-1) + 1
			}
			for x < len(a) && x-k < len(b) && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			now[k+d] = x
			if x >= len(a) && x-k >= len(b) {
				return append(trace, now), true
			}
		}
		trace = append(trace, now)
		last = now
	}
	return nil, false
}
