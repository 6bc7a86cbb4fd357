package attach

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Modes follows what a program writes and remembers the modes of the terminal
// that it has set: the other screen, a hidden cursor, reports of the mouse,
// pastes in brackets, keys of its own. The zero Modes is a terminal as it
// starts. Its memory is bounded.
//
// Sources: ECMA-48; XTerm Control Sequences, "DECSET"; the keyboard protocol
// of kitty.
type Modes struct {
	set    map[int]bool // private modes that are not as they start
	keypad bool         // ESC =
	keys   []int        // flags of the keyboard protocol, a stack
	other  int          // modifyOtherKeys

	state modesState
	param []byte
}

type modesState uint8

const (
	plainText modesState = iota
	afterEsc
	inCSI
	inString
	inStringEsc
)

// Bounds of what is remembered of one program.
const (
	maxParam = 64
	maxModes = 32
	maxKeys  = 8
)

// on are the private modes that are set when a terminal starts.
var on = map[int]bool{7: true, cursor: true}

// cursor is the mode that shows the cursor.
const cursor = 25

// screens are the modes that show the other screen.
var screens = []int{47, 1047, 1049}

// Write reads p on; it never fails.
func (m *Modes) Write(p []byte) (int, error) {
	for _, c := range p {
		m.one(c)
	}
	return len(p), nil
}

func (m *Modes) one(c byte) {
	switch m.state {
	case plainText:
		if c == 0x1b {
			m.state = afterEsc
		}
	case afterEsc:
		m.escape(c)
	case inCSI:
		switch {
		case c == 0x1b:
			m.state = afterEsc
		case c >= 0x40 && c <= 0x7e:
			m.state = plainText
			m.sequence(string(m.param), c)
		case c == 0x18, c == 0x1a:
			m.state = plainText
		case len(m.param) < maxParam:
			m.param = append(m.param, c)
		}
	case inString:
		switch c {
		case 0x07, 0x18, 0x1a:
			m.state = plainText
		case 0x1b:
			m.state = inStringEsc
		}
	case inStringEsc:
		if c == '\\' {
			m.state = plainText
		} else {
			m.escape(c)
		}
	}
}

func (m *Modes) escape(c byte) {
	m.state = plainText
	switch c {
	case '[':
		m.state, m.param = inCSI, m.param[:0]
	case ']', 'P', 'X', '^', '_':
		m.state = inString
	case 0x1b:
		m.state = afterEsc
	case '=', '>':
		m.keypad = c == '='
	case 'c': // everything as it starts
		*m = Modes{param: m.param[:0]}
	}
}

func (m *Modes) sequence(param string, final byte) {
	switch {
	case final == 'h' || final == 'l':
		if list, private := strings.CutPrefix(param, "?"); private {
			for _, p := range strings.Split(list, ";") {
				if n, err := strconv.Atoi(p); err == nil && n > 0 {
					m.mode(n, final == 'h')
				}
			}
		}
	case final == 'p' && param == "!": // a soft reset
		delete(m.set, 25)
		delete(m.set, 1)
		m.keypad = false
	case final == 'u' && strings.HasPrefix(param, ">"):
		n, _ := strconv.Atoi(param[1:])
		if m.keys = append(m.keys, n); len(m.keys) > maxKeys {
			m.keys = m.keys[1:]
		}
	case final == 'u' && strings.HasPrefix(param, "<"):
		n, err := strconv.Atoi(param[1:])
		if err != nil {
			n = 1
		}
		m.keys = m.keys[:max(0, len(m.keys)-max(n, 0))]
	case final == 'm' && strings.HasPrefix(param, ">4"):
		m.other, _ = strconv.Atoi(strings.TrimPrefix(param[2:], ";"))
	}
}

func (m *Modes) mode(n int, set bool) {
	if set == on[n] {
		delete(m.set, n)
		return
	}
	if m.set == nil {
		m.set = map[int]bool{}
	}
	if len(m.set) < maxModes {
		m.set[n] = true
	}
}

// Other reports whether the program shows the other screen, which has no
// scrollback.
func (m *Modes) Other() bool {
	return slices.ContainsFunc(screens, func(n int) bool { return m.set[n] })
}

// Drawn reports whether the program draws its screen itself: it shows the
// other one, or has the terminal send it pastes, the mouse or keys of its own. A
// hidden cursor alone is what any program with a progress bar has.
func (m *Modes) Drawn() bool {
	for n := range m.set {
		if n != cursor {
			return true
		}
	}
	return m.keypad || m.other > 0 || len(m.keys) > 0
}

// Whole reports whether what was written so far ends outside of every sequence
// and string.
func (m *Modes) Whole() bool { return m.state == plainText }

// Restore is what sets a terminal that starts as the program has set its own.
// The other screen comes first.
func (m *Modes) Restore() []byte {
	var all []int
	for n := range m.set {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b int) int {
		if x, y := slices.Contains(screens, a), slices.Contains(screens, b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return a - b
	})
	var b strings.Builder
	for _, n := range all {
		final := 'h'
		if on[n] {
			final = 'l'
		}
		fmt.Fprintf(&b, "\x1b[?%d%c", n, final)
	}
	if m.keypad {
		b.WriteString("\x1b=")
	}
	if m.other > 0 {
		fmt.Fprintf(&b, "\x1b[>4;%dm", m.other)
	}
	for _, n := range m.keys {
		fmt.Fprintf(&b, "\x1b[>%du", n)
	}
	return []byte(b.String())
}

// Plain gives a terminal back as it was: the ordinary screen and writing, no
// reports of mouse or focus, ordinary keys, a cursor. It moves no cursor.
const Plain = "\x1b[?1047l\x1b[!p\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[>4;0m\x1b[<9u"
