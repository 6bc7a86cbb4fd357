package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/redact/mark"
)

// seeds meet every rule.
var seeds = []string{
	"", "password=hunter2", "password: hunter2\nnext", `{"password":"x","token":["a"],"n":1}`, `"token": "abc def" , x`, `\"secret\":\"a\\\"b\"`,
	"Authorization: Bearer abc.def-123\n", "Cookie: a=b; c=d", "curl -u me:pw https://h", "curl -H 'X-Api-Key: abc' h", "mysql -uroot -pabc", "sshpass -p abc",
	"postgres://u:p@h/d", "https://u:pa/ss@h/", "http://h:80/@x", "--token abc --x", "--token=abc", "<password>abc</password>", "<a href='x'>y</a>",
	"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAZq7xK2\nabcd\n-----END RSA PRIVATE KEY-----\nrest", "-----BEGIN PRIVATE KEY-----\\nMIIEowIBAAKCAQEAZq7xK2\\nab==\\n rest of it",
	"-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEowIBAAKCAQEAZq7xK2aaa", "ghp_0123456789abcdefghij0123456789abcdef,", "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
	"123456789:AAabcdefghijklmnopqrstuvwxyz0123456789", "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDe.abcdefghijklmnopqrstuvwxyz0123", "machine h login u password p", "?sig=0123456789abcdef0&x",
	"[REDACTED]", "[REDACTED:private-key] x", "password=[REDACTED:github-token#3f2a]", "held-[REDACTED:npm-token#0a", "[REDACTED:hunter2]", "password=[REDACTED]", "password=[REDACTED]x", "a[REDACTED", "token: [REDACTED]\npassword: x", "Basic dXNlcjpwYXNz", "Bearer 0123456789abcdef",
	"held secret\nof two lines", "a held-one b", "aGVsZC1vbmU", "held%2Done", "password=\"held-one", "export A_TOKEN=x\n", "docker login -p hunter2", "curl -H 'A: b; c' -su me:pw -U x:y", "openssl rsa -passin pass:a -passout \"pass:b\"", "htpasswd -b f u x", "net use \\\\h\\s x /user:u", "[\"mysql\",\"-pabc\"]", "docker login \\\n -p 'a b'", "pass=hunter2 A_KEY=a1b2c3d4e5", "?X-Amz-Signature=0123456789abcdef",
	"password: |\n  abc\n   def\n\n  g\nnext: 1", "token: >-\n\n", "a: |2\n  secret: |\n    x", "x 6My8Q~uekD9BuMrwuwZVlqxO_vBj67djXj6Om_ib y", "Private-Lines: 2\nA58yJdDdtiySuw8EHZUvZD\nigp9Z6aDeNTd7qoYrg\nPrivate-MAC: f1",
	"- name: DB_PASSWORD\n  value: \"x1\"", "<add key=\"Password\" value=\"a b\" />", "variable \"db_password\" { default = \"y\" }", "algolia: '0123456789abcdef0123456789abcdee'", "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", "sdk-12345678-1234-4234-a234-123456789abc x",
	"password = \"\"\"a\nb\"\"\" x", "password='''a", "password: 'it''s a' b", "credentials:\n  a: b1c2d3e4f5\n  c: d\ne: f", "aws configure set aws_secret_access_key X1", "npm config set //h/:_authToken X1 y", "--from-literal=k='v w'",
	"token=x[REDACTED]y-", "password=\"[REDACTED]held-one\"", "aGVsZC1v\nbmU", "68:65:6C:64:2D:6F:6E:65", "<password>[REDACTED]x</password>",
	"x['password'] = 'abc'", "password == \"abc\"", "password => 'abc'", ":password => 'x'",
}

// heldValues have what makes trouble: overlaps with each other and with the
// mark, line ends, quotes, delimiters.
var heldValues = []string{"held-one", "held secret\nof two lines", "abcabcabd", "bdabcab", "quo\"te,d;val", "ends in [", "] begins", "ghp_held", "password=inner", "-----BEGIN held"}

func heldRedactor(t testing.TB) *Redactor { return holdingAll(t, New()) }

