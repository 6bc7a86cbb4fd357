package redact

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/redact/corpus"
	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/shape"
)

// TestTheCorpusIsFoundAndLookalikesStay holds the bounds that the project sets:
// 98 of 100 secrets found, one of 100 look-alikes masked.
func TestTheCorpusIsFoundAndLookalikesStay(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	lines := corpus.Lines(rand.New(rand.NewPCG(seed, 1)))
	r := New()
	var found, secrets, wrong, lookalikes int
	for _, line := range lines {
		got := r.Text(line.Text)
		if line.Secret == "" {
			if lookalikes++; got != line.Text {
				wrong++
				t.Logf("masked: %q became %q", line.Text, got)
			}
			continue
		}
		if secrets++; corpus.Survives(line, got) {
			t.Logf("left: %s %q became %q", line.Kind, line.Text, got)
		} else {
			found++
		}
	}
	t.Logf("%d lines; %d of %d secrets found, %d of %d look-alikes masked", len(lines), found, secrets, wrong, lookalikes)
	if len(lines) < 400 || secrets < 250 || lookalikes < 150 {
		t.Errorf("%d lines, %d secrets, %d look-alikes: too few to say anything", len(lines), secrets, lookalikes)
	}
	if found*100 < secrets*98 {
		t.Errorf("%d of %d secrets were found; at least 98 of 100 are promised", found, secrets)
	}
	if wrong*100 > lookalikes {
		t.Errorf("%d of %d look-alikes were masked; at most one of 100 is allowed", wrong, lookalikes)
	}
}

// TestEveryKindHasALineAndBearsItsName: a kind that is lost from the tables is
// missed here.
func TestEveryKindHasALineAndBearsItsName(t *testing.T) {
	r := New()
	seen := map[string]bool{}
	for _, line := range corpus.Lines(rand.New(rand.NewPCG(rand.Uint64(), 2))) {
		if !shape.Kinds()[line.Kind] {
			continue
		}
		seen[line.Kind] = true
		if got := r.Text(line.Text); !strings.Contains(got, "[REDACTED:"+line.Kind) {
			t.Errorf("%s: %q became %q", line.Kind, line.Text, got)
		}
	}
	for kind := range shape.Kinds() {
		if !seen[kind] {
			t.Errorf("no line of the corpus is of the kind %s", kind)
		}
	}
}

// TestTheSameTokenHasTheSameMark: in every context, and another has another.
func TestTheSameTokenHasTheSameMark(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 3))
	var sh *shape.Shape
	for i := range shape.Table {
		if shape.Table[i].Prefix == "github_pat_" {
			sh = &shape.Table[i]
		}
	}
	one := corpus.Sample(rng, sh)
	want := mark.Of(sh.Kind, one)
	for _, context := range []string{"%s", "a=%s;", "TOKEN=%s\n", "Authorization: Bearer %s", `{"v":"%s"}`, "https://%s@host/x"} {
		var b strings.Builder
		w := New().Writer(&b)
		for _, c := range strings.ReplaceAll(context, "%s", one) {
			if _, err := w.Write([]byte(string(c))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		whole := New().Text(strings.ReplaceAll(context, "%s", one))
		if b.String() != whole || !strings.Contains(whole, want) {
			t.Errorf("%q: stream %q, whole %q, want %s in both", context, b.String(), whole, want)
		}
	}
	marks := map[string]bool{}
	for range 50 {
		marks[mark.Of(sh.Kind, corpus.Sample(rng, sh))] = true
	}
	if len(marks) < 45 { // of 50 random marks of 16 bits nearly none are alike
		t.Errorf("50 tokens have %d marks", len(marks))
	}
	if got := New().Text("password=" + "hunter2"); got != "password=[REDACTED]" {
		t.Errorf("what a person chose bears digits: %s", got)
	}
}

// TestHeldValuesAreToldApart: the same value has the same mark in whatever form
// and wherever it stands, two values have two, and who does not have the key
// cannot tell from a mark whether they guessed its value.
func TestHeldValuesAreToldApart(t *testing.T) {
	const one, two, token = "correct-horse-battery", "hunter2-hunter2", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	marks := map[string]string{}
	for _, key := range []string{"a key", "another key", ""} {
		var r *Redactor
		if r = New(); key != "" {
			r = NewKeyed([]byte(key))
		}
		r.AddSecrets(one, two, token)
		m := r.Text(one)
		marks[key] = m
		for _, text := range []string{"a " + one + " b", "password=" + one, "curl -u me:" + one + " h", base64.StdEncoding.EncodeToString([]byte(one)), hex.EncodeToString([]byte(one)), "{\"x\":\"" + one + "\"}"} {
			if got := r.Text(text); !strings.Contains(got, m) || r.Text(got) != got {
				t.Errorf("key %q: %q became %q, without %s", key, text, got, m)
			}
			var b strings.Builder
			w := r.Writer(&b)
			for i := range len(text) {
				w.Write([]byte(text[i : i+1]))
			}
			w.Close()
			if b.String() != r.Text(text) {
				t.Errorf("key %q: a stream has %q, the whole %q", key, b.String(), r.Text(text))
			}
		}
		if key == "" {
			if m != Mark || r.Text(two) != Mark {
				t.Errorf("without a key a value became %s", m)
			}
			continue
		}
		if r.Text(two) == m || !strings.HasPrefix(m, "[REDACTED:held#") {
			t.Errorf("%s stands for one, %s for the other", m, r.Text(two))
		}
		if got, want := r.Text(token), New().Text(token); got != want || !strings.Contains(want, "github-token#") {
			t.Errorf("a held token became %s, without being held %s", got, want)
		}
	}
	if marks["a key"] == marks["another key"] {
		t.Errorf("the mark %s does not hang on the key", marks["a key"])
	}
}

// TestTheCorpusIsFoundInOtherTexts puts each line into texts that its author
// did not think of: a string of JSON, in the text of another too, a diff, a
// log, a quoted letter, a comment, a stream of bytes.
func TestTheCorpusIsFoundInOtherTexts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	each := func(before string) func(string) string {
		return func(s string) string { return before + strings.ReplaceAll(s, "\n", "\n"+before) + "\n" }
	}
	r := New()
	for name, in := range map[string]func(string) string{
		"json":         func(s string) string { return `{"id":1,"msg":` + quoteJSON(s) + `,"ok":true}` },
		"json in json": func(s string) string { return `{"body":` + quoteJSON(`{"msg":`+quoteJSON(s)+`}`) + `}` },
		"diff":         each("+"), "deleted": each("-"), "log": each("2026-11-30T10:00:00.123Z app[123]: INFO "), "letter": each("> "), "comment": each("# "), "indent": each("\t\t"),
		"between": func(s string) string { return "first line\n" + s + "\nlast line\n" },
		"text of json, masked as JSON": func(s string) string {
			return string(r.JSON([]byte(`{"lines":["a",` + quoteJSON(s) + `]}`)))
		},
	} {
		found, secrets := 0, 0
		for _, line := range corpus.Lines(rng) {
			if line.Secret == "" {
				continue
			}
			secrets++
			if got := r.Text(in(line.Text)); corpus.Survives(line, got) {
				t.Logf("%s: left: %s %q", name, line.Kind, got)
			} else {
				found++
			}
		}
		t.Logf("%s: %d of %d", name, found, secrets)
		if found*100 < secrets*95 {
			t.Errorf("%s: %d of %d secrets were found; at least 95 of 100 are wanted", name, found, secrets)
		}
	}
}
