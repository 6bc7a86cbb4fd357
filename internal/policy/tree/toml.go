package tree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// readTOML lets the library's decoder check the whole document first (types,
// duplicate keys, tables defined twice) and then walks the syntax tree, which
// alone knows where things stand.
func readTOML(src []byte) (*Node, error) {
	var whole map[string]any
	if err := toml.Unmarshal(src, &whole); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, col := at.Position()
			return nil, &Error{Pos: Pos{max(line, 1), max(col, 1)}, Msg: "not TOML: " + strings.TrimPrefix(at.Error(), "toml: ")}
		}
		return nil, &Error{Pos: Pos{1, 1}, Msg: "not TOML: " + err.Error()}
	}
	r := &tomlReader{src: src, root: &Node{Pos: Pos{1, 1}, Kind: Table}}
	r.here = r.root
	r.Reset(src)
	for r.NextExpression() {
		if err := r.expression(r.Expression()); err != nil {
			return nil, err
		}
	}
	if err := r.Error(); err != nil {
		return nil, &Error{Pos: Pos{1, 1}, Msg: "not TOML: " + err.Error()}
	}
	return r.root, nil
}

type tomlReader struct {
	unstable.Parser
	src  []byte
	root *Node
	here *Node // the table that plain keys go into
	last Pos   // of the last scalar or key; where a list begins is not recorded
}

func (r *tomlReader) expression(e *unstable.Node) error {
	switch e.Kind {
	case unstable.KeyValue:
		return r.pair(r.here, e, 0)
	case unstable.Table, unstable.ArrayTable:
		at := r.root
		keys := e.Key()
		for keys.Next() {
			k := keys.Node()
			list := e.Kind == unstable.ArrayTable && keys.IsLast()
			var err error
			if at, err = r.enter(at, string(k.Data), r.pos(k), list); err != nil {
				return err
			}
		}
		r.here = at
	}
	return nil
}

// enter steps into the table called name, making it where it is not there;
// in a list of tables the last one is meant, or a new one where list is set.
func (r *tomlReader) enter(n *Node, name string, at Pos, list bool) (*Node, error) {
	child := n.Find(name)
	if child == nil {
		child = &Node{Pos: at, Kind: Table}
		if list {
			child.Kind = List
		}
		n.Keys = append(n.Keys, Key{at, name, child})
	}
	switch {
	case child.Kind == Table && !list:
		return child, nil
	case child.Kind == List && list:
		child.List = append(child.List, &Node{Pos: at, Kind: Table})
		fallthrough
	case child.Kind == List && len(child.List) > 0 && child.List[len(child.List)-1].Kind == Table:
		return child.List[len(child.List)-1], nil
	}
	return nil, &Error{Pos: at, Msg: fmt.Sprintf("key %q is defined twice", name)}
}

func (r *tomlReader) pair(into *Node, e *unstable.Node, depth int) error {
	keys := e.Key()
	for keys.Next() {
		k := keys.Node()
		at := r.pos(k)
		r.last = at
		if !keys.IsLast() {
			var err error
			if into, err = r.enter(into, string(k.Data), at, false); err != nil {
				return err
			}
			continue
		}
		if into.Find(string(k.Data)) != nil {
			return &Error{Pos: at, Msg: fmt.Sprintf("key %q is defined twice", k.Data)}
		}
		if e.Value().Kind == unstable.Array {
			r.last = r.after(k)
		}
		v, err := r.value(e.Value(), depth+1)
		if err != nil {
			return err
		}
		into.Keys = append(into.Keys, Key{at, string(k.Data), v})
	}
	return nil
}

func (r *tomlReader) value(e *unstable.Node, depth int) (*Node, error) {
	n := &Node{Pos: r.last}
	if depth > MaxDepth {
		return nil, &Error{Pos: n.Pos, Msg: fmt.Sprintf("values are nested more than %d deep", MaxDepth)}
	}
	switch e.Kind {
	case unstable.String:
		n.Kind, n.Str, n.Pos = String, string(e.Data), r.pos(e)
	case unstable.Bool:
		n.Kind, n.Bool, n.Pos = Bool, string(e.Data) == "true", r.pos(e)
	case unstable.Array:
		n.Kind = List
		items := e.Children()
		for items.Next() {
			if items.Node().Kind == unstable.Comment {
				continue
			}
			v, err := r.value(items.Node(), depth+1)
			if err != nil {
				return nil, err
			}
			n.List = append(n.List, v)
		}
	case unstable.InlineTable:
		n.Kind, n.Pos = Table, r.pos(e)
		pairs := e.Children()
		for pairs.Next() {
			if pairs.Node().Kind == unstable.Comment {
				continue
			}
			if err := r.pair(n, pairs.Node(), depth); err != nil {
				return nil, err
			}
		}
	default:
		n.Pos = r.pos(e)
	}
	r.last = n.Pos
	return n, nil
}

// after is where the value of a key stands: a list has no range of its own,
// but begins on the key's line, after blanks and the equals sign.
func (r *tomlReader) after(key *unstable.Node) Pos {
	at := int(key.Raw.Offset + key.Raw.Length)
	for at < len(r.src) && (r.src[at] == ' ' || r.src[at] == '\t' || r.src[at] == '=') {
		at++
	}
	return place(r.src, at)
}

// pos is where e stands; nodes without a range of their own take the place of
// what came before them.
func (r *tomlReader) pos(e *unstable.Node) Pos {
	if e.Raw.Length == 0 && e.Raw.Offset == 0 {
		return r.last
	}
	return place(r.src, int(e.Raw.Offset))
}
