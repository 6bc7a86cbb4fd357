// Package args reads the arguments of a tool call: one strict JSON object
// that matches the tool's schema.
//
// Two readers that understand one text differently are a way round every
// rule: the gate judges one value and the tool acts on the other. So a text is
// refused unless there is one way to read it (RFC 8259 and I-JSON, RFC 7493):
// valid UTF-8 without lone surrogates, no name twice in one object, nothing
// after the object. Names match by exact case. A text has at most
// reeve.MaxArgs bytes and reeve.MaxArgsDepth levels.
//
// [Decode] reads a text; a [Checker] holds it to the schema of its tool. An
// error names the place by JSON pointer and byte offset, and never repeats a
// value, which may be secret.
package args

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
)

// ErrArgs is the kind of every error of this package.
var ErrArgs = errors.New("arguments")

// fault is an error at one place of a text.
type fault struct {
	pointer jsontext.Pointer
	offset  int64
	what    string
}

func (f *fault) Error() string {
	at := string(f.pointer)
	if at == "" {
		at = "the top"
	}
	return fmt.Sprintf("arguments, at %s (byte %d): %s", clip(at), f.offset, f.what)
}

func (f *fault) Is(err error) bool { return err == ErrArgs }

// Decode reads one strict JSON object. Numbers are float64, as the schema
// library takes them.
func Decode(raw []byte) (map[string]any, error) {
	if len(raw) > reeve.MaxArgs {
		return nil, &fault{what: fmt.Sprintf("%d bytes; at most %d are taken", len(raw), reeve.MaxArgs)}
	}
	r := reader{jsontext.NewDecoder(bytes.NewReader(raw))}
	if k := r.PeekKind(); k != '{' && k != 0 {
		return nil, &fault{what: "a JSON object is needed, this is " + kindName(k)}
	}
	v, err := r.value()
	if err != nil {
		return nil, err
	}
	if _, err := r.ReadToken(); err != io.EOF {
		return nil, &fault{offset: r.InputOffset(), what: "something follows the object"}
	}
	return v.(map[string]any), nil
}

// reader builds values from tokens.
type reader struct{ *jsontext.Decoder }

func (r reader) value() (any, error) {
	t, err := r.ReadToken()
	if err != nil {
		return nil, r.fault(err)
	}
	switch t.Kind() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return t.String(), nil
	case '0':
		f, err := strconv.ParseFloat(t.String(), 64)
		if err != nil {
			return nil, r.fault(errors.New("a number that is out of range"))
		}
		return f, nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil // null
}

func (r reader) object() (any, error) {
	if err := r.deep(); err != nil {
		return nil, err
	}
	m := map[string]any{}
	for r.PeekKind() != '}' {
		name, err := r.ReadToken()
		if err != nil {
			return nil, r.fault(err)
		}
		key := name.String() // before the next token takes its place
		if m[key], err = r.value(); err != nil {
			return nil, err
		}
	}
	_, err := r.ReadToken()
	return m, r.fault(err)
}

func (r reader) array() (any, error) {
	if err := r.deep(); err != nil {
		return nil, err
	}
	list := []any{}
	for r.PeekKind() != ']' {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.ReadToken()
	return list, r.fault(err)
}

func (r reader) deep() error {
	if r.StackDepth() > reeve.MaxArgsDepth {
		return r.fault(fmt.Errorf("more than %d levels", reeve.MaxArgsDepth))
	}
	return nil
}

// fault gives err the place where it was met.
func (r reader) fault(err error) error {
	if err == nil {
		return nil
	}
	f := &fault{pointer: r.StackPointer(), offset: r.InputOffset(), what: err.Error()}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		f.pointer, f.offset, f.what = syntax.JSONPointer, syntax.ByteOffset, syntax.Err.Error()
	}
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		f.what = "the text ends early"
	case errors.Is(err, jsontext.ErrDuplicateName):
		f.what = "this name stands twice in one object"
	}
	return f
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "not JSON"
}

// clip keeps a place readable.
func clip(s string) string {
	if len(s) > 120 {
		s = s[:120] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
