package redact

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/assign"
	"github.com/reeve-gate/reeve/internal/redact/command"
	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/reason"
	"github.com/reeve-gate/reeve/internal/redact/shape"
	"github.com/reeve-gate/reeve/internal/redact/value"
)

// url is the secret of a URL whose authority starts at j.
func (s *scan) url(j int) (span, bool) {
	s.keep = j
	if j >= s.Hi {
		s.Short = true
		return span{}, false
	}
	from, to, more, ok := value.UserInfo(s.Buf[j:s.Hi])
	s.Short = s.Short || more
	return span{at: j + from, cover: j + to}, ok
}

// telegram is the secret half of NUMBER:AA..., at its colon.
func (s *scan) telegram(i int) (span, bool) {
	n := 0
	for i-n-1 >= s.Low(i) && classOf[s.Buf[i-n-1]]&digit != 0 && n <= 11 {
		n++
	}
	if n < 8 || n > 11 || s.At(i+2) != 'A' {
		return span{}, false
	}
	end := s.Run(i+1, tokenChar)
	if end-i-1 < 33 {
		return span{}, false
	}
	s.isToken(shape.TelegramToken, i+1, end)
	return span{at: i + 1, cover: end, class: tokenChar}, true
}

// flagged is the secret that a flag leads to: by its name, as in --token X, or
// by the program that is given it, as in curl -u user:X and mysql -pX.
func (s *scan) flagged(i int) (span, bool) {
	if c := s.Before(i); c > ' ' && strings.IndexByte("\"'`[(,", c) < 0 {
		return span{}, false
	}
	start := i + 1
	if s.At(start) == '-' {
		start++
	}
	end := start
	for end < s.Hi && end-start <= name.Max && (classOf[s.Buf[end]]&alnum != 0 || s.Buf[end] == '-' || s.Buf[end] == '_') {
		end++
	}
	if end == s.Hi {
		s.Short = true
	}
	if end == start {
		return span{}, false
	}
	if flag := s.Buf[i:end]; command.Suspect(flag) && s.namesProgram(i) {
		if part, glued := command.Flag(s.line(i), flag); glued > 0 {
			return s.given(i+glued, part, 0)
		} else if part != command.None {
			return s.given(s.NextWord(end), part, 0)
		}
	}
	flag := s.Buf[start:end]
	if m := name.Of(flag); s.At(end) == ' ' && (m == name.Weak || m == name.Strong || m == name.Pass && start > i+1) {
		sp, ok := s.flagValue(end+1, m)
		if ok {
			s.is(origin{rule: reason.Name, name: flag})
		}
		return sp, ok
	}
	return span{}, false
}

// namesProgram reports whether the line before i may name a program of the
// table. Each byte is read for that once.
func (s *scan) namesProgram(i int) bool {
	const longest = 16 // of a name that may end behind what was read
	if command.Names(s.Buf[max(0, s.read-longest):i]) {
		s.named = s.place(i) + 1
	}
	s.read = i
	return s.named > 0 && s.place(i)+1-s.named <= lineBack
}

// place is where i stands in all that goes out.
func (s *scan) place(i int) int { return s.dropped + len(s.out) + i - s.sent }

func (s *scan) flagValue(j int, m name.Meaning) (span, bool) {
	s.keep = j
	if c := s.At(j); c <= ' ' || c == '-' { // blanks stand before a description
		return span{}, false
	}
	return s.value(j, assign.Value{Meaning: m, Op: ' '})
}

// lineBack is how many bytes of the line before a flag are read for its
// program.
const lineBack = 1 << 10

// line is what stands before i on its line, as it goes out: what was masked in
// it stands there as the mark, so that to read it again is to read the same. A
// line that ends in a backslash goes on.
func (s *scan) line(i int) string {
	var line string
	if s.whole && s.hits == 0 {
		line = s.Buf[:i]
	} else {
		out := s.out[:len(s.out)-max(0, s.sent-i)] // some of what follows may have gone out
		line = string(out[max(0, len(out)-lineBack):]) + s.Buf[min(s.sent, i):i]
	}
	line = line[max(0, len(line)-lineBack):]
	for end := len(line); ; {
		nl := strings.LastIndexByte(line[:end], '\n')
		if nl < 0 {
			return line
		}
		if !strings.HasSuffix(strings.TrimSuffix(line[:nl], "\r"), "\\") {
			return line[nl+1:]
		}
		end = nl
	}
}

