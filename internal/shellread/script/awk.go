package script

import "strings"

// awk is an awk program being cut into tokens.
type awk struct {
	Facts
	s       string
	i       int
	operand bool // the last token ends an operand, so that / divides
	print   int  // depth of parentheses at which a print statement stands; -1 = none
	depth   int
	before  string // the last token
	maybe   bool   // a slash of which it is not certain whether it divides
}

// Awk reads an awk program (gawk 5, mawk, one true awk).
func Awk(text string) Facts {
	p := &awk{s: text, print: -1}
	for p.Unclear == "" && p.i < len(p.s) {
		p.token()
	}
	if p.maybe && p.Unclear == "" && (strings.ContainsAny(text, "|@>") || strings.Contains(text, "system") || strings.Contains(text, "getline") || strings.Contains(text, "ARG")) {
		p.Unclear = "a slash of the awk program may divide or start a pattern"
	}
	return p.Facts
}

func (p *awk) peek(n int) byte {
	if p.i+n < len(p.s) {
		return p.s[p.i+n]
	}
	return 0
}

func (p *awk) token() {
	c := p.s[p.i]
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		p.i++
	case c == '\\' && p.peek(1) == '\n':
		p.i += 2
	case c == '#':
		for p.i < len(p.s) && p.s[p.i] != '\n' {
			p.i++
		}
	case c == '"':
		p.str()
	case c == '/' && !p.operand:
		p.regexp()
	case isWord(c):
		p.word()
	case c == '/':
		p.maybe = p.maybe || p.before == ")" || p.before == "length"
		p.operator(c)
	default:
		p.operator(c)
	}
}

func isWord(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '.'
}

// str reads a string and gives its text; "" where it holds an escape.
func (p *awk) str() string {
	from := p.i + 1
	for p.i++; p.i < len(p.s); p.i++ {
		switch p.s[p.i] {
		case '\\':
			p.i++
		case '\n':
			p.Unclear = "a string of the awk program has no end"
			return ""
		case '"':
			p.i++
			p.operand = true
			s := p.s[from : p.i-1]
			if strings.IndexByte(s, '\\') >= 0 {
				return ""
			}
			return s
		}
	}
	p.Unclear = "a string of the awk program has no end"
	return ""
}

func (p *awk) regexp() {
	bracket := false
	for p.i++; p.i < len(p.s); p.i++ {
		switch p.s[p.i] {
		case '\\':
			p.i++
		case '[':
			bracket = true
		case ']':
			bracket = false
		case '\n':
			p.Unclear = "a pattern of the awk program has no end"
			return
		case '/':
			if bracket { // awks differ on a slash within brackets
				p.Unclear = "a slash within brackets of an awk pattern"
				return
			}
			p.i++
			p.operand = true
			return
		}
	}
	p.Unclear = "a pattern of the awk program has no end"
}

func (p *awk) word() {
	from := p.i
	for p.i < len(p.s) && isWord(p.s[p.i]) {
		p.i++
	}
	p.operand, p.before = true, p.s[from:p.i]
	switch w := p.before; w {
	case "system":
		p.Runs = true
	case "getline":
		p.Reads = append(p.Reads, p.getline())
	case "print", "printf":
		p.print, p.operand = p.depth, false
	case "ARGV", "ARGC":
		p.Reads = append(p.Reads, "")
	case "return", "in", "else", "do", "delete", "exit", "case", "while", "if", "for":
		p.operand = false
	}
}

// getline gives the file that getline reads: what follows < as a string.
func (p *awk) getline() string {
	rest := strings.TrimLeft(p.s[p.i:], " \t")
	if at := strings.IndexByte(rest, '<'); at >= 0 {
		if q := strings.TrimLeft(rest[at+1:], " \t"); strings.HasPrefix(q, `"`) {
			name, after, ok := strings.Cut(q[1:], `"`)
			after = strings.TrimLeft(after, " \t")
			if ok && !strings.ContainsAny(name, "\\\n") && (after == "" || strings.IndexByte(";})\n", after[0]) >= 0) {
				return name
			}
		}
	}
	return ""
}

func (p *awk) operator(c byte) {
	p.i++
	twice := p.i > 1 && (c == '+' || c == '-') && p.s[p.i-2] == c // x++ / 2 divides
	p.operand = c == ')' || c == ']' || twice
	p.before = string(rune(c))
	switch c {
	case '(', '[':
		p.depth++
	case ')', ']':
		p.depth--
	case '{', '}', ';', '\n':
		p.print = -1
	case '@':
		p.Runs = true // an indirect call, an include, a library
	case '|':
		if p.peek(0) == '|' {
			p.i++
			return
		}
		p.Runs = true
	case '>':
		if p.print >= 0 && p.depth <= p.print {
			p.redirect()
		}
	}
}

// redirect reads the target of print > target.
func (p *awk) redirect() {
	if p.peek(0) == '>' {
		p.i++
	}
	for p.peek(0) == ' ' || p.peek(0) == '\t' {
		p.i++
	}
	if p.peek(0) != '"' {
		p.write("")
		return
	}
	name := p.str()
	rest := strings.TrimLeft(p.s[p.i:], " \t")
	if rest != "" && strings.IndexByte(";}\n", rest[0]) < 0 {
		name = ""
	}
	p.write(name)
}
