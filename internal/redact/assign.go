package redact

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/assign"
	"github.com/reeve-gate/reeve/internal/redact/command"
	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/reason"
	"github.com/reeve-gate/reeve/internal/redact/shape"
	"github.com/reeve-gate/reeve/internal/redact/sight"
	"github.com/reeve-gate/reeve/internal/redact/value"
)

// assigned is the value behind the '=' or ':' at i, where the name before it
// says that it is a secret; also the password of a URL, whose "://" starts at
// a colon, and the second half of a bot's token.
func (s *scan) assigned(i int) (span, bool) {
	s.keep = i + 1
	op := s.Buf[i]
	if op == ':' {
		switch s.At(i + 1) {
		case ':':
			return span{}, false
		case '/':
			if s.At(i+2) == '/' && classOf[s.Before(i)]&alnum != 0 {
				sp, ok := s.url(i + 3)
				if ok {
					s.is(origin{rule: reason.URL})
				}
				return sp, ok
			}
		case 'A':
			if sp, ok := s.telegram(i); ok {
				return sp, true
			}
		}
		if s.Before(i) == ':' {
			return span{}, false
		}
	}
	n := s.NameBefore(i)
	if n.Text == "" {
		return span{}, false
	}
	m := name.Of(n.Text)
	if op == '=' && n.Text == "from-literal" {
		return s.literal(i + 1)
	}
	if m == name.Plain && (len(n.Text) == len("value") || len(n.Text) == len("default")) {
		if near := assign.Nearby(n.Text, s.Buf[s.Low(n.At):n.At]); near != "" {
			n.Text, m = near, name.Strong
		}
	}
	if m == name.Plain {
		if op == '=' && n.Signs() {
			sp, ok := s.signed(i + 1)
			if ok {
				s.is(origin{rule: reason.Signed, name: n.Text})
			}
			return sp, ok
		}
		if op == ':' && n.Text == "Private-Lines" {
			return s.putty(i)
		}
		// Such a token has 20 bytes and more, and at most 8 before it.
		if i+20 < s.Hi && (classOf[s.Buf[i+12]]&classOf[s.Buf[i+20]]&(base64Char|tokenChar) == 0) {
			return span{}, false
		}
		return s.vendor(i+1, n)
	}
	n.Starts = s.StartsLine(n.At)
	a := assign.Value{Name: n, Meaning: m, Op: op}
	j := i + 1
	switch next := s.At(j); {
	case op == ':' && next == '=':
		a.Code, j = true, j+1
	case op == '=' && next == '=', op == '=' && strings.IndexByte("!<>=~", s.Before(i)) >= 0:
		a.Compared = true
		for s.At(j) == '=' {
			j++
		}
	case op == '=' && next == '>':
		j++
	case op == '=' && s.Before(i) == ':': // judged at the colon
		return span{}, false
	}
	sp, ok := s.value(j, a)
	if ok {
		s.is(origin{rule: reason.Name, name: n.Text})
	}
	return sp, ok
}

// value reads what is assigned, from j on.
func (s *scan) value(j int, a assign.Value) (span, bool) {
	from := j
	for j < from+16 && (s.At(j) == ' ' || s.At(j) == '\t') {
		j++
	}
	a.Spaced = j > from || a.Name.Spaced
	s.keep = j
	k := j
	for s.At(k) == '\\' {
		k++
	}
	if c := s.At(k); c == '"' || c == '\'' || c == '`' {
		return s.quotedValue(k, k-j, a)
	}
	if a.Compared {
		return span{}, false
	}
	switch a.Meaning {
	case name.Header, name.Cookie:
		return s.headerValue(j, a)
	}
	return s.bareValue(j, a)
}

