package use

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/late"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// chosen notes the files that a search is told to read by their names, as in
// grep -r --include=.env: naming a file so is naming it. What cannot be told to
// leave credentials alone is a path that is not known.
func (r *reading) chosen(v words.Word) {
	if !v.Known {
		r.file(words.Unknown(v.Text), 'r', false)
		return
	}
	pattern := v.Text
	if name, rest, ok := strings.Cut(pattern, ":"); ok && strings.Trim(name, letters) == "" { // rg --type-add name:pattern
		pattern = rest
	}
	if strings.HasPrefix(pattern, "!") { // rg leaves these out
		return
	}
	for _, name := range alternatives(pattern[strings.LastIndexByte(pattern, '/')+1:]) {
		switch {
		case !strings.ContainsAny(name, `*?[{\`):
			r.file(words.Plain(name), 'r', false)
		case harmless(name):
		default:
			r.file(words.Unknown(v.Text), 'r', false)
		}
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+"

// secretEndings are those of key files, of .env itself, and of its variants.
var secretEndings = late.NewWords("env pem key p12 pfx ppk jks keystore kdbx agekey local production prod development dev staging stage test testing ci default secret secrets old bak backup")

// harmless: it ends in a dot and an ending that no credential has, and does not
// begin as one does.
func harmless(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	return dot > 0 && name[0] != '.' && !strings.HasPrefix(name, "client_") && strings.Trim(name, letters+"*.") == "" &&
		strings.Trim(name[dot+1:], letters) == "" && name[dot+1:] != "" && !secretEndings.Has(strings.ToLower(name[dot+1:]))
}

// alternatives takes the braces of rg's patterns apart: *.{ts,tsx}. Nested ones
// stay as they are.
func alternatives(pattern string) []string {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	list, after, ok := strings.Cut(rest, "}")
	if !ok || strings.ContainsAny(list+after, "{}") {
		return []string{pattern}
	}
	var all []string
	for one := range strings.SplitSeq(list, ",") {
		all = append(all, before+one+after)
	}
	return all
}
