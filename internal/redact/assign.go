package redact

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/value"
)

// assigned is the value behind the '=' or ':' at i, where the name before it
// says that it is a secret; also the password of a URL, whose "://" starts at
// a colon, and the second half of a bot's token.
func (s *scan) assigned(i int) (span, bool) {
	s.keep = i + 1
	op := s.buf[i]
	if op == ':' {
		switch s.at(i + 1) {
		case ':':
			return span{}, false
		case '/':
			if s.at(i+2) == '/' && classOf[s.before(i)]&alnum != 0 {
				return s.url(i + 3)
			}
		case 'A':
			if sp, ok := s.telegram(i); ok {
				return sp, true
			}
		}
		if s.before(i) == ':' {
			return span{}, false
		}
	}
	n := s.nameBefore(i)
	if n.text == "" {
		return span{}, false
	}
	m := name.Of(n.text)
	if m == name.Plain {
		if op == '=' && signature(n) {
			return s.signed(i + 1)
		}
		return span{}, false
	}
	n.starts = s.startsLine(n.at)
	a := assignment{name: n, meaning: m, op: op}
	j := i + 1
	switch next := s.at(j); {
	case op == ':' && next == '=':
		a.code, j = true, j+1
	case op == '=' && next == '=', op == '=' && strings.IndexByte("!<>=~", s.before(i)) >= 0:
		a.compared = true
		for s.at(j) == '=' {
			j++
		}
	case op == '=' && next == '>':
		j++
	case op == '=' && s.before(i) == ':': // judged at the colon
		return span{}, false
	}
	return s.value(j, a)
}

// assignment is what is known of a value before it is read.
type assignment struct {
	name     label
	meaning  name.Meaning
	op       byte // '=', ':', ' ' behind a flag
	code     bool // only program text writes it so
	compared bool // == and its like
	spaced   bool
}

// label is a name and what stands around it.
type label struct {
	text    string
	quote   byte // that closes it, 0 = none
	left    byte // before it and its quote; 0 = the start
	opened  byte // the quote before a name that no quote closes
	starts  bool // nothing but blanks, - and "export" stand before it on its line
	at      int  // where it begins
	spaced  bool // blanks stand between it and the operator
	escaped bool // the quotes are those of JSON inside a string
}

// nameBefore reads backwards from an operator: "name" :, name =, x['name'] =.
func (s *scan) nameBefore(i int) (n label) {
	low := s.low(i)
	j := i
	for j > low && (s.buf[j-1] == ' ' || s.buf[j-1] == '\t') && i-j < 8 {
		j--
	}
	n.spaced = j < i
	if j > low && s.buf[j-1] == ']' {
		j--
	}
	if j > low && (s.buf[j-1] == '"' || s.buf[j-1] == '\'' || s.buf[j-1] == '`') {
		j--
		n.quote = s.buf[j]
		for j > low && s.buf[j-1] == '\\' {
			n.escaped = true
			j--
		}
	}
	end := j
	for j > low && end-j <= name.Max && classOf[s.buf[j-1]]&identChar != 0 {
		j--
	}
	if end-j > name.Max {
		return label{}
	}
	start := j
	for start < end && (s.buf[start] == '-' || s.buf[start] == '.' || s.buf[start] == '$') {
		start++
	}
	n.text = s.buf[start:end]
	// A name right behind an escape such as \n takes its letter along.
	if j > low && s.buf[j-1] == '\\' && len(n.text) > 1 && strings.IndexByte("nrt", n.text[0]) >= 0 && start == j && n.quote == 0 {
		n.text = n.text[1:]
	}
	if j > low {
		n.left = s.buf[j-1]
		if n.quote == 0 && (n.left == '"' || n.left == '\'' || n.left == '`') {
			n.opened = n.left
		}
	}
	n.at = start
	return n
}

// startsLine reports whether a name has its line to itself.
func (s *scan) startsLine(i int) bool {
	low := s.low(i)
	j := i
	for j > low && s.buf[j-1] != '\n' {
		j--
	}
	if j == low && low > 0 && j != 0 {
		return false
	}
	return strings.Trim(strings.TrimPrefix(strings.TrimLeft(s.buf[j:i], " \t-"), "export "), " \t\"'") == ""
}

// value reads what is assigned, from j on.
func (s *scan) value(j int, a assignment) (span, bool) {
	from := j
	for j < from+16 && (s.at(j) == ' ' || s.at(j) == '\t') {
		j++
	}
	a.spaced = j > from || a.name.spaced
	s.keep = j
	if s.has(j, Mark) {
		return span{}, false
	}
	k := j
	for s.at(k) == '\\' {
		k++
	}
	if c := s.at(k); c == '"' || c == '\'' || c == '`' {
		return s.quotedValue(k, k-j, a)
	}
	if a.compared {
		return span{}, false
	}
	switch a.meaning {
	case name.Header, name.Cookie:
		return s.headerValue(j, a)
	}
	return s.bareValue(j, a)
}

