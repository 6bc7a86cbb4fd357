package install

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// field is one member of an object to be printed; in a list the name is empty.
type field struct {
	name string
	val  any // string, int, object or list
}

type (
	object []field
	list   []any
)

// style is how text is laid out.
type style struct {
	unit    string // one step of indentation
	nl      string // line end
	compact bool   // everything on one line; else one value a line, as JSON.stringify does with an indent
}

// print appends v; indent is that of the line it begins on.
func (s style) print(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case string:
		q, _ := jsontext.AppendQuote(nil, v) // the error tells of invalid UTF-8, which is replaced
		b.Write(q)
	case int:
		b.WriteString(strconv.Itoa(v))
	case list:
		fields := make([]field, len(v))
		for i := range v {
			fields[i].val = v[i]
		}
		s.container(b, '[', fields, indent)
	case object:
		s.container(b, '{', v, indent)
	}
}

// container never puts content directly after its opening bracket: that is
// how Remove knows a container of ours.
func (s style) container(b *strings.Builder, open byte, fields []field, indent string) {
	b.WriteByte(open)
	gap, last := s.nl+indent+s.unit, s.nl+indent
	if s.compact {
		gap, last = " ", " "
	}
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(gap)
		s.field(b, f, indent+s.unit)
	}
	b.WriteString(last)
	b.WriteByte(open + 2)
}

func (s style) field(b *strings.Builder, f field, indent string) {
	if f.name != "" {
		s.print(b, f.name, indent)
		b.WriteString(": ")
	}
	s.print(b, f.val, indent)
}

// text is one or more fields as they stand in a container that has others, or
// directly after the bracket of an empty one.
func (s style) text(indent string, fields ...field) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
			if s.compact {
				b.WriteByte(' ')
			} else {
				b.WriteString(s.nl + indent)
			}
		}
		s.field(&b, f, indent)
	}
	return b.String()
}

// styleOf reads the layout of a settings file from its first lines.
func styleOf(src []byte, root *node) style {
	s := style{unit: "  ", nl: "\n"}
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		s.nl = "\r\n"
	}
	if root == nil {
		return s
	}
	for _, k := range root.kids {
		if indent, first := indentOf(src, k.start); first && indent != "" {
			s.unit = indent
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
func (s style) after(src []byte, n *node) string {
	indent, first := indentOf(src, n.kids[len(n.kids)-1].start)
	if first {
		return indent
	}
	return indent + s.unit
}
