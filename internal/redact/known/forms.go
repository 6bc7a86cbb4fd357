package known

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// escaped are a value as XML has it, and as a shell's quotes do.
func escaped(s string) []string {
	return []string{
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(s),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s),
		strings.ReplaceAll(s, "'", `'\''`),
		strings.ReplaceAll(s, "'", `'"'"'`),
		strings.NewReplacer(`\`, `\\`, "$", `\$`, "`", "\\`", `"`, `\"`).Replace(s),
		bare(s),
	}
}

// bare is how a shell's printf %q writes a text.
func bare(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(" \t!\"#$&'()*,;<>?[\\]^`{|}~", s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// maxApart is the length over which a value is searched for in fewer forms.
const maxApart = 512

// apart are the forms of a value in which its bytes stand apart, as \x, with
// colons or blanks between; and its base64 when a line ends behind one of the
// first bytes, which [Set.At] wants together.
func apart(value string) (all []string) {
	if len(value) > maxApart {
		return nil
	}
	digits := hex.EncodeToString([]byte(value))
	for _, between := range []string{`\x`, ":", " "} {
		var b strings.Builder
		for i := 0; i < len(digits); i += 2 {
			if i > 0 || between == `\x` {
				b.WriteString(between)
			}
			b.WriteString(digits[i : i+2])
		}
		all = append(all, b.String())
		if between != `\x` {
			all = append(all, strings.ToUpper(b.String()))
		}
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, form := range coded(enc, value) {
			for n := 1; n < headLen && len(form)-n >= leastLine; n++ {
				all = append(all, form[n:])
			}
		}
	}
	return all
}

// leastLine is how many bytes stand at least between two breaks of a form.
const leastLine = 16

// match is where the form ends that s begins with, 0 = it does not. ends says
// that s does before the form. A form that no blank and no sign stands in may
// be broken into lines.
func match(s, form string) (to int, ends bool) {
	same := 0
	for same < len(form) && same < len(s) && s[same] == form[same] {
		same++
	}
	switch {
	case same == len(form):
		return same, false
	case same == len(s):
		return 0, true
	case same == 0, len(form) < leastLine, !solid(form):
		return 0, false
	}
	i, last := same, 0
	for j := same; j < len(form); {
		if i == len(s) {
			return 0, true
		}
		if s[i] == form[j] {
			i, j = i+1, j+1
			continue
		}
		n := lineEnd(s[i:])
		if n == 0 || last > 0 && j-last < leastLine {
			return 0, i+1 == len(s) && s[i] == '\\'
		}
		i, last = i+n, j
	}
	return i, false
}

// solid: what base64 and hex are made of.
func solid(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("+/-_", c) >= 0) {
			return false
		}
	}
	return true
}

// lineEnd is how long the end of a line at the start of s is, with what the
// next line is set in by; 0 = there is none.
func lineEnd(s string) (n int) {
	for _, end := range [...]string{"\r\n", "\n", "\r", `\r\n`, `\n`, `\r`} {
		if strings.HasPrefix(s, end) {
			n = len(end)
			break
		}
	}
	for n > 0 && n < len(s) && n < 32 && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	return n
}
