package clients

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve/internal/jsonc"
	"github.com/reeve-gate/reeve/internal/tomlc"
)

// Own is Reeve's entry in a client's file: what serves the client.
type Own struct {
	Command string
	Args    []string
	Env     [][2]string // name and value
}

// Entry is the name under which clients have Reeve.
const Entry = "reeve"

// Move is the text of a file in which the servers of take have given way to
// Reeve's own entry, and the text of each that was taken. Everything else
// stays, with comments and order; an entry of Reeve's that is there is
// replaced. Without an entry the servers only go.
func (c *Client) Move(p Place, src []byte, take []string, own *Own) (after []byte, taken map[string]string, err error) {
	if c.TOML {
		return moveTOML(c.Key, src, take, own)
	}
	root, err := jsonc.Read(src)
	if err != nil {
		return nil, nil, err
	}
	path := c.path(p, root)
	taken = map[string]string{}
	if list := jsonc.Get(root, path...); list != nil {
		for _, k := range list.Kids {
			if slices.Contains(take, k.Name) && k.Name != Entry {
				taken[k.Name] = string(src[k.Value.Start:k.Value.End])
			}
		}
	}
	after = src
	if own != nil {
		if after, err = jsonc.Set(src, path, Entry, c.entry(*own)); err != nil {
			return nil, nil, err
		}
	}
	after, err = jsonc.Delete(after, path, func(name string) bool { _, gone := taken[name]; return gone })
	return after, taken, err
}

// path is where the list stands: the client's own member, or the common one
// where people wrote that.
func (c *Client) path(p Place, root *jsonc.Node) []string {
	path := append(slices.Clone(p.Inside), c.Key)
	if c.Key != "mcpServers" && jsonc.Get(root, path...) == nil && jsonc.Get(root, "mcpServers") != nil {
		return []string{"mcpServers"}
	}
	return path
}

func (c *Client) entry(own Own) jsonc.Object {
	args := jsonc.List{}
	for _, a := range own.Args {
		args = append(args, a)
	}
	var o jsonc.Object
	if c == Claude || c == VSCode {
		o = append(o, jsonc.F("type", "stdio"))
	}
	o = append(o, jsonc.F("command", own.Command), jsonc.F("args", args))
	if len(own.Env) > 0 {
		var env jsonc.Object
		for _, kv := range own.Env {
			env = append(env, jsonc.F(kv[0], kv[1]))
		}
		o = append(o, jsonc.F("env", env))
	}
	return o
}

// Back is the text of a file that was changed since [Client.Move]: Reeve's
// entry goes, and what was taken stands there again, unless the file has a
// server of that name meanwhile, which is then told.
func (c *Client) Back(p Place, src []byte, taken map[string]string) (after []byte, notes []string, err error) {
	if c.TOML {
		return backTOML(c.Key, src, taken)
	}
	root, err := jsonc.Read(src)
	if err != nil {
		return nil, nil, err
	}
	path := c.path(p, root)
	after = src
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		if root, err = jsonc.Read(after); err != nil {
			return nil, nil, err
		}
		if jsonc.Get(root, append(slices.Clone(path), name)...) != nil {
			notes = append(notes, fmt.Sprintf("%s is there already, and stays as it is", name))
			continue
		}
		if after, err = jsonc.Set(after, path, name, jsonc.Raw(taken[name])); err != nil {
			return nil, nil, err
		}
	}
	after, err = jsonc.Delete(after, path, func(name string) bool { return name == Entry })
	return after, notes, err
}

