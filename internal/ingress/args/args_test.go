package args

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

func TestDecodeTakesOneStrictObject(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	tests := []struct{ raw, want string }{ // want is a part of the error; "" = taken
		{`{}`, ""},
		{` {"a":[1,2.5,true,null,"x"],"b":{"c":{}}} `, ""},
		{`{"a":"\u00e9\ud83d\ude00"}`, ""},
		{deep(64), ""},
		{deep(65), "more than 64 levels"},
		{`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "more than 64 levels"},
		{``, "the text ends early"},
		{`   `, "the text ends early"},
		{`null`, "this is null"},
		{`[]`, "this is an array"},
		{`"x"`, "this is a string"},
		{`{"a":1`, "the text ends early"},
		{`{"a":1}{`, "something follows"},
		{`{"a":1} x`, "something follows"},
		{`{"a":1,"a":2}`, "at /a (byte 7): this name stands twice"},
		{`{"a":1,"\u0061":2}`, "stands twice"},
		{`{"x":{"b":1,"b":2}}`, "at /x/b (byte 12): this name stands twice"},
		{`{"a":1,}`, "at "},
		{`{'a':1}`, "at the top (byte 1)"},
		{`{"a":01}`, "byte 6"},
		{`{"a":1e999}`, "out of range"},
		{`{"a":NaN}`, "at /a"},
		{"{\"a\":\"\xff\"}", "at /a"},
		{`{"a":"\ud800"}`, "at /a"},
		{"{\"a\":\"\x01\"}", "at /a"},
		{"{\"a\":1}\x00", "something follows"},
		{"\ufeff{}", "byte 0"},
		{`{"a":"` + strings.Repeat("x", reeve.MaxArgs) + `"}`, "at most 1048576 are taken"},
	}
	for _, tt := range tests {
		_, err := Decode([]byte(tt.raw))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("Decode(%.60q): %v, want an error with %q", tt.raw, err, tt.want)
		}
		if err != nil && !errors.Is(err, ErrArgs) {
			t.Errorf("Decode(%.60q): %v is not of this package's kind", tt.raw, err)
		}
	}
}

// fake is a tool with a schema.
type fake struct{ schema string }

func (f fake) Spec() tool.Spec {
	return tool.Spec{Name: "fake", Schema: f.schema, Tier: reeve.TierRead}
}
func (f fake) Effects([]byte, tool.Place) ([]reeve.Effect, error) { return nil, nil }

const (
	readSchema = `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string","minLength":1},"offset":{"type":"integer","minimum":1},"all":{"type":"boolean"}}}`
	fullSchema = `{"type":"object","properties":{"list":{"type":"array","items":{"type":"integer"},"minItems":1},"mode":{"enum":["a","b"]},"in":{"type":"object","required":["x"],"properties":{"x":{"type":"number","maximum":3}}}}}`
)

func TestArgumentsAreHeldToTheSchemaWithThePlaceNamed(t *testing.T) {
	tests := []struct{ schema, raw, want string }{
		{readSchema, `{"path":"a"}`, ""},
		{readSchema, `{"path":"a","offset":3,"all":true}`, ""},
		{readSchema, `{"path":"a","offset":3.0}`, ""},
		{readSchema, `{"p\u0061th":"a"}`, ""},
		{readSchema, `{}`, `at the top (byte 0): missing properties: ["path"]`},
		{readSchema, `{"path":""}`, `at /path (byte 8): it is too short`},
		{readSchema, `{"path":"a","offset":0}`, "at /offset (byte 21): it is too small"},
		{readSchema, `{"path":"a","offset":1.5}`, `at /offset (byte 21): it has type "number", want "integer"`},
		{readSchema, `{"path":{"secret":"hunter2"}}`, `at /path (byte 8): it has type "object", want "string"`},
		{readSchema, `{"path":"a","PATH":"b"}`, `unexpected additional properties ["PATH"]`},
		{readSchema, `{"path":null}`, `want "string"`},
		{readSchema, `{"path":"a","path":"b"}`, "stands twice"},
		{fullSchema, `{"list":[1,2],"mode":"a","in":{"x":3}}`, ""},
		{fullSchema, `{"list":[]}`, "at /list (byte 8): it is too short"},
		{fullSchema, `{"list":[1,"validating /properties/mode: enum: x"]}`, `at /list (byte 8): it has type "string", want "integer"`},
		{fullSchema, `{"mode":"c"}`, "at /mode (byte 8): it is none of the values"},
		{fullSchema, `{"in":{}}`, `at /in (byte 6): missing properties: ["x"]`},
		{fullSchema, `{"in":{"x":4}}`, "at /in/x (byte 11): it is too large"},
	}
	c, err := NewChecker(tool.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		err := c.Check(fake{tt.schema}, []byte(tt.raw))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want an error with %q", tt.raw, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error repeats a value: %v", tt.raw, err)
		}
	}
}

func TestASchemaThatDoesNotCompileNamesItsTool(t *testing.T) {
	for _, schema := range []string{"", "{", `{"$ref":"https://example.com/x"}`, `{"type":"object","type":"array"}`} {
		if _, err := NewChecker(tool.NewRegistry(fake{schema})); err == nil || !strings.Contains(err.Error(), "tool fake") {
			t.Errorf("%q: %v", schema, err)
		}
	}
}

// FuzzCheck holds three properties: a text is taken by the short way only if
// the library takes it too; what is taken reads the same by a strict reader
// of structs; no text makes an error without a place.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"path":"a"}`, `{"path":"a","offset":1}`, `{"path":"a","all":true}`, `{"path":"a","x":1}`, `{"path":"","offset":-1}`, `{"path":7}`,
		`{"offset":1e3,"path":"\n"}`, `{"path":"a"`, `{"path":"a"}}`, `[]`, `{"path":"a","offset":123456789012345678}`, "{\"path\":\"\xc3\"}", `{"a":{"a":[[[{}]]]}}`,
		`{"p\u0061th":"x","path":"y"}`, `{"path":"\ud800"}`, "\x00", `{"path":"a","offset":-0}`,
	} {
		f.Add(seed)
	}
	closed, open := plainOf(readSchema), plainOf(strings.Replace(readSchema, `"additionalProperties":false,`, "", 1))
	if closed == nil || open == nil {
		f.Fatal("the schema is not plain")
	}
	c, err := NewChecker(tool.NewRegistry())
	if err != nil {
		f.Fatal(err)
	}
	full, err := c.schema(readSchema)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		v, err := Decode([]byte(raw))
		if err != nil {
			var place *fault
			if !errors.As(err, &place) {
				t.Fatalf("%q: %v has no place", raw, err)
			}
		}
		matches := err == nil && full.full.Validate(v) == nil
		if closed.holds([]byte(raw)) && !matches {
			t.Fatalf("%q is taken by the short way only (%v)", raw, err)
		}
		if open.holds([]byte(raw)) && err != nil {
			t.Fatalf("%q is no strict object (%v) and taken by the short way", raw, err)
		}
		if got := c.Check(fake{readSchema}, []byte(raw)); (got == nil) != matches {
			t.Fatalf("%q: Check says %v, the library %v", raw, got, matches)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	c, _ := NewChecker(tool.NewRegistry())
	text := fmt.Sprintf(`{"path":"big.txt","offset":1,"x":%q}`, strings.Repeat("line\n", 20_000))
	open := strings.Replace(readSchema, `"additionalProperties":false,`, "", 1)
	for _, bb := range []struct{ name, schema, raw string }{
		{"plain", readSchema, `{"path":"internal/x.go","offset":10}`}, {"library", fullSchema, `{"list":[1,2],"mode":"a","in":{"x":3}}`}, {"100KB", open, text},
	} {
		b.Run(bb.name, func(b *testing.B) {
			raw := []byte(bb.raw)
			tl := fake{bb.schema}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Check(tl, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
