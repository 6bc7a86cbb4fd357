// Package personal masks what identifies a person in text that goes out to
// others (contract G66): e-mail addresses, phone numbers, US social security
// numbers, payment cards, IBANs and public IP addresses. Each becomes [Mark].
//
// It decides by form and, where there is one, by the check that the form
// carries: Luhn for cards, the remainder of 97 for IBANs, the numbers that are
// never given out for social security. A phone number is one with a plus sign
// and a calling code of the world, one in the usual form of North America, the
// United Kingdom or France, or any behind a word such as phone or tel. Bare
// digits are none of these: logs are full of them.
//
// What it does not know: names, addresses, dates of birth, numbers in words or
// in pictures. It is for outward channels only. The record keeps what it was
// given, since it must say what happened.
//
// It is pure, and nothing of it is made before the first call: a program that
// never sends anything out pays nothing for it.
package personal

import (
	"bytes"
	"io"
	"net/netip"
	"strings"
)

// Mark is what stands where something personal stood (contract G66).
const Mark = "[PII REDACTED]"

// Kind is what was found.
type Kind string

const (
	Email Kind = "e-mail address"
	Phone Kind = "phone number"
	SSN   Kind = "US social security number"
	Card  Kind = "payment card"
	IBAN  Kind = "IBAN"
	IP    Kind = "IP address"
)

// Finding is one mask, in bytes of the text; it does not hold what stood there.
type Finding struct {
	At, End int
	Kind    Kind
}

// Text masks what is personal in s. It returns s itself where nothing is.
// Masking twice is masking once.
func Text(s string) string {
	// What a mask parts from its neighbour may be one more thing by itself.
	for range maxPasses {
		found := Find(s)
		if len(found) == 0 {
			break
		}
		s = masked(s, found)
	}
	return s
}

// maxPasses bounds what a hostile text can cost; two are the usual.
const maxPasses = 16

func masked(s string, found []Finding) string {
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.At])
		b.WriteString(Mark)
		at = f.End
	}
	b.WriteString(s[at:])
	return b.String()
}

// Find lists what is personal in s, in its order; no two overlap.
func Find(s string) (all []Finding) {
	done := 0 // what stands before is decided
	add := func(at, end int, kind Kind) {
		if at >= done && end > at {
			all = append(all, Finding{at, end, kind})
			done = end
		}
	}
	for i := 0; i < len(s); i++ {
		if i < done {
			i = done - 1
			continue
		}
		joined := i > done && joined(s, i)
		switch c := s[i]; {
		case c == '@':
			if at, end := email(s, i, done); end > 0 {
				add(at, end, Email)
			}
		case c == '+' || c == '(':
			if !joined {
				if end := phone(s, i); end > 0 {
					add(i, end, Phone)
				}
			}
		case digit(c):
			if joined {
				continue
			}
			if end, kind := number(s, i); end > 0 {
				add(i, end, kind)
			} else if end := sixth(s, i); end > 0 {
				add(i, end, IP)
			} else {
				i = run(s, i) - 1 // what follows is the inside of a number
			}
		case upper(c) && !joined:
			if end := iban(s, i); end > 0 {
				add(i, end, IBAN)
			} else if end := sixth(s, i); end > 0 {
				add(i, end, IP)
			}
		case hex(c) && !joined:
			if end := sixth(s, i); end > 0 {
				add(i, end, IP)
			}
		}
	}
	return all
}

// Writer masks what passes through it on its way to w, line by line: nothing
// personal spans two lines. A line of more than [MaxHeld] bytes is taken in
// parts that end at a blank, where it has one. Close writes a last line without
// an end; it does not close w. Not for concurrent use.
func Writer(w io.Writer) io.WriteCloser { return &writer{w: w} }

// MaxHeld bounds how far a [Writer] is behind, in bytes.
const MaxHeld = 64 << 10

type writer struct {
	w    io.Writer
	held []byte
}

