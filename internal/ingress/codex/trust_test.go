package codex

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/reeve-gate/reeve/internal/tomlc"
)

const file = "/h/.codex/hooks.json"

var ours = []Trust{
	{Key(file, "PreToolUse", 1, 0), "sha256:aa"},
	{Key(file, "SessionEnd", 0, 0), "sha256:bb"},
}

var digests = []string{"sha256:aa", "sha256:bb"}

// configs are realistic files, and degenerate ones.
var configs = map[string]string{
	"empty":                  "",
	"a line end":             "\n",
	"Windows line ends":      "a = 1\r\n[b]\r\nc = 'x'\r\n",
	"no last line end":       "model = \"gpt\"\n[features]\nhooks = true",
	"only that":              "a = 1",
	"comment at the end":     "a = 1\n# the end",
	"empty lines":            "a = 1\n\n\n",
	"others' trust":          "[hooks.state.\"/h/.codex/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:zz\"\nenabled = false\n\n[projects.\"/w\"]\ntrust_level = \"trusted\"\n",
	"inline hooks":           "[[hooks.PreToolUse]]\nmatcher = \"^Bash$\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"x\"\n",
	"state table":            "[hooks.state]\n",
	"dotted":                 "hooks.state.x.enabled = false\n",
	"texts of several lines": "a = \"\"\"\n[hooks.state.\"k\"]\n\\\"\"\"\"\"\nb = '''\n[x]\n''''\nc = [ # [y]\n  \"]\",\n  { d = '}' },\n]\n",
}

func TestInstallThenUninstallGivesBackTheSameBytes(t *testing.T) {
	for name, src := range configs {
		t.Run(name, func(t *testing.T) {
			with, err := Add([]byte(src), true, file, ours, nil)
			if err != nil {
				t.Fatal(err)
			}
			var values map[string]any
			if err := toml.Unmarshal(with, &values); err != nil || !trusted(values, ours) {
				t.Fatalf("add gives %v, %v:\n%s", values, err, with)
			}
			if twice, err := Add(with, true, file, ours, digests); err != nil || string(twice) != string(with) {
				t.Errorf("a second time: %v\n%s", err, twice)
			}
			after, exists, err := Remove(with, file, digests)
			if err != nil || !exists || string(after) != src {
				t.Errorf("remove gives %q (exists %v, %v), want %q\nthrough %q", after, exists, err, src, with)
			}
			if again, exists, err := Remove([]byte(src), file, digests); err != nil || !exists || string(again) != src {
				t.Errorf("removing what is not there changed it: %q %v", again, err)
			}
		})
	}
	with, err := Add(nil, false, file, ours, nil)
	if err != nil || !strings.HasSuffix(string(with), "\n") {
		t.Fatalf("new file: %v\n%s", err, with)
	}
	if after, exists, err := Remove(with, file, digests); err != nil || exists || after != nil {
		t.Errorf("remove gives %q, exists %v, %v", after, exists, err)
	}
}

func TestAnEarlierInstallationIsReplacedAndLeavesNothing(t *testing.T) {
	old := []Trust{{Key(file, "PreToolUse", 1, 0), "sha256:o1"}, {Key(file, "PostToolUse", 7, 0), "sha256:o2"}}
	for name, src := range configs {
		before, err := Add([]byte(src), true, file, old, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Add(before, true, file, ours, []string{"sha256:o1", "sha256:o2"})
		want, _ := Add([]byte(src), true, file, ours, nil)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %v\n got %q\nwant %q", name, err, got, want)
		}
	}
	// A hook that was switched off is switched on again.
	off := "[hooks.state.\"" + ours[0].Key + "\"]\ntrusted_hash = \"sha256:aa\"\nenabled = false\n"
	got, err := Add([]byte(off), true, file, ours, nil)
	if err != nil || strings.Contains(string(got), "enabled") {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestAFileThatWasChangedInBetweenLosesOnlyTheEntries(t *testing.T) {
	with, err := Add([]byte("a = 1\n"), true, file, ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, src, want string }{
		{"a table behind", string(with) + "\n[projects.\"/w\"]\ntrust_level = \"trusted\"\n", "a = 1\n\n[projects.\"/w\"]\ntrust_level = \"trusted\"\n"},
		{"the comment is gone", strings.Replace(string(with), marker+"\n", "", 1), "a = 1\n\n"},
		{"a table between", strings.Replace(string(with), "[hooks.state.\""+ours[1].Key, "[x]\ny = 1\n\n[hooks.state.\""+ours[1].Key, 1), "a = 1\n[x]\ny = 1\n\n"},
		{"other files' hooks", strings.ReplaceAll(string(with), file, "/other"), strings.ReplaceAll(string(with), file, "/other")},
	} {
		if after, exists, err := Remove([]byte(tt.src), file, digests); err != nil || !exists || string(after) != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, after, err, tt.want)
		}
	}
}

func TestAConfigThatCannotBeReadOrAddedToIsRefusedWithTheLine(t *testing.T) {
	for src, want := range map[string]string{
		"a = 1\nb = = 2\n":                   "line 2, column 5: ",
		"a = 1\na = 2\n":                     "a",
		"[x\n":                               "line 1",
		"a = \"\xff\"\n":                     "line 1",
		"x = 1\nhooks = {}\n":                "line 2: the trust of a hook cannot be added below this",
		"hooks.state = {}\n":                 "line 1: the trust of a hook cannot be added below this",
		"hooks = 1\n":                        "line 1: the trust of a hook cannot be added below this",
		"[hooks]\n\nstate = { x = 1 }":       "line 3: the trust of a hook cannot be added below this",
		strings.Repeat("#", tomlc.MaxText+1): "at most 1048576 are read",
	} {
		if got, err := Add([]byte(src), true, file, ours, nil); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("add to %.40q: %q, %v; want an error with %q", src, got, err, want)
		}
	}
}

