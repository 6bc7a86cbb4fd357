package redact

import (
	"io"

	"github.com/reeve-gate/reeve/internal/redact/reason"
	"github.com/reeve-gate/reeve/internal/redact/sight"
)

// Finding is one mask, and why it is there.
type Finding = reason.Finding

// Explain is Text that tells of each mask, in their order.
func (r *Redactor) Explain(s string, found func(Finding)) string {
	st := scan{held: r.held.Load(), Sight: sight.Sight{Buf: s}, whole: true, found: found}
	st.advance(true)
	if st.hits == 0 {
		return s
	}
	return string(st.out)
}

// ExplainWriter is [Redactor.Writer] that tells of each mask, in their order.
func (r *Redactor) ExplainWriter(w io.Writer, found func(Finding)) *Stream {
	return &Stream{r: r, w: w, scan: scan{found: found}}
}

// note keeps what is to be told of a mask when its end is known.
func (s *scan) note(at int) {
	if s.found == nil {
		return
	}
	s.finding = Finding{At: s.gone + at, Rule: s.of.rule, Name: s.of.name, Mark: s.stands()}
}

// tell reports the mask that ends at end.
func (s *scan) tell(end int) {
	if s.found == nil {
		return
	}
	s.finding.End = s.gone + end
	s.found(s.finding)
}
