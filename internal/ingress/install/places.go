package install

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Source is one settings file that Claude Code joins into what it obeys.
type Source struct {
	Path    string
	Managed bool // placed by an administrator
}

// Locate names the settings file to change and every file that Claude Code,
// started in dir, reads beside it. The file is the person's own, in
// CLAUDE_CONFIG_DIR or ~/.claude, or with project that of dir: Claude Code
// 2.1.332 reads a project's settings from the folder it is started in, and
// not from the root of the repository around it.
func Locate(getenv func(string) string, dir string, project bool) (target string, others []Source, err error) {
	base := getenv("CLAUDE_CONFIG_DIR")
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			return "", nil, fmt.Errorf("neither CLAUDE_CONFIG_DIR nor HOME is set")
		}
		base = filepath.Join(home, ".claude")
	}
	if !filepath.IsAbs(base) {
		return "", nil, fmt.Errorf("the folder of Claude Code's settings, %q, is not absolute: set CLAUDE_CONFIG_DIR or HOME to an absolute path", base)
	}
	person := filepath.Join(base, "settings.json")
	shared := filepath.Join(dir, ".claude", "settings.json")
	target = person
	if project {
		target = shared
	}
	for _, path := range []string{person, shared, filepath.Join(dir, ".claude", "settings.local.json")} {
		if path != target {
			others = append(others, Source{Path: path})
		}
	}
	return target, append(others, managed()...), nil
}

// managed are the administrator's files, at their documented places.
func managed() []Source {
	base := "/etc/claude-code"
	if runtime.GOOS == "darwin" {
		base = "/Library/Application Support/ClaudeCode"
	}
	all := []Source{{filepath.Join(base, "managed-settings.json"), true}}
	parts, _ := filepath.Glob(filepath.Join(base, "managed-settings.d", "*.json")) // the pattern is well formed
	for _, p := range parts {
		all = append(all, Source{p, true})
	}
	return all
}

// ExamineAll is [Examine] for settings whose text is after, in target, and
// the other files as they are. A file that cannot be read, but is there, is a
// note.
func ExamineAll(target string, after []byte, others []Source) []string {
	notes := Examine(target, after, false)
	for _, s := range others {
		text, err := os.ReadFile(s.Path)
		switch {
		case err == nil:
			notes = append(notes, Examine(s.Path, text, s.Managed)...)
		case !os.IsNotExist(err):
			notes = append(notes, fmt.Sprintf("%s: cannot be looked at: %v", s.Path, err))
		}
	}
	return notes
}