// given is the secret part of the word at j, which is an argument of a program;
// quote is what opened it before, 0 = nothing did.
func (s *scan) given(j int, part command.Part, quote byte) (span, bool) {
	if j < 0 {
		return span{}, false
	}
	s.keep = j
	c := s.At(j)
	if quote != 0 {
	} else if c == '"' || c == '\'' {
		quote = c
		j++
	} else if c <= ' ' || c == '-' {
		return span{}, false
	}
	end := s.Argument(j, quote)
	word := s.Buf[j:min(end, s.Hi)]
	from, ok := part.Secret(word)
	if !ok {
		return span{}, false
	}
	v := word[from:]
	switch {
	case s.partlyIn(j+from, j+len(word)):
	case value.Placeholder(v), mark.In(v), value.English[v], value.Ports(v):
		return span{}, false
	case v == strings.ToUpper(v) && (name.Of(v) != name.Plain || strings.IndexByte(v, '_') > 0): // -p PASSWORD, in a help text
		return span{}, false
	case part == command.Whole && value.Wordy(v) && name.Of(v) != name.Plain: // -p password
		return span{}, false
	}
	from += j
	if quote != 0 {
		return span{at: from, cover: from, quote: quote}, true
	}
	return span{at: from, cover: end, class: wordChar}, true
}

// operand is the word of a command that is secret by its place, at the name of
// the program.
func (s *scan) operand(i int) (span, bool) {
	if c := lower(s.At(i + 2)); c == 0 || strings.IndexByte("tpmsr", c) < 0 && !s.Short {
		return span{}, false
	}
	if c := s.Before(i); classOf[c]&alnum != 0 || strings.IndexByte("_-.", c) >= 0 && c != 0 {
		return span{}, false
	}
	j := s.Run(i, identChar)
	if !command.Starts(s.Buf[i:j]) {
		return span{}, false
	}
	words, at := []string{s.Buf[i:j]}, []int{i}
	for len(words) < 12 {
		if j = s.NextWord(j); j < 0 {
			break
		}
		var quote byte
		if c := s.At(j); c == '"' || c == '\'' {
			quote = c
			j++
		}
		end := s.Argument(j, quote)
		if s.Has(j, `\\`) { // \\host\share
			end = s.Run(j, lineChar)
		}
		if end == j && quote == 0 {
			break
		}
		words, at = append(words, s.Buf[j:min(end, s.Hi)]), append(at, j)
		if len(words) == 2 && !command.GoesOn(words[0], words[1], end < s.Hi) {
			return span{}, false
		}
		if len(words) == 3 { // none before is secret
			s.keep = j
		}
		if j = end; quote != 0 {
			j++
		}
	}
	secret := command.Operand(words)
	if secret < 0 {
		if secret = command.Setting(words); secret < 0 || !setsSecret(words[secret-1]) {
			return span{}, false
		}
	}
	v := words[secret]
	s.keep = at[secret]
	if !s.partlyIn(at[secret], at[secret]+len(v)) && (value.Placeholder(v) || mark.In(v) || value.English[v] || value.Wordy(v) && name.Of(v) != name.Plain) {
		return span{}, false
	}
	return span{at: at[secret], cover: at[secret] + len(v)}, true
}

// setsSecret reports whether a setting of a program, with what it is for before
// it, is a secret: //host/:_authToken.
func setsSecret(setting string) bool {
	return name.Of(setting[strings.LastIndexAny(setting, ":/")+1:]).Secret()
}

// element is the text of <name>text</, at the '>'.
func (s *scan) element(i int) (span, bool) {
	low := max(s.Low(i), i-name.Max)
	open := strings.LastIndexByte(s.Buf[low:i], '<')
	if open < 0 {
		return span{}, false
	}
	tag := s.Buf[low+open+1 : i]
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
	end := s.Run(i+1, textChar)
	v := strings.TrimSpace(s.Buf[i+1 : end])
	if v == "" || !s.Has(end, "</") || !s.partlyIn(i+1, end) && (value.Placeholder(v) || mark.In(v)) {
		return span{}, false
	}
	return span{at: i + 1, cover: end}, true
}

// netrc is the password of a line such as: machine h login u password X.
func (s *scan) netrc(i int) (span, bool) {
	if !s.Has(i, "password ") || !s.Word(i) || !s.OnLine(i, "login ", "machine ", "user ") {
		return span{}, false
	}
	j := i + len("password ")
	s.keep = j
	end := s.Run(j, lineChar)
	v := s.Buf[j:end]
	if s.partlyIn(j, end) {
		return span{at: j, cover: end, class: lineChar}, true
	}
	if v == "" || v[0] == '=' || v[0] == '!' || value.Placeholder(v) || mark.In(v) || !s.OnLine(i, "machine ") && value.Wordy(v) {
		return span{}, false
	}
	return span{at: j, cover: j, class: lineChar}, true
}
