package tomlc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// MaxText bounds a text, in bytes.
const MaxText = 1 << 20

// Statement is one header or one assignment, from its first byte to behind
// its line end.
type Statement struct {
	Start, End int
	Header     bool
	Path       []string // of a header: the table; of an assignment: table and key
}

// Read parses the text: as values, and as statements with their places. An
// error names line and column.
func Read(src []byte) (map[string]any, []Statement, error) {
	if len(src) > MaxText {
		return nil, nil, fmt.Errorf("%d bytes; at most %d are read", len(src), MaxText)
	}
	values := map[string]any{}
	if err := toml.Unmarshal(src, &values); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			row, col := bad.Position()
			return nil, nil, fmt.Errorf("line %d, column %d: %s", row, col, strings.TrimPrefix(bad.Error(), "toml: "))
		}
		return nil, nil, err
	}
	s := &scanner{src: src}
	for {
		s.blank()
		if s.at == len(src) {
			return values, s.all, nil
		}
		if err := s.statement(); err != nil {
			return nil, nil, err
		}
	}
}

// scanner finds the statements of a text that is known to be valid. It only
// has to know where keys, values and comments end.
type scanner struct {
	src   []byte
	at    int
	table []string
	all   []Statement
}

func (s *scanner) fault(what string) error {
	return fmt.Errorf("line %d: %s", Line(s.src, s.at), what)
}

// Line counts from 1.
func Line(src []byte, at int) int { return bytes.Count(src[:at], []byte("\n")) + 1 }

// blank skips empty lines, comments and white space before a statement.
func (s *scanner) blank() {
	for s.at < len(s.src) {
		switch c := s.src[s.at]; {
		case c == '#':
			s.at = s.lineEnd()
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			s.at++
		default:
			return
		}
	}
}

// lineEnd is behind the end of the line.
func (s *scanner) lineEnd() int {
	if i := bytes.IndexByte(s.src[s.at:], '\n'); i >= 0 {
		return s.at + i + 1
	}
	return len(s.src)
}

func (s *scanner) statement() error {
	start := bytes.LastIndexByte(s.src[:s.at], '\n') + 1
	st := Statement{Start: start}
	if s.src[s.at] == '[' {
		for s.at < len(s.src) && s.src[s.at] == '[' {
			s.at++
		}
		path, err := s.key()
		if err != nil {
			return err
		}
		st.Header, st.Path, s.table = true, path, path
		s.at = s.lineEnd()
	} else {
		key, err := s.key()
		if err != nil {
			return err
		}
		if s.at >= len(s.src) || s.src[s.at] != '=' {
			return s.fault("an equals sign is missing")
		}
		s.at++
		if err := s.value(); err != nil {
			return err
		}
		st.Path = append(append([]string{}, s.table...), key...)
	}
	st.End = s.at
	s.all = append(s.all, st)
	return nil
}

// key reads a dotted key and the white space behind it.
func (s *scanner) key() ([]string, error) {
	var path []string
	for {
		s.space()
		if s.at == len(s.src) {
			return nil, s.fault("a key is missing")
		}
		start := s.at
		switch c := s.src[s.at]; c {
		case '"', '\'':
			if err := s.text(); err != nil {
				return nil, err
			}
			part, err := unquote(s.src[start:s.at])
			if err != nil {
				return nil, s.fault(err.Error())
			}
			path = append(path, part)
		default:
			for s.at < len(s.src) && !bytes.ContainsRune([]byte(" \t\r\n.=]#\"'"), rune(s.src[s.at])) {
				s.at++
			}
			if s.at == start {
				return nil, s.fault("a key is missing")
			}
			path = append(path, string(s.src[start:s.at]))
		}
		s.space()
		if s.at == len(s.src) || s.src[s.at] != '.' {
			return path, nil
		}
		s.at++
	}
}

func (s *scanner) space() {
	for s.at < len(s.src) && (s.src[s.at] == ' ' || s.src[s.at] == '\t') {
		s.at++
	}
}

// unquote reads a quoted key as the parser does.
func unquote(raw []byte) (string, error) {
	var v struct{ K string }
	if err := toml.Unmarshal(append([]byte("K = "), raw...), &v); err != nil {
		return "", errors.New("a key cannot be read")
	}
	return v.K, nil
}

// text skips a string, of one line or several.
func (s *scanner) text() error {
	q := s.src[s.at]
	start := s.at
	long := bytes.Repeat([]byte{q}, 3)
	if bytes.HasPrefix(s.src[s.at:], long) {
		for s.at += 3; s.at < len(s.src); s.at++ {
			if q == '"' && s.src[s.at] == '\\' {
				s.at++
				continue
			}
			if bytes.HasPrefix(s.src[s.at:], long) {
				// Up to two quotation marks may stand directly before the end.
				for s.at += 3; s.at < len(s.src) && s.src[s.at] == q; s.at++ {
				}
				return nil
			}
		}
	} else {
		for s.at++; s.at < len(s.src) && s.src[s.at] != '\n'; s.at++ {
			if q == '"' && s.src[s.at] == '\\' {
				s.at++
				continue
			}
			if s.src[s.at] == q {
				s.at++
				return nil
			}
		}
	}
	s.at = start
	return s.fault("this text does not end")
}

// value skips a value and what follows it on its last line.
func (s *scanner) value() error {
	for deep := 0; s.at < len(s.src); {
		switch c := s.src[s.at]; c {
		case '"', '\'':
			if err := s.text(); err != nil {
				return err
			}
			continue
		case '#':
			s.at = s.lineEnd()
			if deep == 0 {
				return nil
			}
			continue
		case '[', '{':
			deep++
		case ']', '}':
			deep--
		case '\n':
			if deep == 0 {
				s.at++
				return nil
			}
		}
		s.at++
	}
	return nil
}
