package redact

import (
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reeve-gate/reeve/internal/redact/known"
	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/sight"
	"github.com/reeve-gate/reeve/internal/redact/visible"
)

// Mark is what stands where a secret stood (contract G33).
// Where a shape tells the kind, the mark does too; see package mark.
const Mark = mark.Plain

// MinSecret is the length, in bytes, under which a value cannot be searched
// for: it would be found everywhere.
const MinSecret = known.MinLen

// Redactor masks text. It may be used by any number of goroutines.
type Redactor struct {
	mu   sync.Mutex // one AddSecret at a time
	held atomic.Pointer[held]
	key  []byte // of the marks of held values, nil = they have the plain one
}

// New returns a Redactor that knows names and shapes and no values yet.
func New() *Redactor {
	r := &Redactor{}
	r.held.Store(newHeld(nil, nil))
	return r
}

// NewKeyed is New with a key under which the marks of held values tell one from
// another: random bytes that are kept in memory alone. Redactors of one key
// give one value one mark.
func NewKeyed(key []byte) *Redactor {
	r := &Redactor{key: slices.Clone(key)}
	r.held.Store(newHeld(nil, r.key))
	return r
}

// Key is what NewKeyed was given, for a process that masks by itself.
func (r *Redactor) Key() []byte { return slices.Clone(r.key) }

// AddSecret adds a value to mask wherever it appears, in its raw, JSON, URL,
// base64 and hex forms; of a value of several lines each line of eight bytes
// or more too. It refuses a value under [MinSecret] bytes and one that
// contains, or is a part of, [Mark]; the error does not hold the value.
func (r *Redactor) AddSecret(value string) error {
	r.AddSecrets(value)
	return known.Fit(value, Mark)
}

// AddSecrets adds many values at once and says how many of them AddSecret would
// refuse.
func (r *Redactor) AddSecrets(values ...string) (refused int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.Secrets()
	all, refused := known.Join(have, values, Mark)
	if len(all) > len(have) {
		r.held.Store(newHeld(all, r.key))
	}
	return refused
}

// Secrets are the values that are masked, for a process that masks by itself.
func (r *Redactor) Secrets() []string { return slices.Clip(r.held.Load().set.Values) }

// Text masks what is secret in s. It returns s itself where nothing is.
func (r *Redactor) Text(s string) string {
	st := scan{held: r.held.Load(), Sight: sight.Sight{Buf: s}, whole: true}
	st.advance(true)
	if st.hits == 0 {
		return s
	}
	return string(st.out)
}

// Sensitive reports whether a field of this name is masked whatever it holds
// (contract G34).
func Sensitive(field string) bool { return name.Of(field).Secret() }

// Visible makes invisible characters visible for people; see package visible.
func Visible(s string) string { return visible.Text(s) }

// VisibleWriter is [Visible] for a stream; see [visible.Writer].
func VisibleWriter(w io.Writer) io.WriteCloser { return visible.Writer(w) }

// Show is Text for a person: with [Visible].
func (r *Redactor) Show(s string) string { return Visible(r.Text(s)) }
