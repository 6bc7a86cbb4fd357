package known

import (
	"strings"
	"testing"
)

func yes(int) bool { return true }

func TestTheLongestFormIsFoundAndALongerOneAwaited(t *testing.T) {
	k := New([]string{"abcdefgh", "abcdefghijkl", "zzzzzz"}, noMark)
	for _, c := range []struct {
		in   string
		n    int
		more bool
	}{
		{"abcdefgh!", 8, false}, {"abcdefghijkl", 12, false}, {"abcdefghijk", 8, true}, {"abcdefg", 0, true}, {"abcdefx", 0, false},
		{"a", 0, true}, {"abc", 0, true}, {"abx", 0, false}, {"", 0, true}, {"b", 0, false}, {"zzzzz", 0, true},
	} {
		if n, more := k.At(c.in, yes); n != c.n || more != c.more {
			t.Errorf("At(%q) = %d, %v, want %d, %v", c.in, n, more, c.n, c.more)
		}
	}
	if n, _ := k.At("abcdefghijkl", func(n int) bool { return n != 12 }); n != 8 {
		t.Errorf("with the longest refused: %d, want 8", n)
	}
}

func TestNoFormIsShortOrAMark(t *testing.T) {
	k := New([]string{"short", "K]aaaa", "[MARK]", "x[MARK]y", "line one is long\nno\nline three is long"}, noMark)
	for _, list := range k.forms {
		for _, f := range list {
			if len(f) < MinLen || strings.Contains(f, "[MARK]") || strings.Contains("[MARK]", f) || f == "no" {
				t.Errorf("form %q", f)
			}
		}
	}
	for _, want := range []string{"line one is long", "line three is long", `line one is long\nno\nline three is long`} {
		if n, _ := k.At(want, yes); n != len(want) {
			t.Errorf("%q is not found", want)
		}
	}
}

func TestALongValueIsCoveredByItsPieces(t *testing.T) {
	v := strings.Repeat("0123456789abcdef", 700) + "tail"
	k := New([]string{v}, noMark)
	at := 0
	for at < len(v) {
		n, _ := k.At(v[at:min(len(v), at+2*maxForm)], yes)
		if n == 0 {
			t.Fatalf("nothing is found at byte %d of %d", at, len(v))
		}
		at += n
	}
}

// FuzzEveryFormIsFoundWhereItStands: the beginning of a form leads to the whole.
func FuzzEveryFormIsFoundWhereItStands(f *testing.F) {
	for _, s := range []string{"secret-value", "p@ss w\"rd", "π-held", "\x00\x01\x02\x03\x04\x05", "a\nb\nc is a long line", "%41%42%43"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		k := New([]string{v}, noMark)
		heads := map[string]bool{}
		for head := range k.Heads() {
			heads[string(head[:])] = true
		}
		for _, form := range formsOf(v) {
			if len(form) < MinLen || strings.Contains("[MARK]", form) || strings.Contains(form, "[MARK]") {
				continue
			}
			if n, _ := k.At(form+"!", yes); n < len(form) {
				t.Errorf("%q of %q is found for %d bytes", form, v, n)
			}
			if !heads[form[:headLen]] {
				t.Errorf("%q of %q has no head", form, v)
			}
		}
	})
}

func noMark(form string) bool {
	return strings.Contains("[MARK]", form) || strings.Contains(form, "[MARK]")
}
