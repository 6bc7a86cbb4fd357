package repo

import "strings"

// programKeys are the settings whose value git runs, or takes code from, by
// section and key; a star stands for any key. Whether a sub-section stands
// between them does not matter (git-config(1), git 2.52).
var programKeys = map[string][]string{
	"core": {
		"fsmonitor", "hookspath", "pager", "editor", "sshcommand", "gitproxy", "askpass", "alternaterefscommand",
	},
	"alias":       {"*"},
	"browser":     {"cmd", "path"},
	"credential":  {"helper"},
	"diff":        {"external", "command", "textconv"},
	"difftool":    {"cmd", "path"},
	"filter":      {"clean", "smudge", "process"},
	"gc":          {"recentobjectshook"},
	"gpg":         {"program", "defaultkeycommand"},
	"guitool":     {"cmd"},
	"hook":        {"command"},
	"imap":        {"tunnel"},
	"init":        {"templatedir"},
	"instaweb":    {"httpd", "modulepath"},
	"interactive": {"difffilter"},
	"man":         {"cmd", "path"},
	"merge":       {"driver"},
	"mergetool":   {"cmd", "path"},
	"pager":       {"*"},
	"protocol":    {"allow"},
	"remote":      {"receivepack", "uploadpack", "vcs"},
	"sendemail":   {"smtpserver", "sendmailcmd", "tocmd", "cccmd", "headercmd", "aliasesfile", "smtpserveroption"},
	"sequence":    {"editor"},
	"submodule":   {"update"},
	"tar":         {"command"},
	"trailer":     {"command", "cmd"},
	"uploadpack":  {"packobjectshook"},
}

// startsProgram reports whether git would start a program because of s.
func startsProgram(s setting) bool {
	for _, key := range programKeys[s.section] {
		if key == s.key || key == "*" {
			return !harmlessValue(s)
		}
	}
	return false
}

// harmlessValue knows the values that switch a program off, or that name
// none.
func harmlessValue(s setting) bool {
	if s.value == "" {
		return true // also the bare key: true where a switch is meant, an error where a program is
	}
	switch s.section + "." + s.key {
	case "core.fsmonitor": // true is git's own daemon
		return isBool(s.value)
	case "core.hookspath":
		return s.value == "/dev/null"
	case "core.pager":
		return s.value == "cat"
	case "submodule.update":
		return !strings.HasPrefix(s.value, "!")
	case "protocol.allow":
		return s.value == "never" || s.value == "user"
	}
	switch s.section {
	case "alias":
		return !strings.HasPrefix(strings.TrimSpace(s.value), "!")
	case "pager":
		return isBool(s.value) || s.value == "cat"
	}
	return false
}

func isBool(v string) bool {
	switch strings.ToLower(v) {
	case "true", "false", "yes", "no", "on", "off", "0", "1":
		return true
	}
	return false
}