// quotedValue reads the value in the quotes that open at k behind esc
// backslashes.
func (s *scan) quotedValue(k, esc int, a assign.Value) (span, bool) {
	quote := s.Buf[k]
	if esc == 0 && s.At(k+1) == quote && s.At(k+2) == quote {
		return s.tripled(k+3, quote, a)
	}
	if a.Name.Opened == quote && a.Name.Quote == 0 {
		return span{}, false // it closes the string that the name stands in
	}
	from := k + 1
	s.keep = from
	end := from
	for end < s.Hi {
		n := s.Quoted(end, quote, esc)
		if n == 0 {
			break
		}
		end += n
	}
	if end >= s.Hi {
		s.Short = true
	}
	v := s.Buf[from:min(end, s.Hi)]
	if a.Meaning.Secret() && !a.Compared {
		if to, yes := s.partly(from, a.Meaning == name.Strong, func(j int) int { return s.Quoted(j, quote, esc) }); yes {
			return span{at: from, cover: to, quote: quote, esc: esc}, true
		}
	}
	switch {
	case v == "" || v[0] == ' ' || v[0] == '\t' || value.Placeholder(v) || mark.In(v):
		return span{}, false
	case a.Meaning == name.Weak && strings.IndexByte(v, ' ') >= 0:
		return span{}, false
	case a.Meaning == name.Key && (!value.Random(v) || strings.IndexByte(v, ' ') >= 0):
		return span{}, false
	case a.Meaning == name.Pass && (a.Op == ':' && a.Name.Text != "pass" || value.Outcome(v) || a.Spaced && (value.Wordy(v) || strings.IndexByte(v, ' ') >= 0)):
		return span{}, false
	case a.Meaning == name.Weak && (value.Wordy(v) && len(v) <= 16 && a.Name.Quote == 0 || value.Version(strings.TrimLeft(v, "^~<>= "))):
		return span{}, false
	case a.Meaning == name.Cookie && strings.IndexByte(v, '=') < 0:
		return span{}, false
	case len(v) == 1 && a.Name.Quote == 0: // <a accesskey="p">
		return span{}, false
	case a.Compared && (value.Wordy(v) || a.Meaning == name.Pass):
		return span{}, false
	}
	if a.Meaning == name.Header {
		n := assign.Scheme(v)
		if from += n; from == end || value.Placeholder(v[n:]) {
			return span{}, false
		}
	}
	return span{at: from, cover: from, quote: quote, esc: esc}, true
}

// tripled is a value in three quotes, which begins at j and may have lines.
func (s *scan) tripled(j int, quote byte, a assign.Value) (span, bool) {
	s.keep = j
	end := j
	for end < s.Hi && !(s.Buf[end] == quote && s.Has(end, strings.Repeat(string(quote), 3))) {
		end++
	}
	sp := span{at: j, cover: end}
	if end >= s.Hi { // it is longer than a decision may look, or never closed
		s.Short = true
		sp.cover, sp.class = j, lineChar
		end = s.Run(j, lineChar)
	}
	v := strings.TrimSpace(s.Buf[j:end])
	if !a.Meaning.Secret() || a.Compared || !s.partlyIn(j, end) && (v == "" || value.Placeholder(v) || mark.In(v) || a.Meaning == name.Weak && strings.IndexByte(v, ' ') >= 0) {
		return span{}, false
	}
	return sp, true
}

// headerValue is the rest of a header.
func (s *scan) headerValue(j int, a assign.Value) (span, bool) {
	end := s.Run(j, headerChar)
	from := j
	if a.Meaning == name.Header {
		from += assign.Scheme(s.Buf[j:end])
	}
	if to, yes := s.partly(from, false, s.ofClass(headerChar)); yes {
		return span{at: from, cover: to, class: headerChar}, true
	}
	v := strings.TrimRight(s.Buf[j:end], " \t")
	switch {
	case v == "" || value.Placeholder(v) || value.Neutral(v) || mark.In(v):
		return span{}, false
	case a.Meaning == name.Cookie && (strings.IndexByte(v, '=') < 0 || a.Op != ':'):
		return span{}, false
	case a.Meaning == name.Cookie:
		return span{at: j, cover: j, class: headerChar}, true
	}
	j += assign.Scheme(v)
	token := s.Buf[j:end]
	if i := strings.IndexAny(token, " \t,"); i >= 0 {
		token = token[:i]
	}
	if token == "" || value.Placeholder(token) || a.Op == '=' && value.Call(s.Buf[j:min(end+1, s.Hi)]) || a.Code || value.Wordy(token) && len(token) < 20 && (a.Spaced && a.Op == '=' || strings.ContainsAny(s.Buf[j:end], " ")) {
		return span{}, false
	}
	return span{at: j, cover: j, class: headerChar}, true
}

// bareValue is a value without quotes.
func (s *scan) bareValue(j int, a assign.Value) (span, bool) {
	cl := valueChar
	if a.Name.Starts && a.Name.Quote == 0 && !a.Code {
		cl = lineChar
	}
	if c := s.At(j); cl == lineChar && a.Op == ':' && (c == '|' || c == '>') {
		return s.block(j, a)
	} else if cl == lineChar && a.Op == ':' && (c == '\n' || c == '\r') && a.Meaning == name.Strong && name.Held(a.Name.Text) {
		return s.members(j)
	}
	if a.Meaning.Secret() {
		if to, yes := s.partly(j, false, s.ofClass(cl)); yes {
			return span{at: j, cover: to, class: cl}, true
		}
	}
	end := s.Run(j, cl)
	v := s.Buf[j:end]
	if v == "" || mark.In(v) || value.Placeholder(v) || value.Neutral(v) {
		return span{}, false
	}
	next := s.At(end)
	if next == '(' || value.Call(v) || next == '[' && a.Spaced || (next == '"' || next == '\'') && len(v) <= 3 && value.Wordy(v) { // f(x), x[y], b"..."
		return span{}, false
	}
	alone := s.At(end) == '\n' || s.At(end) == '\r' || end >= s.Hi
	if !a.Secretly(v, alone) {
		return span{}, false
	}
	return span{at: j, cover: j, class: cl}, true
}

