package foreign

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
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

// patchOf is the arguments of a call of apply_patch with these lines between
// the first and the last one.
func patchOf(lines ...string) string {
	b, err := json.Marshal(map[string]string{"command": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// What Codex 0.171 made of these very patches was tried: where it refuses one
// that is read here, nothing happens.
func TestCodexsToolsAreJudgedByTheirEffects(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"Bash", `{"command":"go build ./..."}`, "run go build ./..."},
		{"Bash", `{"command":"true","sandbox_permissions":"require_escalated"}`, "run true; unknown"},
		{"Bash", `{"command":"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: x\n+x\n*** End Patch\nEOF\n"}`, "run apply_patch; write /w/sub/x"},
		{"Bash", `{"command":"cd /etc && apply_patch <<EOF\n*** Begin Patch\n*** Delete File: x\n*** End Patch\nEOF"}`, "run cd /etc; run apply_patch; delete /etc/x"},
		{"Bash", `{"command":"cd $D && apply_patch <<EOF\n*** Begin Patch\n*** Delete File: x\n*** End Patch\nEOF"}`, "run cd $D; run apply_patch; unknown"},
		{"Bash", `{"command":"true; applypatch '*** Begin Patch'"}`, "run true; run applypatch *** Begin Patch; unknown"},
		{"apply_patch", patchOf("*** Add File: a/b", "+*** Delete File: /etc/x", "+x"), "write /w/sub/a/b"},
		{"apply_patch", patchOf("*** Update File: ../x", "@@", "-*** Add File: c", "+y"), "write /w/x existing"},
		{"apply_patch", patchOf("*** Update File: a", "*** Move to: /etc/b", "@@", "-x", "+y", "*** End of File"), "write /w/sub/a existing; write /etc/b; delete /w/sub/a"},
		{"apply_patch", patchOf("*** Delete File: a", "\u2003*** Add File: /etc/b \r", "+x"), "delete /w/sub/a; write /etc/b"},
		{"apply_patch", patchOf("*** Add File:  /etc/b", "+x"), "write /w/sub/ /etc/b"},
		{"apply_patch", patchOf("*** Add File: ~/b", "+x"), "write /w/sub/~/b"},
		{"apply_patch", patchOf("*** Environment ID: there", "*** Add File: b", "+x"), "unknown; write /w/sub/b"},
		{"apply_patch", patchOf("*** Add File: b\x00", "+x"), "unknown"},
		{"apply_patch", patchOf("*** Rename File: b", "+x"), "unknown"},
		{"apply_patch", patchOf("***"), "unknown"},
		{"apply_patch", `{"command":"*** Add File: x"}`, "unknown"},
		{"apply_patch", `{"command":"<<'EOF'\n*** Begin Patch\n*** Add File: x\n+x\n*** End Patch\nEOF\n"}`, "write /w/sub/x"},
		{"apply_patch", `{"command":"<<EOF\n*** Begin Patch\n*** Add File: x\n+x\n*** End Patch\nEOR\n"}`, "unknown"},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Add File: x\n*** End Patch\n","dir":"/etc"}`, "write /w/sub/x; unknown"},
		{"view_image", `{"path":"~/.ssh/id_rsa"}`, "read /w/sub/~/.ssh/id_rsa"},
		{"view_image", `{"path":"/h/.ssh/id_rsa","detail":"original"}`, "read /h/.ssh/id_rsa"},
		{"view_image", `{"path":"a.png","environment_id":"x"}`, "read /w/sub/a.png; unknown"},
		{"write_stdin", `{"session_id":1,"chars":"rm -rf /\n"}`, "unknown"},
		{"web_search", `{"query":"x"}`, "connect api.openai.com:443"},
		{"spawn_agent", `{"message":"x"}`, ""},
		{"update_plan", `{"plan":[]}`, ""},
		{"request_permissions", `{}`, "unknown"},
		{"mcp__my_srv__poke_it", `{"a":"b"}`, "unknown"},
		{"Read", `{"file_path":"/etc/x"}`, "unknown"},
		{"SomethingNew", `{}`, "unknown"},
	}
	for _, tt := range tests {
		tl, ok := Find(Canonical("codex", tt.name))
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

// FuzzCodexPatch holds that no line which Codex could take for a header of a
// file goes unseen: a patch that is not unknown has an effect for each.
func FuzzCodexPatch(f *testing.F) {
	f.Add("*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y")
	f.Add(" *** Delete File: ~/x\r\n*** End of File")
	f.Fuzz(func(t *testing.T, body string) {
		effects := patched("*** Begin Patch\n"+body+"\n*** End Patch", at)
		if len(effects) == 0 {
			t.Fatalf("%q changes nothing", body)
		}
		paths := map[string]bool{}
		for _, e := range effects {
			if e.Kind == reeve.EffectUnknown {
				return
			}
			paths[e.Path] = true
		}
		for _, line := range strings.Split(body, "\n") {
			line = strings.TrimSpace(line)
			for _, header := range []string{"*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "} {
				if name, ok := strings.CutPrefix(line, header); ok && !paths[filepath.Clean(filepath.Join("/w/sub", name))] && !filepath.IsAbs(name) {
					t.Fatalf("%q does not show %q: %v", body, name, paths)
				}
			}
		}
	})
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
	all := append(Tools("claude"), Tools("codex")...)
	tool.NewRegistry(all...) // panics on two of one name
	for name, class := range map[string]tool.Class{
		"claude:bash": tool.ClassBash, "Claude:Read": tool.ClassRead, "claude:multiedit": tool.ClassWrite, "claude:webfetch": tool.ClassWeb,
		"claude:mcp__a__b": tool.ClassMCP, "claude:todowrite": tool.ClassOther, "claude:new": tool.ClassOther,
		"codex:bash": tool.ClassBash, "codex:apply_patch": tool.ClassWrite, "codex:mcp__a__b": tool.ClassMCP, "codex:read": tool.ClassOther,
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
		client, name, _ := strings.Cut(s.Name, ":")
		if class, ok := tool.ForeignClass(name); ok && class != s.Class {
			t.Errorf("%s is of class %s here and %s in the table of names", s.Name, s.Class, class)
		}
		if s.Tier == reeve.TierDenied || s.Source != "foreign:"+client {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}

func TestWhatAWriterBringsIsNamedByFile(t *testing.T) {
	for _, tt := range []struct {
		tool, args string
		want       []tool.Text
	}{
		{"claude:write", `{"file_path":"a","content":"x"}`, []tool.Text{{Path: "/w/a", New: "x", Whole: true}}},
		{"claude:edit", `{"file_path":"/w/a","old_string":"x","new_string":"y"}`, []tool.Text{{Path: "/w/a", New: "y", Old: "x"}}},
		{"claude:multiedit", `{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"","new_string":"z"}]}`,
			[]tool.Text{{Path: "/w/a", New: "y", Old: "x"}, {Path: "/w/a", New: "z"}}},
		{"claude:notebookedit", `{"notebook_path":"a.ipynb","new_source":"x"}`, []tool.Text{{Path: "/w/a.ipynb", New: "x"}}},
		{"codex:apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n y\n-z\n+u\n*** End Patch"}`,
			[]tool.Text{{Path: "/w/a", New: "+x\n"}, {Path: "/w/b", New: "@@\n y\n+u\n", Old: " y\nz\n"}}},
		{"claude:read", `{"file_path":"a"}`, nil},
	} {
		found, ok := Find(tt.tool)
		if !ok {
			t.Fatalf("no tool %s", tt.tool)
		}
		var got []tool.Text
		for _, text := range found.(tool.Author).Texts([]byte(tt.args), tool.Place{Workspace: "/w", Dir: "/w"}) {
			if text.New != "" {
				got = append(got, text)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.tool, got, tt.want)
		}
	}
}
