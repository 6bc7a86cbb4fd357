package trial

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy"
)

// Context is what a case says of the world around its call. A key that is not
// here is refused.
type Context struct {
	Mode        string         `json:"mode"`    // default, plan, auto, dangerous
	Sandbox     string         `json:"sandbox"` // ready, reduced, missing; unavailable = missing
	Interactive *bool          `json:"interactive"`
	Hook        string         `json:"hook"`     // what a pre_tool_use hook said: allow, ask, deny, error
	Approved    jsontext.Value `json:"approved"` // true, or the exact calls that a person approved: a command, a path, an input, or a list
	Parent      jsontext.Value `json:"parent"`   // rules of the session above; both must allow
	Child       jsontext.Value `json:"child"`    // rules of the session below
	FoldCase    bool           `json:"case_insensitive"`
	Dir         string         `json:"cwd"`
	Actor       string         `json:"actor"`
	Origin      string         `json:"origin"`
	Tier        string         `json:"tier"`
}

func parseContext(text string) (Context, error) {
	var c Context
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	if err := json.Unmarshal([]byte(text), &c, json.RejectUnknownMembers(true)); err != nil {
		return c, fmt.Errorf("context-json: %w", err)
	}
	if c.Hook != "" && c.Hook != "allow" && c.Hook != "ask" && c.Hook != "deny" && c.Hook != "error" {
		return c, fmt.Errorf("context-json: hook is allow, ask, deny or error, not %q", c.Hook)
	}
	return c, nil
}

// apply puts the context into the facts of a call.
func (c *Context) apply(in *policy.Input) error {
	f := &in.Facts
	in.Tier = reeve.TierWrite
	var err error
	set := func(key, value string, parse func() error) {
		if value != "" && err == nil {
			if err = parse(); err != nil {
				err = fmt.Errorf("context-json: %s: %w", key, err)
			}
		}
	}
	set("mode", c.Mode, func() (e error) { f.Mode, e = reeve.ParseMode(c.Mode); return })
	set("sandbox", c.Sandbox, func() (e error) { f.Sandbox, e = reeve.ParseSandbox(c.Sandbox); return })
	set("actor", c.Actor, func() (e error) { f.Actor, e = parseActor(c.Actor); return })
	set("origin", c.Origin, func() (e error) { f.Origin, e = reeve.ParseOrigin(c.Origin); return })
	set("tier", c.Tier, func() (e error) { in.Tier, e = reeve.ParseTier(c.Tier); return })
	if c.Interactive != nil {
		f.Interactive = *c.Interactive
	}
	if c.Hook == "ask" {
		f.HookAsk = "a hook asks"
	}
	f.FoldCase = c.FoldCase
	return err
}

// parseActor also takes a bare kind ("child"), as conditions do.
func parseActor(s string) (reeve.Actor, error) {
	if a, err := reeve.ParseActor(s); err == nil {
		return a, nil
	}
	return reeve.ParseActor(s + ":trial")
}

// dir is the caller's directory.
func (c *Context) dir(workspace string) string {
	if c.Dir == "" || filepath.IsAbs(c.Dir) {
		return c.Dir
	}
	return filepath.Join(workspace, c.Dir)
}

// approved reports whether a person approved exactly this call.
func (c *Context) approved(input []byte) bool {
	if len(c.Approved) == 0 {
		return false
	}
	var call map[string]any
	if json.Unmarshal(input, &call) != nil {
		return false
	}
	var said any
	if json.Unmarshal(c.Approved, &said) != nil {
		return false
	}
	list, ok := said.([]any)
	if !ok {
		list = []any{said}
	}
	for _, one := range list {
		switch v := one.(type) {
		case bool:
			if v {
				return true
			}
		case string:
			for _, key := range []string{"command", "file_path", "path", "url"} {
				if call[key] == v {
					return true
				}
			}
		case map[string]any:
			a, _ := json.Marshal(v, json.Deterministic(true))
			b, _ := json.Marshal(call, json.Deterministic(true))
			if string(a) == string(b) {
				return true
			}
		}
	}
	return false
}
