package personal

import "strings"

// phone is a phone number at i, which is a plus sign, a bracket or a digit.
func phone(s string, i int) (end int) {
	switch {
	case s[i] == '+':
		return international(s, i, i+1)
	case strings.HasPrefix(s[i:], "00") && i+2 < len(s) && s[i+2] != '0':
		if end := international(s, i, i+2); end > 0 && strings.ContainsAny(s[i:end], " -.") {
			return end
		}
	}
	if end := american(s, i); end > 0 {
		return end
	}
	if end := national(s, i); end > 0 {
		return end
	}
	if !said(s, i, "phone", "tel", "telephone", "telefon", "téléphone", "mobile", "mobil", "handy", "cell", "fax", "call", "sms", "whatsapp") {
		return 0
	}
	text, end := digits(s, i, 16, " -./()")
	if len(text) < 7 || len(text) > 15 || ends(s, end) == 0 {
		return 0
	}
	return end
}

// international is a number behind a plus sign or 00, from j on: a calling code
// of the world and as many digits as its numbers have.
func international(s string, i, j int) (end int) {
	if j >= len(s) || !digit(s[j]) || s[j] == '0' {
		return 0
	}
	text, end := digits(s, j, 16, " -./()")
	if len(text) > 15 || ends(s, end) == 0 {
		return 0
	}
	for n := 1; n <= 3 && n < len(text); n++ {
		lengths, ok := phones()[text[:n]]
		if !ok {
			continue
		}
		rest := strings.TrimPrefix(text[n:], "0") // +44 (0)20, as people write it
		if !strings.Contains(s[j:end], "(0)") {
			rest = text[n:]
		}
		if len(rest) >= max(7, lengths.least) && len(rest) <= lengths.most && (text[:n] != "1" || northAmerican(rest)) {
			return end
		}
	}
	return 0
}

// american is (212) 555-0123, 212-555-0123, 212.555.0123 or 212 555 0123 with
// or without a leading 1: of bare digits it is none.
func american(s string, i int) (end int) {
	text, end := digits(s, i, 12, " -.()")
	written := s[i:end]
	body := written
	if len(text) == 11 && text[0] == '1' {
		text, body = text[1:], strings.TrimLeft(written[1:], " -.")
	}
	if len(text) != 10 || ends(s, end) == 0 || !northAmerican(text) {
		return 0
	}
	var form strings.Builder
	for _, c := range []byte(body) {
		if digit(c) {
			c = 'd'
		}
		form.WriteByte(c)
	}
	switch form.String() {
	case "(ddd) ddd-dddd", "(ddd)ddd-dddd", "(ddd) ddd dddd", "(ddd) ddd.dddd", "ddd-ddd-dddd", "ddd.ddd.dddd":
		return end
	}
	return 0
}

// northAmerican: neither the area nor the exchange begins with 0 or 1.
func northAmerican(n string) bool {
	return len(n) == 10 && n[0] >= '2' && n[3] >= '2' && n[1:3] != "11"
}

// national is a number of the United Kingdom or of France in the form in which
// it is written there: 07700 900123, 020 7946 0018, 01 23 45 67 89.
func national(s string, i int) (end int) {
	if s[i] != '0' {
		return 0
	}
	for _, form := range []string{"07ddd dddddd", "07ddd ddd ddd", "02d dddd dddd", "01ddd dddddd", "01d1 ddd dddd", "0n dd dd dd dd", "0n.dd.dd.dd.dd"} {
		if end = i + len(form); end > len(s) || ends(s, end) == 0 {
			continue
		}
		ok := true
		for k := range len(form) {
			c := s[i+k]
			switch form[k] {
			case 'd':
				ok = ok && digit(c)
			case 'n':
				ok = ok && '1' <= c && c <= '9'
			default:
				ok = ok && c == form[k]
			}
		}
		if ok {
			return end
		}
	}
	return 0
}
