package ref

import (
	"path/filepath"
	"strings"
	"testing"
)

// FuzzAcceptedNamesAreTwoSafeWords: a name that is accepted comes back as it was,
// is one reference, and neither half could leave a directory.
func FuzzAcceptedNamesAreTwoSafeWords(f *testing.F) {
	for _, s := range []string{"github/token", "a/b/c", "../x", "a/..", "reeve://a/b", "a/b\n", "/", "a\x00/b", "-a/b", "é/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			if n != (Name{}) {
				t.Errorf("%q is refused and gives %v", s, n)
			}
			return
		}
		back, ok, err := Parse(n.Reference())
		if n.String() != s || !ok || err != nil || back != n {
			t.Errorf("%q comes back as %v, %v, %v", s, back, ok, err)
		}
		for _, word := range []string{n.Service, n.Key} {
			if filepath.Dir(filepath.Join("/base", word)) != "/base" || strings.ContainsAny(word, "=\n\x00 \"'$") || len(word) > 63 {
				t.Errorf("%q has the word %q", s, word)
			}
		}
	})
}

func TestWipingOverwritesWhatTheSliceHasRoomFor(t *testing.T) {
	b := []byte("secret value")
	Wipe(b[:3], nil)
	if strings.Trim(string(b), "\x00") != "" {
		t.Errorf("left %q", b)
	}
}
