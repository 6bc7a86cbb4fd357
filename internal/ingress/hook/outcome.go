package hook

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
)

// maxOutput bounds what is kept of a tool's output, in bytes: the record
// shows 500 characters of it.
const maxOutput = 4096

// outcome reads what came of a call. What a tool gives back has no common
// form; a sign of failure in it counts, and everything else is success, since
// the client says so by the event's name.
func outcome(e *event) reeve.Result {
	r := reeve.Result{Status: reeve.StatusSuccess, Duration: time.Duration(e.millis) * time.Millisecond}
	if e.name == "PostToolUseFailure" {
		r.Status = reeve.StatusError
		r.Error, r.Truncated = cut(e.failure)
		r.ExitCode = exitCode(e.failure)
		if e.stopped {
			r.Error = "stopped by the client. " + r.Error
		}
		return r
	}
	members := membersOf(e.response)
	r.Output, r.Truncated = cut(output(e.response, members))
	switch {
	case isTrue(members["is_error"]), isTrue(members["isError"]), string(members["success"]) == "false":
		r.Status, r.Error = reeve.StatusError, "the tool says that it failed"
	case isTrue(members["interrupted"]):
		r.Status, r.Error = reeve.StatusError, "stopped before it ended"
	}
	return r
}

// exitCode reads the number from a failure that begins "Exit code N", as the
// client's shell tools write it; 0 where there is none.
func exitCode(failure string) int {
	rest, found := strings.CutPrefix(failure, "Exit code ")
	if !found {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 0 || n > 255 {
		return 0
	}
	return n
}

// membersOf splits an object into its raw values; nil for anything else.
func membersOf(v []byte) map[string]jsontext.Value {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	members := map[string]jsontext.Value{}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return members
		}
		field := name.String()
		val, err := dec.ReadValue()
		if err != nil {
			return members
		}
		members[field] = val.Clone()
	}
	return members
}

func isTrue(v jsontext.Value) bool { return string(v) == "true" }

// output is the text of a response: the string it is, a shell's two streams,
// or the JSON as it stands.
func output(response []byte, members map[string]jsontext.Value) string {
	if s, ok := unquote(response); ok {
		return s
	}
	out, isText := unquote(members["stdout"])
	if !isText {
		return string(response)
	}
	if errs, ok := unquote(members["stderr"]); ok && errs != "" {
		out = strings.TrimSuffix(out, "\n") + "\n" + errs
	}
	return out
}

func unquote(v []byte) (string, bool) {
	if len(v) == 0 || v[0] != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, v)
	return string(s), err == nil
}

// cut bounds text at a rune's edge.
func cut(s string) (string, bool) {
	if len(s) <= maxOutput {
		return s, false
	}
	end := maxOutput
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end], true
}
