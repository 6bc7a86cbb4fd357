// Package repo says what a git repository's own configuration makes git do.
//
// Reading a repository with git is not harmless: core.fsmonitor, filters, text
// conversions and hooks of the repository start programs on status, diff, log
// and show. [Cache.Runs] names the first setting that does; [Find] describes a
// repository for whoever runs git on it with settings of its own. The package
// reads git's files itself and starts nothing.
package repo

import (
	"fmt"
	"strings"
)

// setting is one assignment of a git configuration file.
type setting struct {
	section string // lower case
	sub     string // as written; case counts
	subbed  bool   // there is a sub-section, be it empty
	key     string // lower case
	value   string
	bare    bool // the key stands alone, which means true
	line    int
}

// name is the setting as git prints it.
func (s setting) name() string {
	if s.section == "" && !s.subbed {
		return s.key
	}
	if !s.subbed {
		return s.section + "." + s.key
	}
	return s.section + "." + s.sub + "." + s.key
}

// parseGitConfig reads a git configuration file. The format is that of
// git-config(1), "CONFIGURATION FILE", as git's own reader (config.c) takes it:
//
//	file    = { blank | comment | "[" section "]" | key [ "=" value ] }
//	section = name [ blank {blank} '"' sub '"' ] | name "." sub
//	name    = { letter | digit | "-" | "." },  key = letter { letter | digit | "-" }
//	comment = ("#" | ";") to the end of the line
//
// Blanks and newlines separate; an assignment may follow a section header on
// its line, or stand before any header. In a value, blanks at both ends are cut, quotes group, and a
// backslash escapes one of \ " n t b or joins the next line. In a sub-section
// a backslash takes the next character as it is. A byte order mark at the
// start is skipped. Anything else is an error, since git refuses such a file
// too.
func parseGitConfig(text string) ([]setting, error) {
	p := gitConfigParser{text: strings.TrimPrefix(text, "\ufeff"), line: 1}
	for {
		switch c := p.next(); {
		case c == 0 && p.end:
			return p.found, nil
		case c == '\n' || blank(c):
		case c == '#' || c == ';':
			p.comment()
		case c == '[':
			if !p.header() {
				return nil, p.fault("section")
			}
		case letter(c):
			if !p.assignment(c) {
				return nil, p.fault("setting")
			}
		default:
			return nil, p.fault("line")
		}
	}
}

type gitConfigParser struct {
	text         string
	at, line     int
	end          bool
	section, sub string
	subbed       bool
	found        []setting
}

func (p *gitConfigParser) fault(what string) error {
	return fmt.Errorf("line %d: not a %s of a git configuration", p.line, what)
}

// next takes one character; CR LF counts as LF. At the end it is 0 and end is set.
func (p *gitConfigParser) next() byte {
	if p.at >= len(p.text) {
		p.end = true
		return 0
	}
	c := p.text[p.at]
	p.at++
	if c == '\r' && p.at < len(p.text) && p.text[p.at] == '\n' {
		c = '\n'
		p.at++
	}
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *gitConfigParser) comment() {
	for c := p.next(); !p.end; c = p.next() {
		if c == '\n' {
			return
		}
	}
}

// header reads a section's header after its bracket.
func (p *gitConfigParser) header() bool {
	var name strings.Builder
	for {
		c := p.next()
		switch {
		case p.end:
			return false
		case c == ']':
			p.section, p.sub, p.subbed = strings.Cut(name.String(), ".")
			return name.Len() > 0
		case blank(c):
			p.section, p.sub, p.subbed = strings.Cut(name.String(), ".")
			return p.quotedSub()
		case letter(c) || digit(c) || c == '-' || c == '.':
			name.WriteByte(lower(c))
		default:
			return false
		}
	}
}

// quotedSub reads the sub-section in quotes and the closing bracket.
func (p *gitConfigParser) quotedSub() bool {
	c := p.next()
	for blank(c) {
		c = p.next()
	}
	if c != '"' {
		return false
	}
	var sub strings.Builder
	for {
		switch c = p.next(); {
		case p.end || c == '\n':
			return false
		case c == '"':
			if p.subbed { // the old dotted form stands before the quotes
				p.sub += "."
			}
			p.sub, p.subbed = p.sub+sub.String(), true
			return p.next() == ']'
		case c == '\\':
			if c = p.next(); p.end || c == '\n' {
				return false
			}
		}
		sub.WriteByte(c)
	}
}

// assignment reads a key that begins with first, and its value.
func (p *gitConfigParser) assignment(first byte) bool {
	s := setting{section: p.section, sub: p.sub, subbed: p.subbed, line: p.line}
	key := []byte{lower(first)}
	c := p.next()
	for ; !p.end && (letter(c) || digit(c) || c == '-'); c = p.next() {
		key = append(key, lower(c))
	}
	for blank(c) && c != '\r' {
		c = p.next()
	}
	s.key = string(key)
	switch {
	case p.end || c == '\n':
		s.bare = true
	case c == '=':
		value, ok := p.value()
		if !ok {
			return false
		}
		s.value = value
	default:
		return false
	}
	p.found = append(p.found, s)
	return true
}

// value reads up to the end of the line.
func (p *gitConfigParser) value() (string, bool) {
	var v strings.Builder
	quoted, keep := false, 0 // keep: length up to the last character that is no blank
	for {
		c := p.next()
		switch {
		case p.end || c == '\n':
			return v.String()[:keep], !quoted
		case blank(c) && !quoted:
			if v.Len() > 0 {
				v.WriteByte(' ') // as git before 2.45; no setting that matters here holds another blank
			}
			continue
		case (c == '#' || c == ';') && !quoted:
			p.comment()
			return v.String()[:keep], true
		case c == '"':
			quoted = !quoted
			keep = v.Len()
			continue
		case c == '\\':
			var ok bool
			if c, ok = p.escape(); !ok {
				return "", false
			}
			if c == 0 {
				continue // a joined line
			}
		}
		v.WriteByte(c)
		keep = v.Len()
	}
}

// escape reads what follows a backslash in a value; 0 is a joined line.
func (p *gitConfigParser) escape() (c byte, ok bool) {
	switch c = p.next(); {
	case p.end || c == '\n':
		return 0, true
	case c == 'n':
		return '\n', true
	case c == 't':
		return '\t', true
	case c == 'b':
		return '\b', true
	case c == '\\' || c == '"':
		return c, true
	}
	return 0, false
}

// blank is what git takes for white space within a line: no other control
// character is.
func blank(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' }
func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
