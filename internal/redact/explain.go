package redact

import (
	"io"

	"github.com/reeve-gate/reeve/internal/redact/shape"
)

// Finding is one mask: where the secret stood in what was read, and why it was
// taken for one. It does not hold the secret.
type Finding struct {
	At, End int    // bytes from the start of the text
	Rule    string // the kind of a known shape, or one of the rules
	Name    string // the name, flag or header that led to it, if any
	Mark    string // what stands there now
}

// The rules that are no shapes.
const (
	heldRule    = "held-value"
	nameRule    = "named-value"
	urlRule     = "url-password"
	signedRule  = "signed-url"
	commandRule = "command-line"
	elementRule = "element"
	schemeRule  = "authorization"
	netrcRule   = "netrc"
)

// reasons are what each rule means.
var reasons = map[string]string{
	heldRule:    "it is a value that Reeve was told to mask, in one of its forms",
	nameRule:    "its name says that it is a secret",
	urlRule:     "it is the password or the token of a URL",
	signedRule:  "it is the signature of a signed URL",
	commandRule: "a program is given it as a secret",
	elementRule: "the element around it says that it is a secret",
	schemeRule:  "Bearer or Basic stands before it",
	netrcRule:   "it is the password of a line for a machine",
}

// Why says in words why it was masked.
func (f Finding) Why() string {
	why, ok := reasons[f.Rule]
	if !ok {
		why = "it has the form of the kind " + f.Rule + ", which " + shape.Publisher(f.Rule)
	}
	if f.Name != "" {
		why += ": " + f.Name
	}
	return why
}

// Explain is Text that tells of each mask, in their order.
func (r *Redactor) Explain(s string, found func(Finding)) string {
	st := scan{held: r.held.Load(), buf: s, whole: true, found: found}
	st.advance(true)
	if st.hits == 0 {
		return s
	}
	return string(st.out)
}

// ExplainWriter is [Redactor.Writer] that tells of each mask, in their order.
func (r *Redactor) ExplainWriter(w io.Writer, found func(Finding)) io.WriteCloser {
	return &stream{w: w, scan: scan{held: r.held.Load(), found: found}}
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