// The digests and keys are those that Codex 0.171.0 shows for these hooks
// (hooks/list of codex app-server).
func TestADigestIsTheOneThatCodexMakes(t *testing.T) {
	all := "*"
	for _, tt := range []struct {
		event, command string
		matcher        *string
		timeout        int
		want           string
	}{
		{"PreToolUse", "/usr/local/bin/hook pre", &all, 600, "sha256:1fb25df91d1dfd76de99a749a533ea626ee7225a108a677f682bcb51a84572a5"},
		{"PostToolUse", "/usr/local/bin/hook post 'ü' && true", &all, 60, "sha256:a35ef669ada3298db37befe0586b73491c6309013342377fb4bd4acbc1b81d7e"},
		{"SessionEnd", "/usr/local/bin/hook end", nil, 3, "sha256:a867b14b32fd7db6c625c902d9d9a3496c166236d1dcd6ffcc34eabd227ca6a9"},
	} {
		if got := Digest(tt.event, tt.matcher, tt.command, tt.timeout); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.event, got, tt.want)
		}
	}
	if got := Key("/h/hooks.json", "PermissionRequest", 2, 1); got != "/h/hooks.json:permission_request:2:1" {
		t.Errorf("key = %s", got)
	}
}

func TestWhatDisarmsTheHookIsReported(t *testing.T) {
	tests := []struct {
		name, src string
		kind      Kind
		want      []string // how each note begins
	}{
		{"nothing", "model = 'x'\n", Person, nil},
		{"hooks on", "[features]\nhooks = true\n", Person, nil},
		{"hooks off", "model = 'x'\n[features]\nhooks = false\n", Person, []string{"f:3: features.hooks: no hook runs, and the gate is open"}},
		{"the older name", "features = { codex_hooks = false }\n", Person, []string{"f:1: features.codex_hooks: no hook runs"}},
		{"a project", "\nfeatures.hooks = false\n", Project, []string{"f:2: features.hooks: once you trust this project"}},
		{"managed only", "allow_managed_hooks_only = true\n", Requirements, []string{"f:1: allow_managed_hooks_only: only an administrator's hooks run"}},
		{"managed only, where it has no effect", "allow_managed_hooks_only = true\n", Person, nil},
		{"another hook", "[[hooks.PreToolUse]]\nmatcher = 'x'\n", Person, []string{"f:1: hooks.PreToolUse: another hook may rewrite"}},
		{"switched off", "[hooks.state.\"k\"]\nenabled = false\ntrusted_hash = \"sha256:aa\"\n", Person, []string{"f:2: hooks.state.k.enabled: Reeve's hook is switched off"}},
		{"another's switched off", "[hooks.state.\"k\"]\nenabled = false\ntrusted_hash = \"sha256:zz\"\n", Person, nil},
		{"unreadable", "a = \n", Person, []string{"f: line 1, column 5: "}},
	}
	for _, tt := range tests {
		got := Examine("f", []byte(tt.src), tt.kind, digests)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], tt.want[i]) {
				t.Errorf("%s: %q, want %q", tt.name, got[i], tt.want[i])
			}
		}
	}
	for src, want := range map[string]bool{"[features]\nhooks = true\n": true, "[features]\nhooks = false\n": false, "": false, "[": false} {
		if got := Pinned([]byte(src)); got != want {
			t.Errorf("Pinned(%q) = %v", src, got)
		}
	}
}

// FuzzConfig holds for any text: where Add takes it, the result parses, says
// what the text said and the entries and nothing else, is the same a second
// time, and Remove gives the text back byte for byte.
func FuzzConfig(f *testing.F) {
	for _, src := range configs {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		with, err := Add(src, true, file, ours, nil)
		if err != nil {
			return
		}
		if bare, _, err := Remove(src, file, digests); err != nil || string(bare) != string(src) {
			return // it had entries of ours already
		}
		for _, entry := range ours {
			if strings.Contains(string(src), entry.Key) {
				return // what stood under the key was replaced
			}
		}
		var before, after map[string]any
		if err := toml.Unmarshal(src, &before); err != nil {
			t.Fatal(err)
		}
		if err := toml.Unmarshal(with, &after); err != nil {
			t.Fatalf("add to %q gives %q: %v", src, with, err)
		}
		if hooks, ok := before["hooks"].(map[string]any); ok {
			delete(hooks, "state")
		}
		hooks := after["hooks"].(map[string]any)
		if delete(hooks, "state"); before["hooks"] == nil {
			delete(after, "hooks")
		}
		if len(before) != len(after) || len(before) > 0 && !same(before, after) {
			t.Fatalf("add to %q changed other values: %v", src, after)
		}
		if twice, err := Add(with, true, file, ours, digests); err != nil || string(twice) != string(with) {
			t.Fatalf("a second time %q becomes %q (%v)", with, twice, err)
		}
		back, exists, err := Remove(with, file, digests)
		if err != nil || !exists || string(back) != string(src) {
			t.Fatalf("add to %q gives %q, and remove %q (exists %v, %v)", src, with, back, exists, err)
		}
	})
}

// same compares values; a number that is not one equals itself here.
func same(a, b any) bool {
	x, err1 := toml.Marshal(a)
	y, err2 := toml.Marshal(b)
	return reflect.DeepEqual(a, b) || err1 == nil && err2 == nil && string(x) == string(y)
}