func (w *writer) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	for {
		end := bytes.LastIndexByte(w.held, '\n') + 1
		if end == 0 {
			if len(w.held) < MaxHeld {
				return len(p), nil
			}
			if end = bytes.LastIndexAny(w.held[:MaxHeld], " \t\"") + 1; end == 0 {
				end = MaxHeld
			}
		}
		if err := w.put(end); err != nil {
			return 0, err
		}
	}
}

func (w *writer) put(end int) error {
	text := Text(string(w.held[:end]))
	w.held = append(w.held[:0], w.held[end:]...)
	_, err := io.WriteString(w.w, text)
	return err
}

// Close writes what is left.
func (w *writer) Close() error {
	if len(w.held) == 0 {
		return nil
	}
	return w.put(len(w.held))
}

// number is what begins with a digit at i.
func number(s string, i int) (end int, kind Kind) {
	if end := card(s, i); end > 0 {
		return end, Card
	}
	if end := ssn(s, i); end > 0 {
		return end, SSN
	}
	if end := fourth(s, i); end > 0 {
		return end, IP
	}
	if end := phone(s, i); end > 0 {
		return end, Phone
	}
	return 0, ""
}

// email is the address around the @ at i (RFC 5321, as people write it): a
// domain with a dot and a last label of letters. A place such as git@host:path
// is none, nor is the user of a URL.
func email(s string, i, low int) (at, end int) {
	at = i
	for at > low && i-at < 64 && (alnum(s[at-1]) || strings.IndexByte("._%+-'", s[at-1]) >= 0 || s[at-1] >= 0x80) {
		at--
	}
	for at < i && !alnum(s[at]) && s[at] < 0x80 {
		at++
	}
	if at == i || strings.HasSuffix(s[:at], "://") || strings.HasSuffix(s[:at], ":") && strings.Contains(s[max(0, at-80):at], "://") {
		return 0, 0
	}
	end, label, dots := i+1, 0, 0
	last := i + 1
	for ; end < len(s) && end-i < 254; end++ {
		c := s[end]
		if c == '.' && label > 0 && end+1 < len(s) && alnum(s[end+1]) {
			dots, label, last = dots+1, 0, end+1
			continue
		}
		if !alnum(c) && (c != '-' || label == 0) && c < 0x80 {
			break
		}
		label++
	}
	tld := s[last:end]
	if dots == 0 || len(tld) < 2 || strings.IndexFunc(tld, func(r rune) bool { return r < 0x80 && !letter(byte(r)) }) >= 0 {
		return 0, 0
	}
	if end < len(s) && (s[end] == ':' && end+1 < len(s) && !space(s[end+1]) || s[end] == '(') {
		return 0, 0 // user@host:path, name@decorator.of(program)
	}
	return at, end
}

// digits reads the digits of a number from i on, with one separator of seps
// between two of them; at most most.
func digits(s string, i, most int, seps string) (text string, end int) {
	var b [40]byte
	n := 0
	for end = i; i < len(s) && n < min(most, len(b)); i++ {
		switch c := s[i]; {
		case digit(c):
			b[n] = c
			n++
			end = i + 1
		case strings.IndexByte(seps, c) < 0 || n > 0 && i > end && !(s[i-1] == ')' || c == '(' || s[i-1] == '('):
			return string(b[:n]), end
		}
	}
	return string(b[:n]), end
}

// card is a payment card at i: digits in groups, of an issuer's range and
// length, whose Luhn sum holds.
func card(s string, i int) (end int) {
	for _, seps := range []string{"", " ", "-", "."} {
		text, end := digits(s, i, 20, seps)
		if len(text) < 13 || len(text) > 19 || ends(s, end) == 0 || !issued(text) || !luhn(text) {
			continue
		}
		if seps != "" && !grouped(s[i:end], seps[0]) {
			continue
		}
		return end
	}
	return 0
}

