// Package shape is the forms of the tokens of known services (contract G33),
// the checksums that some of them carry, and the classes of characters that
// tokens and values are made of.
package shape

import (
	"math"
	"strings"
	"sync"
)

// Shape is the form of one kind of token: a prefix in exact case, then at
// least Min bytes of a class. What follows is not looked at unless Exact says
// so: a token before a comma or a bracket is a token.
type Shape struct {
	Kind   string // its name in the mark: lower-case words joined by dashes
	Prefix string // three bytes or more; two where a checksum decides
	Min    int
	Max    int // bytes behind the prefix that belong to it; 0 = as long as the class goes
	Class  Class
	Alone  bool  // not inside a word
	Exact  bool  // the class ends after Min to Max bytes
	Digits bool  // holds a digit
	Bits   int   // least Shannon entropy of what follows the prefix, in tenths of a bit a byte
	Check  Check // what the format itself can tell
	Source string
}

// Fits reports whether body, the bytes of the class behind the prefix as far
// as [Enough] goes, makes a token of the kind, and how many of them belong to
// it. It does not judge what stands before the prefix.
func (s *Shape) Fits(body string) (n int, ok bool) {
	switch {
	case len(body) < s.Min, s.Exact && len(body) > s.Max:
		return 0, false
	case s.Digits && strings.IndexAny(body, "0123456789") < 0:
		return 0, false
	case s.Bits > 0 && Entropy(body) < s.Bits:
		return 0, false
	}
	n = len(body)
	if s.Max > 0 {
		n = min(n, s.Max)
	}
	return n, !s.decides() || s.Check.Holds(s.Prefix, body[:n])
}

// decides reports whether a token whose checksum does not hold is none. Where
// the prefix says enough, a copy with a slip in it is masked too.
func (s *Shape) decides() bool {
	return s.Check == UUID || s.Check != NoCheck && s.Check != CRC32 && len(s.Prefix) < 6
}

// Entropy is the Shannon entropy of s in tenths of a bit a byte.
func Entropy(s string) int {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return int(sum * 10)
}

// Enough is how much of a token is looked at to know it; the mask goes on as
// long as its class does.
const Enough = 128

// Index finds the shapes whose prefix a text begins with.
type Index struct {
	first [256][]*Shape // by their first byte, the longest prefix first
	Heads Heads
	slots [1 << slotBits][]*Shape // by the hash of the first three bytes, likewise
}

const slotBits = 10

// Heads is a set of hashes of three bytes.
type Heads [1 << 16 / 64]uint64

// Add makes Bit 1 for these bytes.
func (h *Heads) Add(a, b, c byte) {
	x := hash3(a, b, c) >> 16
	h[x/64] |= 1 << (x % 64)
}

// Bit is 1 where a shape may begin with these bytes, with some others too, and
// 0 where none does: a number, so that the one who asks at every byte of a text
// need not branch.
func (h *Heads) Bit(a, b, c byte) uint64 {
	x := hash3(a, b, c) >> 16
	return h[x/64] >> (x % 64) & 1
}

func hash3(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 2654435761
}

// All indexes every shape. It is made at the first use.
var All = sync.OnceValue(func() *Index {
	x := &Index{}
	for i := range Table {
		s := &Table[i]
		x.first[s.Prefix[0]] = insert(x.first[s.Prefix[0]], s)
		thirds := s.Prefix[2:min(3, len(s.Prefix))]
		if thirds == "" {
			thirds = members(s.Class)
		}
		for _, c := range []byte(thirds) {
			x.Heads.Add(s.Prefix[0], s.Prefix[1], c)
			slot := &x.slots[hash3(s.Prefix[0], s.Prefix[1], c)>>(32-slotBits)]
			*slot = insert(*slot, s)
		}
	}
	return x
})

// insert keeps a list by the length of the prefixes, the longest first.
func insert(list []*Shape, s *Shape) []*Shape {
	i := 0
	for i < len(list) && len(list[i].Prefix) >= len(s.Prefix) {
		if list[i] == s {
			return list
		}
		i++
	}
	return append(list[:i:i], append([]*Shape{s}, list[i:]...)...)
}

func members(cl Class) string {
	var b []byte
	for c := range 256 {
		if Classes[c]&cl != 0 {
			b = append(b, byte(c))
		}
	}
	return string(b)
}

// At are the shapes that may begin with the first bytes of s, the longest
// prefix first; s is not empty.
func (x *Index) At(s string) []*Shape {
	if len(s) < 3 {
		return x.first[s[0]]
	}
	return x.slots[hash3(s[0], s[1], s[2])>>(32-slotBits)]
}

// Class is a set of character classes.
type Class uint32

const (
	Letter Class = 1 << iota
	Digit
	Base64     // letters, digits, + / = - _
	PEM        // letters, digits, + / =
	UpperDigit // capital letters and digits
	LowerDigit // small letters and digits
	Hex        // digits and a to f in both cases
	Base32     // capital letters and 2 to 7
	Base58     // letters and digits without 0, I, O and l
	UUIDChar   // letters, digits and the dash
	Token      // letters, digits, - _ .
	Dotted     // letters, digits, . / : ! % - _
	Query      // what a URL is made of behind its host
	Ident      // letters, digits, _ - . $: what a name is made of
	Value      // an unquoted value somewhere in a text
	Line       // an unquoted value that has its line to itself
	Header     // the rest of a header
	Text       // the text of an element
	Path       // letters, digits, / _ -
	Word       // an unquoted word of a command line
	Alnum      = Letter | Digit
)

var Classes = makeClasses()

func makeClasses() (t [256]Class) {
	for i := range t {
		c := byte(i)
		isLetter := 'a' <= lower(c) && lower(c) <= 'z'
		isDigit := '0' <= c && c <= '9'
		in := func(set string) bool { return strings.IndexByte(set, c) >= 0 }
		add := func(yes bool, cl Class) {
			if yes {
				t[i] |= cl
			}
		}
		add(isLetter, Letter)
		add(isDigit, Digit)
		add(isLetter || isDigit || in("+/=-_"), Base64)
		add(isLetter || isDigit || in("+/="), PEM)
		add('A' <= c && c <= 'Z' || isDigit, UpperDigit)
		add('a' <= c && c <= 'z' || isDigit, LowerDigit)
		add(isDigit || 'a' <= lower(c) && lower(c) <= 'f', Hex)
		add('A' <= c && c <= 'Z' || '2' <= c && c <= '7', Base32)
		add((isLetter || isDigit) && !in("0OIl"), Base58)
		add(isLetter || isDigit || c == '-', UUIDChar)
		add(isLetter || isDigit || in("-_."), Token)
		add(isLetter || isDigit || in("./:!%-_"), Dotted)
		add(isLetter || isDigit || in("./:?&=@%+~-_"), Query)
		add(isLetter || isDigit || in("_-.$"), Ident)
		add(isLetter || isDigit || in("/_-"), Path)
		printable := c > ' ' && c != 0x7f
		add(printable && !in("\"'`<>,;&#()[]{}|\\"), Value)
		add(printable && !in("\"'`"), Line)
		add(printable && !in("\"'`;|&()<>\\"), Word)
		add(c >= ' ' && c != 0x7f && !in("\"'`\\") || c == '\t', Header)
		add(c >= ' ' && c != 0x7f && c != '<' || c == '\t', Text)
	}
	return t
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
