package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/upstream"
	"github.com/reeve-gate/reeve/internal/mcptest"
	"github.com/reeve-gate/reeve/internal/mcptest/memory"
)

func fetch(t *testing.T, server, mode string) *Offer {
	t.Helper()
	s := &memory.Starts{Serve: mcptest.Serve, Modes: []string{mode}}
	c, err := upstream.Open(t.Context(), upstream.Options{Name: server, Dial: s.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o, err := Fetch(t.Context(), c, server, "hash", time.Unix(0, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAnOfferKeepsEveryDefinitionAsItCame(t *testing.T) {
	for _, mode := range []string{"legacy", "modern,noise"} {
		o := fetch(t, "t", mode)
		if len(o.Lists[Tools]) != 19 || len(o.Lists[Prompts]) != 1 || len(o.Lists[Resources]) != 2 || len(o.Lists[Templates]) != 1 || len(o.Notes) != 0 {
			t.Fatalf("%s offers %d tools, notes %q", mode, len(o.Lists[Tools]), o.Notes)
		}
		it, ok := o.Find(Tools, "echo")
		want := `{"name":"echo","description":"Says back what it is given.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false},` +
			`"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"forbidden"},"x-more":1.0}`
		if !ok || string(it.Raw) != want {
			t.Errorf("%s: echo is\n%s, want\n%s", mode, it.Raw, want)
		}
		if !o.Offers("resources", "subscribe") || o.Offers("sampling", "") || o.Instructions != "Use echo." {
			t.Errorf("%s: %+v", mode, o)
		}
	}
}

func TestADefinitionThatChangesIsAnotherOne(t *testing.T) {
	a, b := digest([]byte(`{"b":1.0,"a":"\u0041"}`)), digest([]byte(`{ "a":"A", "b":1 }`))
	if a != b {
		t.Error("two spellings of one definition differ")
	}
	if digest([]byte(`{"a":"A","b":1}`)) == digest([]byte(`{"a":"A ","b":1}`)) {
		t.Error("two definitions are the same")
	}
	s := &memory.Starts{Serve: mcptest.Serve, Modes: []string{"legacy,shifty"}}
	c, err := upstream.Open(t.Context(), upstream.Options{Name: "t", Dial: s.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first, err := Fetch(t.Context(), c, "t", "h", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Fetch(t.Context(), c, "t", "h", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if first.Same(second, Tools) || !first.Same(second, Prompts) {
		t.Error("a changed description went unnoticed, or an unchanged list was taken for another")
	}
}

func TestWhatCannotBeUsedIsLeftOutAndNoted(t *testing.T) {
	o := &Offer{}
	seen := map[string]bool{}
	for _, raw := range []string{
		`{"name":"good","inputSchema":{"type":"object"}}`,
		`{"name":"GOOD","inputSchema":{"type":"object"}}`,
		`{"name":"a b","inputSchema":{"type":"object"}}`,
		`{"name":"a\u200bb","inputSchema":{"type":"object"}}`,
		`{"name":"` + strings.Repeat("x", 129) + `","inputSchema":{"type":"object"}}`,
		`{"name":"none"}`,
		`{"name":"text","inputSchema":"x"}`,
		`"not an object"`,
		`{"name":"huge","inputSchema":{"type":"object"},"description":"` + strings.Repeat("x", maxSchema) + `"}`,
		`{"name":"mark","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}`,
		`{"name":"meta","inputSchema":{"type":"object"},"_meta":{"io.modelcontextprotocol/x":1,"mine":2}}`,
	} {
		o.add(Tools, []byte(raw), seen)
	}
	if len(o.Lists[Tools]) != 2 || len(o.Notes) != 9 {
		t.Errorf("took %d, noted %q", len(o.Lists[Tools]), o.Notes)
	}
	if got := string(o.Lists[Tools][1].Raw); got != `{"name":"meta","inputSchema":{"type":"object"},"_meta":{"mine":2}}` {
		t.Errorf("kept %s", got)
	}
	for _, n := range o.Notes {
		if strings.ContainsRune(n, '\u200b') {
			t.Errorf("a note shows what cannot be seen: %q", n)
		}
	}
}

func TestMirrorsFollowTheRules(t *testing.T) {
	good := `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}},"x-mcp-header":{"type":"string"}}}`
	got, err := MirrorsOf([]byte(good))
	want := []Mirror{{"Region", []string{"region"}, "string"}, {"N", []string{"deep", "n"}, "integer"}, {"B", []string{"deep", "b"}, "boolean"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, c := range []struct {
		args string
		want string
	}{
		{`{"region":"us","deep":{"n":42.0,"b":false}}`, "us 42 false"},
		{`{"region":null,"deep":{"n":-7}}`, "- -7 -"},
		{`{"deep":5}`, "- - -"},
		{`{"region":7,"deep":{"n":1.5}}`, "- - -"},
	} {
		var all []string
		for i := range got {
			v, ok := got[i].Value([]byte(c.args))
			if !ok {
				v = "-"
			}
			all = append(all, v)
		}
		if s := strings.Join(all, " "); s != c.want {
			t.Errorf("%s gives %q, want %q", c.args, s, c.want)
		}
	}
	if !got[1].Matches([]byte(`{"deep":{"n":42}}`), "42.0", true) || got[1].Matches([]byte(`{"deep":{"n":42}}`), "43", true) ||
		got[0].Matches([]byte(`{"region":"us"}`), "", false) || got[0].Matches([]byte(`{}`), "us", true) || !got[0].Matches([]byte(`{}`), "", false) {
		t.Error("a header is held to something else than the arguments")
	}
	for _, bad := range []string{
		`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":5}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
		`{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`,
		`{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
		`{"$defs":{"d":{"type":"string","x-mcp-header":"A"}},"properties":{"a":{"$ref":"#/$defs/d"}}}`,
	} {
		if got, err := MirrorsOf([]byte(bad)); err == nil {
			t.Errorf("%s gives %+v", bad, got)
		}
	}
}

func TestAViewHasNamesThatCannotCollide(t *testing.T) {
	item := func(name string) Item {
		return Item{Name: name, Raw: []byte(fmt.Sprintf(`{"name":%q,"inputSchema":{}}`, name)), Digest: digest([]byte(name))}
	}
	long := strings.Repeat("long_tool_name_", 8)
	a := &Offer{Server: "a"}
	a.Lists[Tools] = []Item{item("read"), item(long + "1"), item(long + "2")}
	a.Lists[Resources] = []Item{item("x://both"), item("x://a")}
	b := &Offer{Server: "b"}
	b.Lists[Tools] = []Item{item("read")}
	b.Lists[Resources] = []Item{item("x://both")}
	b.Lists[Templates] = []Item{item("x://b/{id}/end"), item("{anything}")}
	v := NewView([]*Offer{b, a}, Filter{})
	var names []string
	for _, e := range v.List(Tools) {
		names = append(names, e.Shown)
		if len(e.Shown) > MaxShown {
			t.Errorf("%s is %d bytes long", e.Shown, len(e.Shown))
		}
		if back, ok := v.Find(Tools, e.Shown); !ok || !reflect.DeepEqual(back, e) {
			t.Errorf("%s is not found again", e.Shown)
		}
		if def := string(e.Definition(Tools)); def != fmt.Sprintf(`{"name":%q,"inputSchema":{}}`, e.Shown) {
			t.Errorf("%s is shown as %s", e.Shown, def)
		}
	}
	if len(names) != 4 || names[0] == names[1] || names[2] != "a__read" || names[3] != "b__read" {
		t.Errorf("names %q", names)
	}
	if len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "both a and b") {
		t.Errorf("notes %q", v.Notes)
	}
	for uri, want := range map[string]string{"x://both": "a", "x://a": "a", "x://b/7/end": "b", "x://b/7": "", "file:///etc/passwd": ""} {
		if e, ok := v.Resource(uri); ok != (want != "") || e.Server != want {
			t.Errorf("%s belongs to %q, want %q", uri, e.Server, want)
		}
	}
	alone := NewView([]*Offer{a, b}, Filter{Alone: "b"})
	if got := alone.List(Tools); len(got) != 1 || got[0].Shown != "read" {
		t.Errorf("alone: %+v", got)
	}
	few := NewView([]*Offer{a, b}, Filter{Only: []string{"*__read"}, Hide: []string{"b__*"}})
	if got := few.List(Tools); len(got) != 1 || got[0].Shown != "a__read" {
		t.Errorf("filtered: %+v", got)
	}
	if _, ok := few.Find(Tools, "b__read"); ok {
		t.Error("what is hidden is found")
	}
}

func TestTheShelfKeepsWhatWasOffered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "offers")
	var told []string
	shelf := func() *Shelf {
		return NewShelf(dir, func() ([]byte, error) { return make([]byte, 32), nil }, func(n string) { told = append(told, n) })
	}
	o := fetch(t, "t", "legacy")
	if err := shelf().Put(o); err != nil {
		t.Fatal(err)
	}
	s := shelf()
	if got := s.Offer("t", "hash"); !reflect.DeepEqual(got, o) {
		t.Errorf("read back %+v\nwant %+v", got, o)
	}
	if s.Era("t", "hash") != upstream.EraLegacy || s.Era("t", "other") != upstream.EraUnknown || s.Offer("t", "other") != nil {
		t.Error("an offer is taken for that of other settings")
	}
	if s.Offer("none", "hash") != nil || len(told) != 0 {
		t.Errorf("something was read where nothing is, told %q", told)
	}
	if err := s.Forget("t"); err != nil || s.Offer("t", "hash") != nil {
		t.Errorf("forgotten and still there, %v", err)
	}
}

// TestAnOfferThatWasChangedOnDiskIsAskedForAgain covers G71: neither another
// description nor the file of another server is shown to a person.
func TestAnOfferThatWasChangedOnDiskIsAskedForAgain(t *testing.T) {
	dir := t.TempDir()
	var told []string
	shelf := func() *Shelf {
		return NewShelf(dir, func() ([]byte, error) { return make([]byte, 32), nil }, func(n string) { told = append(told, n) })
	}
	o := fetch(t, "t", "legacy")
	name := o.Lists[Tools][0].Name
	file := filepath.Join(dir, "t.cache")
	for what, forge := range map[string]func(good []byte) []byte{
		"another text": func(good []byte) []byte {
			return []byte(strings.Replace(string(good), name, strings.ToUpper(name), -1))
		},
		"plain JSON": func(good []byte) []byte { return good[strings.IndexByte(string(good), '{'):] },
	} {
		told = nil
		if err := shelf().Put(o); err != nil {
			t.Fatal(err)
		}
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, forge(good), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := shelf().Offer("t", "hash"); got != nil || len(told) != 1 || !strings.Contains(told[0], "made anew") {
			t.Errorf("%s: it offers %+v, told %q", what, got, told)
		}
	}
	if err := shelf().Put(o); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, filepath.Join(dir, "u.cache")); err != nil {
		t.Fatal(err)
	}
	told = nil
	if got := shelf().Offer("u", "hash"); got != nil || len(told) != 1 {
		t.Errorf("another server offers %+v, told %q", got, told)
	}
}

// FuzzFits: a URI made by filling a template fits it.
func FuzzFits(f *testing.F) {
	f.Add("x://a/", "b", "/c", "d")
	f.Fuzz(func(t *testing.T, head, a, mid, b string) {
		if head == "" || strings.ContainsAny(head+mid+a+b, "{}") {
			return
		}
		if !fits(head+"{a}"+mid+"{b}", head+a+mid+b) {
			t.Errorf("%q does not fit", head+a+mid+b)
		}
		if fits(head+"{a}", "y"+head) && !strings.HasPrefix("y"+head, head) {
			t.Error("what begins otherwise fits")
		}
	})
}
