package redact

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// hastened is what comes out of a stream whose reader may not be kept waiting
// after any of the pieces, and what is kept then.
func hastened(t *testing.T, r *Redactor, pieces ...string) (b *bytes.Buffer, w *Stream) {
	t.Helper()
	b = &bytes.Buffer{}
	w = r.Writer(b)
	for _, p := range pieces {
		if _, err := io.WriteString(w, p); err != nil {
			t.Fatal(err)
		}
		if err := w.Hasten(); err != nil {
			t.Fatal(err)
		}
	}
	return b, w
}

// cut makes pieces of a text.
func cut(text string, size int) (pieces []string) {
	for ; text != ""; text = text[min(size, len(text)):] {
		pieces = append(pieces, text[:min(size, len(text))])
	}
	return pieces
}

// TestAPromptIsShownInTime: whatever a program asks or shows without ending
// its line is there, although its last letters might begin a secret.
func TestAPromptIsShownInTime(t *testing.T) {
	r := New()
	if err := r.AddSecret("a-long-held-value"); err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"Continue? [y/N] ", "Enter password: ", "[sudo] password for bob: ", "Push", "Loading", "Proceed with token ", "this is a-", "Overwrite ghp", "[REDAC", "type -", "--tok", "-----BEGIN", "Bea", "net us", "the net income is", "Q~", "eyJ", "on M", "mysql -p"} {
		if got, w := hastened(t, r, prompt); got.String() != prompt || w.Waits() {
			t.Errorf("of %q only %q was shown", prompt, got)
		}
	}
}

// TestWhatMayBeASecretWaitsHoweverLong: nothing of it but what everybody knows
// goes out before it is whole, and then its mark does.
func TestWhatMayBeASecretWaitsHoweverLong(t *testing.T) {
	r := heldRedactor(t)
	if err := r.AddSecret("a-long-held-value"); err != nil {
		t.Fatal(err)
	}
	body := "0123456789abcdefghijklmnopqrstuvwxyz"
	for _, c := range []struct{ in, secret, want string }{
		{"password=Zq7xK2mP9v next", "Zq7xK2mP9v", "password=[REDACTED] next"},
		{"export PASSWORD='ab1 cd' x", "ab1", "export PASSWORD='[REDACTED]' x"},
		{"x a-long-held-value y", "ong-held-value", "x a-l[REDACTED] y"},
		{"x abcabcabd y", "cabcabd", "x ab[REDACTED] y"},
		{"x quo\"te,d;val y", "\"te,d;val", "x quo[REDACTED] y"},
		{"x ghp_" + body + ", y", body[:4], "x ghp_[REDACTED:github-token#"},
		{"Authorization: Bearer Zq7xK2mP9v4\nx", "Zq7x", "Authorization: Bearer [REDACTED]\nx"},
		{"sent Bearer Zq7xK2mP9v4 x", "Zq7x", "sent Bearer [REDACTED] x"},
		{"curl -u me:Zq7xK2mP9v h", "Zq7x", "curl -u me:[REDACTED] h"},
		{"mysql -pZq7xK2mP9v db", "Zq7x", "mysql -p[REDACTED] db"},
		{"htpasswd -b f me Zq7xK2mP9v\n", "Zq7x", "htpasswd -b f me [REDACTED]\n"},
		{"net use \\\\h\\s Zq7xK2mP9v /user:me\n", "Zq7x", "[REDACTED]"},
		{"https://me:Zq7xK2mP9v@h/x y", "Zq7x", "https://me:[REDACTED]@h/x y"},
		{"<password>Zq7xK2mP9v</password>", "Zq7x", "<password>[REDACTED]</password>"},
		{"bot 123456789:AA" + body + " x", body[:4], "bot 123456789:[REDACTED:telegram-bot-token#"},
		{"x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghij y", "eyJz", "[REDACTED:json-web-token#"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAZq7xK2\nabcd\n-----END RSA PRIVATE KEY-----\nrest", "MIIE", "rest"},
		{"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEowIBAAKCAQEAZq7xK2\n-----END EC PRIVATE KEY-----\nrest", "MIIE", "rest"},
		{"password: |\n  Zq7xK2mP9v\n  Zq7yK2mP9v\nnext: 1\n", "Zq7", "[REDACTED]\nnext: 1\n"},
		{"- name: DB_PASSWORD\n  value: \"Zq7xK2mP9v\"\n", "Zq7", "value: \"[REDACTED]\"\n"},
		{"?a=1&sig=0123456789abcdef0&x", "0123", "sig=[REDACTED]&x"},
		{"algolia: '0123456789abcdef0123456789abcdee'\n", "0123", "algolia: '[REDACTED:"},
	} {
		for _, size := range []int{1, 2, 3, 5} {
			out, w := hastened(t, r, cut(c.in, size)...)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			if strings.Contains(got, c.secret) {
				t.Errorf("%q in pieces of %d: %q is left in %q", c.in, size, c.secret, got)
			}
			if size == 1 && !strings.Contains(got, c.want) {
				t.Errorf("%q became %q, want %q in it", c.in, got, c.want)
			}
		}
	}
}

// FuzzAHastenedStreamTellsNoSecret puts a value and a token between any two
// texts, cut anywhere, and keeps the reader waiting at no cut.
func FuzzAHastenedStreamTellsNoSecret(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, seeds[(i*7+3)%len(seeds)], i%4, []byte{byte(i % 5), 0})
	}
	r := heldRedactor(f)
	const body = "0123456789abcdefghijklmnopqrstuvwxyz"
	planted := []string{"held-one", "abcabcabd", "ghp_" + body, "password=\"" + body + "\""}
	f.Fuzz(func(t *testing.T, before, after string, which int, cuts []byte) {
		v := planted[(which%len(planted)+len(planted))%len(planted)]
		if strings.Contains(before+after, body) || strings.Contains(before, "[REDACTED") {
			return
		}
		if named := strings.HasPrefix(v, "password"); named && !strings.Contains(r.Text(before+v+after), "[REDACTED]") {
			return
		}
		var pieces []string
		for i, rest := 0, before+v+after; rest != ""; i++ {
			n := 1
			if len(cuts) > 0 {
				n += int(cuts[i%len(cuts)])
			}
			pieces = append(pieces, rest[:min(n, len(rest))])
			rest = rest[min(n, len(rest)):]
		}
		out, w := hastened(t, r, pieces...)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		secret := v[3:] // three bytes of a value may be guessed
		if strings.Contains(v, body) {
			secret = body[:12]
			if strings.Contains(r.Text(before+v+after), secret) {
				return
			}
		}
		if got := out.String(); strings.Contains(got, secret) && !strings.Contains(before+after, secret) {
			t.Errorf("%q in %q: %q", secret, pieces, got)
		}
	})
}
