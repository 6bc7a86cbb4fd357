package foreign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

var at = tool.Place{Workspace: "/w", Home: "/h", Dir: "/w/sub"}

// short writes effects on one line. The operands of commands are shellread's
// to test.
func short(effects []reeve.Effect) string {
	var out []string
	for _, e := range effects {
		if e.Command != nil && e.Kind != reeve.EffectRun {
			continue
		}
		s := e.Kind.String()
		switch {
		case e.Path != "":
			s += " " + e.Path
		case e.Host != "":
			s += fmt.Sprintf(" %s:%d", e.Host, e.Port)
		case e.Command != nil:
			s += " " + e.Command.Line()
			if e.Command.Marks.Has(reeve.CommandHost) {
				s += " (host)"
			}
		}
		if e.Exists {
			s += " existing"
		}
		if e.Deep {
			s += " deep"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func TestClaudesToolsAreJudgedByTheirEffects(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"Bash", `{"command":"go build ./..."}`, "run go build ./..."},
		{"Bash", `{"command":"go build","dangerouslyDisableSandbox":true}`, "run go build (host)"},
		{"Bash", `{"command":"((","dangerouslyDisableSandbox":true}`, "unknown; unknown"},
		{"Bash", `{"command":"true","_simulatedSedEdit":{"filePath":"/etc/x"}}`, "run true; unknown"},
		{"Monitor", `{"description":"d","timeout_ms":1,"command":"tail -f log"}`, "run tail -f log"},
		{"Monitor", `{"description":"d","timeout_ms":1,"ws":{"url":"wss://Feed.example.com/x"}}`, "connect feed.example.com:443"},
		{"Read", `{"file_path":"/w/a.go"}`, "read /w/a.go"},
		{"Read", `{"file_path":"~/.ssh/id_rsa"}`, "read /h/.ssh/id_rsa"},
		{"Read", `{"file_path":"../x/./y"}`, "read /w/x/y"},
		{"Write", `{"file_path":"/w/a.go","content":"x"}`, "write /w/a.go"},
		{"Edit", `{"file_path":"/w/a.go","old_string":"a","new_string":"b"}`, "write /w/a.go existing"},
		{"Edit", `{"file_path":"/w/a.go","old_string":"","new_string":"b"}`, "write /w/a.go"},
		{"MultiEdit", `{"file_path":"/w/a.go","edits":[{"old_string":"a","new_string":"b"}]}`, "write /w/a.go existing"},
		{"NotebookEdit", `{"notebook_path":"/w/a.ipynb","new_source":"x"}`, "write /w/a.ipynb existing"},
		{"LS", `{"path":"/w"}`, "read /w"},
		{"Glob", `{"pattern":"**/*.go"}`, "read /w/sub deep"},
		{"Glob", `{"pattern":"/etc/*.conf"}`, "read /etc deep"},
		{"Glob", `{"pattern":"../../h/**"}`, "read /h deep"},
		{"Glob", `{"pattern":"*/../../x"}`, "unknown"},
		{"Grep", `{"pattern":"x"}`, "read /w/sub deep"},
		{"Grep", `{"pattern":"x","path":"/w","glob":"{*.go,.env*}"}`, "read /w deep; read /w/.go; read /w/.env"},
		{"Grep", `{"pattern":"x","glob":"!*.md"}`, "read /w/sub deep"},
		{"Grep", `{"pattern":"x","path":"/h"}`, "read /h deep; read /h/.ssh deep"},
		{"Grep", `{"pattern":"x","path":"/"}`, "read / deep; read /h/.ssh deep"},
		{"Grep", `{"pattern":"x","path":"/h/code"}`, "read /h/code deep"},
		{"WebFetch", `{"url":"https://Example.com./p?q=1","prompt":"x"}`, "connect example.com:443"},
		{"WebFetch", `{"url":"http://[::1]:8080/","prompt":"x"}`, "connect ::1:8080"},
		{"WebFetch", `{"url":"https://good.com@evil.com/","prompt":"x"}`, "connect evil.com:443"},
		{"WebFetch", `{"url":"https://good.com\\@evil.com/"}`, "unknown"},
		{"WebFetch", `{"url":"file:///etc/passwd"}`, "unknown"},
		{"WebFetch", `{"url":"example.com"}`, "unknown"},
		{"WebSearch", `{"query":"x"}`, "connect api.anthropic.com:443"},
		{"Task", `{"prompt":"x","subagent_type":"y"}`, ""},
		{"Agent", `{"prompt":"x","isolation":"remote"}`, "external"},
		{"TodoWrite", `{"todos":[]}`, ""},
		{"Skill", `{"skill":"x"}`, "unknown"},
		{"mcp__github__create_issue", `{"title":"x"}`, "unknown"},
		{"SomethingNew", `{}`, "unknown"},
	}
	for _, tt := range tests {
		tl, ok := Find(Canonical("claude", tt.name))
		if !ok {
			t.Errorf("%s is not found", tt.name)
			continue
		}
		effects, err := tl.Effects([]byte(tt.args), at)
		if got := short(effects); err != nil || got != tt.want {
			t.Errorf("%s %s\n got %s, %v\nwant %s", tt.name, tt.args, got, err, tt.want)
		}
	}
}

func TestBadArgumentsAreRefused(t *testing.T) {
	for name, args := range map[string]string{
		"Read":         `{"file_path":"a\u0000b"}`,
		"Write":        `{"file_path":"/a","notebook_path":"/b"}`,
		"Bash":         `{"command":"a","command":"b"}`,
		"Edit":         `{"File_Path":"/a"}`,
		"NotebookEdit": `{"notebook_path":7}`,
	} {
		tl, _ := Find(Canonical("claude", name))
		if effects, err := tl.Effects([]byte(args), at); err == nil {
			t.Errorf("%s %s: %s, want an error", name, args, short(effects))
		}
	}
}

func TestForeignNamesDoNotClashAndKeepTheirClass(t *testing.T) {
	all := Tools("claude")
	tool.NewRegistry(all...) // panics on two of one name
	for name, class := range map[string]tool.Class{
		"claude:bash": tool.ClassBash, "Claude:Read": tool.ClassRead, "claude:multiedit": tool.ClassWrite, "claude:webfetch": tool.ClassWeb,
		"claude:mcp__a__b": tool.ClassMCP, "claude:todowrite": tool.ClassOther, "claude:new": tool.ClassOther,
	} {
		found, ok := Find(name)
		if !ok || found.Spec().Class != class {
			t.Errorf("%s: %v, %v, want class %s", name, found, ok, class)
		}
	}
	if found, _ := Find("claude:mcp__Git__Push"); found.Spec().Name != "mcp__git__push" {
		t.Errorf("an MCP tool is called %q", found.Spec().Name)
	}
	for _, name := range []string{"bash", "mcp__a__b", "nobody:bash", "claude:", ":bash", ""} {
		if found, ok := Find(name); ok {
			t.Errorf("%q is found as %s", name, found.Spec().Name)
		}
	}
	for _, tl := range all {
		s := tl.Spec()
		if class, ok := tool.ForeignClass(strings.TrimPrefix(s.Name, "claude:")); ok && class != s.Class {
			t.Errorf("%s is of class %s here and %s in the table of names", s.Name, s.Class, class)
		}
		if s.Tier == reeve.TierDenied || s.Source != "foreign:claude" {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}
