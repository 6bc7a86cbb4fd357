package policy

import (
	"strings"
	"testing"
)

func TestAddAllowKeepsEveryOtherByte(t *testing.T) {
	for _, c := range []struct{ name, src, rule, want string }{
		{"empty file", "", "bash(go test ./...)", "allow = [\"bash(go test ./...)\"]\n"},
		{"empty list", "allow = []\n", "read(*)", "allow = [\"read(*)\"]\n"},
		{"comment and other keys", "# mine\ndeny = [\"bash(sudo *)\"]\nallow = [\n  \"read(*)\", # all\n]\n", "bash(ls)",
			"# mine\ndeny = [\"bash(sudo *)\"]\nallow = [\"bash(ls)\", \n  \"read(*)\", # all\n]\n"},
		{"no allow key, a table behind", "deny = []\n\n[tiers]\nbash = \"write\"\n", "read(*)",
			"allow = [\"read(*)\"]\ndeny = []\n\n[tiers]\nbash = \"write\"\n"},
		{"there already", "allow = [\"read(*)\"]\n", "read(*)", "allow = [\"read(*)\"]\n"},
		{"quotes in the rule", "", `bash(echo "a\b")`, "allow = [\"bash(echo \\\"a\\\\b\\\")\"]\n"},
	} {
		got, err := AddAllow("policy.toml", []byte(c.src), c.rule)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
}

func TestAddAllowRefusesWhatItCannotRead(t *testing.T) {
	for _, src := range []string{"allow = [", "allow = 3\n", "{\"allow\":[]}", "alow = []\n"} {
		if out, err := AddAllow("policy.toml", []byte(src), "read(*)"); err == nil {
			t.Errorf("%q: got %q, want an error", src, out)
		} else if !strings.Contains(err.Error(), "policy.toml") {
			t.Errorf("%q: %v does not name the file", src, err)
		}
	}
}
