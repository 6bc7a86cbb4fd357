package install

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// Event is one event of Claude Code that Reeve hooks.
type Event struct {
	Name    string
	Matcher bool // the event takes a matcher
	Timeout int  // seconds
}

// Events are what Reeve hooks, in the order in which they are added. The
// first two are decided: they wait for a person, and Reeve answers well before
// their 600 s, the longest time for which Claude Code was seen to wait. The
// end of a session is held up for at most its own ten.
var Events = []Event{
	{"PreToolUse", true, 600},
	{"PreSkillShellCommand", true, 600},
	{"PostToolUse", true, 60},
	{"PostToolUseFailure", true, 60},
	{"SessionEnd", false, 10},
}

// tail is what every command of ours ends in. A client lets a call through on
// every exit code but 2; a missing program, a crash and a signal give others.
const tail = " hook claude || exit 2"

// Command is the shell command that Claude Code is to run: program is the
// absolute path of reeve, home is REEVE_HOME or "".
func Command(program, home string) (string, error) {
	for what, path := range map[string]string{"the program's path": program, "REEVE_HOME": home} {
		switch {
		case path == "" && what == "REEVE_HOME":
		case !filepath.IsAbs(path):
			return "", fmt.Errorf("%s %q is not absolute", what, path)
		case strings.ContainsFunc(path, unicode.IsControl):
			return "", fmt.Errorf("%s %q holds a control character", what, path)
		case strings.Contains(path, "${"):
			// Claude Code replaces ${CLAUDE_...} in the text of a command.
			return "", fmt.Errorf("%s %q holds ${, which Claude Code may replace", what, path)
		}
	}
	c := quote(program) + tail
	if home != "" {
		c = "REEVE_HOME=" + quote(home) + " " + c
	}
	return c, nil
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var ours = regexp.MustCompile(`^(REEVE_HOME=\S.* )?('[^\n]*'|"[^\n]*"|[^\s'"]+)` + regexp.QuoteMeta(tail) + `$`)

// isOurs reports whether a command is one of Reeve's, of any path.
func isOurs(command string) bool { return ours.MatchString(command) }
