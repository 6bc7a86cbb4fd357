package jsonc

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds on a settings file.
const (
	MaxText  = 16 << 20 // bytes; Claude Code keeps its history in the file of its servers
	maxDepth = 100
)

// Node is one JSON value with the span of bytes it stands in.
type Node struct {
	Kind       byte // '{', '[', '"' or '0' for literals and numbers
	Start, End int
	Text       string // of a string, unquoted; of a literal, as it stands
	Kids       []Kid  // of an object or array
	Loose      *Loose // the first comment or trailing comma below, for the root
}

// Kid is a member of an object or an element of an array; for an element the
// name is empty and start is that of the value.
type Kid struct {
	Name  string
	Start int // of the member's name
	Value *Node
}

// Loose is text that strict JSON does not have.
type Loose struct {
	At   int
	What string
}

// Member returns the value of the name, and whether the name stands twice.
func (n *Node) Member(name string) (v *Node, twice bool) {
	if n == nil || n.Kind != '{' {
		return nil, false
	}
	for _, k := range n.Kids {
		if k.Name == name {
			v, twice = k.Value, v != nil
		}
	}
	return v, twice
}

// Str is the value of a string member, or "".
func (n *Node) Str(name string) string {
	if v, _ := n.Member(name); v != nil && v.Kind == '"' {
		return v.Text
	}
	return ""
}

// IsTrue reports whether the member is the literal true.
func (n *Node) IsTrue(name string) bool {
	v, _ := n.Member(name)
	return v != nil && v.Kind == '0' && v.Text == "true"
}

// reader walks over the text of a settings file.
type reader struct {
	src   []byte
	at    int
	deep  int
	loose *Loose
}

// Read parses settings: JSON that may hold comments and trailing commas. The
// root is nil where there is nothing but white space. An error names line and
// column.
func Read(src []byte) (*Node, error) {
	if len(src) > MaxText {
		return nil, fmt.Errorf("%d bytes; at most %d are read", len(src), MaxText)
	}
	r := &reader{src: src}
	if bytes.HasPrefix(src, BOM) {
		r.at = len(BOM)
	}
	if err := r.space(); err != nil {
		return nil, err
	}
	if r.at == len(src) {
		if r.loose != nil {
			return nil, r.fault("there are comments, but no object")
		}
		return nil, nil
	}
	root, err := r.value()
	if err != nil {
		return nil, err
	}
	if err := r.space(); err != nil {
		return nil, err
	}
	if r.at != len(src) {
		return nil, r.fault("something follows the settings")
	}
	root.Loose = r.loose
	return root, nil
}

var BOM = []byte("\xef\xbb\xbf")

// fault is an error at the reader's place.
func (r *reader) fault(what string) error {
	line, col := Place(r.src, r.at)
	return fmt.Errorf("line %d, column %d: %s", line, col, what)
}

// Place counts lines and columns (in characters) from 1.
func Place(src []byte, at int) (line, col int) {
	before := src[:min(at, len(src))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

func (r *reader) peek() byte {
	if r.at < len(r.src) {
		return r.src[r.at]
	}
	return 0
}

// space skips white space and comments.
func (r *reader) space() error {
	for r.at < len(r.src) {
		switch c := r.src[r.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			r.at++
		case c == '/':
			if err := r.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (r *reader) comment() error {
	rest := r.src[r.at:]
	if r.loose == nil {
		r.loose = &Loose{r.at, "a comment"}
	}
	length := -1
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if length = bytes.IndexByte(rest, '\n'); length < 0 {
			length = len(rest)
		}
	case bytes.HasPrefix(rest, []byte("/*")):
		if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			length = end + 4
		}
	default:
		return r.fault("a lone slash")
	}
	if length < 0 {
		return r.fault("this comment does not end")
	}
	if !utf8.Valid(rest[:length]) {
		return r.fault("this comment is not valid UTF-8")
	}
	r.at += length
	return nil
}

func (r *reader) value() (*Node, error) {
	if r.deep++; r.deep > maxDepth {
		return nil, r.fault(fmt.Sprintf("values nest deeper than %d", maxDepth))
	}
	defer func() { r.deep-- }()
	switch c := r.peek(); c {
	case '{', '[':
		return r.container(c)
	case '"':
		return r.str()
	case 0:
		return nil, r.fault("the text ends where a value is expected")
	}
	start := r.at
	for r.at < len(r.src) && !bytes.ContainsRune([]byte(" \t\r\n,:/{}[]\""), rune(r.src[r.at])) {
		r.at++
	}
	if v := jsontext.Value(r.src[start:r.at]); len(v) == 0 || !v.IsValid() {
		r.at = start
		return nil, r.fault("no value of JSON")
	}
	return &Node{Kind: '0', Start: start, End: r.at, Text: string(r.src[start:r.at])}, nil
}

func (r *reader) str() (*Node, error) {
	start := r.at
	for r.at++; ; r.at++ {
		switch r.peek() {
		case 0, '\n':
			r.at = start
			return nil, r.fault("this string does not end on its line")
		case '\\':
			r.at++
			continue
		case '"':
		default:
			continue
		}
		break
	}
	r.at++
	text, err := jsontext.AppendUnquote(nil, r.src[start:min(r.at, len(r.src))])
	if err != nil {
		r.at = start
		return nil, r.fault("this string is no valid JSON")
	}
	return &Node{Kind: '"', Start: start, End: r.at, Text: string(text)}, nil
}

func (r *reader) container(open byte) (*Node, error) {
	n := &Node{Kind: open, Start: r.at}
	shut := open + 2 // in ASCII, each closing bracket stands two after its opening one
	comma := -1      // of the element before, not followed by one yet
	for r.at++; ; {
		if err := r.space(); err != nil {
			return nil, err
		}
		if r.peek() == shut && r.at < len(r.src) {
			if comma >= 0 && (r.loose == nil || comma < r.loose.At) {
				r.loose = &Loose{comma, "a comma after the last value"}
			}
			r.at++
			n.End = r.at
			return n, nil
		}
		if len(n.Kids) > 0 && comma < 0 {
			return nil, r.fault(fmt.Sprintf("a comma or %q is missing", shut))
		}
		k, err := r.kid(open)
		if err != nil {
			return nil, err
		}
		n.Kids = append(n.Kids, k)
		if err := r.space(); err != nil {
			return nil, err
		}
		if comma = -1; r.peek() == ',' {
			comma = r.at
			r.at++
		}
	}
}

func (r *reader) kid(open byte) (Kid, error) {
	k := Kid{Start: r.at}
	if open == '{' {
		if r.peek() != '"' {
			return k, r.fault("a name in quotation marks is expected")
		}
		name, err := r.str()
		if err != nil {
			return k, err
		}
		k.Name = name.Text
		if err := r.space(); err != nil {
			return k, err
		}
		if r.peek() != ':' {
			return k, r.fault("a colon is missing after the name")
		}
		r.at++
		if err := r.space(); err != nil {
			return k, err
		}
	}
	v, err := r.value()
	k.Value = v
	return k, err
}
