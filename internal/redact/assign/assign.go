// Package assign judges what is assigned to a name that may be one of a secret:
// by how the value looks and where it stands, since program text and prose are
// full of names before colons.
package assign

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/shape"
	"github.com/reeve-gate/reeve/internal/redact/value"
)

// Value is what is known of a value before it is read.
type Value struct {
	Name     Name
	Meaning  name.Meaning
	Op       byte // '=', ':', ' ' behind a flag
	Code     bool // only program text writes it so
	Compared bool // == and its like
	Spaced   bool
}

// Name is a name and what stands around it.
type Name struct {
	Text    string
	Quote   byte // that closes it, 0 = none
	Left    byte // before it and its quote; 0 = the start
	Opened  byte // the quote before a name that no quote closes
	Starts  bool // nothing but blanks, - and "export" stand before it on its line
	At      int  // where it begins
	Spaced  bool // blanks stand between it and the operator
	Escaped bool // the quotes are those of JSON inside a string
}

// Secretly decides whether a bare value is one, by how it looks and where it
// stands. alone says that the line ends behind it.
func (a *Value) Secretly(v string, alone bool) bool {
	digits, letters, symbols := 0, 0, 0
	for _, c := range []byte(v) {
		switch {
		case shape.Classes[c]&shape.Digit != 0:
			digits++
		case shape.Classes[c]&shape.Letter != 0:
			letters++
		default:
			symbols++
		}
	}
	env := a.Op == '=' && !a.Spaced && !a.Code
	identifier := value.Identifier(v)
	switch {
	case letters+digits == 0:
		return false
	case a.Meaning == name.Key:
		return (env || a.Op == ':' && a.Spaced && a.Name.Starts) && value.Random(v)
	case a.Meaning == name.Pass && a.Op != ' ':
		return a.passes(v, env, identifier)
	case a.Code:
		return !identifier && digits > 0 && symbols == 0 && letters > 0 && len(v) >= 8
	case identifier && value.NamesSecret(v): // token=access_token
		return false
	case strings.HasSuffix(strings.ToLower(a.Name.Text), "pwd") && a.Name.Left != ';' && (strings.IndexByte("/~.", v[0]) >= 0 || value.Wordy(v)): // the working directory
		return false
	case identifier && a.Spaced && a.Op == '=' && strings.IndexByte(a.Name.Text, '.') > 0: // x.password = y
		return false
	case a.Spaced && (identifier && digits == 0 && len(v) < 4 || strings.HasPrefix(v, "0x") && len(v) < 12):
		return false
	case a.Meaning == name.Weak && a.Spaced && strings.ContainsAny(v, "*()[]"):
		return false
	case env && a.Meaning == name.Weak:
		return len(v) >= 4 && !value.Wordy(v) || len(v) >= 8
	case env:
		return !(identifier && strings.IndexByte(v, '.') > 0 && a.Name.Text != strings.ToUpper(a.Name.Text))
	case a.Op == ' ': // behind a flag
		return !(value.Wordy(v) && value.English[v]) && !(identifier && v == strings.ToUpper(v))
	case a.Meaning == name.Weak:
		return len(v) >= 6 && letters > 0 && digits > 0 && !value.Number(v) && !value.Version(v) || digits == 0 && len(v) >= 24 && value.Wordy(v)
	case identifier && digits == 0 && strings.IndexByte(v, '_') > 0 && v == strings.ToUpper(v): // a constant
		return false
	case identifier && digits == 0 && a.Name.Starts && a.Op == '=' && strings.HasSuffix(v, "!"):
		return true
	case identifier && digits == 0:
		return a.Name.Starts && alone && strings.IndexByte(v, '.') < 0 && (a.Op == ':' && a.Spaced || a.Op == '=') && !value.Camel(v)
	case a.Op == ':' && !a.Spaced:
		return len(v) >= 4 && !value.Number(v)
	case a.Op == '=' && identifier && !a.Name.Starts: // x := y2, in code
		return len(v) >= 8 && letters > 0 && digits > 1
	case identifier && strings.IndexByte(v, '.') > 0 && digits < 3:
		return false
	}
	return symbols == 0 || digits > 0 || !strings.HasSuffix(v, ".") && !strings.HasSuffix(v, ":")
}

// passes decides whether what stands behind "pass" is a password: a test that
// passed, and a count of them, are written the same way.
func (a *Value) passes(v string, env, identifier bool) bool {
	switch {
	case value.Outcome(v), identifier && (value.NamesSecret(v) || strings.IndexByte(v, '.') > 0):
		return false
	case env:
		return len(v) >= 4
	}
	return a.Op == ':' && a.Name.Starts && a.Name.Text == "pass" && len(v) >= 6 && strings.IndexAny(v, "0123456789") >= 0
}

// Signs: query parameters that carry a grant. The long names mean nothing
// else; the short ones need the place of a parameter, whose & may be written
// as JSON does for HTML.
func (n *Name) Signs() bool {
	text, param := n.Text, n.Left == '?' || n.Left == '&' || n.Left == ';'
	if n.Left == '\\' && strings.HasPrefix(text, "u0026") {
		text, param = text[len("u0026"):], true
	}
	is := func(word string) bool { return len(text) == len(word) && strings.EqualFold(text, word) }
	return is("x-amz-signature") || is("x-goog-signature") || is("x-amz-security-token") ||
		param && (is("sig") || is("signature") || is("hmac"))
}

// Scheme is the length of the first word of an Authorization header, with its
// blank, where it says how the rest is to be read.
func Scheme(v string) int {
	word, rest, ok := strings.Cut(v, " ")
	if !ok || rest == "" || len(word) > 20 || !value.Wordy(strings.ReplaceAll(word, "-", "")) {
		return 0
	}
	return len(word) + 1
}

// Nearby reads what "value" and "default" are the value of: the name that a
// member "name", "key" or "header" right before them gives, and that of a
// variable of Terraform. word is one of the two, before what stands before it.
// It gives "" where that names no secret.
func Nearby(word, before string) string {
	var words []string
	switch {
	case strings.EqualFold(word, "value"):
		words = []string{"name", "key", "header"}
	case word == "default":
		words = []string{"variable"}
	default:
		return ""
	}
	end := len(before)
	for end > 0 && strings.IndexByte(" \t\r\n\"'\\,;{-", before[end-1]) >= 0 {
		end--
	}
	from := end
	for from > 0 && end-from <= name.Max && shape.Classes[before[from-1]]&shape.Ident != 0 {
		from--
	}
	joint := from
	for joint > 0 && strings.IndexByte(" \t\"'\\:=", before[joint-1]) >= 0 {
		joint--
	}
	for _, w := range words {
		if joint < from && joint >= len(w) && strings.EqualFold(before[joint-len(w):joint], w) && name.Of(before[from:end]).Secret() {
			return before[from:end]
		}
	}
	return ""
}
