package install

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/reeve-gate/reeve/internal/late"
)

// Event is one event of a client that Reeve hooks.
type Event struct {
	Name    string
	Matcher bool // the event takes a matcher
	Timeout int  // seconds
}

// Client is an agent whose settings take hooks.
type Client struct {
	Name    string // as in reeve hook NAME
	Product string // as people call it
	// Events are what Reeve hooks, in the order in which they are added. What
	// is decided waits for a person, and Reeve answers well before its 600 s,
	// the longest time for which either client was seen to wait.
	Events []Event

	// tail is what every command of ours ends in: a client lets a call through
	// on every exit code but 2; a missing program, a crash and a signal give
	// others.
	tail string
	ours late.Regexp
}

// Claude is Claude Code 2.1. The end of a session is held up for at most its
// own ten seconds.
var Claude = newClient("claude", "Claude Code", " hook claude || exit 2", []Event{
	{"PreToolUse", true, 600},
	{"PreSkillShellCommand", true, 600},
	{"PostToolUse", true, 60},
	{"PostToolUseFailure", true, 60},
	{"SessionEnd", false, 10},
})

// Codex is Codex 0.171. It obeys exit code 2 only where something stands on
// standard error, and gives the end of a session three seconds at most.
var Codex = newClient("codex", "Codex", ` hook codex || { [ $? = 2 ] || echo "Reeve's hook did not work, so this call is denied: see reeve status" >&2; exit 2; }`, []Event{
	{"PreToolUse", true, 600},
	{"PermissionRequest", true, 60},
	{"PostToolUse", true, 60},
	{"SessionEnd", false, 3},
})

func newClient(name, product, tail string, events []Event) *Client {
	ours := late.New(`^(?:[A-Z_]+=(?:'[^'\n]*'(?:\\''[^'\n]*')*)? )*('[^\n]*'|"[^\n]*"|[^\s'"]+)` + regexp.QuoteMeta(tail) + `$`)
	return &Client{name, product, events, tail, ours}
}

// Named is the client of the name, or nil.
func Named(name string) *Client {
	for _, c := range []*Client{Claude, Codex} {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// places are the variables by which a program finds Reeve's directories.
var places = []string{"REEVE_HOME", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"}

// Command is the shell command that the client is to run: program is the
// absolute path of reeve. It says itself where Reeve's directories are, as
// getenv tells it now: a client sets variables for its hooks that a project's
// settings name, and another REEVE_HOME would be another gate with other rules.
func (c *Client) Command(program string, getenv func(string) string) (string, error) {
	if err := c.path("the program's path", program); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range places {
		value := getenv(name)
		if value != "" {
			if err := c.path(name, value); err != nil {
				return "", err
			}
			value = quote(value)
		}
		text.WriteString(name + "=" + value + " ")
	}
	return text.String() + quote(program) + c.tail, nil
}

// path refuses what would not arrive as it is.
func (c *Client) path(what, path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("%s %q is not absolute", what, path)
	case strings.ContainsFunc(path, unicode.IsControl):
		return fmt.Errorf("%s %q holds a control character", what, path)
	case strings.Contains(path, "${"):
		// Claude Code replaces ${CLAUDE_...} in the text of a command.
		return fmt.Errorf("%s %q holds ${, which %s may replace", what, path, c.Product)
	}
	return nil
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// isOurs reports whether a command is one of Reeve's, of any path.
func (c *Client) isOurs(command string) bool { return c.ours.MatchString(command) }
