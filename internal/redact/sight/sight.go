// Package sight is what a decision about a text can see: a part of it, from a
// little before the place of the decision to a little behind it.
package sight

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/assign"
	"github.com/reeve-gate/reeve/internal/redact/name"
	"github.com/reeve-gate/reeve/internal/redact/shape"
)

const (
	Look = 4 << 10 // bytes that a decision may depend on, from where it is made
	Back = 256     // bytes of context before it

	Indent = 64 // how far a block of YAML may be set in
)

// Sight is a text of which a part can be seen. Whoever asks for more than has
// come yet is told so by Short.
type Sight struct {
	Buf   string // context, then what is not decided yet
	Mark  int    // where the last mask ended; context stops there. 0 = nowhere
	Hi    int    // nothing from here on is looked at
	Short bool   // a decision wanted to look there
}

// At is the byte at j, or 0 beyond what may be looked at.
func (s *Sight) At(j int) byte {
	if j >= s.Hi {
		s.Short = true
		return 0
	}
	return s.Buf[j]
}

// Has reports whether text stands at i.
func (s *Sight) Has(i int, text string) bool {
	if i+len(text) <= s.Hi {
		return s.Buf[i:i+len(text)] == text
	}
	if i <= s.Hi && strings.HasPrefix(text, s.Buf[min(i, s.Hi):s.Hi]) {
		s.Short = true
	}
	return false
}

// HasFold is Has for ASCII text without regard to case; text is lower-case.
func (s *Sight) HasFold(i int, text string) bool {
	for k := range len(text) {
		if lower(s.At(i+k)) != text[k] {
			return false
		}
	}
	return true
}

// Run is the end of the run of the class from j.
func (s *Sight) Run(j int, cl shape.Class) int { return s.RunTo(j, cl, s.Hi) }

// RunTo is Run that goes no further than limit.
func (s *Sight) RunTo(j int, cl shape.Class, limit int) int {
	limit = min(limit, s.Hi)
	for j < limit && shape.Classes[s.Buf[j]]&cl != 0 {
		j++
	}
	if j == s.Hi {
		s.Short = true
	}
	return j
}

// Before is the byte before i, or 0 at the start and right behind a mask.
func (s *Sight) Before(i int) byte {
	if i <= s.Low(i) {
		return 0
	}
	return s.Buf[i-1]
}

// Low is how far the context of i reaches back.
func (s *Sight) Low(i int) int { return max(0, i-Back, s.Mark) }

// Word reports whether i is not the inside of a word: nothing alphanumeric
// stands before it, or that is the end of an escape such as \n or %22.
func (s *Sight) Word(i int) bool {
	c := s.Before(i)
	if shape.Classes[c]&shape.Alnum == 0 && c != '_' {
		return true
	}
	if i-2 >= s.Low(i) && s.Buf[i-2] == '\\' && (c == 'n' || c == 'r' || c == 't') {
		return true
	}
	if i-3 >= s.Low(i) && s.Buf[i-3] == '%' && hexDigit(c) && hexDigit(s.Buf[i-2]) {
		return true
	}
	return c == 'm' && s.Colour(i-2)
}

// Colour reports whether a terminal's colour sequence, ESC [ numbers m, has
// its last number at j.
func (s *Sight) Colour(j int) bool {
	low := max(s.Low(j+2), j-16)
	for j > low && (shape.Classes[s.Buf[j]]&shape.Digit != 0 || s.Buf[j] == ';') {
		j--
	}
	return j > low && s.Buf[j] == '[' && s.Buf[j-1] == 0x1b
}

// Quoted is how many bytes at j go on with a text that such a quote closes;
// 0 = it ends here.
func (s *Sight) Quoted(j int, quote byte, esc int) int {
	k := j
	for k < s.Hi && s.Buf[k] == '\\' {
		k++
	}
	if k == s.Hi {
		s.Short = true
		return k - j
	}
	switch c := s.Buf[k]; {
	case c == '\n' && k == j:
		return 0
	case c != quote:
		return max(1, k-j)
	case k == j && esc == 0 && c == '\'' && s.At(k+1) == c && s.Before(k) != c: // 'it''s', as in YAML and SQL
		return 2
	case k-j <= esc && k-j > 0: // as many backslashes as at the opening, or fewer
		return 0
	case k == j:
		return 0
	case esc == 0 && (k-j)%2 == 0:
		return k - j
	}
	return k - j + 1
}

