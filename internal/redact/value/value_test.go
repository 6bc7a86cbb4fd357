package value

import "testing"

func TestPlaceholdersAreToldByTheirForm(t *testing.T) {
	for v, want := range map[string]bool{
		"": true, "$X": true, "${X}": true, "$(cat f)": true, "$HOME/x": true, "%PASS%": true, "%s": true, "%(x)s": true, "{{x}}": true, "{{": true, "{x}": true, "<your key>": true, "(x)": true, "[x]": true,
		"***": true, "xxxx": true, "...": true, "op://a/b": true, "vault://a": true, "reeve://a/b": true, "[REDACTED]": true, "!secret": true, "&tok": true, "*tok": true,
		"hunter2": false, "#S3cret": false, "&S3cret": false, "<S3cret": false, "(S3cret": false, "{S3cret": false, "[S3cret": false, "$ecret!word": false, "$2b$10$abc": false, "*S3cret1": false, "x": false, "aaaa": false, "example": false, "changeme": false,
	} {
		if got := Placeholder(v); got != want {
			t.Errorf("Placeholder(%q) = %v, want %v", v, got, want)
		}
	}
}

func TestLooks(t *testing.T) {
	for name, c := range map[string]struct {
		is      func(string) bool
		yes, no []string
	}{
		"word":         {Wordy, []string{"a", "Word"}, []string{"", "a1", "a_b"}},
		"identifier":   {Identifier, []string{"x", "a.b_c", "*p", "value,", "_x1"}, []string{"", "1a", "a-b", "a/b", "p@ss"}},
		"call":         {Call, []string{"f(x)", "a.b(", "x[1]"}, []string{"f", "(x)", "p@s(s"}},
		"number":       {Number, []string{"42", "10ms", "2026-08-05", "1.5", "12:34:56"}, []string{"abc1", "hunter2", "a-b"}},
		"version":      {Version, []string{"v1.2.3", "2.10-alpine"}, []string{"1", "abc.1", "12345.6"}},
		"named secret": {NamesSecret, []string{"access_token", "password", "token,"}, []string{"hunter", "token1", "value"}},
		"neutral":      {Neutral, []string{"true", "None", "string,"}, []string{"hunter", "truely"}},
		"camel":        {Camel, []string{"TypeName", "aB"}, []string{"lower", "UPPER"}},
	} {
		for _, v := range c.yes {
			if !c.is(v) {
				t.Errorf("%q is no %s", v, name)
			}
		}
		for _, v := range c.no {
			if c.is(v) {
				t.Errorf("%q is a %s", v, name)
			}
		}
	}
}

func FuzzNoLookPanics(f *testing.F) {
	for _, s := range []string{"", "$", "%", "{", "a(", "é", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		Placeholder(v)
		Neutral(v)
		if Identifier(v) && Call(v) && !Call(v+"(") {
			t.Errorf("%q", v)
		}
		if Wordy(v) && v != "" && !Identifier(v) {
			t.Errorf("the word %q is no identifier", v)
		}
		if Number(v) && NamesSecret(v) {
			t.Errorf("%q is a number and names a secret", v)
		}
	})
}
