package install

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/jsonc"
)

// Examine reports what in one settings file of the client would keep Reeve's
// hook from running or acts beside it. managed is true for a file that an
// administrator placed. Each note is one sentence with the place; text that
// cannot be read gives one note that says so. Nothing is changed.
func (c *Client) Examine(file string, src []byte, managed bool) []string {
	root, err := jsonc.Read(src)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v: %s cannot load this file", file, err, c.Product)}
	}
	if root == nil {
		return nil
	}
	x := &examiner{client: c, file: file, src: src}
	if l := root.Loose; l != nil {
		x.note(l.At, "%s; %s loads nothing of a settings file that has one, hooks included", l.What, c.Product)
	}
	if c == Claude {
		x.switches(root, managed)
	} else {
		x.strangers(root)
	}
	hooks, _ := root.Member("hooks")
	for _, event := range []string{"PreToolUse", "PreSkillShellCommand", "PermissionRequest"} {
		groups, _ := hooks.Member(event)
		x.groups(event, groups)
	}
	return x.notes
}

// switches reports the settings of Claude Code that turn hooks off.
func (x *examiner) switches(root *jsonc.Node, managed bool) {
	if root.IsTrue("disableAllHooks") {
		v, _ := root.Member("disableAllHooks")
		x.note(v.Start, "disableAllHooks is true: no hook runs, and the gate is open")
	}
	if managed && root.IsTrue("allowManagedHooksOnly") {
		v, _ := root.Member("allowManagedHooksOnly")
		x.note(v.Start, "allowManagedHooksOnly is true: only hooks of the managed settings run; ask the administrator to add Reeve's there")
	}
}

// strangers reports what makes Codex 0.171 pass over a whole hooks.json.
func (x *examiner) strangers(root *jsonc.Node) {
	if bytes.HasPrefix(x.src, jsonc.BOM) {
		x.note(0, "a byte order mark; Codex loads nothing of a file that has one, hooks included")
	}
	for _, k := range root.Kids {
		if k.Name != "hooks" && k.Name != "description" {
			x.note(k.Start, "%s; Codex loads nothing of a file with a name that it does not know, hooks included", strconv.Quote(k.Name))
		}
	}
}

type examiner struct {
	client *Client
	file   string
	src    []byte
	notes  []string
}

func (x *examiner) note(at int, format string, args ...any) {
	line, col := jsonc.Place(x.src, at)
	x.notes = append(x.notes, fmt.Sprintf("%s:%d:%d: ", x.file, line, col)+fmt.Sprintf(format, args...))
}

// groups reports the hooks of others on an event at which something may be
// allowed.
func (x *examiner) groups(event string, groups *jsonc.Node) {
	if groups == nil || groups.Kind != '[' {
		return
	}
	for _, g := range groups.Kids {
		hooks, _ := g.Value.Member("hooks")
		if hooks == nil {
			continue
		}
		for _, h := range hooks.Kids {
			if !x.client.isOurs(h.Value.Str("command")) {
				x.foreign(event, h.Value)
			}
		}
	}
}

func (x *examiner) foreign(event string, h *jsonc.Node) {
	what := h.Str("command")
	if what == "" {
		what = h.Str("url")
	}
	if len(what) > 80 {
		what = strings.ToValidUTF8(what[:80], "") + "…"
	}
	says := "it cannot lift a denial of Reeve's, but it may rewrite a call after Reeve judged it"
	if event == "PermissionRequest" {
		says = "it may answer " + x.client.Product + "'s own questions; a denial of Reeve's comes first"
	}
	if allows(h.Str("command") + h.Str("prompt")) {
		says = "it seems to allow calls; " + says
	}
	x.note(h.Start, "another hook runs at %s (%s): %s", event, strconv.Quote(what), says)
}

// allows reports whether the text of a hook itself shows that it allows.
func allows(text string) bool {
	text = strings.ReplaceAll(text, `\"`, `"`)
	for _, sign := range []string{`"allow"`, `"approve"`, `'allow'`, `'approve'`} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
