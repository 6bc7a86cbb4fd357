package suffix

import (
	"strings"
	"testing"

	"golang.org/x/net/publicsuffix"
)

// TestTheTableSaysWhatTheLibrarySays compares every name of the table, and a
// site below each, with the library that it was made from: a stale table is
// noticed.
func TestTheTableSaysWhatTheLibrarySays(t *testing.T) {
	lines := strings.Split(strings.Trim(table, "\n"), "\n")
	if len(lines) < 9000 {
		t.Fatalf("the table has %d lines", len(lines))
	}
	for i, line := range lines {
		if i%11 != 0 && line[0] != '!' && line[0] != '*' { // the table is searched line by line: a part of it will do
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(line, "!"), "*.")
		for _, n := range []string{name, "site." + name, "a.site." + name} {
			got, icann := publicsuffix.PublicSuffix(n)
			want := got == n && (icann || strings.Contains(n, "."))
			if Public(n) != want && !(n == name && Public(n)) { // the parent of a wildcard counts too
				t.Errorf("Public(%q) = %v, the library says %q, %v", n, Public(n), got, icann)
			}
		}
	}
	for name, want := range map[string]bool{"com": true, "co.uk": true, "github.io": true, "example.com": false, "localhost": false, "corp": false, "www.ck": false, "x.ck": true} {
		if Public(name) != want {
			t.Errorf("Public(%q) = %v, want %v", name, !want, want)
		}
	}
}
