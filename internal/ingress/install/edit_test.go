package install

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jsonc"
)

const (
	command = `REEVE_HOME='/h/r' '/usr/local/bin/reeve' hook claude || exit 2`
	older   = `"/old place/reeve" hook claude || exit 2`
)

// settings are the realistic files of testdata, and the degenerate ones.
func settings(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{
		"empty":           "",
		"line ends":       "\r\n\n",
		"byte order mark": string(jsonc.BOM),
		"empty object":    "{}",
		"open object":     "{\n}\n",
		"empty hooks":     `{"hooks":{}}`,
		"spaced hooks":    "{ \"hooks\" : { } }\n",
		"empty lists":     `{"hooks":{"PreToolUse":[],"PreSkillShellCommand":[],"PostToolUse":[],"PostToolUseFailure":[],"SessionEnd":[]}}`,
		"one of ours":     "{\n  \"hooks\": {\n    \"PreToolUse\": []\n  }\n}",
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("testdata: %v %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(f)] = string(b)
	}
	return all
}

func add(t testing.TB, src string, exists bool) string {
	t.Helper()
	got, err := Claude.Add([]byte(src), exists, command)
	if err != nil {
		t.Fatalf("add to %q: %v", src, err)
	}
	return string(got)
}

func TestInstallThenUninstallGivesBackTheSameBytes(t *testing.T) {
	for name, src := range settings(t) {
		t.Run(name, func(t *testing.T) {
			with := add(t, src, true)
			if with == src {
				t.Fatal("nothing was added")
			}
			after, exists, err := Claude.Remove([]byte(with))
			if err != nil || !exists || string(after) != src {
				t.Errorf("add, then remove\n got %q (exists %v, %v)\nwant %q\nthrough %s", after, exists, err, src, with)
			}
			if again, exists, err := Claude.Remove(after); err != nil || !exists || string(again) != src {
				t.Errorf("removing what is not there changed it: %q %v", again, err)
			}
		})
	}
}

func TestAFileThatWasNotThereIsGoneAgain(t *testing.T) {
	with := add(t, "", false)
	if !json.Valid([]byte(with)) || !strings.HasSuffix(with, "}\n") {
		t.Fatalf("new file:\n%s", with)
	}
	if after, exists, err := Claude.Remove([]byte(with)); err != nil || exists || after != nil {
		t.Errorf("remove gives %q, exists %v, %v", after, exists, err)
	}
}

func TestInstallTwiceIsInstallOnce(t *testing.T) {
	for name, src := range settings(t) {
		once := add(t, src, true)
		if twice := add(t, once, true); twice != once {
			t.Errorf("%s: a second time\n got %q\nwant %q", name, twice, once)
		}
	}
}

func TestAnOlderInstallationIsReplacedAndLeavesNothing(t *testing.T) {
	for name, src := range settings(t) {
		old, err := Claude.Add([]byte(src), true, older)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := add(t, string(old), true), add(t, src, true); got != want {
			t.Errorf("%s\n got %q\nwant %q", name, got, want)
		}
	}
}

func TestTheHookIsAddedForEveryEventAndNothingElseChanges(t *testing.T) {
	for name, src := range settings(t) {
		before, after := decode(t, src), decode(t, add(t, src, true))
		hooks := after["hooks"].(map[string]any)
		for _, e := range Claude.Events {
			groups := hooks[e.Name].([]any)
			g := groups[len(groups)-1].(map[string]any)
			want := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command, "timeout": float64(e.Timeout)}}}
			if e.Matcher {
				want["matcher"] = "*"
			}
			if !reflect.DeepEqual(g, want) {
				t.Errorf("%s: %s has %v", name, e.Name, g)
			}
		}
		if !reflect.DeepEqual(without(after), without(before)) {
			t.Errorf("%s: the rest changed\n got %v\nwant %v", name, without(after), without(before))
		}
	}
}

// decode reads settings as our reader does, into plain values.
func decode(t testing.TB, src string) map[string]any {
	t.Helper()
	root, err := jsonc.Read([]byte(src))
	if err != nil {
		t.Fatalf("%q does not parse: %v", src, err)
	}
	if root == nil {
		return map[string]any{}
	}
	return plain(root).(map[string]any)
}