// grouped: groups of four, or 4-6-5 and 4-6-4.
func grouped(s string, sep byte) bool {
	groups := strings.Split(s, string(sep))
	if len(groups) == 3 && len(groups[0]) == 4 && len(groups[1]) == 6 {
		return true
	}
	for _, g := range groups[:len(groups)-1] {
		if len(g) != 4 {
			return false
		}
	}
	return len(groups) > 1
}

// issued: the ranges of the large issuers and their lengths (ISO/IEC 7812).
func issued(n string) bool {
	in := func(digits, low, high int) bool {
		v := 0
		for _, c := range []byte(n[:digits]) {
			v = v*10 + int(c-'0')
		}
		return low <= v && v <= high
	}
	switch len(n) {
	case 13:
		return n[0] == '4'
	case 14:
		return in(3, 300, 305) || in(2, 36, 36) || in(2, 38, 39)
	case 15:
		return in(2, 34, 34) || in(2, 37, 37)
	case 16:
		return n[0] == '4' || in(2, 51, 55) || in(4, 2221, 2720) || in(4, 6011, 6011) || in(3, 644, 649) || in(2, 65, 65) || in(4, 3528, 3589) || in(2, 62, 62) || in(4, 2200, 2204) || in(2, 60, 60) || in(2, 81, 81)
	}
	return in(2, 62, 62) || n[0] == '4' && len(n) == 19 || in(2, 50, 50) || in(2, 56, 58) || in(2, 67, 67)
}

