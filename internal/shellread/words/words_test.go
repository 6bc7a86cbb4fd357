package words

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
)

// read gives the words of a command, without its program.
func read(t testing.TB, src string) []Word {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(src), "")
	if err != nil {
		t.Fatalf("parse %q: %v", src, err)
	}
	r := Reader{Src: src, Number: func(name string) bool { return name == "n" }}
	var out []Word
	for _, w := range file.Stmts[0].Cmd.(*syntax.CallExpr).Args[1:] {
		out = r.Append(out, w)
	}
	return out
}

func TestWordsSayHowFarTheyAreKnown(t *testing.T) {
	known := func(text string) Word { return Plain(text) }
	unknown := func(text, lead string, quoted bool) Word {
		return Word{Word: reeve.Word{Text: text, Quoted: quoted}, Lead: lead}
	}
	glob := func(text, lead string) Word {
		return Word{Word: reeve.Word{Text: text, Known: true, Glob: true}, Lead: lead}
	}
	for _, tt := range []struct {
		src  string
		want Word
	}{
		{`p a`, known("a")},
		{`p 'a b'`, known("a b")},
		{`p "a b"`, known("a b")},
		{`p a\ b`, known("a b")},
		{`p "a\b\$c\"d"`, known(`a\b$c"d`)},
		{`p ''`, known("")},
		{`p [`, known("[")},
		{`p a]`, known("a]")},
		{`p $'a\tb\x41\101\''`, known("a\tbAA'")},
		{`p $'\u41'`, known("A")},
		{`p $'\u0455'`, unknown(`$'\u0455'`, "", true)},
		{`p $'a\0b'`, unknown(`$'a\0b'`, "", true)},
		{`p $"a"`, unknown(`$"a"`, "", true)},
		{`p $x`, unknown(`$x`, "", false)},
		{`p "$x"`, unknown(`"$x"`, "", true)},
		{`p a"$x"`, unknown(`a"$x"`, "a", true)},
		{`p --o="$x"`, unknown(`--o="$x"`, "--o=", true)},
		{`p "$@"`, unknown(`"$@"`, "", false)},
		{`p "${a[@]}"`, unknown(`"${a[@]}"`, "", false)},
		{`p "${a[*]}"`, unknown(`"${a[*]}"`, "", true)},
		{`p $(q)`, unknown(`$(q)`, "", false)},
		{`p *.go`, glob("*.go", "")},
		{`p a/?b`, glob("a/?b", "a/")},
		{`p '*'a*`, glob("*a*", "*a")},
		{`p a[bc]`, glob("a[bc]", "a")},
		{`p @(a|b)c`, Word{Word: reeve.Word{Text: "@(a|b)c", Known: true, Glob: true, Loose: true}}},
		{`p ~/a`, Word{Word: reeve.Word{Text: "~/a", Known: true}, Lead: "~/a", Tilde: true}},
		{`p '~/a'`, known("~/a")},
		{`p a~`, known("a~")},
		{`p $n`, Word{Word: reeve.Word{Text: "$n", Quoted: true}, Digit: true}},
		{`p $((1+1))`, Word{Word: reeve.Word{Text: "$((1+1))", Quoted: true}, Digit: true}},
		{`p $?`, Word{Word: reeve.Word{Text: "$?", Quoted: true}, Digit: true}},
		{`p <(q)`, Word{Word: reeve.Word{Text: "<(q)", Quoted: true}, Lead: "/dev/fd/", Pipe: true}},
	} {
		got := read(t, tt.src)
		if len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.src, got, tt.want)
		}
	}
}

func TestAWordThatMayBecomeAnOptionSaysSo(t *testing.T) {
	for src, want := range map[string]bool{
		"p a": false, "p -a": false, "p $x": true, `p "$x"`: true, `p "a$x"`: false, "p a$x": true, `p "-$x"`: true, "p *": true, "p a*": false, "p ./*": false, "p -*": true, "p [a]": true, "p $((1))": false, "p <(q)": false, "p '*'": false,
	} {
		if got := read(t, src)[0].MayBeFlag(); got != want {
			t.Errorf("%s: MayBeFlag = %v, want %v", src, got, want)
		}
	}
}

// braced are words that bash itself is asked about.
var braced = []string{
	"{a,b}", "x{a,b}y", "{a,b}{c,d}", "{a,{b,c}}", "{1..5}", "{5..1}", "{01..03}", "{-2..2}", "{a..e}", "{e..a}", "{1..9..3}", "{a..i..2}", "{}", "{a}", "{a,}", "{,a}x", "{a,b}{}", "a{b}c", "{a..b..c}", "{1..a}", "{..}", "{1..}", "{'a',b}", "{\"a b\",c}", "{a\\,b,c}", "\\{a,b\\}", "'{a,b}'", "{a,b,c,d}z", "{{a,b},c}", "x{{1..3},b}y", "{0..0}", "{1..3..0}", "{3..1..-1}", "{a,b}..{c,d}", "{{.A}},{{.B}}", "stash@{1}", "{-01..2}", "{1..3}{a,b}", "{a,b",
}

func TestBracesBecomeWhatBashMakesOfThem(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is missing: it is what brace expansion is compared with")
	}
	for _, w := range braced {
		got := read(t, "p "+w)
		if len(got) == 1 && !got[0].Known {
			continue // said to be unknown
		}
		var texts []string
		for _, g := range got {
			texts = append(texts, g.Text)
		}
		out, err := exec.Command(bash, "--norc", "--noprofile", "-c", "printf '%s\\n' "+w).Output()
		if err != nil {
			t.Fatalf("bash: %v", err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if !slices.Equal(texts, want) {
			t.Errorf("%s: got %q, bash makes %q of it", w, texts, want)
		}
	}
}

func TestTooManyAlternativesAreUnknown(t *testing.T) {
	for _, w := range []string{"{1..100}", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "{1..99999999999}", "{a..Z}", "{a,b", "a},{b"} {
		if got := read(t, "p "+w); len(got) != 1 || got[0].Known || got[0].Quoted {
			t.Errorf("%s: got %+v, want one word that is not known", w, got)
		}
	}
}

// FuzzQuotes: however a text is quoted, taking the quotes off gives it back.
func FuzzQuotes(f *testing.F) {
	for _, s := range []string{"a", "a b", "a'b", `a"b`, `a\b`, "a$b", "a`b", "*", "{a,b}", "~", "é", "a\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\x00\r") || strings.ToValidUTF8(s, "") != s {
			return
		}
		single := "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		double := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`
		for _, q := range []string{single, double} {
			if got := read(t, "p "+q); len(got) != 1 || got[0] != Plain(s) {
				t.Errorf("%q: got %+v, want %q", q, got, s)
			}
		}
		var ansi strings.Builder
		for _, b := range []byte(s) {
			if b >= 0x80 {
				return
			}
			fmt.Fprintf(&ansi, `\x%02x`, b)
		}
		if s != "" {
			if got := read(t, "p $'"+ansi.String()+"'"); len(got) != 1 || got[0] != Plain(s) {
				t.Errorf("$'%s': got %+v, want %q", ansi.String(), got, s)
			}
		}
	})
}
