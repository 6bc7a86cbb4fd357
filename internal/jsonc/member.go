package jsonc

import (
	"fmt"
	"strconv"
)

// Set gives a member of the object at path a value: in its place where it is
// there, else behind the last one. Objects of the path that are missing are
// made. Text with nothing in it becomes an object. An error names line and
// column.
func Set(src []byte, path []string, name string, val any) ([]byte, error) {
	root, err := Read(src)
	if err != nil {
		return nil, err
	}
	if root == nil {
		fresh := Style{Unit: "  ", NL: "\n"}
		return append(append([]byte{}, src...), fresh.Text("", F("", nest(path, name, val)))+"\n"...), nil
	}
	n, rest, err := descend(src, root, path)
	if err != nil {
		return nil, err
	}
	s := StyleOf(src, root)
	if len(rest) > 0 {
		return Splice(src, []Span{s.into(src, root, n, F(rest[0], nest(rest[1:], name, val)))}), nil
	}
	old, twice := n.Member(name)
	switch {
	case twice:
		return nil, wrong(src, old.Start, strconv.Quote(name)+" stands twice; join them first")
	case old == nil:
		return Splice(src, []Span{s.into(src, root, n, F(name, val))}), nil
	}
	indent, _ := indentOf(src, startOf(n, old))
	return Splice(src, []Span{{old.Start, old.End, s.Text(indent, F("", val))}}), nil
}

// into is the insertion of a member: behind the last one as they are laid out,
// or in an empty object over several lines, where the text has more than one.
func (s Style) into(src []byte, root, n *Node, f Field) Span {
	if len(n.Kids) > 0 || n == root && string(src[n.Start+1:n.End-1]) != "" {
		return s.Add(src, n, Style{Compact: true}, f)
	}
	indent, _ := indentOf(src, n.Start)
	for i := n.Start; i > 0; i-- { // the indentation of the line that the bracket is on
		if src[i-1] == '\n' {
			break
		}
		indent, _ = indentOf(src, i)
	}
	return Span{n.Start, n.End, "{" + s.NL + indent + s.Unit + s.Text(indent+s.Unit, f) + s.NL + indent + "}"}
}

func startOf(n, value *Node) int {
	for _, k := range n.Kids {
		if k.Value == value {
			return k.Start
		}
	}
	return value.Start
}

func nest(path []string, name string, val any) Object {
	o := Object{F(name, val)}
	for i := len(path) - 1; i >= 0; i-- {
		o = Object{F(path[i], o)}
	}
	return o
}

// descend walks to the object at path, or to the last one that is there, and
// says what of the path is missing.
func descend(src []byte, n *Node, path []string) (*Node, []string, error) {
	for i := 0; ; i++ {
		if n.Kind != '{' {
			return nil, nil, wrong(src, n.Start, "this is no object")
		}
		if i == len(path) {
			return n, nil, nil
		}
		next, twice := n.Member(path[i])
		if twice {
			return nil, nil, wrong(src, next.Start, strconv.Quote(path[i])+" stands twice; join them first")
		}
		if next == nil {
			return n, path[i:], nil
		}
		n = next
	}
}

// Delete takes members out of the object at path and leaves the rest, with the
// object itself. What is not there is not missed.
func Delete(src []byte, path []string, goes func(name string) bool) ([]byte, error) {
	root, err := Read(src)
	if err != nil || root == nil {
		return src, err
	}
	n, rest, err := descend(src, root, path)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return src, nil
	}
	spans := Cut(src, n, func(k Kid) bool { return goes(k.Name) })
	if len(spans) > 0 && countKept(n, goes) == 0 && Bare(src, n) {
		spans = []Span{{n.Start, n.End, "{}"}}
	}
	return Splice(src, spans), nil
}

func countKept(n *Node, goes func(string) bool) int {
	kept := 0
	for _, k := range n.Kids {
		if !goes(k.Name) {
			kept++
		}
	}
	return kept
}

// Get is the value at path, or nil.
func Get(root *Node, path ...string) *Node {
	for _, name := range path {
		root, _ = root.Member(name)
	}
	return root
}

func wrong(src []byte, at int, what string) error {
	line, col := Place(src, at)
	return fmt.Errorf("line %d, column %d: %s", line, col, what)
}

// Strict is a value as strict JSON: without comments and trailing commas.
func (n *Node) Strict(src []byte) []byte {
	switch n.Kind {
	case '{', '[':
		out := []byte{n.Kind}
		for i, k := range n.Kids {
			if i > 0 {
				out = append(out, ',')
			}
			if n.Kind == '{' {
				out = append(out, Style{Compact: true}.Text("", F("", k.Name))...)
				out = append(out, ':')
			}
			out = append(out, k.Value.Strict(src)...)
		}
		return append(out, n.Kind+2)
	}
	return append([]byte{}, src[n.Start:n.End]...)
}
