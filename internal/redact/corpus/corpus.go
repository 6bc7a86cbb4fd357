// Package corpus is a list of lines with a secret and of lines that only look
// so, to measure what a redactor finds and what it wrongly takes for one.
//
// No secret stands in the list. A line is a template, and each run makes the
// secret anew at random, so that no test depends on one value and no scanner
// of sources stops at the list. A line is
//
//   - KIND  TEXT with the secret between << and >>
//   - TEXT that has none
//
// and in both {cN} is N random characters of a class: a small letters, A
// capital letters, n digits, w letters and digits, l small letters and digits,
// W capital letters and digits, x hex, X hex in capitals, t letters, digits, _
// and -, b letters, digits, + and /, 2 base32. {uuid} is a UUID, {crc30} thirty
// letters and digits and their checksum as GitHub and npm write it, {=PREFIX} a
// token of the shape with that prefix whose checksum holds, {base64:TEXT} the
// encoding of TEXT, \n a line end, \\n a backslash and an n.
package corpus

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/shape"
)

//go:embed testdata/lines.txt
var list string

// Line is one line of the list, made.
type Line struct {
	Kind   string // what kind the secret is, "" = there is none
	Text   string
	Secret string // a part of Text
}

// Lines makes every line of the list. It panics on a line that it cannot read.
func Lines(rng *rand.Rand) (all []Line) {
	for n, line := range strings.Split(list, "\n") {
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "- "):
			all = append(all, Line{Text: fill(rng, line[2:])})
		case strings.HasPrefix(line, "+ "):
			kind, text, _ := strings.Cut(line[2:], " ")
			before, rest, ok := strings.Cut(fill(rng, strings.TrimLeft(text, " ")), "<<")
			secret, after, closed := strings.Cut(rest, ">>")
			if !ok || !closed || secret == "" {
				panic(fmt.Sprintf("line %d has no secret", n+1))
			}
			all = append(all, Line{Kind: kind, Text: before + secret + after, Secret: secret})
		default:
			panic(fmt.Sprintf("line %d is neither + nor -", n+1))
		}
	}
	return all
}

var sets = map[byte]string{'a': lowers, 'A': uppers, 'n': digits, 'w': lowers + uppers + digits, 'l': lowers + digits, 'W': uppers + digits, 'x': "0123456789abcdef", 'X': "0123456789ABCDEF",
	't': lowers + uppers + digits + "_-", 'b': lowers + uppers + digits + "+/", '2': uppers + "234567"}

// fill puts random texts in place of the braces that ask for one.
func fill(rng *rand.Rand, s string) string {
	var b strings.Builder
	s = strings.NewReplacer(`\\n`, `\n`, `\n`, "\n").Replace(s)
	for {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:open])
		end := open + strings.IndexByte(s[open:], '}')
		made, ok := "", false
		if end > open {
			made, ok = one(rng, s[open+1:end])
		}
		if !ok {
			b.WriteByte('{')
			s = s[open+1:]
			continue
		}
		b.WriteString(made)
		s = s[end+1:]
	}
}

func one(rng *rand.Rand, what string) (string, bool) {
	switch {
	case what == "":
		return "", false
	case what == "uuid":
		return uuid(rng), true
	case what == "crc30":
		body := pick(rng, sets['w'], 30)
		return body + shape.Sum62(body), true
	case what[0] == '=':
		for i := range shape.Table {
			if sh := &shape.Table[i]; sh.Prefix == what[1:] {
				return Sample(rng, sh), true
			}
		}
		return "", false
	case strings.HasPrefix(what, "base64:"):
		return base64.StdEncoding.EncodeToString([]byte(what[len("base64:"):])), true
	}
	set, n := sets[what[0]], 0
	if n, _ = strconv.Atoi(what[1:]); set == "" || n == 0 {
		return "", false
	}
	return pick(rng, set, n), true
}

// Survives reports whether a part of the secret that tells most of it is left
// in what became of the line.
func Survives(line Line, got string) bool {
	const piece = 12 // bytes
	s := line.Secret
	if len(s) <= piece {
		return strings.Contains(got, s)
	}
	for i := 0; i+piece <= len(s); i++ {
		if strings.Contains(got, s[i:i+piece]) {
			return true
		}
	}
	return false
}
