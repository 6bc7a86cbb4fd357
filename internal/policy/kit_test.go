package policy

import (
	"path"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

const (
	ws   = "/w"
	home = "/home/u"
)

// layer parses TOML or JSON rules, as the user's.
func layer(t testing.TB, text string) *Layer {
	t.Helper()
	l, err := Parse(LayerUser, "policy.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// words makes words of s: "$x" is not known, `"$x"` not known and quoted.
func words(s string) []reeve.Word {
	var all []reeve.Word
	for _, w := range strings.Fields(s) {
		all = append(all, reeve.Word{Text: w, Known: !strings.Contains(w, "$"), Quoted: strings.HasPrefix(w, `"`)})
	}
	return all
}

// run is one command; wrappers are separated from it by "|", the harmless ones
// marked by a leading plus: "+timeout 5|sudo|id".
func run(s string, marks ...reeve.CommandMark) reeve.Effect {
	parts := strings.Split(s, "|")
	c := &reeve.Command{Words: words(parts[len(parts)-1]), Dir: ws}
	for _, p := range parts[:len(parts)-1] {
		text, harmless := strings.CutPrefix(p, "+")
		c.Wrappers = append(c.Wrappers, reeve.Wrapper{Name: strings.Fields(text)[0], Text: text, Harmless: harmless})
	}
	for _, m := range marks {
		c.Marks |= m
	}
	return reeve.Effect{Kind: reeve.EffectRun, Command: c}
}

// at is a path effect with the facts of a disk without links; relative paths
// stand in the workspace.
func at(kind reeve.EffectKind, p string, marks ...reeve.PathMark) reeve.Effect {
	if !strings.HasPrefix(p, "/") {
		p = path.Join(ws, p)
	}
	e := reeve.Effect{Kind: kind, Path: p, Facts: reeve.PathFacts{Known: true, Target: p}}
	if p != ws && !strings.HasPrefix(p, ws+"/") {
		e.Facts.Marks |= reeve.PathOutside
	}
	for _, m := range marks {
		e.Facts.Marks |= m
	}
	return e
}

func read(p string, marks ...reeve.PathMark) reeve.Effect  { return at(reeve.EffectRead, p, marks...) }
func write(p string, marks ...reeve.PathMark) reeve.Effect { return at(reeve.EffectWrite, p, marks...) }
func remove(p string, marks ...reeve.PathMark) reeve.Effect {
	return at(reeve.EffectDelete, p, marks...)
}
func connect(host string) reeve.Effect { return reeve.Effect{Kind: reeve.EffectConnect, Host: host} }

// call is a call of a tool by its usual name.
func call(name string, effects ...reeve.Effect) *Input {
	in := &Input{Tool: name, Tier: reeve.TierWrite, Class: tool.ClassOther, Effects: effects,
		Facts: Facts{Workspace: ws, Home: home, Dir: ws, Mode: reeve.ModeDefault, Interactive: true, Actor: "agent:x"}}
	switch {
	case name == "bash":
		in.Class = tool.ClassBash
	case name == "read_file" || name == "grep":
		in.Class, in.Tier = tool.ClassRead, reeve.TierRead
	case name == "write_file" || name == "edit_file":
		in.Class = tool.ClassWrite
	case name == "delete_path":
		in.Class, in.Tier = tool.ClassWrite, reeve.TierDestructive
	case name == "webfetch":
		in.Class = tool.ClassWeb
	case strings.HasPrefix(name, "mcp__"):
		in.Class = tool.ClassMCP
	}
	return in
}

func (in *Input) in(mode reeve.Mode, s reeve.Sandbox) *Input {
	in.Facts.Mode, in.Facts.Sandbox = mode, s
	return in
}
