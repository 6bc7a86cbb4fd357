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