func holdingAll(t testing.TB, r *Redactor) *Redactor {
	for _, v := range heldValues {
		if err := r.AddSecret(v); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// FuzzMaskedTwiceIsMaskedOnce also looks for values that survive.
func FuzzMaskedTwiceIsMaskedOnce(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	r := holdingAll(f, NewKeyed([]byte("a key")))
	f.Fuzz(func(t *testing.T, s string) {
		once := r.Text(s)
		if twice := r.Text(once); twice != once {
			t.Errorf("%q\nonce  %q\ntwice %q", s, once, twice)
		}
		if once == s {
			return
		}
		if !mark.In(once) {
			t.Errorf("%q became %q", s, once)
		}
		for _, v := range heldValues {
			if !strings.ContainsAny(v, "[]") && strings.Contains(once, v) {
				t.Errorf("%q: the value %q is left in %q", s, v, once)
			}
		}
	})
}

// FuzzPlantedValuesDoNotSurvive puts a held value and a token between any two
// texts.
func FuzzPlantedValuesDoNotSurvive(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, seeds[(i*7+3)%len(seeds)], i%4)
	}
	r := heldRedactor(f)
	const body = "0123456789abcdefghijklmnopqrstuvwxyz"
	planted := []string{"held-one", "abcabcabd", "ghp_" + body, "xoxb-" + body}
	f.Fuzz(func(t *testing.T, before, after string, which int) {
		v := planted[(which%len(planted)+len(planted))%len(planted)]
		if strings.Contains(before+after, body) || strings.Contains(before, "[REDACTED") {
			return
		}
		got := r.Text(before + v + after)
		if strings.Contains(got, v) || strings.Contains(v, body) && strings.Contains(got, body) {
			t.Errorf("%q is left in %q", v, got)
		}
	})
}

// FuzzStreamIsTheWhole cuts the text anywhere.
func FuzzStreamIsTheWhole(f *testing.F) {
	for i, s := range seeds {
		f.Add(s+seeds[(i*5+1)%len(seeds)], []byte{byte(i), 0, 7})
	}
	long := strings.Repeat("x", look+10)
	f.Add("password=\""+long+"\" y", []byte{200})
	f.Add("password="+long+" "+long+"=1 token="+long, []byte{255, 3})
	f.Add("ghp_"+long+"\n-----BEGIN PRIVATE KEY-----\n"+strings.Repeat(long[:64]+"\n", 200)+"-----END PRIVATE KEY-----\nrest", []byte{255})
	r := heldRedactor(f)
	f.Fuzz(func(t *testing.T, s string, cuts []byte) {
		want := r.Text(s)
		var out bytes.Buffer
		w := r.Writer(&out)
		most := 0
		for i, rest := 0, s; rest != ""; i++ {
			n := 1
			if len(cuts) > 0 {
				n += int(cuts[i%len(cuts)])
			}
			n = min(n, len(rest))
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				t.Fatal(err)
			}
			most = max(most, len(w.scan.Buf)-n)
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%q cut by %v\nstream %q\nwhole  %q", s, cuts, out.String(), want)
		}
		if most > 16<<10 {
			t.Errorf("%d bytes were kept", most)
		}
	})
}

// FuzzJSONStaysJSON also checks that names decide and that twice is once.
func FuzzJSONStaysJSON(f *testing.F) {
	for _, s := range append(seeds, `{"a":[1,{"token":{"x":1}},"s"]}`, `"x"`, `[]`, `{"password":null}`, `{"a":"{\"secret\":\"b\"}"}`, `[{}]`, `{"token":[],"b":{}}`, `["--token","x",1,"-u","a:b"]`,
		`{"name":"X-Api-Key","value":{"a":1}}`, `{"value":1,"name":"cookie"}`, `{"held-one":1,"held-one":2}`, ` { "a" : 1 , "password" : [ 1 ] } `, `"a\u0000\ud800b"`, `{"tokens":5,"max_tokens":"x"}`, `"[REDACTED]"`, `-0.5e+3`, `"held secret\nof two lines"`) {
		f.Add([]byte(s))
	}
	r := heldRedactor(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		out := r.JSON(b)
		if !json.Valid(b) {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%s became %s", b, out)
		}
		if again := r.JSON(out); !bytes.Equal(again, out) {
			t.Errorf("%s\nonce  %s\ntwice %s", b, out, again)
		}
		for _, v := range heldValues {
			if !strings.ContainsAny(v, "[]") && bytes.Contains(out, []byte(v)) {
				t.Errorf("%s: the value %q is left in %s", b, v, out)
			}
		}
		whole := append(append([]byte(`{"password":`), b...), '}')
		if got := r.JSON(whole); string(got) != `{"password":"[REDACTED]"}` && bytes.TrimSpace(b)[0] != ' ' {
			if string(bytes.Join(bytes.Fields(got), nil)) != `{"password":"[REDACTED]"}` {
				t.Errorf("%s became %s", whole, got)
			}
		}
	})
}
