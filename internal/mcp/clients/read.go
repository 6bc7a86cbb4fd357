package clients

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"

	"github.com/reeve-gate/reeve/internal/jsonc"
	"github.com/reeve-gate/reeve/internal/late"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
)

// Found is one server of a client.
type Found struct {
	As    string        // what the client calls it
	Name  string        // what it is called here; "" where it cannot be taken over
	Entry servers.Entry // as mcp.json has it
	Own   bool          // it is Reeve itself
	Notes []string      // what of it is not taken over, and why
	Not   string        // why it cannot be taken over; "" = it can
}

// MaxText bounds a client's file.
const MaxText = jsonc.MaxText

// Read reads the servers of a place from the text of its file, by name. A
// place that is not there holds none. An error says where the text is wrong.
func (c *Client) Read(p Place, src []byte) ([]Found, error) {
	if len(src) > MaxText {
		return nil, fmt.Errorf("%d bytes; at most %d are read", len(src), MaxText)
	}
	all, err := c.values(p, src)
	if err != nil {
		return nil, err
	}
	var out []Found
	taken := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := c.found(name, all[name])
		if other := taken[f.Name]; other != "" && f.Not == "" && !f.Own {
			f.Not = fmt.Sprintf("it would be called %s here, as %q is", f.Name, other)
		}
		taken[f.Name] = name
		out = append(out, f)
	}
	return out, nil
}

// values are the servers as strict JSON.
func (c *Client) values(p Place, src []byte) (map[string]jsontext.Value, error) {
	if c.TOML {
		return tomlValues(src, c.Key)
	}
	root, err := jsonc.Read(src)
	if err != nil {
		return nil, err
	}
	list := jsonc.Get(root, append(slices.Clone(p.Inside), c.Key)...)
	if list == nil && c.Key != "mcpServers" && len(p.Inside) == 0 {
		list = jsonc.Get(root, "mcpServers") // the common form, which people write there too
	}
	if list == nil {
		return nil, nil
	}
	if list.Kind != '{' {
		line, col := jsonc.Place(src, list.Start)
		return nil, fmt.Errorf("line %d, column %d: %q is no object", line, col, c.Key)
	}
	all := map[string]jsontext.Value{}
	for _, k := range list.Kids {
		if _, twice := all[k.Name]; twice {
			line, col := jsonc.Place(src, k.Start)
			return nil, fmt.Errorf("line %d, column %d: %q stands twice", line, col, k.Name)
		}
		all[k.Name] = k.Value.Strict(src)
	}
	return all, nil
}

func tomlValues(src []byte, key string) (map[string]jsontext.Value, error) {
	var doc map[string]any
	if err := toml.Unmarshal(src, &doc); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			line, col := bad.Position()
			return nil, fmt.Errorf("line %d, column %d: %s", line, col, strings.TrimPrefix(bad.Error(), "toml: "))
		}
		return nil, err
	}
	table, ok := doc[key].(map[string]any)
	if !ok {
		if doc[key] != nil {
			return nil, fmt.Errorf("%s is no table", key)
		}
		return nil, nil
	}
	all := map[string]jsontext.Value{}
	for name, v := range table {
		raw, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", key, name, err)
		}
		all[name] = raw
	}
	return all, nil
}

// written is a server in any client's words.
type written struct {
	Command  string                    `json:"command"`
	Args     []string                  `json:"args"`
	Env      map[string]jsontext.Value `json:"env"`
	Dir      string                    `json:"cwd"`
	Type     string                    `json:"type"`
	URL      string                    `json:"url"`
	HTTP     string                    `json:"httpUrl"`   // Gemini CLI
	Server   string                    `json:"serverUrl"` // Windsurf's word, which is copied around
	Headers  map[string]string         `json:"headers"`
	Disabled bool                      `json:"disabled"`

	// Codex
	Enabled    *bool             `json:"enabled"`
	Bearer     string            `json:"bearer_token_env_var"`
	Plain      map[string]string `json:"http_headers"`
	FromEnv    map[string]string `json:"env_http_headers"`
	EnvVars    []any             `json:"env_vars"`
	StartSec   float64           `json:"startup_timeout_sec"`
	StartMilli float64           `json:"startup_timeout_ms"`
	ToolSec    float64           `json:"tool_timeout_sec"`
	Timeout    float64           `json:"timeout"` // Gemini CLI, milliseconds

	Rest map[string]jsontext.Value `json:",embed"`
}

