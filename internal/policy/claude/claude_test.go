package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/policy"
)

// Each testdata/NAME.json is a settings file as people have them; NAME.want
// is the policy, a line of dashes, and the notes.
func TestSettingsBecomeAPolicyAndNotes(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.json")
	if len(files) < 5 {
		t.Fatalf("%d settings files", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			toml, notes, err := Import(src, filepath.Base(file))
			if err != nil {
				t.Fatal(err)
			}
			got := string(toml) + "----\n" + strings.Join(append(notes, ""), "\n")
			want, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".want")
			if err != nil || got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if _, err := policy.Parse(policy.LayerUser, "p.toml", toml); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAFaultInSettingsHasItsPlace(t *testing.T) {
	for src, want := range map[string]string{
		"{\"permissions\":\n {\"allow\": \"x\"}}": "s.json:2:12: permissions.allow must be a list",
		"{\"permissions\": [":                     "s.json:1:18: not JSON",
		"{\"permissions\": {\"deny\": [1]}}":      "s.json:1:27: a rule is a string",
		"{\"permissions\": 1}":                    "s.json:1:17: permissions must be a table",
	} {
		if _, _, err := Import([]byte(src), "s.json"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}

func FuzzImport(f *testing.F) {
	f.Add(`{"permissions":{"allow":["Bash(npm run test:*)","Read(~/x)"],"deny":["Read(./.env)","WebFetch(domain:*.com)"],"defaultMode":"acceptEdits"}}`)
	f.Add(`{"permissions":{"ask":["Bash(","mcp__a__b","Edit(!x)"]},"hooks":{}}`)
	f.Fuzz(func(t *testing.T, src string) {
		toml, notes, err := Import([]byte(src), "s.json")
		if err != nil {
			return
		}
		l, err := policy.Parse(policy.LayerImport, "p.toml", toml)
		if err != nil {
			t.Fatalf("does not read: %v\n%s", err, toml)
		}
		for _, n := range notes {
			if n == "" {
				t.Fatal("an empty note")
			}
		}
		_ = l
	})
}
