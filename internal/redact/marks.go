package redact

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/value"
)

// url is the password of a URL whose authority starts at j (RFC 3986, section
// 3.2.1), or a user name without a password that is long enough to be a token.
func (s *scan) url(j int) (span, bool) {
	s.keep = j
	end, at, slash := j, -1, -1
	for ; end < s.hi && end < j+512; end++ {
		c := s.buf[end]
		if c <= ' ' || c == 0x7f || strings.IndexByte("\"'`<>\\|", c) >= 0 {
			break
		}
		if slash < 0 && (c == '/' || c == '?' || c == '#') {
			slash = end
			if at >= 0 || strings.IndexByte(s.buf[j:end], ':') < 0 || port(s.buf[j:end]) {
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
	if end >= s.hi {
		s.short = true
	}
	if at < 0 {
		return span{}, false
	}
	user, password, ok := strings.Cut(s.buf[j:at], ":")
	from := j + len(user) + 1
	switch {
	case !ok && len(user) >= 16 && strings.IndexAny(user, "0123456789") >= 0 && !value.Placeholder(user) && !strings.Contains(user, Mark):
		return span{at: j, cover: at}, true
	case !ok, password == "", value.Placeholder(password), strings.Contains(password, Mark), strings.HasPrefix(password, "%s"), strings.HasPrefix(password, "%v"):
		return span{}, false
	}
	return span{at: from, cover: at}, true
}

// port reports whether an authority ends in a port, and so holds no password.
func port(authority string) bool {
	p := authority[strings.LastIndexByte(authority, ':')+1:]
	return len(p) <= 5 && strings.Trim(p, "0123456789") == "" || strings.HasSuffix(authority, "]")
}

// telegram is the secret half of NUMBER:AA..., at its colon.
func (s *scan) telegram(i int) (span, bool) {
	n := 0
	for i-n-1 >= s.low(i) && classOf[s.buf[i-n-1]]&digit != 0 && n <= 11 {
		n++
	}
	if n < 8 || n > 11 || s.at(i+2) != 'A' {
		return span{}, false
	}
	end := s.run(i+1, tokenChar)
	if end-i-1 < 33 {
		return span{}, false
	}
	return span{at: i + 1, cover: end, class: tokenChar}, true
}

// flagged is the value behind a flag and a blank: --token X, -u user:X of
// curl, -pX of mysql, -p X of sshpass.
func (s *scan) flagged(i int) (span, bool) {
	if c := s.before(i); c > ' ' && strings.IndexByte("\"'`[(,", c) < 0 {
		return span{}, false
	}
	start := i + 1
	if s.at(start) == '-' {
		start++
	}
	end := start
	for end < s.hi && end-start <= name.Max && (classOf[s.buf[end]]&alnum != 0 || s.buf[end] == '-' || s.buf[end] == '_') {
		end++
	}
	if end == s.hi {
		s.short = true
	}
	flag := s.buf[start:end]
	switch {
	case flag == "":
		return span{}, false
	case start == i+1 && flag[0] == 'p' && len(flag) > 1 && s.onLine(i, "mysql", "mariadb"):
		s.keep = start + 1
		return s.flagValue(start+1, name.Strong)
	case s.at(end) != ' ' && !(s.at(end) == '=' && flag == "user"):
		return span{}, false
	case (flag == "u" || flag == "user" || flag == "proxy-user" || flag == "U") && s.onLine(i, "curl"):
		return s.userFlag(end + 1)
	case flag == "p" && s.onLine(i, "sshpass"):
		return s.flagValue(end+1, name.Strong)
	}
	if m := name.Of(flag); m == name.Weak || m == name.Strong {
		return s.flagValue(end+1, m)
	}
	return span{}, false
}

func (s *scan) flagValue(j int, m name.Meaning) (span, bool) {
	s.keep = j
	if c := s.at(j); c <= ' ' || c == '-' { // blanks stand before a description
		return span{}, false
	}
	return s.value(j, assignment{meaning: m, op: ' '})
}

// userFlag is the password of user:password.
func (s *scan) userFlag(j int) (span, bool) {
	var quote byte
	if c := s.at(j); c == '"' || c == '\'' {
		quote = c
		j++
	}
	end := j
	for end < s.hi && s.buf[end] > ' ' && strings.IndexByte("\"'`", s.buf[end]) < 0 {
		end++
	}
	if end == s.hi {
		s.short = true
	}
	user, password, ok := strings.Cut(s.buf[j:end], ":")
	if !ok || password == "" || value.Placeholder(password) || strings.HasPrefix(password, "//") || strings.Contains(password, Mark) {
		return span{}, false
	}
	from := j + len(user) + 1
	if quote != 0 {
		return span{at: from, cover: from, quote: quote}, true
	}
	return span{at: from, cover: end}, true
}

// onLine reports whether a word stands before i on its line.
func (s *scan) onLine(i int, words ...string) bool {
	line := s.buf[s.low(i):i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// element is the text of <name>text</, at the '>'.
func (s *scan) element(i int) (span, bool) {
	low := max(s.low(i), i-name.Max)
	open := strings.LastIndexByte(s.buf[low:i], '<')
	if open < 0 {
		return span{}, false
	}
	tag := s.buf[low+open+1 : i]
	if sp := strings.IndexAny(tag, " \t\n"); sp >= 0 {
		tag = tag[:sp]
	}
	if colon := strings.IndexByte(tag, ':'); colon >= 0 {
		tag = tag[colon+1:]
	}
	if tag == "" || tag[0] == '/' || !Sensitive(tag) {
		return span{}, false
	}
	s.keep = i + 1
	end := s.run(i+1, textChar)
	v := strings.TrimSpace(s.buf[i+1 : end])
	if v == "" || value.Placeholder(v) || strings.Contains(v, Mark) || !s.has(end, "</") {
		return span{}, false
	}
	return span{at: i + 1, cover: end}, true
}

// netrc is the password of a line such as: machine h login u password X.
func (s *scan) netrc(i int) (span, bool) {
	if !s.has(i, "password ") || !s.word(i) || !s.onLine(i, "login ", "machine ", "user ") {
		return span{}, false
	}
	j := i + len("password ")
	s.keep = j
	end := s.run(j, lineChar)
	v := s.buf[j:end]
	if v == "" || v[0] == '=' || v[0] == '!' || value.Placeholder(v) || strings.Contains(v, Mark) || !s.onLine(i, "machine ") && value.Wordy(v) {
		return span{}, false
	}
	return span{at: j, cover: j, class: lineChar}, true
}