func (c *Client) found(name string, raw jsontext.Value) Found {
	f := Found{As: name, Name: nameOf(name)}
	var w written
	if err := json.Unmarshal(raw, &w); err != nil {
		f.Name, f.Not = "", "it is written in a way that is not known here"
		return f
	}
	f.Own = isOwn(w.Command, w.Args)
	for _, k := range slices.Sorted(maps.Keys(w.Rest)) {
		f.Notes = append(f.Notes, fmt.Sprintf("%q is not taken over", k))
	}
	if f.Name != name {
		f.Notes = append(f.Notes, "it is called "+f.Name+" here")
	}
	e := &f.Entry
	e.Command, e.Args, e.Dir, e.Type, e.URL, e.Headers = w.Command, w.Args, w.Dir, w.Type, w.URL, w.Headers
	e.Disabled = w.Disabled || w.Enabled != nil && !*w.Enabled
	c.environment(&f, &w)
	c.address(&f, &w)
	limits(&f, &w, c)
	expanded(&f)
	if f.Not == "" && !f.Own {
		s, err := e.Check(f.Name)
		if err != nil {
			f.Not = err.Error()
		} else if secrets := s.Secrets(); len(secrets) > 0 {
			// No client knows such a reference: who wrote it means this vault.
			f.Not = fmt.Sprintf("it asks for %s of your vault, which no file of a client may; if you mean it, use reeve mcp add", strings.Join(secrets, ", "))
		}
	}
	if f.Not != "" {
		f.Name = ""
	}
	return f
}

func (c *Client) environment(f *Found, w *written) {
	for k, v := range w.Env {
		if f.Entry.Env == nil {
			f.Entry.Env = map[string]string{}
		}
		var text string
		switch {
		case string(v) == "null":
			f.Notes = append(f.Notes, fmt.Sprintf("the variable %s, which it takes away, is not there in any case", k))
		case json.Unmarshal(v, &text) == nil:
			f.Entry.Env[k] = text
		default:
			f.Entry.Env[k] = string(v) // a number, as it was written
		}
	}
	for _, v := range w.EnvVars {
		name, ok := v.(string)
		if m, isMap := v.(map[string]any); isMap {
			name, ok = m["name"].(string)
		}
		if !ok {
			continue
		}
		if f.Entry.Env == nil {
			f.Entry.Env = map[string]string{}
		}
		f.Entry.Env[name] = "${" + name + "}"
	}
}

func (c *Client) address(f *Found, w *written) {
	e := &f.Entry
	switch {
	case w.HTTP != "":
		e.URL = w.HTTP
	case w.Server != "" && e.URL == "":
		e.URL = w.Server
	case c == Gemini && e.URL != "" && (e.Type == "" || e.Type == "sse"):
		e.Type = "sse" // what Gemini CLI means by url
	}
	if e.URL != "" && e.Command == "" && e.Type != "sse" {
		e.Type = "http"
	}
	if e.Type == "stdio" || e.Type == "local" || e.Command != "" && e.Type == "" {
		e.Type = ""
	}
	set := func(h, v string) {
		if e.Headers == nil {
			e.Headers = map[string]string{}
		} else {
			e.Headers = maps.Clone(e.Headers)
		}
		e.Headers[h] = v
	}
	for h, v := range w.Plain {
		set(h, v)
	}
	for h, v := range w.FromEnv {
		set(h, "${"+v+"}")
	}
	if w.Bearer != "" {
		set("Authorization", "Bearer ${"+w.Bearer+"}")
	}
	if e.Type == "sse" {
		f.Not = "it speaks the transport of 2024-11-05 (sse), which is not spoken here; ask for its streamable HTTP address"
	}
	if e.URL != "" && e.Command == "" && e.Headers == nil && !f.Own {
		f.Notes = append(f.Notes, "where it asks for a sign-in in a browser (OAuth), give it a header in its place: that is not done here")
	}
}

