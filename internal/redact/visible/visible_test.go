package visible

import (
	"bytes"
	"io"
	"testing"
)

func TestInvisibleCharactersAreShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext": "plain\n\ttext", "a\x1b[31mb": `a\x1b[31mb`, "x\u202ey": `x\u202ey`, "z\u200bw": `z\u200bw`, "\xff": `\xff`, "a\x00": `a\x00`, "\x7f": `\x7f`,
		"naïve π 漢": "naïve π 漢", "cr\rx": `cr\x0dx`, "lf\r\nx": "lf\r\nx", "\u00a0": `\u00a0`, "\U000e0041": `\U000e0041`, "\u2066": `\u2066`, "\u3164": `\u3164`, "👍\ufe0f": "👍\ufe0f", "a\ufe01": `a\ufe01`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzNothingInvisibleIsLeft(f *testing.F) {
	for _, s := range []string{"", "plain text", "a\x1b[31mb", "x\u202ey", "z\u200bw", "\xff", "naïve π 漢 👍🏽", "cr\r\nlf\r", "\U000e0041", "\ufe0f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		for _, r := range got {
			if invisible(r) || r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
				t.Errorf("%q is left in %q", r, got)
			}
		}
		if Text(got) != got {
			t.Errorf("%q is made visible twice", got)
		}
	})
}

// FuzzAWriterShowsWhatTextShows cuts the text anywhere.
func FuzzAWriterShowsWhatTextShows(f *testing.F) {
	f.Add("a\r\nb\rc\u202e\xe2\x80x\xe2", byte(1))
	f.Add("\xf0\x9f\x98\x80\r", byte(2))
	f.Fuzz(func(t *testing.T, s string, size byte) {
		var out bytes.Buffer
		w := Writer(&out)
		for rest := s; rest != ""; {
			n := min(int(size)+1, len(rest))
			if m, err := io.WriteString(w, rest[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != Text(s) {
			t.Errorf("%q in pieces of %d: %q, want %q", s, int(size)+1, out.String(), Text(s))
		}
	})
}
