package codex

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/tomlc"
)

// Trust is one entry: under the hook's key, the digest of the trusted hook.
type Trust struct{ Key, Digest string }

// Key is how Codex 0.171 names a hook: by its file as Codex spells it, the
// event, the place of its group in the event's list, and its place in the
// group, both from 0.
func Key(file, event string, group, hook int) string {
	return fmt.Sprintf("%s:%s:%d:%d", file, snake(event), group, hook)
}

// Digest is what Codex 0.171 compares: of the event, the matcher where there
// is one, and the one hook as it runs, as JSON with sorted names.
func Digest(event string, matcher *string, command string, timeout int) string {
	identity := map[string]any{
		"event_name": snake(event),
		"hooks":      []any{map[string]any{"type": "command", "command": command, "timeout": timeout, "async": false}},
	}
	if matcher != nil {
		identity["matcher"] = *matcher
	}
	b, err := json.Marshal(identity, json.Deterministic(true))
	if err != nil {
		return "" // not UTF-8: Codex would not load it, and nothing equals this
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(b))
}

// snake is PreToolUse as pre_tool_use.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// marker is the comment above the entries.
const marker = "# reeve install codex: trusts Reeve's hooks; reeve uninstall codex takes this out"

// Add puts the entries into the text of a config.toml; exists is false where
// there is no such file. An entry that stands there already under its key is
// replaced, one of the same hooks file with a digest of an earlier installation
// (old) is taken out, and a text that has all entries as they are comes back as
// it is. An error names the line.
func Add(src []byte, exists bool, file string, all []Trust, old []string) ([]byte, error) {
	values, _, err := tomlc.Read(src)
	if err != nil {
		return nil, err
	}
	if trusted(values, all) {
		return src, nil
	}
	keys := map[string]bool{}
	for _, t := range all {
		keys[t.Key] = true
	}
	bare, left, err := cut(src, func(key, digest string) bool {
		return keys[key] || strings.HasPrefix(key, file+":") && slices.Contains(old, digest)
	})
	if err != nil {
		return nil, err
	}
	after := attach(bare, exists && left, all)
	if err := check(bare, after, all); err != nil {
		return nil, err
	}
	return after, nil
}

// trusted reports whether every entry stands there, and nothing else under its
// key, such as a word that switches the hook off.
func trusted(values map[string]any, all []Trust) bool {
	for _, t := range all {
		if !reflect.DeepEqual(member(values, "hooks", "state", t.Key), map[string]any{"trusted_hash": t.Digest}) {
			return false
		}
	}
	return true
}

func member(v any, path ...string) any {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// attach writes the entries behind the text.
func attach(src []byte, exists bool, all []Trust) []byte {
	nl := "\n"
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		nl = "\r\n"
	}
	lines := []string{marker}
	for _, t := range all {
		lines = append(lines, "[hooks.state."+quote(t.Key)+"]", "trusted_hash = "+quote(t.Digest))
	}
	block := strings.Join(lines, nl)
	switch {
	case !exists:
		return []byte(block + nl)
	case len(src) == 0:
		return []byte(block)
	case bytes.HasSuffix(src, []byte("\n")):
		return append(slices.Clone(src), nl+block+nl...)
	}
	return append(slices.Clone(src), nl+nl+block...)
}

// quote writes a basic string of TOML.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// check tests that the new text says what the old one said and the entries,
// and nothing else.
func check(before, after []byte, all []Trust) error {
	want, statements, err := tomlc.Read(before)
	if err != nil {
		return err
	}
	got, _, err := tomlc.Read(after)
	if err == nil {
		state, ok := member(want, "hooks", "state").(map[string]any)
		if !ok {
			state = map[string]any{}
		}
		for _, t := range all {
			state[t.Key] = map[string]any{"trusted_hash": t.Digest}
		}
		hooks, ok := want["hooks"].(map[string]any)
		if !ok {
			hooks = map[string]any{}
		}
		if hooks["state"], want["hooks"] = state, hooks; reflect.DeepEqual(got, want) {
			return nil
		}
	}
	for _, st := range statements {
		if st.Path[0] == "hooks" && !st.Header {
			return fmt.Errorf("line %d: the trust of a hook cannot be added below this; write it as a [hooks.state] table", tomlc.Line(before, st.Start))
		}
	}
	return fmt.Errorf("the trust of a hook cannot be added at its end: %w", err)
}

// Remove takes the entries of one hooks file out whose digests are among
// those given, and the comment. exists is false where the text was only there
// for them. A text without them comes back as it is.
func Remove(src []byte, file string, digests []string) (after []byte, exists bool, err error) {
	return cut(src, func(key, digest string) bool {
		return strings.HasPrefix(key, file+":") && slices.Contains(digests, digest)
	})
}

// cut takes out the tables of hooks.state that go, by key and digest.
func cut(src []byte, goes func(key, digest string) bool) (after []byte, exists bool, err error) {
	values, statements, err := tomlc.Read(src)
	if err != nil {
		return nil, true, err
	}
	var spans []span
	for i, st := range statements {
		if !st.Header || len(st.Path) != 3 || st.Path[0] != "hooks" || st.Path[1] != "state" {
			continue
		}
		digest, _ := member(values, "hooks", "state", st.Path[2], "trusted_hash").(string)
		if !goes(st.Path[2], digest) {
			continue
		}
		last := st
		for _, next := range statements[i+1:] {
			if next.Header {
				break
			}
			last = next
		}
		spans = append(spans, span{st.Start, last.End})
	}
	if len(spans) == 0 {
		return src, true, nil
	}
	whole := spans[len(spans)-1].to == len(src)
	if from, comment := lineBefore(src, spans[0].from); string(bytes.TrimRight(comment, "\r\n")) == marker {
		endless := whole && !bytes.HasSuffix(src, []byte("\n"))
		spans[0].from = gap(src, from, endless)
		if whole && !endless && spans[0].from == 0 && len(spans) == adjacent(spans) {
			return nil, false, nil
		}
	}
	at := 0
	for _, s := range spans {
		after = append(after, src[at:s.from]...)
		at = s.to
	}
	return append(after, src[at:]...), true, nil
}

// span is a part of the text that goes.
type span struct{ from, to int }

// adjacent counts the spans up to the first one that something stands behind.
func adjacent(spans []span) int {
	n := 1
	for n < len(spans) && spans[n].from == spans[n-1].to {
		n++
	}
	return n
}

// gap is where the text before our comment ends, less what [attach] put there:
// an empty line, and the end of the last line where the text has no last line
// end.
func gap(src []byte, at int, endless bool) int {
	before := src[:at]
	switch {
	case endless:
		before = lessLineEnd(lessLineEnd(before))
	case bytes.HasSuffix(before, []byte("\n\n")), bytes.HasSuffix(before, []byte("\n\r\n")):
		before = lessLineEnd(before)
	}
	return len(before)
}

func lessLineEnd(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}

// lineBefore is the line that ends where another begins, and its start.
func lineBefore(src []byte, at int) (start int, text []byte) {
	if at == 0 {
		return 0, nil
	}
	start = bytes.LastIndexByte(src[:at-1], '\n') + 1
	return start, src[start:at]
}