// quotedValue reads the value in the quotes that open at k behind esc
// backslashes.
func (s *scan) quotedValue(k, esc int, a assignment) (span, bool) {
	quote := s.buf[k]
	if a.name.opened == quote && a.name.quote == 0 {
		return span{}, false // it closes the string that the name stands in
	}
	from := k + 1
	s.keep = from
	end := from
	for end < s.hi {
		n := s.quoted(end, quote, esc)
		if n == 0 {
			break
		}
		end += n
	}
	if end >= s.hi {
		s.short = true
	}
	v := s.buf[from:min(end, s.hi)]
	switch {
	case v == "" || v[0] == ' ' || v[0] == '\t' || value.Placeholder(v) || strings.Contains(v, Mark):
		return span{}, false
	case a.meaning == name.Weak && strings.IndexByte(v, ' ') >= 0:
		return span{}, false
	case a.meaning == name.Key && (!value.Random(v) || strings.IndexByte(v, ' ') >= 0):
		return span{}, false
	case a.meaning == name.Pass && (a.op == ':' && a.name.text != "pass" || value.Outcome(v) || a.spaced && (value.Wordy(v) || strings.IndexByte(v, ' ') >= 0)):
		return span{}, false
	case a.meaning == name.Weak && (value.Wordy(v) && len(v) <= 16 && a.name.quote == 0 || value.Version(strings.TrimLeft(v, "^~<>= "))):
		return span{}, false
	case a.meaning == name.Cookie && strings.IndexByte(v, '=') < 0:
		return span{}, false
	case len(v) == 1 && a.name.quote == 0: // <a accesskey="p">
		return span{}, false
	case a.compared && (value.Wordy(v) || a.meaning == name.Pass):
		return span{}, false
	}
	if a.meaning == name.Header {
		n := schemeLen(v)
		if from += n; from == end || value.Placeholder(v[n:]) {
			return span{}, false
		}
	}
	return span{at: from, cover: from, quote: quote, esc: esc}, true
}

// quoted is how many bytes at j go on with a text that such a quote closes;
// 0 = it ends here.
func (s *scan) quoted(j int, quote byte, esc int) int {
	k := j
	for k < s.hi && s.buf[k] == '\\' {
		k++
	}
	if k == s.hi {
		s.short = true
		return k - j
	}
	switch c := s.buf[k]; {
	case c == '\n' && k == j:
		return 0
	case c != quote:
		return max(1, k-j)
	case k-j <= esc && k-j > 0: // as many backslashes as at the opening, or fewer
		return 0
	case k == j:
		return 0
	case esc == 0 && (k-j)%2 == 0:
		return k - j
	}
	return k - j + 1
}

// schemes are the first words of an Authorization header that say how the
// rest is to be read.
func schemeLen(v string) int {
	word, rest, ok := strings.Cut(v, " ")
	if !ok || rest == "" || len(word) > 20 || !value.Wordy(strings.ReplaceAll(word, "-", "")) {
		return 0
	}
	return len(word) + 1
}

// headerValue is the rest of a header.
func (s *scan) headerValue(j int, a assignment) (span, bool) {
	end := s.run(j, headerChar)
	v := strings.TrimRight(s.buf[j:end], " \t")
	switch {
	case v == "" || value.Placeholder(v) || value.Neutral(v) || strings.Contains(v, Mark):
		return span{}, false
	case a.meaning == name.Cookie && (strings.IndexByte(v, '=') < 0 || a.op != ':'):
		return span{}, false
	case a.meaning == name.Cookie:
		return span{at: j, cover: j, class: headerChar}, true
	}
	j += schemeLen(v)
	token := s.buf[j:end]
	if i := strings.IndexAny(token, " \t,"); i >= 0 {
		token = token[:i]
	}
	if token == "" || value.Placeholder(token) || a.op == '=' && value.Call(s.buf[j:min(end+1, s.hi)]) || a.code || value.Wordy(token) && len(token) < 20 && (a.spaced && a.op == '=' || strings.ContainsAny(s.buf[j:end], " ")) {
		return span{}, false
	}
	return span{at: j, cover: j, class: headerChar}, true
}

// bareValue is a value without quotes.
func (s *scan) bareValue(j int, a assignment) (span, bool) {
	cl := valueChar
	if a.name.starts && a.name.quote == 0 && !a.code {
		cl = lineChar
	}
	end := s.run(j, cl)
	v := s.buf[j:end]
	if v == "" || strings.Contains(v, Mark) || value.Placeholder(v) || value.Neutral(v) {
		return span{}, false
	}
	next := s.at(end)
	if next == '(' || value.Call(v) || next == '[' && a.spaced || (next == '"' || next == '\'') && len(v) <= 3 && value.Wordy(v) { // f(x), x[y], b"..."
		return span{}, false
	}
	if !s.secretly(v, end, a) {
		return span{}, false
	}
	return span{at: j, cover: j, class: cl}, true
}

