package install

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/reeve-gate/reeve/internal/jsonc"
)

// FuzzSettings holds for any text: what Add makes of it parses, has the hook,
// changes no other value, is the same a second time, and Remove gives the
// text back byte for byte. What the reader takes as strict JSON is what the
// standard library takes, with the same values.
func FuzzSettings(f *testing.F) {
	for _, src := range settings(f) {
		f.Add([]byte(src))
	}
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"hooks":[{"command":"'/r' hook claude || exit 2"}]},{}],"X":[]}}`))
	f.Add([]byte("{\"a\":1,\n\t\"hooks\":{ // x\n\"SessionEnd\":[1,\n2 ]}}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		root, err := jsonc.Read(src)
		checkReader(t, src, root, err)
		with, err := Claude.Add(src, true, command)
		if err != nil {
			return
		}
		after, err := jsonc.Read(with)
		if err != nil || !Claude.installed(after, command) {
			t.Fatalf("add to %q gives %q (%v)", src, with, err)
		}
		if json.Valid(src) && !json.Valid(with) {
			t.Fatalf("add to valid %q gives invalid %q", src, with)
		}
		if twice, err := Claude.Add(with, true, command); err != nil || !bytes.Equal(twice, with) {
			t.Fatalf("a second time %q becomes %q (%v)", with, twice, err)
		}
		bare, exists, err := Claude.Remove(src)
		if err != nil || !exists || !bytes.Equal(bare, src) {
			return // it had a hook of ours already
		}
		if root != nil && !reflect.DeepEqual(without(plain(after).(map[string]any)), without(plain(root).(map[string]any))) {
			t.Fatalf("add to %q changed other values: %q", src, with)
		}
		back, exists, err := Claude.Remove(with)
		if err != nil || !exists || !bytes.Equal(back, src) {
			t.Fatalf("add to %q gives %q, and remove %q (exists %v, %v)", src, with, back, exists, err)
		}
	})
}

// checkReader compares the reader with the standard library where the text
// is strict JSON.
func checkReader(t *testing.T, src []byte, root *jsonc.Node, err error) {
	var want any
	if json.Unmarshal(src, &want) != nil {
		if err == nil && root != nil && root.Loose == nil && !bytes.HasPrefix(src, jsonc.BOM) && !hugeNumber(root) {
			t.Fatalf("%q is read as strict JSON", src)
		}
		return
	}
	if err != nil {
		return // we are stricter: UTF-8, surrogates, depth
	}
	if got := plain(root); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is read as %v, want %v", src, got, want)
	}
}

// hugeNumber finds a number that no float64 holds: JSON, but not to the
// standard library's Unmarshal.
func hugeNumber(n *jsonc.Node) bool {
	if n.Kind == '0' {
		var f any
		return json.Unmarshal([]byte(n.Text), &f) != nil
	}
	for _, k := range n.Kids {
		if hugeNumber(k.Value) {
			return true
		}
	}
	return false
}
