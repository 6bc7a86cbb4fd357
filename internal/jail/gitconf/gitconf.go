// Package gitconf reads git configuration files as far as a boundary needs
// them: to find what git would execute or include, and to tell a harmless
// new configuration from one that starts programs. It is pure: text in, facts
// out. The format is that of git-config(1), "CONFIGURATION FILE"; what cannot
// be read for certain counts as harmful.
package gitconf

import (
	"slices"
	"strings"
)

// Setting is one assignment.
type Setting struct {
	Key   string // section.subsection.name; section and name in lower case
	Value string
	Bare  bool // written without =, which means true
}

// MaxSize bounds the file that is read; git's own are a few hundred bytes.
const MaxSize = 256 << 10

// Parse reads the assignments of a configuration file. ok is false
// where a line cannot be read for certain: the caller must then take it for
// one that executes.
func Parse(text []byte) (settings []Setting, ok bool) {
	section := ""
	lines := strings.Split(strings.TrimPrefix(string(text), "\uFEFF"), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(strings.TrimSuffix(lines[i], "\r"))
		for strings.HasPrefix(line, "[") {
			end := headerEnd(line)
			if end < 0 {
				return settings, false
			}
			section = sectionName(line[1:end])
			line = strings.TrimSpace(line[end+1:])
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		for continued(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimSuffix(lines[i], "\r")
		}
		name, value, assigned := strings.Cut(line, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if section == "" || !plainName(name) {
			return settings, false
		}
		settings = append(settings, Setting{Key: section + "." + name, Value: configValue(value), Bare: !assigned})
	}
	return settings, true
}

// headerEnd finds the bracket that closes a section header; one inside the
// quoted subsection does not.
func headerEnd(line string) int {
	quoted := false
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			return i
		}
	}
	return -1
}

// sectionName turns `remote "Origin"` into `remote.Origin`.
func sectionName(header string) string {
	name, sub, found := strings.Cut(header, `"`)
	name = strings.ToLower(strings.TrimSpace(name))
	if !found {
		return name
	}
	sub = strings.TrimSuffix(strings.TrimSpace(sub), `"`)
	return name + "." + strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(sub)
}

// continued reports whether a line ends in an odd number of backslashes.
func continued(line string) bool {
	n := 0
	for i := len(line) - 1; i >= 0 && line[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

func plainName(name string) bool {
	if name == "" {
		return false
	}
	for _, c := range name {
		if c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// configValue takes the quotes and the comment off a value.
func configValue(raw string) string {
	var b strings.Builder
	quoted := false
	raw = strings.TrimSpace(raw)
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw):
			i++
			b.WriteByte(raw[i])
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String())
}

// harmlessKeys are settings that neither start a program nor make git read a
// file of somebody's choice; a star stands for one subsection.
var harmlessKeys = map[string]bool{
	"branch.*.merge": true, "branch.*.rebase": true, "branch.*.remote": true, "branch.*.description": true,
	"core.autocrlf": true, "core.bare": true, "core.eol": true, "core.filemode": true, "core.ignorecase": true,
	"core.logallrefupdates": true, "core.precomposeunicode": true, "core.repositoryformatversion": true,
	"core.safecrlf": true, "core.symlinks": true, "core.worktree": false,
	"extensions.objectformat": true, "extensions.refstorage": true, "extensions.partialclone": true,
	"init.defaultbranch": true, "pull.rebase": true, "push.default": true, "push.autosetupremote": true,
	"remote.*.fetch": true, "remote.*.partialclonefilter": true, "remote.*.promisor": true, "remote.*.prune": true,
	"remote.*.pushurl": true, "remote.*.tagopt": true, "remote.*.url": true,
	"submodule.*.active": true, "submodule.*.url": true, "submodule.active": true,
	"user.email": true, "user.name": true, "commit.gpgsign": true, "tag.gpgsign": true,
}

// Harmless reports whether every setting of a configuration is one
// that starts no program. A text that cannot be read for certain is not
// harmless, and neither is a setting that is not known.
func Harmless(text []byte) bool {
	if len(text) > MaxSize {
		return false
	}
	settings, ok := Parse(text)
	return ok && !slices.ContainsFunc(settings, func(s Setting) bool { return !s.harmless() })
}

// HarmlessSince reports whether every setting of a configuration either stood
// in the former one or is harmless. Texts that cannot be read for certain
// never are, unless they are equal.
func HarmlessSince(former, text []byte) bool {
	if len(text) > MaxSize {
		return false
	}
	old, ok := Parse(former)
	settings, ok2 := Parse(text)
	return ok && ok2 && !slices.ContainsFunc(settings, func(s Setting) bool { return !s.harmless() && !slices.Contains(old, s) })
}

func (s Setting) harmless() bool {
	return harmlessKeys[generalKey(s.Key)] && !runsHelper(s) && !strings.ContainsAny(s.Value, "\n\r\x00")
}

// HarmlessPart writes the harmless settings of a configuration anew, in a
// spelling that cannot be read in two ways.
func HarmlessPart(text []byte) []byte {
	settings, _ := Parse(text)
	return write(slices.DeleteFunc(settings, func(s Setting) bool { return !s.harmless() }))
}

// Merge writes the settings that stood in the former configuration and the
// harmless ones that the text added. ok is false where one of them cannot be
// written anew for certain.
func Merge(former, text []byte) (merged []byte, ok bool) {
	kept, ok := Parse(former)
	settings, _ := Parse(text)
	for _, s := range settings {
		if s.harmless() && !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return write(kept), ok && !slices.ContainsFunc(kept, func(s Setting) bool { return strings.ContainsAny(s.Key+s.Value, "\n\r\x00") })
}

func write(settings []Setting) []byte {
	var b strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, s := range settings {
		first, last := strings.IndexByte(s.Key, '.'), strings.LastIndexByte(s.Key, '.')
		b.WriteString("[" + s.Key[:first])
		if last > first {
			b.WriteString(` "` + quote.Replace(s.Key[first+1:last]) + `"`)
		}
		b.WriteString("]\n\t" + s.Key[last+1:])
		if !s.Bare {
			b.WriteString(` = "` + quote.Replace(s.Value) + `"`)
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

// generalKey puts a star in the place of the subsection.
func generalKey(key string) string {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 || first == last {
		return key
	}
	return key[:first] + ".*" + key[last:]
}

// runsHelper finds addresses that name a remote helper: git runs
// git-remote-NAME for NAME::ADDRESS, and ext:: runs any command.
func runsHelper(s Setting) bool {
	name, _, found := strings.Cut(s.Value, "::")
	return found && strings.HasSuffix(s.Key, "url") && !strings.ContainsAny(name, "/[@")
}
