package table

import (
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/shellread/words"
)

func fields(line string) []words.Word {
	var all []words.Word
	for _, f := range strings.Fields(line) {
		all = append(all, words.Plain(f))
	}
	return all
}

func TestEveryBlockOfTheTablesParses(t *testing.T) {
	all := programs()
	if len(all) < 300 {
		t.Fatalf("only %d programs", len(all))
	}
	var check func(name string, p *Program)
	check = func(name string, p *Program) {
		for i := range p.Args {
			if !strings.ContainsRune("-rwdmch+", rune(p.Args[i])) {
				t.Errorf("%s: operand letter %q", name, p.Args[i])
			}
		}
		if p.Is(ReadOnly) && p.Marks&^0x400 != 0 && p.Marks.Has(1<<3) {
			t.Errorf("%s is read-only and marked %b", name, p.Marks)
		}
		for n, s := range p.subs {
			check(name+" "+n, s)
		}
	}
	for n, p := range all {
		check(n, p)
	}
}

// TestReadOnlyProgramsHideNoHarmfulOptionBehindAHarmlessLetter: an option
// listed twice would silently keep the last meaning.
func TestNoOptionIsListedTwiceWithTwoMeanings(t *testing.T) {
	for _, text := range []string{readers, inspectors, changers, interpreters, builders, network, gitTable, wrappers} {
		seen := map[string]Effect{}
		block := ""
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			f := strings.Fields(line)
			if len(f) == 0 {
				continue
			}
			if line[0] != ' ' {
				block, seen = line, map[string]Effect{}
				continue
			}
			for _, w := range f {
				set := &flagSet{byName: map[string]*Flag{}, long: strings.Contains(block, "long1")}
				set.add(w)
				for n, fl := range set.byName {
					if e, twice := seen[n]; twice && e != fl.Effect {
						t.Errorf("%s: %s is listed twice", strings.TrimSpace(block), n)
					}
					seen[n] = fl.Effect
				}
			}
		}
	}
}