// literal is the value of the pair that kubectl makes a secret of, in
// --from-literal=name=value.
func (s *scan) literal(j int) (span, bool) {
	var quote byte
	if c := s.At(j); c == '"' || c == '\'' {
		quote = c
		j++
	}
	for s.At(j) != '=' {
		if classOf[s.At(j)]&identChar == 0 {
			return span{}, false
		}
		j++
	}
	if c := s.At(j + 1); quote == 0 && (c == '"' || c == '\'') {
		quote = c
		j++
	}
	return s.given(j+1, command.Whole, quote)
}

func (s *scan) signed(j int) (span, bool) {
	end := s.Run(j, valueChar)
	v := s.Buf[j:end]
	if s.partlyIn(j, end) {
		return span{at: j, cover: end, class: valueChar}, true
	}
	if len(v) < 16 || mark.In(v) || value.Placeholder(v) || value.Wordy(v) && len(v) < 24 {
		return span{}, false
	}
	return span{at: j, cover: j, class: valueChar}, true
}

// vendor is a token without a prefix of its own behind a name that holds the
// vendor's word: ALGOLIA = "...". Names that say secret are read before.
func (s *scan) vendor(j int, n assign.Name) (span, bool) {
	words := shape.Vendors(n.Text)
	if len(words) == 0 {
		return span{}, false
	}
	for limit := j + 8; j < limit && strings.IndexByte(" \t\"'=>\\", s.At(j)) >= 0; j++ {
	}
	if classOf[s.At(j)]&alnum == 0 {
		return span{}, false
	}
	s.keep = j
	end := s.RunTo(j, base64Char|tokenChar, j+100)
	for _, w := range words {
		if w.Fits(s.Buf[j:end]) {
			s.isToken(w.Kind, j, end)
			return span{at: j, cover: end}, true
		}
	}
	return span{}, false
}

// block is a YAML value of its own lines behind | or >, which stands at j: all
// lines that are set in further than the first of them, and it.
func (s *scan) block(j int, a assign.Value) (span, bool) {
	k := j + 1
	for k < j+4 && strings.IndexByte("+-123456789", s.At(k)) >= 0 && s.At(k) != 0 {
		k++
	}
	if s.At(k) == '\r' {
		k++
	}
	if s.At(k) != '\n' || a.Meaning == name.Weak && a.Name.Quote != 0 {
		return span{}, false
	}
	from := k + 1
	for from-k <= sight.Indent && s.At(from) == ' ' {
		from++
	}
	indent := from - k - 1
	if c := s.At(from); indent == 0 || indent > sight.Indent || c < ' ' || s.markAt(from) > 0 {
		return span{}, false
	}
	s.keep = from
	if v := s.Buf[from:s.Run(from, lineChar)]; v == "" || value.Placeholder(v) || mark.In(v) {
		return span{}, false
	}
	return span{at: from, cover: from, indent: int8(indent)}, true
}

// members is a YAML mapping of credentials below their name, whose line ends at
// j: all lines that are set in, where one of them holds a secret by its name or
// by how it looks. The names of secrets alone stay.
func (s *scan) members(j int) (span, bool) {
	k := j
	if s.At(k) == '\r' {
		k++
	}
	if s.At(k) != '\n' {
		return span{}, false
	}
	from := k + 1
	for from-k <= sight.Indent && s.At(from) == ' ' {
		from++
	}
	indent := from - k - 1
	if indent == 0 || indent > sight.Indent || s.At(from) < ' ' || s.markAt(from) > 0 {
		return span{}, false
	}
	s.keep = from
	for line, at := 0, from; line < 8 && at < s.Hi; line++ {
		end := s.Run(at, lineChar)
		for end < s.Hi && s.Buf[end] != '\n' {
			end++
		}
		if end >= s.Hi {
			s.Short = true
		}
		field, v, _ := strings.Cut(strings.TrimLeft(s.Buf[at:end], " -"), ": ")
		v = strings.Trim(v, " \t\r\"'")
		if v != "" && !value.Placeholder(v) && !value.Neutral(v) && !mark.In(v) && (value.Random(v) || name.Of(field) != name.Plain && !value.NamesSecret(v)) {
			return span{at: from, cover: from, indent: int8(indent)}, true
		}
		if n := s.BlockLine(min(end, s.Hi-1), indent); end >= s.Hi || n == 0 {
			break
		} else {
			at = end + n
		}
	}
	return span{}, false
}
