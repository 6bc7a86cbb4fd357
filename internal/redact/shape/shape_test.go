package shape

import (
	"strings"
	"testing"
)

func TestShapesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Table {
		switch {
		case s.Source == "":
			t.Errorf("%s does not say where its form is from", s.Prefix)
		case strings.Trim(s.Kind, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(s.Kind) > 40:
			t.Errorf("%q is no kind", s.Kind)
		case s.Exact && (s.Max == 0 || s.Max >= Enough):
			t.Errorf("%s ends nowhere", s.Prefix)
		case len(s.Prefix) < 3 && !s.decides() && (!s.Exact || s.Bits == 0), len(s.Prefix) < 2:
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
	for _, list := range All().first {
		for i := 1; i < len(list); i++ {
			if len(list[i-1].Prefix) < len(list[i].Prefix) {
				t.Errorf("%s stands before %s", list[i-1].Prefix, list[i].Prefix)
			}
		}
	}
}

func TestThereAreManyKinds(t *testing.T) {
	if n := len(Kinds()); n < 150 {
		t.Errorf("%d kinds; at least 150 are promised", n)
	} else {
		t.Logf("%d kinds", n)
	}
}

// TestTheIndexFindsEveryPrefix: whatever follows it.
func TestTheIndexFindsEveryPrefix(t *testing.T) {
	x := All()
	for i := range Table {
		s := &Table[i]
		for _, third := range []byte(members(s.Class)) {
			text := s.Prefix
			if len(text) < 3 {
				text += string(third)
			}
			found := false
			for _, one := range x.At(text) {
				found = found || one == s
			}
			if !found || x.Heads.Bit(text[0], text[1], text[2]) == 0 {
				t.Fatalf("%s is not found by %q", s.Prefix, text)
			}
		}
	}
}

// TestChecksumsAreThoseOfTheStandards asks the examples that the standards and
// vendors publish.
func TestChecksumsAreThoseOfTheStandards(t *testing.T) {
	for _, c := range []struct {
		check        Check
		prefix, body string
		want         bool
	}{
		{Base58Check, "5H", "ueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", true}, // the private key of the Bitcoin wiki on this format
		{Base58Check, "5H", "ueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTK", false},
		{Base58Check, "5H", "ueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvy0J", false},
		{Bech32, "a", "12uel5l", true}, // BIP 173
		{Bech32, "a", "12uel5m", false},
		{Bech32, "nsec1", "vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5", true}, // NIP-19
		{Bech32, "nsec1", "vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe6", false},
		{CRC16, "SU", "ACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY", true}, // the documentation of NATS
		{CRC16, "SU", "ACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU4VY", false},
		{CRC32, "ghp_", "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123" + Sum62("aBcDeFgHiJkLmNoPqRsTuVwXyZ0123"), true},
		{CRC32, "ghp_", "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123000000", false},
	} {
		if got := c.check.Holds(c.prefix, c.body); got != c.want {
			t.Errorf("check %d of %s%s: %v", c.check, c.prefix, c.body, got)
		}
	}
	if got := CRC16Sum([]byte("123456789")); got != 0x31c3 {
		t.Errorf("the CRC-16 of the check text is %x", got)
	}
}
