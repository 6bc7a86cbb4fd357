package jsonc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestAMemberIsSetAndEverythingElseStays(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "{\n  \"a\": {\n    \"b\": {\n      \"x\": 1\n    }\n  }\n}\n"},
		{"{}", "{\n  \"a\": {\n    \"b\": {\n      \"x\": 1\n    }\n  }\n}"},
		{"{\n\t// mine\n\t\"z\": [1, 2,],\n}\n", "{\n\t// mine\n\t\"z\": [1, 2],\n\t\"a\": {\n\t\t\"b\": {\n\t\t\t\"x\": 1\n\t\t}\n\t},\n}\n"},
		{"{\"a\": {\"b\": {}}}", "{\"a\": {\"b\": {\n  \"x\": 1\n}}}"},
		{"{\n  \"a\": {\n    \"b\": {\n      \"y\": 2 // why\n    }\n  }\n}", "{\n  \"a\": {\n    \"b\": {\n      \"y\": 2,\n      \"x\": 1 // why\n    }\n  }\n}"},
		{"{\n  \"a\": {\n    \"b\": {\n      \"x\": {\"old\": true}, /* c */ \"y\": 2\n    }\n  }\n}", "{\n  \"a\": {\n    \"b\": {\n      \"x\": 1, /* c */ \"y\": 2\n    }\n  }\n}"},
		{"{\r\n  \"a\": {\"b\": {\"k\": 0}}\r\n}", "{\r\n  \"a\": {\"b\": {\"k\": 0,\r\n    \"x\": 1}}\r\n}"},
	} {
		got, err := Set([]byte(c.src), []string{"a", "b"}, "x", 1)
		want := c.want
		if c.src != "" && bytes.Contains([]byte(c.src), []byte("[1, 2,]")) {
			want = string(bytes.Replace([]byte(want), []byte("[1, 2]"), []byte("[1, 2,]"), 1))
		}
		if err != nil || string(got) != want {
			t.Errorf("set in %q\n got %q, %v\nwant %q", c.src, got, err, want)
		}
	}
	for _, src := range []string{"[]", `{"a":1}`, `{"a":{"b":[]}}`, `{"a":{},"a":{}}`, `{"a":{"b":{"x":1,"x":2}}}`, "{", "// x"} {
		if got, err := Set([]byte(src), []string{"a", "b"}, "x", 1); err == nil {
			t.Errorf("set in %q gives %q", src, got)
		}
	}
}

func TestMembersAreTakenOutAndEverythingElseStays(t *testing.T) {
	for src, want := range map[string]string{
		"":                                 "",
		`{"a": {}}`:                        `{"a": {}}`,
		`{"b": 1}`:                         `{"b": 1}`,
		`{"a": {"x": 1}}`:                  `{"a": {}}`,
		`{"a": {"x": 1, "y": 2}}`:          `{"a": {"y": 2}}`,
		`{"a": {"y": 2, "x": 1}}`:          `{"a": {"y": 2}}`,
		"{\"a\": { /* keep */ \"x\": 1 }}": "{\"a\": { /* keep */ }}",
		"{\"a\": {\n  // x is\n  \"x\": 1,\n  \"y\": 2,\n}}": "{\"a\": {\n  // x is\n  \"y\": 2,\n}}",
	} {
		got, err := Delete([]byte(src), []string{"a"}, func(name string) bool { return name == "x" })
		if err != nil || string(got) != want {
			t.Errorf("delete from %q: %q, %v, want %q", src, got, err, want)
		}
	}
}

// FuzzSetAndDelete: what is set is there, what is deleted is not, all other
// values are what they were, and strict JSON stays it.
func FuzzSetAndDelete(f *testing.F) {
	for _, s := range []string{"", "{}", `{"a":{"y":[1,{"z":null}]},"b":"c"}`, "{\n // c\n \"a\": {\"x\": 2,},\n}", "{\"a\":{\"x\":1}}\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		before, err := Read(src)
		if err != nil {
			return
		}
		with, err := Set(src, []string{"a"}, "x", Object{F("command", "reeve"), F("args", List{"mcp", "serve"}), F("on", true)})
		if err != nil {
			return
		}
		after, err := Read(with)
		if err != nil || Get(after, "a", "x").Str("command") != "reeve" {
			t.Fatalf("set in %q gives %q (%v)", src, with, err)
		}
		if json.Valid(src) && !json.Valid(with) {
			t.Fatalf("set in strict %q gives %q", src, with)
		}
		bare, err := Delete(with, []string{"a"}, func(n string) bool { return n == "x" })
		if err != nil {
			t.Fatal(err)
		}
		last, err := Read(bare)
		if err != nil || Get(last, "a", "x") != nil {
			t.Fatalf("delete from %q gives %q (%v)", with, bare, err)
		}
		if before != nil && !reflect.DeepEqual(rest(t, before, src), rest(t, last, bare)) {
			t.Fatalf("%q became %q and then %q", src, with, bare)
		}
	})
}

// rest is what a text holds besides a.x and an empty a.
func rest(t *testing.T, n *Node, src []byte) any {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(n.Strict(src)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Skip("it has no meaning to the standard library")
	}
	if a, ok := v["a"].(map[string]any); ok {
		delete(a, "x")
		if len(a) == 0 {
			delete(v, "a")
		}
	}
	return v
}

// TestALargeFileIsEdited: a client's own file holds more than its settings.
func TestALargeFileIsEdited(t *testing.T) {
	src := []byte("{\n  \"history\": [" + strings.Repeat(`"a line of what was typed",`, 100_000) + "0],\n  \"a\": {\"y\": 1}\n}\n")
	out, err := Set(src, []string{"a"}, "x", 1)
	if err != nil || len(out) < len(src) || !bytes.HasSuffix(out, []byte("\"a\": {\"y\": 1,\n    \"x\": 1}\n}\n")) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if back, err := Delete(out, []string{"a"}, func(n string) bool { return n == "x" }); err != nil || !bytes.Equal(back, src) {
		t.Errorf("taken out again: %d bytes, %v", len(back), err)
	}
	if _, err := Read(make([]byte, MaxText+1)); err == nil {
		t.Error("a text without bounds is read")
	}
}
