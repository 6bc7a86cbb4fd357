package install

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
)

// group is what is added to the list of one event.
func group(e Event, command string) object {
	hook := object{{"type", "command"}, {"command", command}, {"timeout", e.Timeout}}
	g := object{{"matcher", "*"}, {"hooks", list{hook}}}
	if !e.Matcher {
		g = g[1:]
	}
	return g
}

// events are the lists of the named events with our group as only element.
func (c *Client) events(command string, wanted func(Event) bool) []field {
	var all []field
	for _, e := range c.Events {
		if wanted(e) {
			all = append(all, field{e.Name, list{group(e, command)}})
		}
	}
	return all
}

func every(Event) bool { return true }

// Add puts Reeve's hook, running command, into the text of a settings file;
// exists is false where there is no such file. A hook of an earlier
// installation is replaced. Settings that have the hook already come back as
// they are. An error names line and column.
func (c *Client) Add(src []byte, exists bool, command string) ([]byte, error) {
	if exists {
		root, err := read(src)
		if err != nil {
			return nil, err
		}
		if c.installed(root, command) {
			return src, nil
		}
		if src, exists, err = c.Remove(src); err != nil {
			return nil, err
		}
	}
	if !exists {
		fresh := style{unit: "  ", nl: "\n"}
		return []byte(fresh.text("", field{"", object{{"hooks", object(c.events(command, every))}}}) + "\n"), nil
	}
	root, err := read(src)
	if err != nil {
		return nil, err
	}
	ins, err := c.additions(src, root, command)
	if err != nil {
		return nil, err
	}
	return splice(src, ins), nil
}

// additions are the insertions that add the hook to settings without it.
func (c *Client) additions(src []byte, root *node, command string) ([]span, error) {
	s := styleOf(src, root)
	tight := style{compact: true}
	if root == nil {
		at := 0
		if bytes.HasPrefix(src, bom) {
			at = len(bom)
		}
		return []span{{at, at, tight.text("", field{"", object{{"hooks", object(c.events(command, every))}}})}}, nil
	}
	if root.kind != '{' {
		return nil, wrong(src, root.start, "the settings are no object")
	}
	hooks, twice := root.member("hooks")
	switch {
	case twice:
		return nil, wrong(src, hooks.start, `"hooks" stands twice, and `+c.Product+` reads only one; join them first`)
	case hooks == nil:
		return []span{s.add(src, root, tight, field{"hooks", object(c.events(command, every))})}, nil
	case hooks.kind != '{':
		return nil, wrong(src, hooks.start, `"hooks" is no object`)
	case len(hooks.kids) == 0:
		return []span{s.add(src, hooks, tight, c.events(command, every)...)}, nil
	}
	return c.perEvent(s, src, hooks, command)
}

// perEvent adds to the lists of events in hooks, which has some.
func (c *Client) perEvent(s style, src []byte, hooks *node, command string) ([]span, error) {
	tight := style{compact: true}
	var ins []span
	missing := map[string]bool{}
	for _, e := range c.Events {
		groups, twice := hooks.member(e.Name)
		switch {
		case twice:
			return nil, wrong(src, groups.start, strconv.Quote(e.Name)+" stands twice, and "+c.Product+" reads only one; join them first")
		case groups == nil:
			missing[e.Name] = true
		case groups.kind != '[':
			return nil, wrong(src, groups.start, strconv.Quote(e.Name)+" is no list")
		default:
			ins = append(ins, s.add(src, groups, tight, field{"", group(e, command)}))
		}
	}
	if len(missing) > 0 {
		ins = append(ins, s.add(src, hooks, tight, c.events(command, func(e Event) bool { return missing[e.Name] })...))
	}
	return ins, nil
}

// add is the insertion of fields behind the last value of the container, or
// directly after the bracket of an empty one.
func (s style) add(src []byte, n *node, tight style, fields ...field) span {
	if len(n.kids) == 0 {
		return span{n.start + 1, n.start + 1, tight.text("", fields...)}
	}
	at := n.kids[len(n.kids)-1].value.end
	indent := s.after(src, n)
	return span{at, at, "," + s.nl + indent + s.text(indent, fields...)}
}

func wrong(src []byte, at int, what string) error {
	line, col := place(src, at)
	return fmt.Errorf("line %d, column %d: %s", line, col, what)
}

// installed reports whether the settings hold exactly the hook that Add adds.
func (c *Client) installed(root *node, command string) bool {
	hooks, twice := root.member("hooks")
	if hooks == nil || twice {
		return false
	}
	found := 0
	for _, k := range hooks.kids {
		if k.value.kind != '[' {
			continue
		}
		for _, g := range k.value.kids {
			if c.holdsOurs(g.value) {
				if e, known := c.eventNamed(k.name); !known || !isGroup(g.value, e, command) {
					return false
				}
				found++
			}
		}
	}
	for _, e := range c.Events {
		if _, twice := hooks.member(e.Name); twice {
			return false
		}
	}
	return found == len(c.Events)
}

func (c *Client) eventNamed(name string) (Event, bool) {
	for _, e := range c.Events {
		if e.Name == name {
			return e, true
		}
	}
	return Event{}, false
}

// isGroup reports whether the value is what group gives: nothing more, so
// that a condition or "async" slipped into it does not pass for the hook.
func isGroup(g *node, e Event, command string) bool {
	hooks, _ := g.member("hooks")
	want := 1
	if e.Matcher {
		want = 2
	}
	if len(g.kids) != want || e.Matcher && g.str("matcher") != "*" || hooks == nil || hooks.kind != '[' || len(hooks.kids) != 1 {
		return false
	}
	h := hooks.kids[0].value
	timeout, _ := h.member("timeout")
	return len(h.kids) == 3 && h.str("type") == "command" && h.str("command") == command &&
		timeout != nil && timeout.text == strconv.Itoa(e.Timeout)
}

// holdsOurs reports whether a group holds a hook of Reeve's.
func (c *Client) holdsOurs(g *node) bool {
	hooks, _ := g.member("hooks")
	if hooks == nil {
		return false
	}
	for _, h := range hooks.kids {
		if c.isOurs(h.value.str("command")) {
			return true
		}
	}
	return false
}

// span replaces the bytes from..to by text.
type span struct {
	from, to int
	text     string
}

// splice applies spans that do not overlap.
func splice(src []byte, spans []span) []byte {
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	var out []byte
	at := 0
	for _, s := range spans {
		out = append(out, src[at:s.from]...)
		out = append(out, s.text...)
		at = s.to
	}
	return append(out, src[at:]...)
}
