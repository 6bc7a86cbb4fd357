package jsonc

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Field is one member of an Object to be printed; in a List the name is empty.
type Field struct {
	Name string
	Val  any // string, int, bool, Object, List or Raw
}

// F is a member of that name and value.
func F(name string, val any) Field { return Field{name, val} }

type (
	Object []Field
	List   []any
	Raw    []byte // a value as it is to stand there
)

// Style is how text is laid out.
type Style struct {
	Unit    string // one step of indentation
	NL      string // line end
	Compact bool   // everything on one line; else one value a line, as JSON.stringify does with an indent
}

// print appends v; indent is that of the line it begins on.
func (s Style) print(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case string:
		q, _ := jsontext.AppendQuote(nil, v) // the error tells of invalid UTF-8, which is replaced
		b.Write(q)
	case int:
		b.WriteString(strconv.Itoa(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case Raw:
		b.Write(v)
	case List:
		fields := make([]Field, len(v))
		for i := range v {
			fields[i].Val = v[i]
		}
		s.container(b, '[', fields, indent)
	case Object:
		s.container(b, '{', v, indent)
	}
}

// container never puts content directly after its opening bracket: that is
// how Remove knows a container of ours.
func (s Style) container(b *strings.Builder, open byte, fields []Field, indent string) {
	b.WriteByte(open)
	gap, last := s.NL+indent+s.Unit, s.NL+indent
	if s.Compact {
		gap, last = " ", " "
	}
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(gap)
		s.field(b, f, indent+s.Unit)
	}
	b.WriteString(last)
	b.WriteByte(open + 2)
}

func (s Style) field(b *strings.Builder, f Field, indent string) {
	if f.Name != "" {
		s.print(b, f.Name, indent)
		b.WriteString(": ")
	}
	s.print(b, f.Val, indent)
}

// Text is one or more fields as they stand in a container that has others, or
// directly after the bracket of an empty one.
func (s Style) Text(indent string, fields ...Field) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
			if s.Compact {
				b.WriteByte(' ')
			} else {
				b.WriteString(s.NL + indent)
			}
		}
		s.field(&b, f, indent)
	}
	return b.String()
}

// StyleOf reads the layout of a settings file from its first lines.
func StyleOf(src []byte, root *Node) Style {
	s := Style{Unit: "  ", NL: "\n"}
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		s.NL = "\r\n"
	}
	if root == nil {
		return s
	}
	for _, k := range root.Kids {
		if indent, first := indentOf(src, k.Start); first && indent != "" {
			s.Unit = indent
			break
		}
	}
	return s
}

// indentOf is the white space that the line of at begins with, and whether
// nothing else stands before at.
func indentOf(src []byte, at int) (indent string, first bool) {
	start := bytes.LastIndexByte(src[:at], '\n') + 1
	end := start
	for end < at && (src[end] == ' ' || src[end] == '\t') {
		end++
	}
	return string(src[start:end]), end == at && start > 0
}

// after is the indentation for a new value behind the container's last one.
func (s Style) after(src []byte, n *Node) string {
	indent, first := indentOf(src, n.Kids[len(n.Kids)-1].Start)
	if first {
		return indent
	}
	return indent + s.Unit
}
