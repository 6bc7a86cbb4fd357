package shape

import "testing"

func TestShapesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All {
		switch {
		case len(s.Prefix) < 3:
			t.Errorf("%q is found in any text", s.Prefix)
		case s.Min < 10 || s.Min > Enough:
			t.Errorf("%s wants %d bytes; at least 10 and at most what is looked at", s.Prefix, s.Min)
		case s.Max != 0 && s.Max < s.Min:
			t.Errorf("%s is longer than it may be", s.Prefix)
		case seen[s.Prefix]:
			t.Errorf("%s stands twice", s.Prefix)
		case s.Class == 0:
			t.Errorf("%s is made of nothing", s.Prefix)
		}
		seen[s.Prefix] = true
	}
}

// TestLongerPrefixesAreTriedFirst: sk-ant- before sk-.
func TestLongerPrefixesAreTriedFirst(t *testing.T) {
	for _, list := range ByStart {
		for i := 1; i < len(list); i++ {
			if len(list[i-1].Prefix) < len(list[i].Prefix) {
				t.Errorf("%s stands before %s", list[i-1].Prefix, list[i].Prefix)
			}
		}
	}
}
