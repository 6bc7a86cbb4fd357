// Package reason says in words why a text was taken for a secret.
package reason

import "github.com/reeve-gate/reeve/internal/redact/shape"

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
	Held    = "held-value"
	Name    = "named-value"
	URL     = "url-password"
	Signed  = "signed-url"
	Command = "command-line"
	Element = "element"
	Scheme  = "authorization"
	Netrc   = "netrc"
)

// reasons are what each rule means.
var reasons = map[string]string{
	Held:    "it is a value that Reeve was told to mask, in one of its forms",
	Name:    "its name says that it is a secret",
	URL:     "it is the password or the token of a URL",
	Signed:  "it is the signature of a signed URL",
	Command: "a program is given it as a secret",
	Element: "the element around it says that it is a secret",
	Scheme:  "Bearer or Basic stands before it",
	Netrc:   "it is the password of a line for a machine",
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
