package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	"github.com/reeve-gate/reeve/internal/tool"
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

var writeFile = act[writeArgs]{
	spec: tool.Spec{
		Name:        "write_file",
		Description: "Write a file of the workspace whole, making the directories above it where they are missing.",
		Schema: `{"type":"object","additionalProperties":false,"required":["path","content"],"properties":{"path":{"type":"string","minLength":1},` +
			`"content":{"type":"string"}}}`,
		Tier: reeve.TierWrite, Class: tool.ClassWrite,
	},
	effects: func(a writeArgs, at tool.Place) ([]reeve.Effect, error) {
		return onPath(reeve.EffectWrite, false)(pathArg{a.Path}, at)
	},
	texts: func(a writeArgs, at tool.Place) []tool.Text {
		return textFor(a.Path, at, tool.Text{New: a.Content, Whole: true})
	},
	run: func(_ context.Context, w *workspace, a writeArgs) (reeve.Result, error) {
		p, err := w.locate(a.Path)
		if err != nil {
			return reeve.Result{}, err
		}
		d, name, err := w.target(p, true)
		if err != nil {
			return reeve.Result{}, err
		}
		defer d.Close()
		s, err := d.Stage(name, []byte(a.Content), nil)
		if err != nil {
			return reeve.Result{}, err
		}
		if err := s.Commit(); err != nil {
			return reeve.Result{}, err
		}
		return reeve.Result{Output: fmt.Sprintf("wrote %d bytes to %s", len(a.Content), p.rel), Changed: []string{p.rel}}, nil
	},
}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

var editFile = act[editArgs]{
	spec: tool.Spec{
		Name:        "edit_file",
		Description: "Replace text in a file of the workspace. The old text must occur exactly once, unless all is true.",
		Schema: `{"type":"object","additionalProperties":false,"required":["path","old","new"],"properties":{"path":{"type":"string","minLength":1},` +
			`"old":{"type":"string","minLength":1},"new":{"type":"string"},"all":{"type":"boolean"}}}`,
		Tier: reeve.TierWrite, Class: tool.ClassWrite,
	},
	effects: func(a editArgs, at tool.Place) ([]reeve.Effect, error) {
		effects, err := onPath(reeve.EffectWrite, false)(pathArg{a.Path}, at)
		if err == nil {
			effects[0].Exists = true
		}
		return effects, err
	},
	texts: func(a editArgs, at tool.Place) []tool.Text {
		return textFor(a.Path, at, tool.Text{New: a.New, Old: a.Old})
	},
	run: runEdit,
}

func runEdit(_ context.Context, w *workspace, a editArgs) (reeve.Result, error) {
	p, err := w.locate(a.Path)
	if err != nil {
		return reeve.Result{}, err
	}
	d, name, err := w.target(p, false)
	if err != nil {
		return reeve.Result{}, err
	}
	defer d.Close()
	text, info, err := w.readIn(d, name, maxWrite)
	if err != nil {
		return reeve.Result{}, err
	}
	n := strings.Count(string(text), a.Old)
	switch {
	case a.Old == "":
		return reeve.Result{}, errors.New("the old text is empty; write_file writes a whole file")
	case n == 0:
		return reeve.Result{}, fmt.Errorf("%s does not hold the old text; read the file and copy the text exactly", p.rel)
	case n > 1 && !a.All:
		return reeve.Result{}, fmt.Errorf("%s holds the old text %d times; give more of the text around it, or set all", p.rel, n)
	}
	s, err := d.Stage(name, []byte(strings.ReplaceAll(string(text), a.Old, a.New)), nil)
	if err != nil {
		return reeve.Result{}, err
	}
	if err := s.Same(info); err != nil {
		s.Discard()
		return reeve.Result{}, err
	}
	if err := s.Commit(); err != nil {
		return reeve.Result{}, err
	}
	return reeve.Result{Output: fmt.Sprintf("changed %s in %d %s", p.rel, n, plural(n, "place")), Changed: []string{p.rel}}, nil
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// target opens the directory of a path that will be changed. A credential is
// refused, and so is a link on the way.
func (w *workspace) target(p place, make bool) (beneath.Dir, string, error) {
	if err := secret(p); err != nil {
		return beneath.Dir{}, "", err
	}
	return w.parentOf(p, make)
}
