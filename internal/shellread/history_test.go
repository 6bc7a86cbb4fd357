package shellread

import (
	"os"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
)

func history(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/history.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, strings.ReplaceAll(line, "⏎", "\n"))
		}
	}
	return all
}

// TestOrdinaryLinesCanBeTold: answering that nothing can be told would be
// safe and of no use (amendment 39).
func TestOrdinaryLinesCanBeTold(t *testing.T) {
	lines := history(t)
	if len(lines) < 400 {
		t.Fatalf("the corpus has only %d lines", len(lines))
	}
	var untold []string
	readOnly := 0
	for _, line := range lines {
		effects := Read(line, At{Dir: "/home/u/project", Home: "/home/u", Workspace: "/home/u/project"})
		if len(effects) == 0 {
			t.Errorf("%q has no effect at all", line)
		}
		why, reads := "", true
		for _, e := range effects {
			switch {
			case e.Kind == reeve.EffectUnknown:
				why = e.Why
			case e.Kind == reeve.EffectRun && e.Command.Marks.Has(reeve.CommandUnknownProgram):
				why = "unknown program " + e.Command.Words[0].Text
			}
			reads = reads && (e.Kind == reeve.EffectRead && e.Path != "" || e.Kind == reeve.EffectRun && e.Command.Marks.Has(reeve.CommandReadOnly))
		}
		if why != "" {
			untold = append(untold, line+"\n      "+why)
		}
		if reads {
			readOnly++
		}
	}
	t.Logf("%d lines, %d cannot be told, %d only read", len(lines), len(untold), readOnly)
	for _, u := range untold {
		t.Log(u)
	}
	if len(untold)*100 > len(lines)*5 {
		t.Errorf("%d of %d ordinary lines cannot be told, more than 5 in 100", len(untold), len(lines))
	}
}
