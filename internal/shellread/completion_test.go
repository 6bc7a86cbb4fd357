package shellread

import (
	"testing"

	"github.com/reeve-gate/reeve"
)

func TestTheCommandOfACompletionIsListed(t *testing.T) {
	for _, line := range []string{`compgen -C p6 x`, `compgen -C\ 'p6' x`, `compgen -Cp6 x`, `complete -aC p6 x`, `compgen -aCp6`} {
		listed := false
		for _, e := range Read(line, At{Dir: "/w", Home: "/h", Workspace: "/w"}) {
			listed = listed || e.Kind == reeve.EffectRun && e.Command.Program() == "p6"
		}
		if !listed {
			t.Errorf("%s: p6 is not listed", line)
		}
	}
}
