package servers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve/internal/jsonc"
)

// ErrThere says that a server of the name is there already, ErrNone that none
// is.
var (
	ErrThere = errors.New("there is a server of that name already")
	ErrNone  = errors.New("there is no server of that name")
)

const key = "mcpServers"

// Entry is one server as it is written into the file. What is empty is left
// out.
type Entry struct {
	Command  string            `json:"command,omitzero"`
	Args     []string          `json:"args,omitzero"`
	Env      map[string]string `json:"env,omitzero"`
	Dir      string            `json:"cwd,omitzero"`
	Type     string            `json:"type,omitzero"`
	URL      string            `json:"url,omitzero"`
	Headers  map[string]string `json:"headers,omitzero"`
	Disabled bool              `json:"disabled,omitzero"`
	Guard    jsontext.Value    `json:"x-guard,omitzero"`
}

// Check reads an entry as the file would be read.
func (e *Entry) Check(name string) (Server, error) {
	raw, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return Server{}, err
	}
	s, _, err := one(name, raw)
	return s, err
}

// Put writes a server into the text of the file, where none of its name is,
// and changes nothing else.
func Put(name string, src []byte, server string, e *Entry) ([]byte, error) {
	set, err := Parse(name, src)
	if err != nil {
		return nil, err
	}
	if _, there := set.Of(server); there {
		return nil, fmt.Errorf("%w: %s", ErrThere, server)
	}
	if _, err := e.Check(server); err != nil {
		return nil, fmt.Errorf("server %s: %w", server, err)
	}
	raw, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return edited(name, src, func(src []byte) ([]byte, error) { return jsonc.Set(src, []string{key}, server, laid(raw)) })
}

// Take takes a server out of the text of the file.
func Take(name string, src []byte, server string) ([]byte, error) {
	if err := has(name, src, server); err != nil {
		return nil, err
	}
	return edited(name, src, func(src []byte) ([]byte, error) {
		return jsonc.Delete(src, []string{key}, func(n string) bool { return n == server })
	})
}

// Switch writes whether a server is disabled.
func Switch(name string, src []byte, server string, on bool) ([]byte, error) {
	if err := has(name, src, server); err != nil {
		return nil, err
	}
	return edited(name, src, func(src []byte) ([]byte, error) {
		if on {
			return jsonc.Delete(src, []string{key, server}, func(n string) bool { return n == "disabled" })
		}
		return jsonc.Set(src, []string{key, server}, "disabled", true)
	})
}

func has(name string, src []byte, server string) error {
	set, err := Parse(name, src)
	if err != nil {
		return err
	}
	if _, there := set.Of(server); !there {
		return fmt.Errorf("%w: %s", ErrNone, server)
	}
	return nil
}

// edited changes the text and makes sure that it can still be read.
func edited(name string, src []byte, edit func([]byte) ([]byte, error)) ([]byte, error) {
	out, err := edit(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := Parse(name, out); err != nil {
		return nil, fmt.Errorf("the change makes the file unreadable, so that nothing is changed: %w", err)
	}
	return out, nil
}

// laid is a value as it is laid out member by member.
func laid(raw jsontext.Value) any {
	switch raw.Kind() {
	case '{':
		m := map[string]jsontext.Value{}
		if json.Unmarshal(raw, &m) != nil {
			return jsonc.Raw(raw)
		}
		names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(order(a)-order(b), strings.Compare(a, b)) })
		var o jsonc.Object
		for _, k := range names {
			o = append(o, jsonc.F(k, laid(m[k])))
		}
		return o
	}
	return jsonc.Raw(raw)
}

// order is how people write these members.
func order(k string) int {
	if i := slices.Index([]string{"type", "command", "args", "url", "cwd", "env", "headers", "disabled", "x-guard"}, k); i >= 0 {
		return i
	}
	return 100
}
