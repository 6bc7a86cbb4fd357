package pins

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Tell says in words what of a definition is another, one line a member: what
// it was and what it is, cut to where they differ. The lines may hold any
// character that the definitions hold, and are to be made visible where they
// are shown.
func Tell(was, now []byte) []string {
	before, after := map[string]string{}, map[string]string{}
	flatten("", was, before, 0)
	flatten("", now, after, 0)
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		b, had := before[path]
		a, has := after[path]
		switch {
		case had && has && a == b:
		case !had:
			lines = append(lines, fmt.Sprintf("%s is new: %s", path, cut(a, maxTold)))
		case !has:
			lines = append(lines, fmt.Sprintf("%s is gone; it was %s", path, cut(b, maxTold)))
		default:
			b, a = differing(b, a)
			lines = append(lines, fmt.Sprintf("%s was %s", path, cut(b, maxTold)), fmt.Sprintf("%s is %s", strings.Repeat(" ", len(path)), cut(a, maxTold)))
		}
	}
	return lines
}

// Words says what a definition says, one line for each value but its name, and
// the texts that people and models read first. Each is told to its end: what is
// cut would be accepted unseen.
func Words(raw []byte) []string {
	values := map[string]string{}
	flatten("", raw, values, 0)
	delete(values, "name")
	paths := slices.SortedFunc(maps.Keys(values), func(a, b string) int { return cmp.Or(place(a)-place(b), strings.Compare(a, b)) })
	lines := make([]string, 0, len(paths))
	for _, path := range paths {
		lines = append(lines, path+": "+values[path])
	}
	return lines
}

// place is where a value stands among those of a definition.
func place(path string) int {
	if i := slices.Index([]string{"it", "title", "description"}, path); i >= 0 {
		return i
	}
	return 3
}

const (
	maxTold  = 1000 // bytes of one value
	beside   = 30   // bytes shown beside where two texts differ
	maxNests = 100
)

// flatten lists the plain values of a definition by their paths.
func flatten(path string, v []byte, into map[string]string, depth int) {
	name := path
	if name == "" {
		name = "it"
	}
	if len(v) == 0 {
		return
	}
	if depth < maxNests {
		if o, err := message.Members(v); err == nil && len(o) > 0 {
			for _, m := range o {
				flatten(strings.TrimPrefix(path+"."+m.Name, "."), m.Value, into, depth+1)
			}
			return
		}
		if list, err := message.Elements(v); err == nil && len(list) > 0 {
			for i, one := range list {
				flatten(path+"["+strconv.Itoa(i)+"]", one, into, depth+1)
			}
			return
		}
	}
	if text, ok := message.Text(v); ok {
		into[name] = strconv.Quote(text)
		return
	}
	into[name] = string(v)
}

// differing cuts what two texts have in common at their ends.
func differing(a, b string) (string, string) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from := max(0, head-beside)
	part := func(s string) string {
		to := min(len(s), len(s)-tail+beside)
		out := strings.ToValidUTF8(s[from:to], "")
		if from > 0 {
			out = "…" + out
		}
		if to < len(s) {
			out += "…"
		}
		return out
	}
	return part(a), part(b)
}

func cut(s string, n int) string {
	if len(s) > n {
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:n], ""), len(s))
	}
	return s
}