// limits takes over how long a client waits.
func limits(f *Found, w *written, c *Client) {
	type waits struct {
		Start string `json:"start,omitzero"`
		Call  string `json:"call,omitzero"`
	}
	var l waits
	put := func(to *string, d time.Duration) {
		if d >= 100*time.Millisecond && d <= 10*time.Minute {
			*to = d.String()
		}
	}
	put(&l.Start, time.Duration(w.StartSec*float64(time.Second)))
	put(&l.Start, time.Duration(w.StartMilli*float64(time.Millisecond)))
	put(&l.Call, time.Duration(w.ToolSec*float64(time.Second)))
	put(&l.Call, time.Duration(w.Timeout*float64(time.Millisecond)))
	if l == (waits{}) {
		return
	}
	if raw, err := json.Marshal(map[string]waits{"limits": l}); err == nil {
		f.Entry.Guard = raw
	}
}

var (
	vscodeEnv  = late.New(`\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
	withPreset = late.New(`\$\{([A-Za-z_][A-Za-z0-9_]*):-[^}]*\}`)
	folder     = late.New(`\$\{(workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|input:[^}]*|[a-z]+:[^}]*|/)\}`)
	bareEnv    = late.New(`^\$([A-Za-z_][A-Za-z0-9_]*)$`)
)

// expanded turns the references of other clients into those of mcp.json.
func expanded(f *Found) {
	e := &f.Entry
	fill := func(where, s string, bare bool) string {
		s = vscodeEnv.ReplaceAllString(s, "$${$1}")
		if withPreset.MatchString(s) {
			f.Notes = append(f.Notes, "a reference with a preset value in its "+where+" is taken over without that value")
			s = withPreset.ReplaceAllString(s, "$${$1}")
		}
		if bare {
			s = bareEnv.ReplaceAllString(s, "$${$1}")
		}
		if s == "${workspaceFolder}" {
			return "."
		}
		if rest, ok := strings.CutPrefix(s, "${workspaceFolder}/"); ok {
			s = "./" + rest
		}
		if m := folder.FindString(s); m != "" && f.Not == "" {
			f.Not = fmt.Sprintf("its %s holds %s, which has no meaning here; write it out, or name a variable as ${NAME}", where, m)
		}
		return s
	}
	e.Command, e.Dir, e.URL = fill("command", e.Command, false), fill("cwd", e.Dir, false), fill("url", e.URL, false)
	if e.Dir == "." {
		e.Dir = "" // the workspace, where it is shown
	}
	e.Args = slices.Clone(e.Args)
	for i := range e.Args {
		e.Args[i] = fill("args", e.Args[i], false)
	}
	for k, v := range e.Env {
		e.Env[k] = fill("env", v, true)
	}
	for k, v := range e.Headers {
		e.Headers[k] = fill("headers", v, true)
	}
}

// nameOf makes a name of a server here of what a client calls it.
func nameOf(name string) string {
	var b strings.Builder
	last := byte('-')
	for _, r := range strings.ToLower(name) {
		c := byte('-')
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_') {
			c = byte(r)
		}
		if (c == '-' || c == '_') && (last == '-' || last == '_') {
			continue
		}
		b.WriteByte(c)
		last = c
	}
	out := b.String()
	if len(out) > servers.MaxName {
		out = out[:servers.MaxName]
	}
	return strings.Trim(out, "-_")
}

// isOwn reports whether an entry is Reeve's own.
func isOwn(command string, args []string) bool {
	base := command[strings.LastIndexByte(command, '/')+1:]
	return base == "reeve" && len(args) >= 2 && args[0] == "mcp" && args[1] == "serve"
}
