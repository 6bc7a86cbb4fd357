package servers

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

const before = `{
	"globalShortcut": "Ctrl+Q",
	"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "x"],   "autoApprove": ["read"]},
		"web": {
			"url": "https://x.example/mcp"
		}
	}
}
`

func TestTheFileIsEditedAndEverythingElseStays(t *testing.T) {
	out, err := Put("mcp.json", []byte(before), "mem", &Entry{Command: "node", Args: []string{"s.js", "a b"}, Env: map[string]string{"B": "1", "A": "${T}"}, Guard: []byte(`{"sandbox":{"net":"none","read":["."]}}`)})
	want := strings.Replace(before, "\t\t}\n\t}\n", "\t\t},\n\t\t\"mem\": {\n\t\t\t\"command\": \"node\",\n\t\t\t\"args\": [\"s.js\",\"a b\"],\n\t\t\t\"env\": {\n\t\t\t\t\"A\": \"${T}\",\n\t\t\t\t\"B\": \"1\"\n\t\t\t},\n\t\t\t\"x-guard\": {\n\t\t\t\t\"sandbox\": {\n\t\t\t\t\t\"net\": \"none\",\n\t\t\t\t\t\"read\": [\".\"]\n\t\t\t\t}\n\t\t\t}\n\t\t}\n\t}\n", 1)
	if err != nil || string(out) != want {
		t.Errorf("got\n%s, %v\nwant\n%s", out, err, want)
	}
	if back, err := Take("mcp.json", out, "mem"); err != nil || string(back) != before {
		t.Errorf("taken out again:\n%s, %v", back, err)
	}
	off, err := Switch("mcp.json", []byte(before), "files", false)
	if err != nil || !strings.Contains(string(off), `"autoApprove": ["read"],`) {
		t.Errorf("switched off:\n%s, %v", off, err)
	}
	if set, err := Parse("mcp.json", off); err != nil || !set.All[0].Disabled || set.All[1].Disabled {
		t.Errorf("switched off: %+v, %v", set, err)
	}
	on, err := Switch("mcp.json", off, "files", true)
	if err != nil || strings.Contains(string(on), "disabled") || !strings.Contains(string(on), `"args": ["-y", "x"],   "autoApprove"`) {
		t.Errorf("switched on again:\n%s, %v", on, err)
	}
	for _, src := range []string{"", "{}", "{\"mcpServers\":{}}"} {
		out, err := Put("mcp.json", []byte(src), "a", &Entry{Command: "x"})
		if set, perr := Parse("mcp.json", out); err != nil || perr != nil || len(set.All) != 1 {
			t.Errorf("into %q: %q, %v, %v", src, out, err, perr)
		}
	}
}

func TestAnEditThatCannotBeIsRefused(t *testing.T) {
	put := func(src, name string, e Entry) error { _, err := Put("mcp.json", []byte(src), name, &e); return err }
	for what, err := range map[string]error{
		"twice":          put(before, "files", Entry{Command: "x"}),
		"bad name":       put(before, "A B", Entry{Command: "x"}),
		"nothing to run": put(before, "a", Entry{}),
		"both":           put(before, "a", Entry{Command: "x", URL: "https://x"}),
		"bad guard":      put(before, "a", Entry{Command: "x", Guard: []byte(`{"sandbx":1}`)}),
		"unreadable":     put(`{"mcpServers":`, "a", Entry{Command: "x"}),
		"comments":       put("{ // mine\n}", "a", Entry{Command: "x"}),
	} {
		if err == nil {
			t.Errorf("%s: it is written", what)
		}
	}
	if _, err := Take("mcp.json", []byte(before), "none"); !errors.Is(err, ErrNone) {
		t.Errorf("taken out: %v", err)
	}
	if _, err := Switch("mcp.json", []byte(before), "none", true); !errors.Is(err, ErrNone) {
		t.Errorf("switched: %v", err)
	}
	if err := put(before, "files", Entry{Command: "x"}); !errors.Is(err, ErrThere) {
		t.Errorf("twice: %v", err)
	}
}

// FuzzEdit: what is written can be read, has the server, and taking it out
// leaves every other server as it was.
func FuzzEdit(f *testing.F) {
	f.Add(before, "x", "a", "v")
	f.Add("{}", "x\"\\", "", "\u2028")
	f.Fuzz(func(t *testing.T, src, command, arg, value string) {
		set, err := Parse("f", []byte(src))
		if err != nil {
			return
		}
		out, err := Put("f", []byte(src), "fuzzed", &Entry{Command: command, Args: []string{arg}, Env: map[string]string{"V": value}})
		if err != nil {
			return
		}
		back, err := Take("f", out, "fuzzed")
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("f", back)
		if err != nil {
			t.Fatalf("%q became %q: %v", src, back, err)
		}
		a, _ := json.Marshal(set.All, json.Deterministic(true))
		b, _ := json.Marshal(again.All, json.Deterministic(true))
		if string(a) != string(b) {
			t.Errorf("%q became %q and %q", src, out, back)
		}
	})
}
