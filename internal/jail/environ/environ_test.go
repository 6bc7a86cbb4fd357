package environ

import (
	"slices"
	"strings"
	"testing"
)

func TestSecretsAreKnownByNameByShapeAndByAddress(t *testing.T) {
	for kv, want := range map[string]bool{
		"GITHUB_TOKEN=x": true, "my_secret=x": true, "DB_PASSWORD=x": true, "AWS_ACCESS_KEY_ID=x": true, "NPM_CONFIG__AUTH=x": true,
		"EDITOR=ghp_abc": true, "EDITOR=sk-abc": true, "X=-----BEGIN PRIVATE KEY-----": true, "P=http://u:p@h/": true, "P=https://token@h": true,
		"EDITOR=vim": false, "P=http://h/a@b": false, "LANG=C": false, "PATH=/bin": false,
	} {
		name, value, _ := strings.Cut(kv, "=")
		if got := Secret(name, value); got != want {
			t.Errorf("%s: secret %v, want %v", kv, got, want)
		}
	}
}

func TestTheLastOfSeveralEntriesCounts(t *testing.T) {
	env := []string{"A=1", "B=2", "A=3", "C"}
	if got := Lookup(env, "A"); got != "3" {
		t.Errorf("got %q", got)
	}
	if got := List(Passing([]string{"TERM=a", "TERM=b", "LC_ALL=c", "NOPE=d", "LANG=\x00"})); !slices.Equal(got, []string{"LC_ALL=c", "TERM=b"}) {
		t.Errorf("got %v", got)
	}
}