// secretly decides whether a bare value is one, by how it looks and where it
// stands: program text and prose are full of names before colons.
func (s *scan) secretly(v string, end int, a assignment) bool {
	digits, letters, symbols := 0, 0, 0
	for _, c := range []byte(v) {
		switch {
		case classOf[c]&digit != 0:
			digits++
		case classOf[c]&letter != 0:
			letters++
		default:
			symbols++
		}
	}
	env := a.op == '=' && !a.spaced && !a.code
	identifier := value.Identifier(v)
	switch {
	case letters+digits == 0:
		return false
	case a.meaning == name.Key:
		return (env || a.op == ':' && a.spaced && a.name.starts) && value.Random(v)
	case a.meaning == name.Pass && a.op != ' ':
		return s.passes(v, env, identifier, a)
	case a.code:
		return !identifier && digits > 0 && symbols == 0 && letters > 0 && len(v) >= 8
	case identifier && value.NamesSecret(v): // token=access_token
		return false
	case strings.HasSuffix(strings.ToLower(a.name.text), "pwd") && (strings.IndexByte("/~.", v[0]) >= 0 || value.Wordy(v)): // the working directory
		return false
	case identifier && a.spaced && a.op == '=' && strings.IndexByte(a.name.text, '.') > 0: // x.password = y
		return false
	case a.spaced && (identifier && digits == 0 && len(v) < 4 || strings.HasPrefix(v, "0x") && len(v) < 12):
		return false
	case a.meaning == name.Weak && a.spaced && strings.ContainsAny(v, "*()[]"):
		return false
	case env && a.meaning == name.Weak:
		return len(v) >= 4 && !value.Wordy(v) || len(v) >= 8
	case env:
		return !(identifier && strings.IndexByte(v, '.') > 0 && a.name.text != strings.ToUpper(a.name.text))
	case a.op == ' ': // behind a flag
		return !(value.Wordy(v) && value.English[v]) && !(identifier && v == strings.ToUpper(v))
	case a.meaning == name.Weak:
		return len(v) >= 6 && letters > 0 && digits > 0 && !value.Number(v) && !value.Version(v) || digits == 0 && len(v) >= 24 && value.Wordy(v)
	case identifier && digits == 0 && strings.IndexByte(v, '_') > 0 && v == strings.ToUpper(v): // a constant
		return false
	case identifier && digits == 0:
		alone := s.at(end) == '\n' || s.at(end) == '\r' || end >= s.hi
		return a.name.starts && alone && strings.IndexByte(v, '.') < 0 && (a.op == ':' && a.spaced || a.op == '=') && !value.Camel(v)
	case a.op == ':' && !a.spaced:
		return len(v) >= 4 && !value.Number(v)
	case a.op == '=' && identifier && !a.name.starts: // x := y2, in code
		return len(v) >= 8 && letters > 0 && digits > 1
	case identifier && strings.IndexByte(v, '.') > 0 && digits < 3:
		return false
	}
	return symbols == 0 || digits > 0 || !strings.HasSuffix(v, ".") && !strings.HasSuffix(v, ":")
}

// passes decides whether what stands behind "pass" is a password: a test that
// passed, and a count of them, are written the same way.
func (s *scan) passes(v string, env, identifier bool, a assignment) bool {
	switch {
	case value.Outcome(v), identifier && (value.NamesSecret(v) || strings.IndexByte(v, '.') > 0):
		return false
	case env:
		return len(v) >= 4
	}
	return a.op == ':' && a.name.starts && a.name.text == "pass" && len(v) >= 6 && strings.IndexAny(v, "0123456789") >= 0
}

// signature: query parameters that carry a grant. The long names mean nothing
// else; the short ones need the place of a parameter, whose & may be written
// as JSON does for HTML.
func signature(n label) bool {
	text, param := n.text, n.left == '?' || n.left == '&' || n.left == ';'
	if n.left == '\\' && strings.HasPrefix(text, "u0026") {
		text, param = text[len("u0026"):], true
	}
	switch strings.ToLower(text) {
	case "x-amz-signature", "x-goog-signature", "x-amz-security-token":
		return true
	case "sig", "signature", "hmac":
		return param
	}
	return false
}

func (s *scan) signed(j int) (span, bool) {
	end := s.run(j, valueChar)
	v := s.buf[j:end]
	if len(v) < 16 || strings.Contains(v, Mark) || value.Placeholder(v) || value.Wordy(v) && len(v) < 24 {
		return span{}, false
	}
	return span{at: j, cover: j, class: valueChar}, true
}
