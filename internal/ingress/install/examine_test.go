package install

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatDisarmsTheHookIsReported(t *testing.T) {
	tests := []struct {
		name, src string
		managed   bool
		want      []string // how each note begins
	}{
		{"nothing", "{\n  \"model\": \"opus\"\n}", false, nil},
		{"empty", "", false, nil},
		{"our own hook", string(must(Claude.Add(nil, false, command))), false, nil},
		{"hooks off", "{\n  \"disableAllHooks\": true\n}", false, []string{"f:2:22: disableAllHooks is true"}},
		{"hooks on", `{"disableAllHooks": false}`, false, nil},
		{"managed only", `{"allowManagedHooksOnly": true}`, true, []string{"f:1:27: allowManagedHooksOnly is true"}},
		{"managed only, where it has no effect", `{"allowManagedHooksOnly": true}`, false, nil},
		{"a comment", "{\n// x\n}", false, []string{"f:2:1: a comment; Claude Code loads nothing"}},
		{"a comma", `{"a":[1,],}`, false, []string{"f:1:8: a comma after the last value; Claude Code loads nothing"}},
		{"unreadable", "{", false, []string{"f: line 1, column 2: a name in quotation marks is expected: Claude Code cannot load this file"}},
		{"another hook", `{"hooks":{"PreToolUse":[{"hooks":[{"command":"x.sh"}]}]}}`, false,
			[]string{`f:1:35: another hook runs at PreToolUse ("x.sh"): it cannot lift a denial`}},
		{"a hook that allows", `{"hooks":{"PreToolUse":[{"hooks":[{"command":"echo '{\"decision\":\"approve\"}'"}]}]}}`, false,
			[]string{`f:1:35: another hook runs at PreToolUse ("echo '{\"decision\":\"approve\"}'"): it seems to allow calls; it cannot lift`}},
		{"a hook by address that answers", `{"hooks":{"PermissionRequest":[{"hooks":[{"type":"http","url":"http://h/"}]}],"Stop":[{"hooks":[{"command":"x"}]}]}}`, false,
			[]string{`f:1:42: another hook runs at PermissionRequest ("http://h/"): it may answer`}},
		{"odd shapes", `{"hooks":{"PreToolUse":[1,{"hooks":2},{"hooks":[3]}],"PermissionRequest":{}},"disableAllHooks":"true"}`, false,
			[]string{`f:1:49: another hook runs at PreToolUse ("")`}},
	}
	for _, tt := range tests {
		got := Claude.Examine("f", []byte(tt.src), tt.managed)
		if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
			t.Errorf("%s\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