// moveTOML takes tables out and adds Reeve's at the end.
func moveTOML(key string, src []byte, take []string, own *Own) ([]byte, map[string]string, error) {
	names := slices.Clone(take)
	if own != nil {
		names = append(names, Entry)
	}
	spans, taken, err := tables(key, src, names)
	if err != nil {
		return nil, nil, err
	}
	delete(taken, Entry)
	for _, name := range take {
		if _, found := taken[name]; !found {
			return nil, nil, fmt.Errorf("server %s is not written as a table of its own; write it as [%s.%s]", name, key, name)
		}
	}
	after := jsonc.Splice(src, spans)
	if own == nil {
		return after, taken, parses(after)
	}
	var b strings.Builder
	if len(bytes.TrimSpace(after)) > 0 {
		if !bytes.HasSuffix(after, []byte("\n")) {
			b.WriteString("\n")
		}
		if !bytes.HasSuffix(after, []byte("\n\n")) {
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "[%s.%s]\ncommand = %s\nargs = [", key, Entry, quoted(own.Command))
	for i, a := range own.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoted(a))
	}
	b.WriteString("]\n")
	if len(own.Env) > 0 {
		fmt.Fprintf(&b, "\n[%s.%s.env]\n", key, Entry)
		for _, kv := range own.Env {
			fmt.Fprintf(&b, "%s = %s\n", kv[0], quoted(kv[1]))
		}
	}
	after = append(after, b.String()...)
	return after, taken, parses(after)
}

func backTOML(key string, src []byte, taken map[string]string) ([]byte, []string, error) {
	spans, _, err := tables(key, src, []string{Entry})
	if err != nil {
		return nil, nil, err
	}
	after := jsonc.Splice(src, spans)
	there, err := tomlValues(after, key)
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		if _, twice := there[name]; twice {
			notes = append(notes, fmt.Sprintf("%s is there already, and stays as it is", name))
			continue
		}
		if len(after) > 0 && !bytes.HasSuffix(after, []byte("\n")) {
			after = append(after, '\n')
		}
		if len(bytes.TrimSpace(after)) > 0 && !bytes.HasSuffix(after, []byte("\n\n")) {
			after = append(after, '\n')
		}
		after = append(after, taken[name]...)
	}
	return after, notes, parses(after)
}

func parses(src []byte) error {
	if _, _, err := tomlc.Read(src); err != nil {
		return fmt.Errorf("the change makes the file unreadable, so that nothing is changed: %w", err)
	}
	return nil
}

// tables are the spans of the named servers' tables, with those below them,
// and the text of each. A comment above a table stays.
func tables(key string, src []byte, names []string) ([]jsonc.Span, map[string]string, error) {
	_, all, err := tomlc.Read(src)
	if err != nil {
		return nil, nil, err
	}
	var spans []jsonc.Span
	taken := map[string]string{}
	mine := "" // the server in whose table the statements stand
	for i, st := range all {
		if st.Header {
			mine = ""
			if len(st.Path) >= 2 && st.Path[0] == key && slices.Contains(names, st.Path[1]) {
				mine = st.Path[1]
			}
		} else if mine == "" && len(st.Path) >= 2 && st.Path[0] == key && slices.Contains(names, st.Path[1]) {
			return nil, nil, fmt.Errorf("line %d: server %s is not written as a table of its own; write it as [%s.%s]", tomlc.Line(src, st.Start), st.Path[1], key, st.Path[1])
		} else if mine == "" && len(st.Path) == 1 && st.Path[0] == key {
			return nil, nil, fmt.Errorf("line %d: the servers are written in one line; write each as [%s.NAME]", tomlc.Line(src, st.Start), key)
		}
		if mine == "" {
			continue
		}
		end := st.End
		if i+1 < len(all) && strings.TrimSpace(string(src[st.End:all[i+1].Start])) == "" {
			end = all[i+1].Start // empty lines go with the table before them
		} else if i+1 == len(all) && strings.TrimSpace(string(src[st.End:])) == "" {
			end = len(src)
		} else {
			for bytes.HasPrefix(src[end:], []byte("\n")) {
				end++
			}
		}
		spans = append(spans, jsonc.Span{From: st.Start, To: end})
		taken[mine] += string(src[st.Start:end])
	}
	return spans, taken, nil
}

// quoted writes a text as TOML reads it: what JSON escapes, TOML does too.
func quoted(s string) string {
	b, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	if err != nil {
		return `""`
	}
	return strings.ReplaceAll(string(b), "\x7f", `\u007f`)
}
