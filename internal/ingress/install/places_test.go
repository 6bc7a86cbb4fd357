package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheRightSettingsFileIsChanged(t *testing.T) {
	tests := []struct {
		name    string
		env     map[string]string
		project bool
		want    string // empty: an error
	}{
		{"the person's", map[string]string{"HOME": "/h"}, false, "/h/.claude/settings.json"},
		{"a folder named for it", map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}, false, "/c/settings.json"},
		{"the project's", map[string]string{"HOME": "/h"}, true, "/w/.claude/settings.json"},
		{"no home", nil, false, ""},
		{"relative", map[string]string{"HOME": "h"}, false, ""},
		{"relative folder", map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "c"}, true, ""},
	}
	for _, tt := range tests {
		got, others, err := Claude.Locate(func(k string) string { return tt.env[k] }, "/w", tt.project)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
		if err == nil && (len(others) < 3 || slices.ContainsFunc(others, func(s Source) bool { return s.Path == got })) {
			t.Errorf("%s: others are %v", tt.name, others)
		}
	}
}

func TestTheOtherSettingsFilesAreLookedAtToo(t *testing.T) {
	dir := t.TempDir()
	local := filepath.Join(dir, "settings.local.json")
	put(t, local, `{"disableAllHooks":true}`, 0o600)
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := Claude.ExamineAll("t", []byte("{}"), nil, []Source{{Path: local}, {Path: filepath.Join(dir, "none")}, {Path: filepath.Join(dir, "folder")}})
	if len(got) != 2 || !strings.HasPrefix(got[0], local+":1:20: disableAllHooks") || !strings.Contains(got[1], "cannot be looked at") {
		t.Errorf("notes are %q", got)
	}
}
