package install

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/reeve-gate/reeve/internal/jsonc"
)

// group is what is added to the list of one event.
func group(e Event, command string) jsonc.Object {
	hook := jsonc.Object{jsonc.F("type", "command"), jsonc.F("command", command), jsonc.F("timeout", e.Timeout)}
	g := jsonc.Object{jsonc.F("matcher", "*"), jsonc.F("hooks", jsonc.List{hook})}
	if !e.Matcher {
		g = g[1:]
	}
	return g
}

// events are the lists of the named events with our group as only element.
func (c *Client) events(command string, wanted func(Event) bool) []jsonc.Field {
	var all []jsonc.Field
	for _, e := range c.Events {
		if wanted(e) {
			all = append(all, jsonc.F(e.Name, jsonc.List{group(e, command)}))
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
		root, err := jsonc.Read(src)
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
		fresh := jsonc.Style{Unit: "  ", NL: "\n"}
		return []byte(fresh.Text("", jsonc.F("", jsonc.Object{jsonc.F("hooks", jsonc.Object(c.events(command, every)))})) + "\n"), nil
	}
	root, err := jsonc.Read(src)
	if err != nil {
		return nil, err
	}
	ins, err := c.additions(src, root, command)
	if err != nil {
		return nil, err
	}
	return jsonc.Splice(src, ins), nil
}

// additions are the insertions that add the hook to settings without it.
func (c *Client) additions(src []byte, root *jsonc.Node, command string) ([]jsonc.Span, error) {
	s := jsonc.StyleOf(src, root)
	tight := jsonc.Style{Compact: true}
	if root == nil {
		at := 0
		if bytes.HasPrefix(src, jsonc.BOM) {
			at = len(jsonc.BOM)
		}
		return []jsonc.Span{{From: at, To: at, Text: tight.Text("", jsonc.F("", jsonc.Object{jsonc.F("hooks", jsonc.Object(c.events(command, every)))}))}}, nil
	}
	if root.Kind != '{' {
		return nil, wrong(src, root.Start, "the settings are no object")
	}
	hooks, twice := root.Member("hooks")
	switch {
	case twice:
		return nil, wrong(src, hooks.Start, `"hooks" stands twice, and `+c.Product+` reads only one; join them first`)
	case hooks == nil:
		return []jsonc.Span{s.Add(src, root, tight, jsonc.F("hooks", jsonc.Object(c.events(command, every))))}, nil
	case hooks.Kind != '{':
		return nil, wrong(src, hooks.Start, `"hooks" is no object`)
	case len(hooks.Kids) == 0:
		return []jsonc.Span{s.Add(src, hooks, tight, c.events(command, every)...)}, nil
	}
	return c.perEvent(s, src, hooks, command)
}

// perEvent adds to the lists of events in hooks, which has some.
func (c *Client) perEvent(s jsonc.Style, src []byte, hooks *jsonc.Node, command string) ([]jsonc.Span, error) {
	tight := jsonc.Style{Compact: true}
	var ins []jsonc.Span
	missing := map[string]bool{}
	for _, e := range c.Events {
		groups, twice := hooks.Member(e.Name)
		switch {
		case twice:
			return nil, wrong(src, groups.Start, strconv.Quote(e.Name)+" stands twice, and "+c.Product+" reads only one; join them first")
		case groups == nil:
			missing[e.Name] = true
		case groups.Kind != '[':
			return nil, wrong(src, groups.Start, strconv.Quote(e.Name)+" is no list")
		default:
			ins = append(ins, s.Add(src, groups, tight, jsonc.F("", group(e, command))))
		}
	}
	if len(missing) > 0 {
		ins = append(ins, s.Add(src, hooks, tight, c.events(command, func(e Event) bool { return missing[e.Name] })...))
	}
	return ins, nil
}

func wrong(src []byte, at int, what string) error {
	line, col := jsonc.Place(src, at)
	return fmt.Errorf("line %d, column %d: %s", line, col, what)
}

// installed reports whether the settings hold exactly the hook that Add adds.
func (c *Client) installed(root *jsonc.Node, command string) bool {
	hooks, twice := root.Member("hooks")
	if hooks == nil || twice {
		return false
	}
	found := 0
	for _, k := range hooks.Kids {
		if k.Value.Kind != '[' {
			continue
		}
		for _, g := range k.Value.Kids {
			if c.holdsOurs(g.Value) {
				if e, known := c.eventNamed(k.Name); !known || !isGroup(g.Value, e, command) {
					return false
				}
				found++
			}
		}
	}
	for _, e := range c.Events {
		if _, twice := hooks.Member(e.Name); twice {
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
func isGroup(g *jsonc.Node, e Event, command string) bool {
	hooks, _ := g.Member("hooks")
	want := 1
	if e.Matcher {
		want = 2
	}
	if len(g.Kids) != want || e.Matcher && g.Str("matcher") != "*" || hooks == nil || hooks.Kind != '[' || len(hooks.Kids) != 1 {
		return false
	}
	h := hooks.Kids[0].Value
	timeout, _ := h.Member("timeout")
	return len(h.Kids) == 3 && h.Str("type") == "command" && h.Str("command") == command &&
		timeout != nil && timeout.Text == strconv.Itoa(e.Timeout)
}

// holdsOurs reports whether a group holds a hook of Reeve's.
func (c *Client) holdsOurs(g *jsonc.Node) bool {
	hooks, _ := g.Member("hooks")
	if hooks == nil {
		return false
	}
	for _, h := range hooks.Kids {
		if c.isOurs(h.Value.Str("command")) {
			return true
		}
	}
	return false
}