// BlockLine is how many bytes from j go on with a block.
func (s *Sight) BlockLine(j, indent int) int {
	if s.Buf[j] != '\n' {
		return 1
	}
	k := j + 1
	for s.At(k) == '\n' && k < j+Indent {
		k++
	}
	for n := range indent {
		if s.At(k+n) != ' ' {
			return 0
		}
	}
	if c := s.At(k + indent); c < ' ' {
		return 0
	}
	return k + indent - j
}

// StartsLine reports whether a name has its line to itself.
func (s *Sight) StartsLine(i int) bool {
	low := s.Low(i)
	j := i
	for j > low && s.Buf[j-1] != '\n' {
		j--
	}
	if j == low && low > 0 && j != 0 {
		return false
	}
	return strings.Trim(strings.TrimPrefix(strings.TrimLeft(s.Buf[j:i], " \t-"), "export "), " \t\"'") == ""
}

// NextWord is where the word behind the flag that ends at j begins: behind
// blanks, an equals sign, or, in a list of program text, a quote and a comma.
func (s *Sight) NextWord(j int) int {
	k := j
	switch c := s.At(k); c {
	case '=':
		return k + 1
	case '"', '\'':
		if k++; s.At(k) != ',' {
			return -1
		}
		k++
		for k < j+16 && (s.At(k) == ' ' || s.At(k) == '\t' || s.At(k) == '\n') {
			k++
		}
		if s.At(k) != c {
			return -1
		}
		return k
	}
	for k < j+16 {
		switch c := s.At(k); {
		case c == ' ' || c == '\t':
			k++
		case c == '\\' && s.At(k+1) == '\n':
			k += 2
		case k == j:
			return -1
		default:
			return k
		}
	}
	return -1
}

// Argument is the end of the word at j, which a quote closes, or a byte that a
// shell would not take for a part of a word. A backslash takes the byte behind
// it along, unless that makes an escape of another kind.
func (s *Sight) Argument(j int, quote byte) int {
	for j < s.Hi {
		n := 1
		switch c := s.Buf[j]; {
		case quote != 0:
			if n = s.Quoted(j, quote, 0); n == 0 {
				return j
			}
		case c == '\\' && (shape.Classes[s.At(j+1)]&shape.Alnum != 0 || strings.IndexByte("\"'`\n", s.At(j+1)) >= 0 || s.At(j+1) == 0):
			return j
		case c == '\\':
			n = 2
		case shape.Classes[c]&shape.Word == 0:
			return j
		}
		j += n
	}
	s.Short = true
	return min(j, s.Hi)
}

// OnLine reports whether a word stands before i on its line.
func (s *Sight) OnLine(i int, words ...string) bool {
	line := s.Buf[s.Low(i):i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// Gap is the end of what may stand between two lines of a body.
func (s *Sight) Gap(j int) int {
	n, more := shape.Gap(s.Buf[min(j, s.Hi):s.Hi], Back)
	s.Short = s.Short || more
	return j + n
}

// NameBefore reads backwards from an operator: "name" :, name =, x['name'] =.
func (s *Sight) NameBefore(i int) (n assign.Name) {
	low := s.Low(i)
	j := i
	for j > low && (s.Buf[j-1] == ' ' || s.Buf[j-1] == '\t') && i-j < 8 {
		j--
	}
	n.Spaced = j < i
	if j > low && s.Buf[j-1] == ']' {
		j--
	}
	if j > low && (s.Buf[j-1] == '"' || s.Buf[j-1] == '\'' || s.Buf[j-1] == '`') {
		j--
		n.Quote = s.Buf[j]
		for j > low && s.Buf[j-1] == '\\' {
			n.Escaped = true
			j--
		}
	}
	end := j
	for j > low && end-j <= name.Max && shape.Classes[s.Buf[j-1]]&shape.Ident != 0 {
		j--
	}
	if end-j > name.Max {
		return assign.Name{}
	}
	start := j
	for start < end && (s.Buf[start] == '-' || s.Buf[start] == '.' || s.Buf[start] == '$') {
		start++
	}
	n.Text = s.Buf[start:end]
	// A name right behind an escape such as \n takes its letter along.
	if j > low && s.Buf[j-1] == '\\' && len(n.Text) > 1 && strings.IndexByte("nrt", n.Text[0]) >= 0 && start == j && n.Quote == 0 {
		n.Text = n.Text[1:]
	}
	if j > low {
		n.Left = s.Buf[j-1]
		if n.Quote == 0 && (n.Left == '"' || n.Left == '\'' || n.Left == '`') {
			n.Opened = n.Left
		}
	}
	n.At = start
	return n
}

func hexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'f'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
