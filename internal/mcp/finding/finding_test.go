package finding

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/tool/foreign"
)

type real struct {
	Package, Kind string
	Definition    json.RawMessage
}

func harmless(t testing.TB) []real {
	t.Helper()
	b, err := os.ReadFile("testdata/harmless.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []real
	for line := range bytes.Lines(b) {
		var r real
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestNothingIsFoundInRealServers: a person who is warned of what is harmless
// stops to read warnings.
func TestNothingIsFoundInRealServers(t *testing.T) {
	tools := 0
	own := map[string][]string{}
	for _, r := range harmless(t) {
		if r.Kind == "tools" {
			def, err := message.Members(r.Definition)
			if err != nil {
				t.Fatal(err)
			}
			own[r.Package] = append(own[r.Package], def.Text("name"))
			tools++
		}
		for _, f := range Definition(r.Definition) {
			t.Errorf("%s: %s: %s", r.Package, f, r.Definition)
		}
	}
	native := Others{Native: slices.Concat(foreign.Names("claude"), foreign.Names("codex"))}
	for pkg, names := range own {
		for _, name := range names {
			for _, f := range Names(name, []byte(`{}`), native) {
				t.Errorf("%s: %s: %s", pkg, name, f)
			}
		}
	}
	if tools < 100 {
		t.Errorf("only %d tools in the corpus", tools)
	}
}

func attacks(t testing.TB) (codes, texts []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/attacks.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		code, quoted, _ := strings.Cut(strings.TrimSpace(line), "\t")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		codes, texts = append(codes, code), append(texts, text)
	}
	return codes, texts
}

// TestWhatIsNotMeantForThePersonIsFound: each attempt is found where it
// stands: in a description, in a schema, in the name of a property, in a
// prompt's argument.
func TestWhatIsNotMeantForThePersonIsFound(t *testing.T) {
	codes, texts := attacks(t)
	for i, text := range texts {
		q := string(message.Quote(text))
		for where, def := range map[string]string{
			"description":                          `{"name":"add","description":` + q + `}`,
			"inputSchema.properties.a.description": `{"name":"add","description":"Adds.","inputSchema":{"properties":{"a":{"description":` + q + `}}}}`,
			"outputSchema.properties.a.enum[1]":    `{"name":"add","outputSchema":{"properties":{"a":{"enum":["x",` + q + `]}}}}`,
			"arguments[0].description":             `{"name":"p","arguments":[{"name":"a","description":` + q + `}]}`,
			"annotations.title":                    `{"name":"p","annotations":{"title":` + q + `}}`,
		} {
			found := Definition([]byte(def))
			if !slices.ContainsFunc(found, func(f Finding) bool { return string(f.Code) == codes[i] && f.Where == where && f.Shows != "" }) {
				t.Errorf("%s in %s of %q: found %q", codes[i], where, text, found)
			}
		}
		if found := Definition([]byte(`{"name":"p","inputSchema":{"properties":{` + q + `:{}}}}`)); len(found) == 0 {
			t.Errorf("%q as the name of a property is not found", text)
		}
		for _, f := range Text("x", text) {
			if visible(f.Shows) != f.Shows {
				t.Errorf("%q is shown as %q, which is not visible", text, f.Shows)
			}
		}
	}
}

// TestOrdinaryWritingOfManyScriptsIsNotFound: what looks like a trick and is
// how people write.
func TestOrdinaryWritingOfManyScriptsIsNotFound(t *testing.T) {
	for _, text := range []string{
		"❤️ loved", "👩‍💻 writes", "👍🏽", "1️⃣ first", "©️ sign", "می‌خواهم", "क्‍ष", "Ελληνικά κείμενα", "русский текст", "漢字 かな",
		"μs and ΔE", "naïve café", "a\tb\r\nc", "Use this before you call get_file.", "Do not use this for other files.", "Ignore case in the search.",
		"Must be called before close.", "Returns the user's name.", "The user must confirm.", "Do not show more than 10 results to the user interface.",
		"Ignores files of .gitignore.", "Sends a message to the channel.", "Call this first to list the rooms.", "previous instructions manual",
		"Returns an SSH key fingerprint", "<b>bold</b> <user> <id>", "Reads .env of the project", "important: the id is case sensitive",
		"VGhpcyBpcyBub3QgbG9uZw==", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"Overrides the default settings", "This replaces the recipient list of the draft", "Reads the file and returns its contents as text",
	} {
		if found := Text("text", text); len(found) > 0 {
			t.Errorf("%q: %q", text, found)
		}
	}
}

func TestNamesThatPassForOthersAreFound(t *testing.T) {
	o := Others{Servers: []string{"files", "mail"}, Tools: map[string][]string{"files": {"list_dir", "search"}, "mail": {"send_mail"}}, Native: []string{"bash", "webfetch"}, Own: []string{"own_tool"}}
	for _, c := range []struct {
		name, says string
		want       int
	}{
		{"add", "Adds two numbers.", 0},
		{"searches", "Searches mail, and may search.", 0},
		{"bash", "", 1}, {"Bash", "", 1}, {"web_fetch", "", 1}, {"webfetch1", "", 0},
		{"1ist_dir", "", 1}, {"list-dir", "", 1}, {"SEARCH", "", 1},
		{"files__read", "", 1}, {"mcp__x__y", "", 1},
		{"help", "When send_mail is used, call help.", 1},
		{"help", "resend_mail and send_mails are others; own_tool is ours.", 0},
		{"help", "See files__search first.", 1},
	} {
		def := `{"name":` + string(message.Quote(c.name)) + `,"description":` + string(message.Quote(c.says)) + `}`
		if found := Names(c.name, []byte(def), o); len(found) != c.want {
			t.Errorf("%s, %q: %q, want %d", c.name, c.says, found, c.want)
		}
	}
}

func TestADefinitionThatCannotBeReadIsAFinding(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200)
	wide := `["` + strings.Repeat(`x","`, 30000) + `"]`
	for _, def := range []string{"", "{", `{"a":1,"a":2}`, deep, wide} {
		if len(Definition([]byte(def))) == 0 {
			t.Errorf("%.40q: nothing is found", def)
		}
	}
	if found := Definition([]byte(`{"a":[1,true,null,{"b":2}]}`)); len(found) > 0 {
		t.Errorf("found %q in nothing", found)
	}
}

// FuzzDefinition: no text of a server makes the reader fail, and what is shown
// of it can be shown.
func FuzzDefinition(f *testing.F) {
	_, texts := attacks(f)
	for _, text := range texts {
		f.Add([]byte(`{"name":"x","description":` + string(message.Quote(text)) + `}`))
	}
	f.Fuzz(func(t *testing.T, def []byte) {
		found := append(Definition(def), Names("x", def, Others{Servers: []string{"s"}, Tools: map[string][]string{"s": {"a_b"}}})...)
		for _, one := range found {
			if !utf8.ValidString(one.Shows) || visible(one.Shows) != one.Shows || visible(one.Where) != one.Where {
				t.Errorf("%+q shows %+q", one.Where, one.Shows)
			}
		}
	})
}
