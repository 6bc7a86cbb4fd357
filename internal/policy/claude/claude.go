// Package claude turns the permissions of Claude Code's settings.json into a
// policy file of ours.
//
// What has the same meaning is rewritten in our words; what has none is listed
// in a note, and becomes a question where it was a deny or an ask, and nothing
// where it was an allow. Modes, folders and hooks are not rules and are left
// out, each with a note.
package claude

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/policy/rule"
	"github.com/reeve-gate/reeve/internal/policy/tree"
)

// Import reads settings (JSON) that stand in file and returns a policy file
// (TOML) and notes for the person. The result parses.
func Import(settings []byte, file string) (toml []byte, notes []string, err error) {
	if !strings.HasSuffix(file, ".json") {
		file += ".json" // settings are JSON whatever the file is called
	}
	root, err := tree.Read(file, settings)
	if err != nil {
		return nil, nil, err
	}
	im := &importer{file: file}
	perms := root.Find("permissions")
	switch {
	case perms == nil:
		im.note("%s holds no permissions", file)
		perms = &tree.Node{Kind: tree.Table}
	case perms.Kind != tree.Table:
		return nil, nil, &tree.Error{File: file, Pos: perms.Pos, Msg: "permissions must be a table"}
	}
	im.other(root, perms)
	lists := map[string][]string{}
	for _, key := range []string{"deny", "ask", "allow"} {
		n := perms.Find(key)
		if n == nil {
			continue
		}
		if n.Kind != tree.List {
			return nil, nil, &tree.Error{File: file, Pos: n.Pos, Msg: "permissions." + key + " must be a list"}
		}
		v, _ := reeve.ParseVerdict(key)
		for _, item := range n.List {
			if item.Kind != tree.String {
				return nil, nil, &tree.Error{File: file, Pos: item.Pos, Msg: "a rule is a string"}
			}
			im.rule(lists, key, v, item)
		}
	}
	toml = write(file, lists)
	if _, err := policy.Parse(policy.LayerImport, "imported.toml", toml); err != nil {
		return nil, nil, fmt.Errorf("import %s: the result does not read: %w", file, err)
	}
	return toml, im.notes, nil
}

type importer struct {
	file  string
	notes []string
}

func (im *importer) note(format string, args ...any) {
	im.notes = append(im.notes, fmt.Sprintf(format, args...))
}

// other notes what of the settings is no rule.
func (im *importer) other(root, perms *tree.Node) {
	if m := perms.Find("defaultMode"); m != nil {
		switch m.Str {
		case "default", "":
		case "plan":
			im.note("defaultMode plan is not imported: start sessions with --mode plan")
		default:
			im.note("defaultMode %s is not imported: Reeve's modes are chosen for a session, and nothing here switches questions off", m.Str)
		}
	}
	if d := perms.Find("additionalDirectories"); d != nil && len(d.List) > 0 {
		im.note("additionalDirectories is not imported: allow single folders, as in write(//srv/data/**), or run with --write DIR")
	}
	if root.Find("hooks") != nil {
		im.note("hooks stay with Claude Code; they may only tighten what Reeve decides")
	}
	if s := root.Find("sandbox"); s != nil {
		im.note("sandbox settings are not imported: Reeve has its own boundary (reeve doctor)")
	}
}

// rule rewrites one rule.
func (im *importer) rule(lists map[string][]string, key string, v reeve.Verdict, item *tree.Node) {
	text := strings.TrimSpace(item.Str)
	at := fmt.Sprintf("line %d: %s", item.Line, text)
	ours, why := rewrite(text)
	if why == "" {
		if _, err := rule.Compile(v, ours); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		im.lost(lists, key, at, text, why)
		return
	}
	if strings.HasPrefix(text, "Bash(") && strings.HasSuffix(text, ":*)") {
		im.note("%s: read as %s; a word that only begins like the last one is not covered", at, ours)
	}
	if strings.Contains(ours, "(/") && !strings.Contains(ours, "(//") {
		im.note("%s: a path that starts with one slash is anchored at the workspace", at)
	}
	add(lists, key, ours)
}

// add puts a rule into a list, once.
func add(lists map[string][]string, key, ours string) {
	if !slices.Contains(lists[key], ours) {
		lists[key] = append(lists[key], ours)
	}
}

// lost says what becomes of a rule that has no meaning here.
func (im *importer) lost(lists map[string][]string, key, at, text, why string) {
	if key == "allow" {
		im.note("%s: left out (%s)", at, why)
		return
	}
	word, _, _ := strings.Cut(text, "(")
	if ours, other := rewrite(strings.TrimSpace(word)); other == "" {
		if _, err := rule.Compile(reeve.Ask, ours); err == nil {
			add(lists, "ask", ours)
			im.note("%s: not understood (%s); every use of %s is asked instead", at, why, ours)
			return
		}
	}
	im.note("%s: NOT IMPORTED (%s); write the rule by hand", at, why)
}

// words are Claude Code's names for what a class word of ours means.
var words = map[string]string{
	"bash": "bash", "read": "read", "edit": "write", "write": "write", "multiedit": "write", "notebookedit": "write", "webfetch": "web",
}

// rewrite says a rule in our words, or why it cannot.
func rewrite(text string) (ours, why string) {
	word, inside, found := strings.Cut(text, "(")
	word = strings.TrimSpace(word)
	if word == "" {
		return "", "it names no tool"
	}
	if found {
		if !strings.HasSuffix(inside, ")") {
			return "", "its parenthesis is not closed"
		}
		inside = strings.TrimSpace(inside[:len(inside)-1])
	}
	name, class := words[strings.ToLower(word)]
	if !class {
		name = strings.ToLower(word)
	}
	switch {
	case !found || inside == "" || inside == "*":
		return name, ""
	case name == "bash":
		if rest, ok := strings.CutSuffix(inside, ":*"); ok {
			inside = rest + " *"
		}
	case name == "web":
		if host, ok := strings.CutPrefix(inside, "domain:"); ok && host == "*" {
			return name, ""
		}
	}
	return name + "(" + inside + ")", ""
}

// write makes the file.
func write(file string, lists map[string][]string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Imported from the permissions in %s.\n", strings.ToValidUTF8(strings.Map(printable, file), ""))
	for _, key := range []string{"deny", "ask", "allow"} {
		if len(lists[key]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s = [\n", key)
		for _, r := range lists[key] {
			fmt.Fprintf(&b, "  %s,\n", tree.Quote(r))
		}
		b.WriteString("]\n")
	}
	return b.Bytes()
}

func printable(r rune) rune {
	if r < 0x20 || r == 0x7f {
		return -1
	}
	return r
}
