package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

type jsonReader struct {
	src []byte
	dec *jsontext.Decoder
}

func readJSON(src []byte) (*Node, error) {
	r := jsonReader{src, jsontext.NewDecoder(bytes.NewReader(src))}
	root, err := r.value(0)
	if err != nil {
		return nil, r.explain(err)
	}
	if root.Kind != Table {
		return nil, &Error{Pos: root.Pos, Msg: "a policy is a table of keys, not " + root.Kind.String()}
	}
	if _, err := r.dec.ReadToken(); err == nil {
		return nil, &Error{Pos: place(src, int(r.dec.InputOffset())), Msg: "text after the end of the policy"}
	} else if !errors.Is(err, io.EOF) {
		return nil, r.explain(err)
	}
	return root, nil
}

// next reports where the coming token starts.
func (r *jsonReader) next() Pos {
	at := int(r.dec.InputOffset())
	for at < len(r.src) && strings.IndexByte(" \t\r\n,:", r.src[at]) >= 0 {
		at++
	}
	return place(r.src, at)
}

func (r *jsonReader) value(depth int) (*Node, error) {
	n := &Node{Pos: r.next()}
	if depth > MaxDepth {
		return nil, &Error{Pos: n.Pos, Msg: fmt.Sprintf("values are nested more than %d deep", MaxDepth)}
	}
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '"':
		n.Kind, n.Str = String, tok.String()
	case 't', 'f':
		n.Kind, n.Bool = Bool, tok.Bool()
	case '[':
		n.Kind = List
		for r.dec.PeekKind() != ']' {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.List = append(n.List, item)
		}
		_, err = r.dec.ReadToken()
	case '{':
		n.Kind = Table
		for r.dec.PeekKind() != '}' {
			key := Key{Pos: r.next()}
			name, err := r.dec.ReadToken()
			if err != nil {
				return nil, err
			}
			key.Name = name.String()
			if key.Value, err = r.value(depth + 1); err != nil {
				return nil, err
			}
			n.Keys = append(n.Keys, key)
		}
		_, err = r.dec.ReadToken()
	}
	return n, err
}

// explain gives an error of the decoder its place.
func (r *jsonReader) explain(err error) error {
	var at *Error
	if errors.As(err, &at) {
		return at
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return &Error{Pos: place(r.src, int(syn.ByteOffset)), Msg: "not JSON: " + syn.Err.Error()}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Pos: place(r.src, len(r.src)), Msg: "not JSON: the text ends too early"}
	}
	return &Error{Pos: place(r.src, int(r.dec.InputOffset())), Msg: "not JSON: " + err.Error()}
}
