package catalog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Mirror is a parameter that HTTP repeats in a header (MCP 2026-07-28, custom
// headers from tool parameters).
type Mirror struct {
	Header string   // without Mcp-Param-
	Path   []string // property names from the root of the arguments
	kind   string   // string, integer, boolean
}

// mirrorWord marks such a parameter in a schema.
const mirrorWord = "x-mcp-header"

// MirrorsOf reads them from a tool's schema. A mark that breaks the rules for
// it makes the tool one that cannot be used.
func MirrorsOf(schema []byte) ([]Mirror, error) {
	if !strings.Contains(string(schema), mirrorWord) {
		return nil, nil
	}
	root, err := message.Members(schema)
	if err != nil {
		return nil, err
	}
	w := mirrors{seen: map[string]bool{}}
	if err := w.properties(root, nil); err != nil {
		return nil, err
	}
	if marks := count(schema); marks != len(w.all) {
		return nil, errors.New(mirrorWord + " stands where no plain parameter is")
	}
	return w.all, nil
}

type mirrors struct {
	all  []Mirror
	seen map[string]bool
}

// properties walks down the chain of properties alone.
func (w *mirrors) properties(schema message.Object, path []string) error {
	props := schema.Get("properties")
	if props == nil {
		return nil
	}
	all, err := message.Members(props)
	if err != nil {
		return nil // not an object: it has no properties, and marks in it are counted
	}
	for _, p := range all {
		sub, err := message.Members(p.Value)
		if err != nil {
			continue
		}
		at := append(path[:len(path):len(path)], p.Name)
		if mark := sub.Get(mirrorWord); mark != nil {
			m := Mirror{Path: at, kind: sub.Text("type")}
			var ok bool
			if m.Header, ok = message.Text(mark); !ok || !token(m.Header) {
				return fmt.Errorf("%s of %s is no name of a header", mirrorWord, strings.Join(at, "."))
			}
			if m.kind != "string" && m.kind != "integer" && m.kind != "boolean" {
				return fmt.Errorf("%s stands at %s, which is no text, whole number or truth value", mirrorWord, strings.Join(at, "."))
			}
			if low := strings.ToLower(m.Header); w.seen[low] {
				return fmt.Errorf("%s %s stands twice", mirrorWord, m.Header)
			} else {
				w.seen[low] = true
			}
			w.all = append(w.all, m)
		}
		if err := w.properties(sub, at); err != nil {
			return err
		}
	}
	return nil
}

// count counts the members of that name at any level, where a schema could
// stand. A property that is itself called so is no mark, but then its own
// schema stands there, which is an object.
func count(v []byte) int {
	n := 0
	if o, err := message.Members(v); err == nil {
		for _, m := range o {
			if m.Name == mirrorWord && m.Value[0] != '{' {
				n++
			}
			n += count(m.Value)
		}
		return n
	}
	if list, err := message.Elements(v); err == nil {
		for _, one := range list {
			n += count(one)
		}
	}
	return n
}

// token is a field name of RFC 9110, section 5.1.
func token(s string) bool {
	if s == "" || len(s) > 100 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return true
}

// Value is what the header holds for these arguments; false where it is left
// out.
func (m *Mirror) Value(args []byte) (string, bool) {
	for i, name := range m.Path {
		o, err := message.Members(args)
		if err != nil {
			return "", false
		}
		args = o.Get(name)
		if args == nil || string(args) == "null" {
			return "", false
		}
		if i == len(m.Path)-1 {
			break
		}
	}
	switch m.kind {
	case "string":
		return message.Text(args)
	case "boolean":
		return string(args), string(args) == "true" || string(args) == "false"
	}
	f, err := strconv.ParseFloat(string(args), 64)
	if err != nil || f != float64(int64(f)) || f < -(1<<53-1) || f > 1<<53-1 {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}

// Matches reports whether a header that was sent says what the arguments say.
func (m *Mirror) Matches(args []byte, sent string, given bool) bool {
	want, has := m.Value(args)
	if !has || !given {
		return has == given
	}
	if m.kind != "integer" {
		return want == sent
	}
	a, aerr := strconv.ParseFloat(want, 64)
	b, berr := strconv.ParseFloat(sent, 64)
	return aerr == nil && berr == nil && a == b
}
