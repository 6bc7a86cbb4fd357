package redact

import "strings"

// pattern is a lead, lower-case, and what to do where it stands: scan returns
// the stretch to mask. The automaton matches leads without regard to case; a
// scanner that cares looks again.
type pattern struct {
	lead     string
	scan     func(s string, from, to int) (span, bool)
	consumes bool // other leads inside the stretch say nothing new
}

// patterns is the table of everything that is looked for in text.
var patterns = func() []pattern {
	var ps []pattern
	for _, t := range tokens {
		ps = append(ps, pattern{strings.ToLower(t.prefix), t.scan, true})
	}
	for _, name := range nameLeads {
		ps = append(ps, pattern{name, scanNamed, false})
	}
	return append(ps,
		pattern{"-----begin ", scanPEM, true},
		pattern{"://", scanURL, false},
		pattern{"authorization", scanAuthorization, true},
		pattern{"bearer ", scanScheme, true},
		pattern{"basic ", scanScheme, true},
		pattern{"cookie:", scanHeader, true},
		pattern{"eyj", scanJWT, true},
		pattern{" -u", scanUserFlag, true},
		pattern{" --user", scanUserFlag, true},
	)
}()

// class says which bytes a token is made of.
type class uint8

const (
	alnum class = iota
	upperDigit
	wordDash // letters, digits, _ and -
	wordDashDot
	base64ish // letters, digits, + / = _ - .
)

func (c class) has(b byte) bool {
	letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	digit := b >= '0' && b <= '9'
	switch c {
	case upperDigit:
		return b >= 'A' && b <= 'Z' || digit
	case wordDash:
		return letter || digit || b == '_' || b == '-'
	case wordDashDot:
		return letter || digit || b == '_' || b == '-' || b == '.'
	case base64ish:
		return letter || digit || strings.IndexByte("+/=_-.", b) >= 0
	}
	return letter || digit
}

// token is the shape of one service's secret: a prefix in exact case and at
// least min bytes of a class behind it. What follows the token is not looked
// at: a token before a comma or a bracket is a token.
type token struct {
	prefix string
	class  class
	min    int
}

var tokens = []token{
	{"ghp_", alnum, 30}, {"gho_", alnum, 30}, {"ghu_", alnum, 30}, {"ghs_", alnum, 30}, {"ghr_", alnum, 30},
	{"github_pat_", wordDash, 22}, {"glpat-", wordDash, 20}, {"gldt-", wordDash, 20}, {"glrt-", wordDash, 20},
	{"xoxb-", wordDash, 10}, {"xoxp-", wordDash, 10}, {"xoxa-", wordDash, 10}, {"xoxr-", wordDash, 10}, {"xoxs-", wordDash, 10}, {"xapp-", wordDash, 10},
	{"sk-", wordDash, 20}, {"sk_live_", alnum, 16}, {"sk_test_", alnum, 16}, {"rk_live_", alnum, 16}, {"rk_test_", alnum, 16}, {"whsec_", base64ish, 20},
	{"AKIA", upperDigit, 16}, {"ASIA", upperDigit, 16}, {"AIza", wordDash, 30}, {"ya29.", wordDash, 20}, {"GOCSPX-", wordDash, 20},
	{"npm_", alnum, 30}, {"pypi-", wordDash, 30}, {"hf_", alnum, 30}, {"SG.", wordDashDot, 40}, {"dop_v1_", alnum, 32}, {"doo_v1_", alnum, 32},
	{"shpat_", alnum, 32}, {"shpss_", alnum, 32}, {"xai-", alnum, 32}, {"gsk_", alnum, 32}, {"tvly-", wordDash, 16}, {"lin_api_", alnum, 20},
	{"ATATT3", base64ish, 40}, {"figd_", wordDash, 30}, {"r8_", alnum, 30}, {"AGE-SECRET-KEY-1", upperDigit, 50}, {"ops_eyJ", base64ish, 40},
	{"dckr_pat_", wordDash, 20}, {"nvapi-", wordDash, 30}, {"pat-na1-", wordDash, 20}, {"hvs.", wordDash, 24}, {"vault:v1:", base64ish, 20},
	{"rubygems_", alnum, 40}, {"sntrys_", base64ish, 40}, {"glsa_", wordDash, 30}, {"PMAK-", wordDash, 40}, {"EAACEdEose0cBA", alnum, 20},
}

func (t token) scan(s string, from, to int) (span, bool) {
	if s[from:to] != t.prefix || from > 0 && wordDash.has(s[from-1]) {
		return span{}, false
	}
	end := to
	for end < len(s) && t.class.has(s[end]) {
		end++
	}
	for end > to && s[end-1] == '.' { // the end of a sentence
		end--
	}
	return span{from, end}, end-to >= t.min
}

