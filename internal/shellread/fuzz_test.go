package shellread

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
)

// FuzzRead holds Read to what its callers rest on (amendment 44): no text
// that does not parse gives a certain answer or a read-only command, every
// program that stands written out where a command begins is listed, nothing
// panics, bounds hold, and the same text gives the same answer.
func FuzzRead(f *testing.F) {
	for _, line := range history(f) {
		f.Add(line)
	}
	g := &generator{Rand: rand.New(rand.NewPCG(1, 2))}
	for i := range 300 {
		s := g.line(1 + i%4)
		if i%3 == 0 {
			s = g.shake(s)
		}
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		effects := Read(src, testAt)
		if !reflect.DeepEqual(effects, Read(src, testAt)) {
			t.Fatal("two readings differ")
		}
		untold := false
		for _, e := range effects {
			if e.Kind == reeve.EffectUnknown {
				untold = true
				if e.Why == "" {
					t.Error("unknown without a reason")
				}
				if strings.HasPrefix(e.Why, "could not be read") {
					t.Errorf("a fault of ours: %s", e.Why)
				}
			}
			checkEffect(t, e)
		}
		if len(effects) > 4*maxSteps {
			t.Errorf("%d effects", len(effects))
		}
		if len(src) > MaxText && (len(effects) != 1 || !untold) {
			t.Error("longer than the bound, and read")
		}
		file, err := syntax.NewParser().Parse(strings.NewReader(src), "")
		if err != nil || strings.ContainsAny(src, "\x00\r") {
			checkBroken(t, effects, untold)
			return
		}
		if !untold {
			checkListed(t, file, effects)
		}
	})
}

func checkEffect(t *testing.T, e reeve.Effect) {
	switch c := e.Command; {
	case e.Kind != reeve.EffectRun:
	case c == nil || len(c.Words) == 0:
		t.Error("a command without words")
	case c.Marks.Has(reeve.CommandReadOnly) && c.Marks&^(reeve.CommandReadOnly|reeve.CommandGitConfig) != 0:
		t.Errorf("%s is read-only and %s", c.Line(), marks(c.Marks))
	case c.Marks.Has(reeve.CommandReadOnly) && !c.Words[0].Known:
		t.Errorf("%s is read-only and not known", c.Line())
	}
	if e.Path != "" && e.Path[0] != '/' {
		t.Errorf("path %q is not absolute", e.Path)
	}
}

func checkBroken(t *testing.T, effects []reeve.Effect, untold bool) {
	if !untold {
		t.Error("text that does not parse has a certain answer")
	}
	for _, e := range effects {
		if e.Kind == reeve.EffectRun && e.Command.Marks.Has(reeve.CommandReadOnly) {
			t.Errorf("text that does not parse has a read-only command: %s", e.Command.Line())
		}
	}
}

// checkListed walks the tree by itself: a name that is written out where a
// command begins is in the list, as a command or as a harmless wrapper, or is
// a function of the text.
func checkListed(t *testing.T, file *syntax.File, effects []reeve.Effect) {
	listed := map[string]bool{"--": true}
	for _, e := range effects {
		if e.Kind != reeve.EffectRun {
			continue
		}
		listed[e.Command.Words[0].Text] = true
		for _, w := range e.Command.Wrappers {
			name, _, _ := strings.Cut(w.Text, " ")
			listed[name] = true
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
			listed[f.Name.Value] = true
		}
		return true
	})
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		name := call.Args[0].Lit()
		if name != "" && !strings.ContainsAny(name, "\\{}*?[]~!@+=") && !listed[name] {
			t.Errorf("%s begins a command and is not listed", name)
		}
		return true
	})
}