func plain(n *jsonc.Node) any {
	switch n.Kind {
	case '{':
		m := map[string]any{}
		for _, k := range n.Kids {
			m[k.Name] = plain(k.Value)
		}
		return m
	case '[':
		l := []any{}
		for _, k := range n.Kids {
			l = append(l, plain(k.Value))
		}
		return l
	case '"':
		return n.Text
	}
	var v any
	if err := json.Unmarshal([]byte(n.Text), &v); err != nil {
		return n.Text // a number that no float64 holds
	}
	return v
}

// without is settings less the groups of Reeve and the containers that only
// they or nothing stand in.
func without(s map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range s {
		out[k] = v
	}
	hooks, ok := s["hooks"].(map[string]any)
	if !ok {
		return out
	}
	rest := map[string]any{}
	for event, groups := range hooks {
		list, ok := groups.([]any)
		if !ok {
			rest[event] = groups
			continue
		}
		left := []any{}
		for _, g := range list {
			if !strings.Contains(fmt.Sprint(g), "hook claude || exit 2") {
				left = append(left, g)
			}
		}
		if len(left) > 0 {
			rest[event] = left
		}
	}
	if delete(out, "hooks"); len(rest) > 0 {
		out["hooks"] = rest
	}
	return out
}

func TestAReformattedFileLosesOnlyTheHook(t *testing.T) {
	for name, src := range settings(t) {
		if !json.Valid([]byte(src)) {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(add(t, src, true)), &v); err != nil {
			t.Fatal(err)
		}
		for _, indent := range []string{"  ", ""} {
			again, _ := json.MarshalIndent(v, "", indent)
			after, _, err := Claude.Remove(again)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := decode(t, string(after)); !reflect.DeepEqual(without(got), without(decode(t, src))) || strings.Contains(string(after), "hook claude") {
				t.Errorf("%s\n got %v\nwant %v", name, got, decode(t, src))
			}
		}
	}
}

func TestAHookThatSharesItsGroupIsTakenOutAlone(t *testing.T) {
	ours := `{"type":"command","command":"'/r' hook claude || exit 2"}`
	theirs := `{"type":"command","command":"x"}`
	for src, want := range map[string]string{
		`{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[` + theirs + `, ` + ours + `]}]}}`:                   `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[` + theirs + `]}]}}`,
		`{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[` + ours + ` , ` + theirs + `]}]}}`:                  `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[` + theirs + `]}]}}`,
		`{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[` + theirs + `, /* ours */ ` + ours + `/* z */]}]}}`: `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[` + theirs + ` /* ours */ /* z */]}]}}`,
	} {
		if got, _, err := Claude.Remove([]byte(src)); err != nil || string(got) != want {
			t.Errorf("remove from %s\n got %s (%v)\nwant %s", src, got, err, want)
		}
	}
}

func TestAHookThatSomeoneWeakenedIsRepaired(t *testing.T) {
	with := add(t, "{}", true)
	for _, change := range [][2]string{
		{`"type": "command", "command": "REEVE`, `"async": true, "type": "command", "command": "REEVE`},
		{`"type": "command", "command": "REEVE`, `"if": "Bash(git *)", "type": "command", "command": "REEVE`},
		{`"matcher": "*"`, `"matcher": "Bash"`},
		{`"timeout": 600`, `"timeout": 1`},
	} {
		weak := strings.Replace(with, change[0], change[1], 1)
		if weak == with {
			t.Fatalf("%q is not in %s", change[0], with)
		}
		if got := add(t, weak, true); got != with {
			t.Errorf("%s\n got %s\nwant %s", change[1], got, with)
		}
	}
}

