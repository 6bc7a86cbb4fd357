package redact

import "strings"

// sensitive are the words of a name that make its value a secret (G34 names
// the first six); neutral ones next to them say that it is about a secret and
// holds none.
var (
	sensitive = map[string]bool{
		"password": true, "token": true, "secret": true, "apikey": true, "auth": true, "credential": true,
		"passwd": true, "pwd": true, "passphrase": true, "passcode": true, "credentials": true, "secrets": true, "passwords": true,
		"authtoken": true, "accesstoken": true, "refreshtoken": true, "privatekey": true, "secretkey": true, "accesskey": true, "clientsecret": true,
	}
	neutral = map[string]bool{
		"count": true, "counts": true, "limit": true, "max": true, "min": true, "total": true, "used": true, "usage": true, "length": true, "len": true, "size": true,
		"url": true, "uri": true, "endpoint": true, "type": true, "kind": true, "name": true, "names": true, "id": true, "ids": true, "path": true, "file": true, "dir": true,
		"policy": true, "expires": true, "expiry": true, "expiration": true, "ttl": true, "method": true, "mode": true, "scheme": true, "provider": true, "status": true,
		"required": true, "enabled": true, "field": true, "helper": true, "manager": true, "store": true, "budget": true, "per": true, "input": true, "output": true,
	}
	keyed = map[string]bool{"api": true, "private": true, "access": true, "secret": true, "encryption": true, "signing": true, "master": true, "session": true, "account": true, "service": true}
)

// Sensitive reports whether a field of this name holds a secret: by its words,
// whether they are written camelCase, snake_case, kebab-case or with blanks.
func Sensitive(name string) bool {
	hit, last := false, ""
	for w := range words(name) {
		if neutral[w] {
			return false
		}
		if sensitive[w] || w == "key" && keyed[last] || w == "keys" && keyed[last] {
			hit = true
		}
		last = w
	}
	return hit
}

// words yields the words of a name, lower-case.
func words(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		emit := func(end int) bool {
			w := strings.ToLower(name[start:end])
			return w == "" || yield(w)
		}
		for i := 0; i < len(name); i++ {
			c := name[i]
			upper := c >= 'A' && c <= 'Z'
			lowerBefore := i > 0 && (name[i-1] >= 'a' && name[i-1] <= 'z' || name[i-1] >= '0' && name[i-1] <= '9')
			lowerAfter := i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z' && i > 0 && name[i-1] >= 'A' && name[i-1] <= 'Z'
			switch {
			case !alnum.has(c) && c < 0x80:
				if !emit(i) {
					return
				}
				start = i + 1
			case upper && (lowerBefore || lowerAfter):
				if !emit(i) {
					return
				}
				start = i
			}
		}
		emit(len(name))
	}
}

// nameLeads are the words in text that lead to a look at the whole name and
// the value behind it.
var nameLeads = []string{"password", "passwd", "passphrase", "pwd", "token", "secret", "apikey", "api_key", "api-key", "auth", "credential",
	"private_key", "private-key", "privatekey", "access_key", "access-key", "accesskey"}

// scanNamed masks the value of name=value, name: value and "name": "value",
// where the whole name is sensitive.
func scanNamed(s string, from, to int) (span, bool) {
	for from > 0 && wordDash.has(s[from-1]) {
		from--
	}
	for to < len(s) && wordDash.has(s[to]) {
		to++
	}
	name := strings.TrimLeft(s[from:to], "-")
	if len(name) > 100 || !Sensitive(name) {
		return span{}, false
	}
	flag := strings.HasPrefix(s[from:to], "--")
	i, quoted := to, false
	if i+1 < len(s) && s[i] == '\\' && s[i+1] == '"' { // JSON inside a JSON string
		i, quoted = i+2, true
	} else if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		i, quoted = i+1, true
	}
	i = skip(s, i, " \t")
	if i >= len(s) {
		return span{}, false
	}
	colon := s[i] == ':'
	switch {
	case s[i] == '=' || colon:
		if i++; i < len(s) && (s[i] == '=' || s[i] == '>') { // a comparison, an arrow
			if s[i-1] == '=' && s[i] == '=' {
				return span{}, false
			}
			i++
		}
	case flag && i > to:
	default:
		return span{}, false
	}
	start := skip(s, i, " \t")
	stops := inAddress
	if colon || flag {
		stops = inText
	}
	m, ok := value(s, start, lineEnd(s, start), stops)
	if ok && colon && !quoted && prose(s, m) {
		return span{}, false
	}
	return m, ok
}

// prose reports whether an unquoted value behind a colon is an ordinary word,
// as in "auth: required" or "token: none".
func prose(s string, m span) bool {
	if m.from > 0 && (s[m.from-1] == '"' || s[m.from-1] == '\'') {
		return false
	}
	for _, c := range []byte(s[m.from:m.to]) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// What ends a value without quotes: in name=value, which stands in addresses
// and command lines too, and elsewhere.
const (
	inAddress = "\"'`,;&|<>(){}"
	inText    = "\"'`,;<>{}"
)

// value is the stretch of one value that begins at i: in quotes up to the
// closing one, else up to a blank or one of stops.
func value(s string, i, end int, stops string) (span, bool) {
	if i >= end {
		return span{}, false
	}
	if i+1 < end && s[i] == '\\' && s[i+1] == '"' {
		i += 2
		if n := strings.Index(s[i:end], `\"`); n >= 0 {
			end = i + n
		}
		return span{i, end}, end > i && !placeholder(s[i:end])
	}
	if q := s[i]; q == '"' || q == '\'' || q == '`' {
		i++
		j := i
		for j < end && s[j] != q {
			if s[j] == '\\' && j+1 < end {
				j++
			}
			j++
		}
		j = min(j, end)
		return span{i, j}, j > i && !placeholder(s[i:j])
	}
	j := i
	for j < end && s[j] > ' ' && strings.IndexByte(stops, s[j]) < 0 {
		j++
	}
	return span{i, j}, j > i && !placeholder(s[i:j])
}

// placeholder reports whether a value stands for a secret and is none: $X,
// ${X}, {{x}}, <x>, ***, op://..., vault://..., our mark, an empty JSON word.
func placeholder(v string) bool {
	switch {
	case v == "", v[0] == '$', strings.HasPrefix(v, "{{"), v[0] == '<' && v[len(v)-1] == '>', v == Mark, strings.HasPrefix(v, Mark[:len(Mark)-1]):
		return true
	case strings.HasPrefix(v, "op://"), strings.HasPrefix(v, "vault://"), strings.Trim(v, "*") == "", strings.Trim(v, ".") == "":
		return true
	}
	switch v {
	case "null", "nil", "none", "None", "true", "false", "True", "False", "undefined", "\\", "[", "]":
		return true
	}
	return false
}
