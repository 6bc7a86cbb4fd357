package args

import (
	"bytes"
	"io"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
)

// plain is a schema of the common kind: an object of named properties with
// simple types. It can say yes to a text without building the value, in a
// tenth of the library's time; whatever it is not sure of, the library
// decides. A fuzz test holds its yes to the library's.
type plain struct {
	open     bool // additional properties are taken
	required uint64
	props    map[string]prop
}

// prop is one property of a plain schema.
type prop struct {
	bit      uint64 // in plain.required
	kind     string
	nonEmpty bool
	minimum  *float64
}

// plainOf reads a schema text; nil where any part of it is not plain.
func plainOf(schema string) *plain {
	var s struct {
		Type     string   `json:"type"`
		More     *bool    `json:"additionalProperties"`
		Required []string `json:"required"`
		Props    map[string]struct {
			Type    string         `json:"type"`
			MinLen  int            `json:"minLength"`
			Minimum *float64       `json:"minimum"`
			About   string         `json:"description"`
			Rest    map[string]any `json:",embed"`
		} `json:"properties"`
		Rest map[string]any `json:",embed"`
	}
	if err := json.Unmarshal([]byte(schema), &s); err != nil || s.Type != "object" || len(s.Rest) > 0 || len(s.Props) > 64 {
		return nil
	}
	p := &plain{open: s.More == nil || *s.More, props: map[string]prop{}}
	for name, v := range s.Props {
		switch v.Type {
		case "string", "integer", "boolean":
		default:
			return nil
		}
		if len(v.Rest) > 0 || v.MinLen > 1 || v.MinLen < 0 || v.MinLen > 0 && v.Type != "string" || v.Minimum != nil && v.Type != "integer" {
			return nil
		}
		p.props[name] = prop{1 << len(p.props), v.Type, v.MinLen > 0, v.Minimum}
	}
	for _, name := range s.Required {
		v, ok := p.props[name]
		if !ok {
			return nil
		}
		p.required |= v.bit
	}
	return p
}

// decoders are used again, since a new one costs more than a check.
var decoders = sync.Pool{New: func() any { return &pooled{Decoder: jsontext.NewDecoder(bytes.NewReader(nil))} }}

type pooled struct {
	*jsontext.Decoder
	text bytes.Buffer
}

// holds reports that raw is one strict object which matches. False says
// nothing.
func (p *plain) holds(raw []byte) bool {
	if len(raw) > reeve.MaxArgs || nesting(raw) > reeve.MaxArgsDepth {
		return false
	}
	d := decoders.Get().(*pooled)
	defer decoders.Put(d)
	d.text = *bytes.NewBuffer(raw) // read in place; the decoder does not write to it
	d.Reset(&d.text)
	defer func() { d.text = bytes.Buffer{} }()
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	missing := p.required
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil || bytes.IndexByte(name, '\\') >= 0 {
			return false
		}
		want, known := p.props[string(name[1:len(name)-1])]
		missing &^= want.bit
		if !known && !p.open {
			return false
		}
		v, err := d.ReadValue()
		if err != nil || known && !want.takes(v) {
			return false
		}
	}
	if t, err := d.ReadToken(); err != nil || t.Kind() != '}' || missing != 0 {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF
}

// takes reports that a value is of the property's type and within its bound.
func (w prop) takes(v jsontext.Value) bool {
	switch v.Kind() {
	case '"':
		return w.kind == "string" && (!w.nonEmpty || len(v) > len(`""`))
	case 't', 'f':
		return w.kind == "boolean"
	case '0':
		n, ok := small(v)
		return w.kind == "integer" && ok && (w.minimum == nil || n >= *w.minimum)
	}
	return false
}

// small reads a plain whole number of at most 15 digits.
func small(v []byte) (n float64, ok bool) {
	sign := 1.0
	if v[0] == '-' {
		sign, v = -1, v[1:]
	}
	if len(v) > 15 {
		return 0, false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + float64(c-'0')
	}
	return sign * n, true
}

// nesting is how deep the brackets of a text go, outside its strings.
func nesting(raw []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}