func luhn(n string) bool {
	sum := 0
	for i := range len(n) {
		d := int(n[len(n)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0 && strings.Trim(n, n[:1]) != ""
}

// ssn is a social security number at i: 3-2-4 with one separator, or nine
// digits behind a word that says so. 000, 666 and 9xx are never given out, nor
// 00 and 0000, nor the one that was printed in wallets.
func ssn(s string, i int) (end int) {
	for _, sep := range []string{"-", " ", ""} {
		text, end := digits(s, i, 10, sep)
		if len(text) != 9 || ends(s, end) == 0 {
			continue
		}
		if sep == "" && !said(s, i, "ssn", "social security") || sep != "" && (end-i != 11 || s[i+3] != sep[0] || s[i+6] != sep[0]) {
			continue
		}
		if sep == " " && !said(s, i, "ssn", "social", "security") {
			continue
		}
		if text[:3] == "000" || text[:3] == "666" || text[0] == '9' || text[3:5] == "00" || text[5:] == "0000" || text == "078051120" || text == "219099999" {
			continue
		}
		return end
	}
	return 0
}

// fourth is a public IPv4 address at i, with the length of its network if it
// has one. Versions and object identifiers of four numbers look the same; the
// word before them says so.
func fourth(s string, i int) (end int) {
	for end = i; end < len(s) && end-i < 16 && (digit(s[end]) || s[end] == '.'); end++ {
	}
	for end > i && s[end-1] == '.' {
		end--
	}
	addr, err := netip.ParseAddr(s[i:end])
	if err != nil || !public(addr) || i > 0 && (s[i-1] == 'v' || s[i-1] == 'V') || said(s, i, "version", "ver ", "ver.", "ver:", "ver=", "release", "oid", "object identifier") {
		return 0
	}
	if bits := network(s, end); bits > end {
		return bits
	}
	if ends(s, end) == 0 && s[end] != ':' {
		return 0
	}
	return end
}

// network is the end of the length of a network, as in /24, behind an address
// that ends at i.
func network(s string, i int) int {
	if i >= len(s) || s[i] != '/' {
		return i
	}
	end := i + 1
	for end < len(s) && end-i < 3 && digit(s[end]) {
		end++
	}
	if end == i+1 || ends(s, end) == 0 {
		return i
	}
	return end
}

// sixth is a public IPv6 address at i.
func sixth(s string, i int) (end int) {
	colons := 0
	for end = i; end < len(s) && end-i < 46 && (hex(s[end]) || s[end] == ':' || s[end] == '.' && colons > 1); end++ {
		if s[end] == ':' {
			colons++
		}
	}
	for end > i && (s[end-1] == '.' || s[end-1] == ':' && end > i+1 && s[end-2] != ':') {
		end--
	}
	if colons < 2 || end < len(s) && alnum(s[end]) {
		return 0
	}
	addr, err := netip.ParseAddr(s[i:end])
	if err != nil || !addr.Is6() || !public(addr) {
		return 0
	}
	return end
}

// public addresses say where somebody is; those of this machine, of a network
// behind it and of groups do not.
func public(a netip.Addr) bool {
	if a.Is6() && !a.Is4In6() && a.As16()[0]>>5 != 1 { // 2000::/3 is what is given out
		return false
	}
	a = a.Unmap()
	if a.Is4() {
		b := a.As4()
		if b[0] == 0 || b[0] >= 224 || b[0] == 100 && b[1]&0xc0 == 64 {
			return false
		}
	}
	return !a.IsPrivate() && !a.IsLoopback() && !a.IsUnspecified() && !a.IsLinkLocalUnicast() && !a.IsMulticast()
}

// iban is an international account number at i: of its country's length, with
// or without blanks in fours, and the remainder 1 of 97 (ISO 13616).
func iban(s string, i int) (end int) {
	if i+2 > len(s) {
		return 0
	}
	want, ok := ibans()[s[i:i+2]]
	if !ok {
		return 0
	}
	var text [34]byte
	n := 0
	for end = i; end < len(s) && n < want; end++ {
		c := s[end]
		switch {
		case upper(c) || digit(c) || n > 4 && letter(c):
			text[n] = c &^ 0x20
			if digit(c) {
				text[n] = c
			}
			n++
		case c != ' ' || n%4 != 0 || n == 0:
			return 0
		}
	}
	if n < want || !digit(text[2]) || !digit(text[3]) || end < len(s) && alnum(s[end]) {
		return 0
	}
	rest := 0
	for k := range n {
		c := text[(k+4)%n]
		if digit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	if rest != 1 {
		return 0
	}
	return end
}

// joined reports whether i is the inside of a word or of a longer number.
func joined(s string, i int) bool {
	if i == 0 {
		return false
	}
	c := s[i-1]
	return alnum(c) || c == '_' || c >= 0x80 || (c == '.' || c == '-' || c == '/' || c == ':' || c == '@' || c == '#' || c == '+' || c == '$') && i > 1 && (alnum(s[i-2]) || c == '#' || c == '$') && !(c == ':' && i > 1 && !digit(s[i-2]))
}

// ends reports 1 where a number ends at i: nothing that would go on with it follows.
func ends(s string, i int) int {
	if i >= len(s) {
		return 1
	}
	c := s[i]
	if alnum(c) || c == '_' || c >= 0x80 {
		return 0
	}
	if (c == '-' || c == '.' || c == '/' || c == ':') && i+1 < len(s) && alnum(s[i+1]) {
		return 0
	}
	return 1
}

// run is the end of what a number that is none goes on with.
func run(s string, i int) int {
	for i < len(s) && (alnum(s[i]) || (s[i] == '.' || s[i] == '-' || s[i] == '_') && i+1 < len(s) && alnum(s[i+1])) {
		i++
	}
	return i
}

// said reports whether one of the words, which are lower-case, stands shortly
// before i on its line.
func said(s string, i int, words ...string) bool {
	before := s[max(0, i-24):i]
	before = strings.ToLower(before[strings.LastIndexByte(before, '\n')+1:])
	for _, w := range words {
		if k := strings.LastIndex(before, w); k >= 0 && (k == 0 || !letter(before[k-1])) {
			return true
		}
	}
	return false
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func upper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func alnum(c byte) bool  { return digit(c) || letter(c) }
func hex(c byte) bool    { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func space(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
