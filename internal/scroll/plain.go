package scroll

import (
	"io"
	"unicode/utf8"

	"github.com/reeve-gate/reeve/internal/redact"
)

// Plain writes to w the text among a terminal's bytes: control sequences
// (ECMA-48: CSI, OSC, DCS and their like, and short escapes) are left out, an
// end of line is one newline, a carriage return alone is one too, and every
// other control, bidirectional or invisible character is shown as an escape.
// What comes out cannot move a cursor, set a title or reach a clipboard. Close
// writes a last line that has no end. It is not for concurrent use.
type Plain struct {
	w     io.Writer
	state state
	line  []byte
	cr    bool // a carriage return came last
	err   error
}

// NewPlain returns a Plain that writes to w.
func NewPlain(w io.Writer) *Plain { return &Plain{w: w} }

type state uint8

const (
	ground   state = iota
	escape         // after ESC
	inter          // after ESC and an intermediate byte
	csi            // in a control sequence
	str            // in a string that ST or BEL ends
	strEsc         // in a string, after ESC
	maxLine  = 64 << 10
	newline  = '\n'
	returnCh = '\r'
)

// Write reads p on.
func (p *Plain) Write(b []byte) (int, error) {
	for _, c := range b {
		p.one(c)
	}
	return len(b), p.err
}

func (p *Plain) one(c byte) {
	switch p.state {
	case escape:
		p.afterEscape(c)
		return
	case inter:
		if c < 0x20 || c > 0x2f {
			p.state = ground
		}
		return
	case csi:
		switch {
		case c >= 0x40 && c <= 0x7e:
			p.state = ground
		case c == 0x1b:
			p.state = escape
		case c == 0x18, c == 0x1a: // cancelled
			p.state = ground
		}
		return
	case str:
		switch c {
		case 0x07, 0x18, 0x1a:
			p.state = ground
		case 0x1b:
			p.state = strEsc
		}
		return
	case strEsc:
		if p.state = str; c == '\\' {
			p.state = ground
		} else if c != 0x1b {
			p.state = escape // the string was cut off by another sequence
			p.afterEscape(c)
		}
		return
	}
	p.text(c)
}

func (p *Plain) afterEscape(c byte) {
	switch {
	case c == '[':
		p.state = csi
	case c == ']', c == 'P', c == 'X', c == '^', c == '_':
		p.state = str
	case c == 0x1b:
	case c >= 0x20 && c <= 0x2f:
		p.state = inter
	default:
		p.state = ground
	}
}

// text takes a byte outside of every sequence.
func (p *Plain) text(c byte) {
	if p.cr {
		if p.cr = false; c != newline && c != returnCh {
			p.flush()
		}
	}
	switch c {
	case 0x1b:
		p.state = escape
	case newline:
		p.flush()
	case returnCh:
		p.cr = true
	case 0x07, 0x00, 0x0e, 0x0f: // the bell, padding, a change of the character set
	case 0x08: // a program that writes over what it wrote
		if _, n := utf8.DecodeLastRune(p.line); len(p.line) > 0 {
			p.line = p.line[:len(p.line)-n]
		}
	default:
		if len(p.line) >= maxLine && (utf8.RuneStart(c) || len(p.line) >= 2*maxLine) {
			p.flush()
		}
		p.line = append(p.line, c)
	}
}

func (p *Plain) flush() {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, redact.Visible(string(p.line))+"\n")
	}
	p.line = p.line[:0]
}

// Close writes what is left.
func (p *Plain) Close() error {
	if len(p.line) > 0 {
		p.flush()
	}
	return p.err
}
