package message

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object as its members stood, each with its value as it was
// written.
type Object []Member

// Member is one member of an object.
type Member struct {
	Name  string
	Value []byte
	key   []byte // the name as it was written, with its quotes
}

// Own is a member of ours: the value must be valid JSON.
func Own(name string, value []byte) Member { return Member{Name: name, Value: value} }

// OwnText is a member of ours that is a string. What is no valid UTF-8 in it
// becomes U+FFFD.
func OwnText(name, s string) Member { return Own(name, Quote(s)) }

// Quote writes s as a JSON string.
func Quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	if err != nil {
		return []byte(`""`) // cannot be: the text is valid UTF-8
	}
	return b
}

// Members reads an object. A name that stands twice at any level is an error.
func Members(v []byte) (Object, error) {
	dec := decoder(v)
	t, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if t.Kind() != '{' {
		return nil, errors.New("not an object")
	}
	var o Object
	for dec.PeekKind() != '}' {
		key, err := value(dec, v)
		if err != nil {
			return nil, err
		}
		name, _ := text(key)
		val, err := value(dec, v)
		if err != nil {
			return nil, err
		}
		o = append(o, Member{Name: name, Value: val, key: key})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return o, nil
}

// Elements reads a list: each element as it was written.
func Elements(v []byte) ([][]byte, error) {
	dec := decoder(v)
	t, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if t.Kind() != '[' {
		return nil, errors.New("not a list")
	}
	var list [][]byte
	for dec.PeekKind() != ']' {
		one, err := value(dec, v)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errors.New("something follows the list")
	}
	return list, nil
}

// Text is what a value means that is a string.
func Text(v []byte) (string, bool) { return text(v) }

// Texts writes a list of content blocks, each a text.
func Texts(texts ...string) []byte {
	b := []byte{'['}
	for i, s := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"type":"text","text":`...), Quote(s)...), '}')
	}
	return append(b, ']')
}

// Clip is s where it is short, else its first n bytes without a part of a
// character.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Get is the value of a member, or nil.
func (o Object) Get(name string) []byte {
	for i := range o {
		if o[i].Name == name {
			return o[i].Value
		}
	}
	return nil
}

// Text is the value of a member that is a string, or "".
func (o Object) Text(name string) string {
	s, _ := text(o.Get(name))
	return s
}

// Set gives a member a value in the place it has, or at the end. The value
// must be valid JSON.
func (o Object) Set(m Member) Object {
	for i := range o {
		if o[i].Name == m.Name {
			o[i].Value = m.Value
			return o
		}
	}
	return append(o, m)
}

// Without is the object without the members that drop names.
func (o Object) Without(drop func(name string) bool) Object {
	kept := make(Object, 0, len(o))
	for _, m := range o {
		if !drop(m.Name) {
			kept = append(kept, m)
		}
	}
	return kept
}

// Append writes the object to dst.
func (o Object) Append(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		if o[i].key != nil {
			dst = append(dst, o[i].key...)
		} else {
			dst = append(dst, Quote(o[i].Name)...)
		}
		dst = append(append(dst, ':'), o[i].Value...)
	}
	return append(dst, '}')
}

// Bytes writes the object.
func (o Object) Bytes() []byte {
	n := 2
	for i := range o {
		n += len(o[i].Name) + len(o[i].Value) + 8
	}
	return o.Append(make([]byte, 0, n))
}
