// Package script reads the little programs that are given to sed, awk, jq and
// yq, and says whether they can start a program, write or read a file.
//
// It is no interpreter: it finds commands and tokens. What it cannot read for
// certain is [Facts.Unclear], never harmless.
package script

import "strings"

// Facts is what a script could do.
type Facts struct {
	Runs    bool     // starts a program
	Writes  []string // files it writes; "" = not known
	Reads   []string // files it reads besides its input; "" = not known
	Unclear string   // why it could not be read; "" = it was
}

// harmless devices as targets of sed's w and awk's >.
var devices = map[string]bool{"/dev/stdout": true, "/dev/stderr": true, "/dev/null": true, "/dev/tty": true}

func (f *Facts) write(path string) {
	if !devices[path] {
		f.Writes = append(f.Writes, path)
	}
}

// sed is a sed script being read.
type sed struct {
	Facts
	s string
	i int
}

// Sed reads a sed script (GNU sed 4.9, which knows all that others know).
func Sed(text string) Facts {
	p := &sed{s: text}
	for p.Unclear == "" && p.i < len(p.s) {
		p.command()
	}
	return p.Facts
}

func (p *sed) unclear(why string) { p.Unclear = why }

func (p *sed) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *sed) skip(chars string) {
	for p.i < len(p.s) && strings.IndexByte(chars, p.s[p.i]) >= 0 {
		p.i++
	}
}

// command reads one command with its addresses.
func (p *sed) command() {
	p.skip(" \t\n;")
	if p.i >= len(p.s) {
		return
	}
	p.address()
	if p.skip(" \t"); p.peek() == ',' {
		p.i++
		p.skip(" \t")
		if c := p.peek(); c == '+' || c == '~' {
			p.i++
		}
		p.address()
	}
	p.skip(" \t!")
	if p.Unclear != "" || p.i >= len(p.s) {
		return
	}
	c := p.s[p.i]
	p.i++
	switch c {
	case '{', '}', '=', 'd', 'D', 'F', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z':
	case 'e':
		p.Runs = true
		p.line()
	case '#':
		p.line()
	case 'a', 'i', 'c':
		p.text()
	case ':', 'b', 't', 'T', 'v':
		p.skip(" \t")
		for p.i < len(p.s) && p.s[p.i] != '\n' && p.s[p.i] != ';' && (p.s[p.i] != '}' || c == ':') {
			p.i++
		}
	case 'l', 'L', 'q', 'Q':
		p.skip(" \t0123456789")
	case 'r', 'R':
		p.Reads = append(p.Reads, p.fileName())
	case 'w', 'W':
		p.write(p.fileName())
	case 's':
		p.substitute()
	case 'y':
		if p.i < len(p.s) {
			d := p.s[p.i]
			p.i++
			p.upTo(d)
			p.upTo(d)
		}
	default:
		p.unclear("sed has no command " + string(rune(c)) + " that is known")
		return
	}
	p.after(c)
}

// after demands that nothing but the next command follows.
func (p *sed) after(c byte) {
	if c == '{' || c == '}' || p.Unclear != "" {
		return
	}
	p.skip(" \t")
	switch p.peek() {
	case 0, ';', '\n', '}', '#':
	default:
		p.unclear("what follows a sed command is not clear")
	}
}

// address reads a line number, $, a pattern, or first~step.
func (p *sed) address() {
	switch c := p.peek(); {
	case c == '$':
		p.i++
	case c >= '0' && c <= '9':
		p.skip("0123456789")
		if p.peek() == '~' {
			p.i++
			p.skip("0123456789")
		}
	case c == '/':
		p.i++
		p.pattern('/')
	case c == '\\' && p.i+1 < len(p.s):
		d := p.s[p.i+1]
		p.i += 2
		p.pattern(d)
	}
}

func (p *sed) pattern(d byte) {
	p.upTo(d)
	p.skip("IM")
}

// upTo reads to an unescaped delimiter, as GNU sed's match_slash does:
// brackets do not hide it.
func (p *sed) upTo(d byte) {
	for ; p.i < len(p.s); p.i++ {
		switch p.s[p.i] {
		case d:
			p.i++
			return
		case '\\':
			p.i++
		}
	}
	p.unclear("a sed pattern has no end")
}

func (p *sed) substitute() {
	d := p.peek()
	if d == 0 || d == '\n' || d == '\\' {
		p.unclear("sed s without a delimiter")
		return
	}
	p.i++
	p.upTo(d)
	p.upTo(d)
	for p.Unclear == "" && p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == 'g', c == 'p', c == 'I', c == 'i', c == 'M', c == 'm', c >= '0' && c <= '9':
			p.i++
		case c == 'e':
			p.Runs = true
			p.i++
		case c == 'w':
			p.i++
			p.write(p.fileName())
			return
		default:
			return
		}
	}
}

// fileName reads the rest of the line.
func (p *sed) fileName() string {
	p.skip(" \t")
	from := p.i
	p.line()
	return p.s[from:p.i]
}

func (p *sed) line() {
	for p.i < len(p.s) && p.s[p.i] != '\n' {
		p.i++
	}
}

// text reads the text of a, i and c: to the end of the line, past escaped
// line ends.
func (p *sed) text() {
	for p.i < len(p.s) && p.s[p.i] != '\n' {
		if p.s[p.i] == '\\' {
			p.i++
		}
		p.i++
	}
	p.i = min(p.i, len(p.s))
}
