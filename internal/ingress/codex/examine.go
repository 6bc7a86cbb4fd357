package codex

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/tomlc"
)

// Kind says which of Codex's files a text is.
type Kind uint8

const (
	Person       Kind = iota // config.toml, or NAME.config.toml for codex -p NAME
	Project                  // .codex/config.toml of a project, which counts once the person trusts the project
	Requirements             // requirements.toml, placed by an administrator
)

// Examine reports what in one file keeps the person's hooks from running or
// acts beside them, one sentence each with the place. ours are the digests of
// Reeve's hooks. A text that cannot be read gives one note that says so.
func Examine(file string, src []byte, kind Kind, ours []string) []string {
	values, statements, err := tomlc.Read(src)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v: Codex cannot load this file", file, err)}
	}
	x := &examiner{file: file, src: src, statements: statements}
	for _, name := range []string{"hooks", "codex_hooks"} { // the second is the older name
		if on, ok := member(values, "features", name).(bool); ok && !on {
			says := "no hook runs, and the gate is open"
			if kind == Project {
				says = "once you trust this project, no hook of yours runs in it, and the gate is open"
			}
			x.note(says, "features", name)
		}
	}
	if only, _ := values["allow_managed_hooks_only"].(bool); only && kind == Requirements {
		x.note("only an administrator's hooks run; ask for Reeve's to be added there", "allow_managed_hooks_only")
	}
	for _, event := range []string{"PreToolUse", "PermissionRequest"} {
		if member(values, "hooks", event) != nil {
			x.note("another hook may rewrite a call after Reeve judged it, or answer Codex's own question; it cannot lift a denial of Reeve's", "hooks", event)
		}
	}
	x.switchedOff(values, ours)
	return x.notes
}

// Pinned reports whether requirements keep hooks on, whatever else says.
func Pinned(src []byte) bool {
	values, _, err := tomlc.Read(src)
	if err != nil {
		return false
	}
	on, _ := member(values, "features", "hooks").(bool)
	return on
}

type examiner struct {
	file       string
	src        []byte
	statements []tomlc.Statement
	notes      []string
}

// note is about the value at path; the place is that of the statement that
// makes it.
func (x *examiner) note(says string, path ...string) {
	at, best := 0, -1
	for _, st := range x.statements {
		n := min(len(st.Path), len(path))
		if n > best && slices.Equal(st.Path[:n], path[:n]) {
			at, best = tomlc.Line(x.src, st.Start), n
		}
	}
	x.notes = append(x.notes, fmt.Sprintf("%s:%d: %s: %s", x.file, at, strings.Join(path, "."), says))
}

// switchedOff reports hooks of Reeve's that the person switched off.
func (x *examiner) switchedOff(values map[string]any, ours []string) {
	state, _ := member(values, "hooks", "state").(map[string]any)
	for key := range state {
		digest, _ := member(state, key, "trusted_hash").(string)
		on, ok := member(state, key, "enabled").(bool)
		if ok && !on && slices.Contains(ours, digest) {
			x.note("Reeve's hook is switched off", "hooks", "state", key, "enabled")
		}
	}
	slices.Sort(x.notes)
}
