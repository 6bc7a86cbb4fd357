package cell

import (
	"strings"
	"testing"
)

func TestACellIsOneLineThatNoTerminalObeys(t *testing.T) {
	token := "ghp_" + strings.Repeat("aB3x", 9)
	for text, want := range map[string]string{
		"plain":       "plain",
		"a\nb\tc":     `a\nb\tc`,
		"\x1b[2Jgone": `\x1b[2Jgone`,
	} {
		if got := Of(text, 0); got != want {
			t.Errorf("Of(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Of("key "+token, 0); strings.Contains(got, token) || !strings.Contains(got, "REDACTED") {
		t.Errorf("a token stands in %q", got)
	}
	if got := Of("äöüß", 3); got != "äö…" {
		t.Errorf("three runes wide: %q", got)
	}
}

func TestTextIsBrokenAtBlanksAndBracketsStayWhole(t *testing.T) {
	for _, c := range []struct {
		text string
		hang int
		want string
	}{
		{"", 0, ""},
		{"short", 0, "short"},
		{"one two three four", 0, "one two\nthree four"},
		{"one two\n\nthree", 0, "one two\n\nthree"},
		{"  run [--name N] [--a B[:C D]]... CMD", 4, "  run\n      [--name N]\n      [--a B[:C D]]...\n      CMD"},
		{"averylongwordthatstaysone x", 0, "averylongwordthatstaysone\nx"},
		{"äöü äöü äöü", 0, "äöü äöü\näöü"},
		{"a ] b", 0, "a ] b"},
		{"two  blanks", 0, "two\nblanks"},
	} {
		if got := Wrap(c.text, 10, c.hang); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