// scanPEM masks private keys in armour, from BEGIN to END or to the end of
// the text (RFC 7468).
func scanPEM(s string, from, to int) (span, bool) {
	line := s[to:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	label, _, ok := strings.Cut(line, "-----")
	if !ok || !strings.Contains(label, "PRIVATE KEY") {
		return span{}, false
	}
	foot := "-----END " + label + "-----"
	if i := strings.Index(s[to:], foot); i >= 0 {
		return span{from, to + i + len(foot)}, true
	}
	return span{from, len(s)}, true
}

// scanURL masks the password of scheme://user:password@host, and a long user
// name without a password, which is a token (RFC 3986, section 3.2.1).
func scanURL(s string, from, to int) (span, bool) {
	end := to
	for end < len(s) && s[end] > ' ' && strings.IndexByte("/?#\"'`<>\\", s[end]) < 0 {
		end++
	}
	at := strings.LastIndexByte(s[to:end], '@')
	if at <= 0 {
		return span{}, false
	}
	user, password, ok := strings.Cut(s[to:to+at], ":")
	switch {
	case ok && password != "" && !placeholder(password):
		return span{to + len(user) + 1, to + at}, true
	case !ok && len(user) >= 20:
		return span{to, to + at}, true
	}
	return span{}, false
}

// scanAuthorization masks the value of an Authorization header.
func scanAuthorization(s string, from, to int) (span, bool) {
	i := skip(s, to, " \t\"'")
	if i >= len(s) || s[i] != ':' && s[i] != '=' {
		return span{}, false
	}
	i = skip(s, i+1, " \t\"'")
	end := lineEnd(s, i)
	for _, scheme := range [...]string{"bearer ", "basic ", "token ", "digest ", "negotiate "} {
		if len(s)-i > len(scheme) && strings.EqualFold(s[i:i+len(scheme)], scheme) {
			i += len(scheme)
			break
		}
	}
	return value(s, i, end, inText)
}

// scanScheme masks what follows Bearer or Basic where it looks like a token.
func scanScheme(s string, from, to int) (span, bool) {
	if from > 0 && wordDash.has(s[from-1]) {
		return span{}, false
	}
	end := to
	digits := false
	for end < len(s) && base64ish.has(s[end]) {
		digits = digits || s[end] >= '0' && s[end] <= '9' || s[end] >= 'A' && s[end] <= 'Z'
		end++
	}
	return span{to, end}, end-to >= 16 && digits || end-to >= 8 && digits && strings.HasSuffix(s[to:end], "=")
}

// scanHeader masks the rest of a Cookie or Set-Cookie line.
func scanHeader(s string, from, to int) (span, bool) {
	i := skip(s, to, " \t")
	end := lineEnd(s, i)
	if q := strings.IndexAny(s[i:end], "\"'"); q > 0 {
		end = i + q
	}
	for end > i && (s[end-1] == '\r' || s[end-1] == ' ') {
		end--
	}
	return span{i, end}, strings.IndexByte(s[i:end], '=') > 0 && !placeholder(s[i:end])
}

// scanJWT masks a JSON web token: three parts, the first two objects (RFC
// 7519).
func scanJWT(s string, from, to int) (span, bool) {
	if s[from:to] != "eyJ" || from > 0 && wordDash.has(s[from-1]) {
		return span{}, false
	}
	end, dots := to, 0
	for end < len(s) && wordDashDot.has(s[end]) {
		if s[end] == '.' {
			dots++
		}
		end++
	}
	return span{from, end}, dots >= 2 && end-from >= 40
}

// scanUserFlag masks the password of curl's -u user:password.
func scanUserFlag(s string, from, to int) (span, bool) {
	i := skip(s, to, " =")
	if i == to && s[to-1] != 'u' || i >= len(s) {
		return span{}, false
	}
	quote := byte(0)
	if s[i] == '"' || s[i] == '\'' {
		quote = s[i]
		i++
	}
	end := i
	for end < len(s) && s[end] != '\n' && s[end] != quote && (quote != 0 || s[end] != ' ') {
		end++
	}
	user, password, ok := strings.Cut(s[i:end], ":")
	if !ok || user == "" || password == "" || placeholder(password) || strings.HasPrefix(password, "//") || strings.ContainsAny(user, " /") {
		return span{}, false
	}
	return span{i + len(user) + 1, end}, true
}

func skip(s string, i int, set string) int {
	for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}

func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}