func TestSettingsThatCannotBeReadAreRefusedWithThePlace(t *testing.T) {
	tests := map[string]string{
		"{\n  \"model\": opus\n}":            "line 2, column 12: no value of JSON",
		"{\n  \"a\": 1\n  \"b\": 2\n}":       "line 3, column 3: a comma or '}' is missing",
		"{\"é\": \"x\n\"}":                   "line 1, column 7: this string does not end on its line",
		"{\"a\": \"\\x\"}":                   "line 1, column 7: this string is no valid JSON",
		"{\"a\": \"\xff\"}":                  "line 1, column 7: this string is no valid JSON",
		"{} {}":                              "line 1, column 4: something follows the settings",
		"[]":                                 "line 1, column 1: the settings are no object",
		"// only a comment":                  "line 1, column 18: there are comments, but no object",
		"{ /* open":                          "line 1, column 3: this comment does not end",
		"{a: 1}":                             "line 1, column 2: a name in quotation marks is expected",
		"{\"a\" 1}":                          "line 1, column 6: a colon is missing after the name",
		"{\"a\": 01}":                        "line 1, column 7: no value of JSON",
		"{\"a\":":                            "line 1, column 6: the text ends where a value is expected",
		"{,}":                                "line 1, column 2: a name in quotation marks is expected",
		"{\"hooks\":{},\"hooks\":{}}":        `line 1, column 21: "hooks" stands twice`,
		"{\"hooks\":[]}":                     `line 1, column 10: "hooks" is no object`,
		"{\"hooks\":null}":                   `line 1, column 10: "hooks" is no object`,
		"{\"hooks\":{\"PreToolUse\":{}}}":    `line 1, column 24: "PreToolUse" is no list`,
		strings.Repeat(" ", jsonc.MaxText+1): "at most 16777216 are read",
		strings.Repeat("[", 200) + "broken":  "values nest deeper than 100",
	}
	for src, want := range tests {
		if got, err := Claude.Add([]byte(src), true, command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("add to %.60q: %q, %v; want an error with %q", src, got, err, want)
		}
	}
}

func TestTheCommandIsOneOfOursWhateverThePath(t *testing.T) {
	for _, path := range []string{"/usr/bin/reeve", "/my tools/reeve", "/it's/reeve", `/a"b/re$eve`, "/`x`/reeve", "/ü/reeve"} {
		for _, at := range []string{"", "/h o'me"} {
			c, err := Claude.Command(path, home(at))
			if err != nil || !Claude.isOurs(c) || !strings.HasSuffix(c, " hook claude || exit 2") {
				t.Errorf("Claude.Command(%q, %q) = %q, %v", path, at, c, err)
			}
		}
	}
	for _, c := range []string{"reeve hook claude", "echo hook claude || exit 2; true", "x && '/r' hook claude || exit 2 # no", "'/r' hook codex || exit 2", "", "REEVE_HOME=x; evil '/r' hook claude || exit 2", "X='a' evil '/r' hook claude || exit 2", "reeve=1 '/r' hook claude || exit 2"} {
		if Claude.isOurs(c) {
			t.Errorf("%q passes for ours", c)
		}
	}
	for _, c := range []string{"'/r' hook claude || exit 2", `REEVE_HOME='/it'\''s' '/r' hook claude || exit 2`} { // of earlier versions
		if !Claude.isOurs(c) {
			t.Errorf("%q is not known as ours", c)
		}
	}
	for _, bad := range []string{"reeve", "/a\nb", "/${CLAUDE_PROJECT_DIR}/reeve", ""} {
		if c, err := Claude.Command(bad, home("")); err == nil {
			t.Errorf("Claude.Command(%q) = %q", bad, c)
		}
	}
	if c, err := Claude.Command("/r", home("relative")); err == nil {
		t.Errorf("a relative REEVE_HOME gives %q", c)
	}
}

// home is an environment with REEVE_HOME, where it is not "", and a few others.
func home(reeve string) func(string) string {
	return func(name string) string {
		return map[string]string{"REEVE_HOME": reeve, "HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/1"}[name]
	}
}

// TestTheCommandSaysWhereReeveStands runs it: what stood in the client's
// environment is not what arrives.
func TestTheCommandSaysWhereReeveStands(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "reeve")
	script := "#!/bin/sh\necho \"$REEVE_HOME|$HOME|$XDG_CONFIG_HOME|$XDG_STATE_HOME|$XDG_DATA_HOME|$XDG_RUNTIME_DIR\"\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"": "|/h||||/run/user/1", "/r'x": "/r'x|/h||||/run/user/1"} {
		command, err := Claude.Command(program, home(at))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", command)
		for _, name := range places {
			cmd.Env = append(cmd.Env, name+"=/evil")
		}
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q: %q, %v; want %q", command, out, err, want)
		}
	}
}
