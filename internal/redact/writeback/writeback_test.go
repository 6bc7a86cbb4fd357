package writeback

import (
	"strings"
	"testing"
)

func TestAMarkMayOnlyStandWhereItStood(t *testing.T) {
	const masked = "[REDACTED]"
	for _, tt := range []struct {
		name        string
		c           Change
		held, shown string
		want        string
	}{
		{"no mark", Change{New: "a", Whole: true}, "password=x9", "password=" + masked, ""},
		{"read and written back", Change{New: "password=" + masked + "\nb\n", Whole: true}, "password=x9\na\n", "password=" + masked + "\na\n", masked},
		{"a new file", Change{New: masked, Whole: true}, "", "", masked},
		{"documentation keeps its mark", Change{New: "see " + masked + ".", Whole: true}, "see " + masked, "see " + masked, ""},
		{"documentation says it twice", Change{New: masked + masked, Whole: true}, "see " + masked, "see " + masked, ""},
		{"a comment beside a secret", Change{New: masked + "\npassword=" + masked, Whole: true}, masked + "\npassword=x9", masked + "\npassword=" + masked, masked},
		{"only the comment of it", Change{New: masked + "\n", Whole: true}, masked + "\npassword=x9", masked + "\npassword=" + masked, ""},
		{"an edit that brings one", Change{Old: "port=1", New: "port=1\npassword=" + masked}, "port=1", "port=1", masked},
		{"an edit that keeps one", Change{Old: "# " + masked, New: "// " + masked}, "# " + masked + "\npassword=x9", "# " + masked + "\npassword=" + masked, ""},
		{"an edit that takes one away", Change{Old: masked, New: ""}, masked, masked, ""},
		{"another kind", Change{New: "[REDACTED:github-token]", Whole: true}, masked, masked, "[REDACTED:github-token]"},
		{"which one it was", Change{New: "a [REDACTED:github-token#3f2a]"}, "[REDACTED:github-token#0000]", "[REDACTED:github-token#0000]", "[REDACTED:github-token#3f2a]"},
		{"personal data", Change{New: "to: [PII REDACTED]", Whole: true}, "to: x@example.org", "to: x@example.org", "[PII REDACTED]"},
		{"somebody else's brackets", Change{New: "[REDACTED:by-court] [REDACTED [[]", Whole: true}, "", "", ""},
	} {
		if got := Lost(tt.c, tt.held, tt.shown); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWhatMayHoldAMarkIsSuspect(t *testing.T) {
	for args, want := range map[string]bool{
		`{"content":"[REDACTED]"}`:                        true,
		`{"content":"[PII REDACTED]"}`:                    true,
		`{"content":"\u005b\u0052EDACTED]"}`:              true,
		`{"content":"plain \"text\" with\nlines [x] {}"}`: false,
	} {
		if Suspect([]byte(args)) != want {
			t.Errorf("%s: not %v", args, want)
		}
	}
}

// FuzzLost: what holds no mark loses nothing, and what is there already may
// be written again.
func FuzzLost(f *testing.F) {
	f.Add("password=[REDACTED]", "[REDACTED:github-token#3f2a]", "[PII REDACTED]")
	f.Fuzz(func(t *testing.T, text, old, held string) {
		m := Lost(Change{New: text, Old: old}, held, held)
		if m != "" && !In(text) || m != "" && !strings.Contains(text, m) {
			t.Errorf("%q lost %q", text, m)
		}
		if m := Lost(Change{New: held, Whole: true}, held, held); m != "" {
			t.Errorf("%q cannot be written again: %q", held, m)
		}
	})
}
