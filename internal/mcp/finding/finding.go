package finding

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// scan collects what is found.
type scan struct {
	where string
	found []Finding
}

func (s *scan) add(code Code, shows string) {
	f := Finding{code, s.where, visible(shows)}
	if len(s.found) < MaxFindings && !slices.ContainsFunc(s.found, func(g Finding) bool { return g.Code == f.Code && g.Where == f.Where }) {
		s.found = append(s.found, f)
	}
}

func (s *scan) text(where, text string) {
	s.where = where
	s.characters(text)
	s.alphabets(text)
	s.far(text)
	s.said(text)
	s.encoded(text)
}

// Text finds what is in one text; where is what a finding calls it.
func Text(where, text string) []Finding {
	var s scan
	s.text(where, text)
	return s.found
}

// Bounds of what is read of a definition.
const (
	maxTexts = 20000
	maxDepth = 100
)

// Definition finds what is in a definition of a tool, a prompt, a resource or
// a template, as the server gave it: in the name of every member and in every
// text, at any depth. One that cannot be read to its end is itself a finding.
func Definition(raw []byte) []Finding {
	var s scan
	left := maxTexts
	if !s.walk("", raw, 0, &left) {
		s.where = "definition"
		s.add(FarAway, "it cannot be read to its end")
	}
	return s.found
}

func (s *scan) walk(where string, v []byte, depth int, left *int) bool {
	if *left--; *left < 0 || depth > maxDepth || len(v) == 0 {
		return false
	}
	below := func(name string) string {
		if where == "" {
			return name
		}
		return where + "." + name
	}
	switch v[0] {
	case '"':
		text, ok := message.Text(v)
		if !ok {
			return false
		}
		if where == "" {
			where = "text"
		}
		s.text(where, text)
	case '{':
		o, err := message.Members(v)
		if err != nil {
			return false
		}
		for _, m := range o {
			name := clip(visible(m.Name), 60)
			s.text(below(name)+" (its name)", m.Name)
			if !s.walk(below(name), m.Value, depth+1, left) {
				return false
			}
		}
	case '[':
		list, err := message.Elements(v)
		if err != nil {
			return false
		}
		for i, one := range list {
			if !s.walk(where+"["+strconv.Itoa(i)+"]", one, depth+1, left) {
				return false
			}
		}
	}
	return true
}

// Others are the tools by whose names another may pass: of Reeve itself, of
// clients, and of the person's other servers.
type Others struct {
	Own     []string            // the other tools of the same server, which it may name
	Servers []string            // names of the other servers
	Tools   map[string][]string // what each of them calls its tools
	Native  []string            // of Reeve and of clients
}

// Names finds whether a tool passes for one that is not its own server's, by
// its name, or steers one of another server by its words.
func Names(name string, definition []byte, o Others) []Finding {
	s := scan{where: "name"}
	mine := strings.ToLower(name)
	for _, n := range o.Native {
		if alike(mine, strings.ToLower(n)) {
			s.add(Shadows, fmt.Sprintf("%q is also, or looks like, the tool %s of Reeve or of your client", name, n))
		}
	}
	for _, server := range o.Servers {
		if strings.HasPrefix(mine, server+"__") || strings.HasPrefix(mine, "mcp__") {
			s.add(Shadows, fmt.Sprintf("%q is written as a tool of server %s", name, server))
		}
		for _, other := range o.Tools[server] {
			if alike(mine, strings.ToLower(other)) {
				s.add(Shadows, fmt.Sprintf("%q is also, or looks like, the tool %s of server %s", name, other, server))
			}
		}
	}
	if strings.HasPrefix(mine, "mcp__") || strings.HasPrefix(mine, "reeve__") {
		s.add(Shadows, fmt.Sprintf("%q is written as a tool of another server", name))
	}
	s.steers(mine, definition, o)
	return s.found
}

// steers finds another server's tool named in the words of a definition.
func (s *scan) steers(mine string, definition []byte, o Others) {
	def, err := message.Members(definition)
	if err != nil {
		return
	}
	text := plain(def.Text("description"))
	s.where = "description"
	for _, server := range o.Servers {
		for _, other := range o.Tools[server] {
			other = strings.ToLower(other)
			if strings.Contains(text, server+"__"+other) {
				s.add(Shadows, fmt.Sprintf("it speaks of %s__%s, a tool of another server", server, other))
			}
			// A plain word is no name; a name of two words is.
			if other != mine && !slices.Contains(o.Own, other) && strings.ContainsAny(other, "_-") && named(text, other) {
				s.add(Shadows, fmt.Sprintf("it speaks of %s, a tool of server %s", other, server))
			}
		}
	}
}

// named reports whether a text holds a name as a word of its own.
func named(text, name string) bool {
	part := func(c byte) bool { return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' }
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(name)
		if (i == 0 || !part(text[i-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		at = i + 1
	}
}

// alike reports whether two names are one to the eye: the same without regard
// to case, separators and the characters that look like others.
func alike(a, b string) bool { return shape(a) == shape(b) }

var looks = strings.NewReplacer("0", "o", "1", "l", "i", "l", "5", "s", "rn", "m", "vv", "w", "_", "", "-", "", ".", "")

func shape(s string) string { return looks.Replace(s) }
