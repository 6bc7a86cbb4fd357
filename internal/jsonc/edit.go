package jsonc

import (
	"bytes"
	"sort"
)

// Span replaces the bytes from..to by text.
type Span struct {
	From, To int
	Text     string
}

// Splice applies spans that do not overlap.
func Splice(src []byte, spans []Span) []byte {
	sort.Slice(spans, func(i, j int) bool { return spans[i].From < spans[j].From })
	var out []byte
	at := 0
	for _, s := range spans {
		out = append(out, src[at:s.From]...)
		out = append(out, s.Text...)
		at = s.To
	}
	return append(out, src[at:]...)
}

// Add is the insertion of fields behind the last value of the container, or
// directly after the bracket of an empty one.
func (s Style) Add(src []byte, n *Node, tight Style, fields ...Field) Span {
	if len(n.Kids) == 0 {
		return Span{n.Start + 1, n.Start + 1, tight.Text("", fields...)}
	}
	at := n.Kids[len(n.Kids)-1].Value.End
	indent := s.after(src, n)
	return Span{at, at, "," + s.NL + indent + s.Text(indent, fields...)}
}

// Cut is what takes kids out of a container, each with one comma, and leaves
// comments. Where all go, the brackets stay.
func Cut(src []byte, n *Node, goes func(Kid) bool) []Span {
	var gone []int
	for i, k := range n.Kids {
		if goes(k) {
			gone = append(gone, i)
		}
	}
	c := &cutter{src: src}
	switch len(gone) {
	case 0:
	case len(n.Kids):
		for i, k := range n.Kids {
			c.cut(k.Start, k.Value.End)
			if i+1 < len(n.Kids) {
				c.gap(k.Value.End, n.Kids[i+1].Start)
			} else {
				c.gap(k.Value.End, n.End-1) // a comma may stand there too
			}
		}
	default:
		c.some(n, gone)
	}
	return c.spans
}

// Bare reports whether only white space and commas stand between the kids.
func Bare(src []byte, n *Node) bool {
	at := n.Start + 1
	for _, k := range n.Kids {
		if !blank(src[at:k.Start]) {
			return false
		}
		at = k.Value.End
	}
	return blank(src[at : n.End-1])
}

func blank(b []byte) bool { return len(bytes.Trim(b, " \t\r\n,")) == 0 }

type cutter struct {
	src   []byte
	spans []Span
}

// some cuts kids out of a container that keeps others, each with one comma.
func (c *cutter) some(n *Node, gone []int) {
	kept := false // a kid that stays stands before
	next := 0
	for i, k := range n.Kids {
		if next == len(gone) || gone[next] != i {
			kept = true
			continue
		}
		next++
		if kept && i+1 < len(n.Kids) && !(next < len(gone) && gone[next] == i+1) &&
			!blank(c.src[n.Kids[i-1].Value.End:k.Start]) && blank(c.src[k.Value.End:n.Kids[i+1].Start]) {
			c.cut(k.Start, n.Kids[i+1].Start) // the comment before it stays beside its own value
			continue
		}
		if kept {
			c.gap(n.Kids[i-1].Value.End, k.Start)
		}
		c.cut(k.Start, k.Value.End)
		if !kept {
			c.gap(k.Value.End, n.Kids[i+1].Start)
		}
	}
}

// gap cuts what stands between two kids: all of it, or only the comma where
// there is a comment.
func (c *cutter) gap(from, to int) {
	if blank(c.src[from:to]) {
		c.cut(from, to)
		return
	}
	r := &reader{src: c.src, at: from}
	if r.space() == nil && r.peek() == ',' {
		c.cut(r.at, r.at+1)
	}
}

func (c *cutter) cut(from, to int) {
	if from < to {
		c.spans = append(c.spans, Span{From: from, To: to})
	}
}
