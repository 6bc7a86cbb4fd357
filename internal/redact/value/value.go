// Package value says what an unquoted value looks like: a placeholder, a word,
// program text, a number. Secrets stand among all of these, in files and logs
// that are mostly not secret.
package value

import (
	"encoding/base64"
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/shape"
)

// English are words that follow a flag in prose and help texts.
var English = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq("is are to the for and or with from in if when must can will was has as of on at by a an it its not option options flag flags value values string strings argument arguments file path name int bool text given set should may instead") {
		set[w] = true
	}
	return set
}()

// Neutral are values that hide nothing.
func Neutral(v string) bool {
	switch strings.ToLower(strings.TrimRight(v, ".,;:?!")) {
	case "", "true", "false", "null", "nil", "none", "undefined", "yes", "no", "on", "off", "string", "str", "number", "bool", "boolean", "int", "int64", "int32", "uint8", "uint64", "bytes", "byte", "any", "object", "void", "text",
		"value", "val", "optional", "required", "varchar", "function", "func", "return", "new", "await", "async", "not", "error", "struct", "interface", "enum", "class", "const", "char", "float64":
		return true
	}
	return false
}

// Placeholder reports whether a value stands for a secret and is none, by its
// form: $X, ${X}, $(x), %X%, {{x}}, <x>, %s, ***, ..., op://, vault://, reeve://, a mark.
func Placeholder(v string) bool {
	if v == "" {
		return true
	}
	last := v[len(v)-1]
	var yes bool
	switch v[0] {
	case '$':
		yes = variable(v[1:])
	case '<': // cut at a blank, <your stands for <your key>
		yes = last == '>' || Wordy(v[1:])
	case '{':
		yes = last == '}' || strings.HasPrefix(v, "{{")
	case '(':
		yes = last == ')'
	case '[':
		yes = last == ']'
	case '&', '*': // &x and *x of program text
		yes = len(v) > 1 && Identifier(v[1:]) && strings.IndexAny(v, "0123456789") < 0
	case '!': // !secret of YAML
		yes = Wordy(v[1:])
	case '%':
		yes = len(v) == 2 || len(v) > 2 && (last == '%' || v[1] == '(')
	}
	if yes {
		return true
	}
	for _, p := range [...]string{"op://", "vault://", "reeve://", "file://", "${", "secretref:", "env:", "process.env.", "os.environ", "os.Getenv"} {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	for i := 1; i < len(v); i++ {
		if v[i] != v[0] {
			return false
		}
	}
	return (v[0] == 'x' || v[0] == 'X') && len(v) >= 3 || shape.Classes[v[0]]&shape.Alnum == 0
}

// variable: what stands behind the dollar of $X, ${X}, $(x), $X/y, $1.
func variable(v string) bool {
	if v == "" || v[0] == '{' || v[0] == '(' {
		return true
	}
	i := 0
	for i < len(v) && (shape.Classes[v[i]]&shape.Alnum != 0 || v[i] == '_') {
		i++
	}
	return i > 0 && (shape.Classes[v[0]]&shape.Letter != 0 || v[0] == '_') && (i == len(v) || strings.IndexByte("/.:-$,;)", v[i]) >= 0)
}

// Wordy: letters only.
func Wordy(v string) bool {
	for _, c := range []byte(v) {
		if shape.Classes[c]&shape.Letter == 0 {
			return false
		}
	}
	return v != ""
}

// Camel: an upper-case letter behind the first, as type names have.
func Camel(v string) bool {
	return v != strings.ToUpper(v) && v != strings.ToLower(v)
}

// Identifier: a name of program text, perhaps with dots.
func Identifier(v string) bool {
	v = strings.TrimRight(v, ".,;:)]}!?")
	if v == "" || shape.Classes[v[0]]&shape.Letter == 0 && v[0] != '_' && v[0] != '*' && v[0] != '&' {
		return false
	}
	for _, c := range []byte(v[1:]) {
		if shape.Classes[c]&shape.Alnum == 0 && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// NamesSecret: a value that is itself the name of a secret, without digits.
func NamesSecret(v string) bool {
	return strings.IndexAny(v, "0123456789") < 0 && name.Of(strings.TrimRight(v, ".,;:)]}!?")).Secret()
}

// Call: f(...) or x[...], as in program text.
func Call(v string) bool {
	i := strings.IndexAny(v, "([")
	return i > 0 && Identifier(v[:i])
}

// Number: a number, a time, a date, a size, a place in a file.
func Number(v string) bool {
	letters, digits := 0, 0
	for _, c := range []byte(v) {
		switch {
		case shape.Classes[c]&shape.Letter != 0:
			letters++
		case shape.Classes[c]&shape.Digit != 0:
			digits++
		case strings.IndexByte(".:-/+,_%", c) < 0:
			return false
		}
	}
	return digits > 0 && letters <= 2
}

// Version: v1.2.3, 2.10-alpine.
func Version(v string) bool {
	v = strings.TrimPrefix(strings.ToLower(v), "v")
	dot := strings.IndexByte(v, '.')
	return dot > 0 && dot <= 4 && strings.Trim(v[:dot], "0123456789") == "" && len(v) < 24
}

// Random: it looks made by a machine, as keys do: letters and digits mixed, of
// eight bytes or more, and neither a path, a time nor a version.
func Random(v string) bool {
	letters, digits := 0, 0
	for _, c := range []byte(v) {
		switch {
		case shape.Classes[c]&shape.Letter != 0:
			letters++
		case shape.Classes[c]&shape.Digit != 0:
			digits++
		}
	}
	return len(v) >= 8 && letters > 1 && digits > 0 && v[0] != '/' && v[0] != '~' && v[0] != '.' && !Number(v) && !Version(v) &&
		strings.IndexAny(v, "({[") < 0
}

// Outcome: what stands behind "pass" when it is not a password.
func Outcome(v string) bool {
	switch strings.ToLower(v) {
	case "pass", "passed", "fail", "failed", "ok", "skip", "skipped", "done", "error", "warn":
		return true
	}
	return Number(v) || Neutral(v)
}

// Ports: a pair of ports, which -p of many programs takes.
func Ports(v string) bool {
	from, to, ok := strings.Cut(v, ":")
	return ok && from != "" && to != "" && strings.Trim(from+to, "0123456789") == ""
}

// UserPass reports whether v is base64 of user:password.
func UserPass(v string) bool {
	if len(v) < 6 {
		return false
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	if err != nil || strings.IndexByte(string(text), ':') < 0 {
		return false
	}
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

// UserInfo finds the password of a URL's authority (RFC 3986, section 3.2.1),
// or a user name without a password that is long enough to be a token. s
// begins where the authority does; more says that it ended too soon to tell.
func UserInfo(s string) (from, to int, more, ok bool) {
	end, at, slash := 0, -1, -1
	for ; end < min(len(s), 512); end++ {
		c := s[end]
		if c <= ' ' || c == 0x7f || strings.IndexByte("\"'`<>\\|", c) >= 0 {
			break
		}
		if slash < 0 && (c == '/' || c == '?' || c == '#') {
			slash = end
			if at >= 0 || strings.IndexByte(s[:end], ':') < 0 || port(s[:end]) {
				break
			}
		}
		if c == '@' {
			at = end
			if slash >= 0 {
				break // a slash in the password, and this is its end
			}
		}
	}
	more = end >= len(s)
	if at < 0 {
		return 0, 0, more, false
	}
	user, password, found := strings.Cut(s[:at], ":")
	first, _, _ := strings.Cut(password, "@") // behind a mark, what is to the next @ was cut off by a # before
	switch {
	case !found && len(user) >= 16 && strings.IndexAny(user, "0123456789") >= 0 && !Placeholder(user) && !mark.In(user):
		return 0, at, more, true
	case !found, password == "", Placeholder(password), mark.Only(first), strings.HasPrefix(password, "%s"), strings.HasPrefix(password, "%v"):
		return 0, 0, more, false
	}
	return len(user) + 1, at, more, true
}

// port reports whether an authority ends in a port, and so holds no password.
func port(authority string) bool {
	p := authority[strings.LastIndexByte(authority, ':')+1:]
	return len(p) <= 5 && strings.Trim(p, "0123456789") == "" || strings.HasSuffix(authority, "]")
}
