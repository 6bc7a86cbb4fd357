package redact

import (
	"bytes"
	"go/build"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/redact/corpus"
	"github.com/reeve-gate/reeve/internal/redact/mark"
	"github.com/reeve-gate/reeve/internal/redact/shape"
)

// examples are written by hand, of the forms that most people meet, so that one
// that is lost from the table is missed here; the corpus has the others. A bar stands in each, that
// no scanner of sources takes it for a live one; the names say whose it is.
const examples = `
aws key id            AKIA|IOSFODNN7EXAMPLE
aws temporary key id  ASIA|Y34FZKBOKMUTVV7A
aws bearer id         ABIA|IOSFODNN7EXAMPLE
aws context id        ACCA|IOSFODNN7EXAMPLE
alibaba key id        LTAI|5tA7k2mQp9Xc3Vb8
github classic        ghp_|R2d7Kq9ZxW4mT6vB1nC8sY3hL5jP0aQeUfGi
github oauth          gho_|R2d7Kq9ZxW4mT6vB1nC8sY3hL5jP0aQeUfGi
github user           ghu_|R2d7Kq9ZxW4mT6vB1nC8sY3hL5jP0aQeUfGi
github server         ghs_|R2d7Kq9ZxW4mT6vB1nC8sY3hL5jP0aQeUfGi
github refresh        ghr_|R2d7Kq9ZxW4mT6vB1nC8sY3hL5jP0aQeUfGi
github fine grained   github_pat_|11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789aBcDeFgHiJ
gitlab personal       glpat-|x7Kq2mZ9vB4nC8sY3hL5
gitlab deploy         gldt-|x7Kq2mZ9vB4nC8sY3hL5
gitlab runner         glrt-|x7Kq2mZ9vB4nC8sY3hL5
gitlab trigger        glptt-|0123456789abcdef0123456789abcdef01234567
gitlab scim           glsoat-|x7Kq2mZ9vB4nC8sY3hL5
gitlab job            glcbt-|64_x7Kq2mZ9vB4nC8sY3hL5
gitlab mail           glimt-|x7Kq2mZ9vB4nC8sY3hL5abcde
gitlab feed           glft-|x7Kq2mZ9vB4nC8sY3hL5
gitlab agent          glagent-|x7Kq2mZ9vB4nC8sY3hL5x7Kq2mZ9vB4nC8sY3hL5abcdefghij
slack bot             xoxb-|210987654321-1234567890123-aBcDeFgHiJkLmNoPqRsTuVwX
slack user            xoxp-|210987654321-1234567890123-aBcDeFgH
slack app             xoxa-|2-210987654321-1234567890123
slack refresh         xoxr-|210987654321-1234567890123
slack session         xoxs-|210987654321-1234567890123
slack client          xoxc-|210987654321-1234567890123
slack cookie          xoxd-|aBcDeFgHiJkLmNoPqRsTuVwX
slack rotating        xoxe-|1-My0xLTIxMDk4NzY1NDMyMQ
slack rotating access xoxe.|xoxp-1-Mi0yLTIxMDk4NzY1
slack app level       xapp-|1-A0123456789-1234567890123-abcdef0123456789
slack hook            hooks.slack.com/services/|T01234567/B01234567/aBcDeFgHiJkLmNoPqRsTuVwX
slack workflow        hooks.slack.com/workflows/|T01234567/A01234567/123456789/aBcDeFgHiJkL
discord hook          discord.com/api/webhooks/|123456789012345678/aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789
discord old hook      discordapp.com/api/webhooks/|123456789012345678/aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789
discord bot           MTIzNDU2Nzg5MDEyMzQ1Njc4|.GabcDe.abcdefghijklmnopqrstuvwxyz0123456789AB
discord older bot     NzkyNzE1NDU0MTk2MDg4ODQy|.X-hvzA.Ovy4MCQywSkoMRRclStW4xAYK7I
telegram bot          123456789:|AAabcdefghijklmnopqrstuvwxyz0123456
anthropic             sk-ant-|api03-aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789-_AA
openai project        sk-proj-|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789
openai service        sk-svcacct-|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789
openai                sk-|aBcDeFgHiJkLmNoPqRsT3BlbkFJaBcDeFgHiJkLmNoPqRsT
openrouter            sk-or-v1-|0123456789abcdef0123456789abcdef0123456789abcdef
stripe live           sk_live_|4eC39HqLyjWDarjtT1zdp7dc
stripe test           sk_test_|4eC39HqLyjWDarjtT1zdp7dc
stripe restricted     rk_live_|4eC39HqLyjWDarjtT1zdp7dc
stripe restricted     rk_test_|4eC39HqLyjWDarjtT1zdp7dc
stripe hook           whsec_|aBcDeFgHiJkLmNoPqRsTuVwXyZ012345
google api            AIza|SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q
google oauth          ya29.|a0AfH6SMBx1y2z3A4b5C6d7E8f9G0h
google client         GOCSPX-|aBcDeFgHiJkLmNoPqRsTuVwXyZ01
google refresh        1//0|gabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV
npm                   npm_|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789
pypi                  pypi-|AgEIcHlwaS5vcmcCJDAxMjM0NTY3LTg5YWItY2RlZi0wMTIz
rubygems              rubygems_|0123456789abcdef0123456789abcdef0123456789abcdef
clojars               CLOJARS_|0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab
crates                crates.io:|aBcDeFgHiJkLmNoPqRsTuVwXyZ012345
hugging face          hf_|aBcDeFgHiJkLmNoPqRsTuVwXyZabcdefgh
hugging face org      api_org_|aBcDeFgHiJkLmNoPqRsTuVwXyZabcdefgh
replicate             r8_|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789a
groq                  gsk_|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFgHiJkLmNoP
xai                   xai-|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFgHiJkLmNoP
perplexity            pplx-|0123456789abcdef0123456789abcdef0123456789abcdef
nvidia                nvapi-|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789
tavily                tvly-|aBcDeFgHiJkLmNoPqRsTuVwXyZ012345
digitalocean          dop_v1_|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
digitalocean oauth    doo_v1_|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
digitalocean refresh  dor_v1_|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
docker hub            dckr_pat_|aBcDeFgHiJkLmNoPqRsTuVwXyZ0
docker hub org        dckr_oat_|aBcDeFgHiJkLmNoPqRsTuVwXyZ012345
vault service         hvs.|CAESIJaBcDeFgHiJkLmNoPqRsTuVwXyZ
vault batch           hvb.|AAAAAQJaBcDeFgHiJkLmNoPqRsTuVwXyZ
vault recovery        hvr.|AAAAAQJaBcDeFgHiJkLmNoPqRsTuVwXyZ
vault transit         vault:v1:|8SDd3WHDOjf7mq69CyCqYjBXAiQQAVZRkFM13ok481zoCmHnSeDX9vyf7w==
sendgrid              SG.|ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr
shopify               shpat_|0123456789abcdef0123456789abcdef
shopify shared        shpss_|0123456789abcdef0123456789abcdef
shopify custom        shpca_|0123456789abcdef0123456789abcdef
shopify private       shppa_|0123456789abcdef0123456789abcdef
square                sq0atp-|aBcDeFgHiJkLmNoPqRsTuV
square oauth          sq0csp-|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFgHiJk
linear                lin_api_|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcD
postman               PMAK-|0123456789abcdef01234567-0123456789abcdef0123456789abcdef01
atlassian             ATATT3|xFfGF0aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789_-aBcDeFgH=0123ABCD
atlassian             ATCTT3|xFfGN0aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789_-aBcDeFgH=0123ABCD
figma                 figd_|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789_-aB
figma oauth           figu_|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789_-aB
databricks            dapi|0123456789abcdef0123456789abcdef
grafana service       glsa_|aBcDeFgHiJkLmNoPqRsTuVwXyZ012345_0123abcd
grafana cloud         glc_|eyJvIjoiMTIzNDU2IiwibiI6InRlc3QiLCJrIjoiYWJjZGVm
sentry org            sntrys_|eyJpYXQiOjE2ODcwMDAwMDAsInVybCI6Imh0dHBzOi8vc2VudHJ5
sentry user           sntryu_|0123456789abcdef0123456789abcdef0123456789abcdef
new relic             NRAK-|ABCDEFGHIJKLMNOPQRSTUVWXYZ0
age                   AGE-SECRET-KEY-1|QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE
age post quantum      AGE-SECRET-KEY-PQ-1|QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE
pulumi                pul-|0123456789abcdef0123456789abcdef01234567
supabase              sbp_|0123456789abcdef0123456789abcdef01234567
supabase secret       sb_secret_|aBcDeFgHiJkLmNoPqRsTuV_0123abc
hubspot               pat-na1-|01234567-89ab-cdef-0123-456789abcdef
hubspot               pat-eu1-|01234567-89ab-cdef-0123-456789abcdef
doppler               dp.pt.|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFg
doppler service       dp.st.|dev.aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFg
one password          ops_eyJ|zaWduSW5BZGRyZXNzIjoibXkuMXBhc3N3b3JkLmNvbSIsInVzZXJB
facebook              EAACEdEose0cBA|aBcDeFgHiJkLmNoPqRsTuVwXyZ
tailscale             tskey-|auth-kabcDEF5CNTRL-aBcDeFgHiJkLmNoPqRsTuVwXyZ
fly                   fo1_|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789_-abcd
fly macaroon          FlyV1 fm|2_lJPECAAAAAAAAAAAxBCaBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789
runpod                rpa_|ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghij
ionic                 ion_|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcdefghij
json web token        eyJ|hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P
`

// commands are command lines with the secret between bars.
const commands = `
docker login -p |hunter2| registry.example
docker login -u me -p |hunter2| registry.example
sudo podman login -u me -p '|hun ter2|' registry.example
sshpass -p|hunter2| ssh host
sshpass -p |hunter2| ssh host
/usr/bin/sshpass -p|hunter2| scp a host:
mysql -p|hunter2| db
mysqldump -u root -p'|hunter2|' db
mariadb-admin -u root -p|hunter2| ping
curl -u user:|hunter2| https://h
curl -u|user:||hunter2| https://h
curl -sSu user:|hunter2| https://h
curl -H 'A: b; c' "https://h/?a=1&b=2" --user "user:|hun ter2|"
curl --proxy-user=user:|hunter2| https://h
openssl enc -aes-256-cbc -k |hunter2| -in f
openssl enc -aes-256-cbc -K |00112233445566778899| -iv 0011
openssl enc -d -pass pass:|hunter2| -in f
openssl rsa -passin pass:|hunter2| -passout pass:|other3| -in f
openssl req -passin "pass:|hun ter2|" -new
htpasswd -b f bob |hunter2|
htpasswd -cbB -C 10 f bob '|hun ter2|'
htpasswd -nb bob |hunter2|
net use Z: \\srv\share |hunter2| /user:bob
net use \\srv\share /user:bob |hunter2|
net user bob |hunter2| /add
keytool -list -storepass |hunter2|
redis-cli -h h -a |hunter2| ping
ldapsearch -x -D cn=a -w |hunter2|
smbclient //h/s -U bob%|hunter2|
mongosh -u a -p |hunter2|
sqlcmd -S h -U sa -P |hunter2|
zip -P |hunter2| a.zip f
7z a -p|hunter2| a.7z f
ssh-keygen -t ed25519 -N |hunter2| -f k
http -a user:|hunter2| h
subprocess.run(["docker", "login", "-p", "|hunter2|"])
pass=|hunter2|
PASS=|hunter| make deploy
PASS='|hunter|' make deploy
https://h/x?user=bob&pass=|hunter2|
ansible -e ansible_become_pass=|hunter2| all
curl --pass |hunter2| --cert c.pem https://h
ENC_KEY=|hunter| ./run
FERNET_KEY=|pS9d1kq2-Zk3mN8x=| ./run
export SOME_SERVICE_KEY="|a1b2c3d4e5f6|"
https://b.example/k?X-Amz-Signature=|aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404|
https://b.example/k?X-Goog-Signature=|247a2aa45f169edf4d187d54e7cc46e4731b1e6273242c4f|&x=1
X-Amz-Signature=|aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404|
https://a.example/c/b?sv=2020-08-04&se=2026&sig=|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123%2B%2F%3D|
https://a.example/c/b?sv=2020\u0026sig=|aBcDeFgHiJkLmNoPqRsTuVwXyZ0123|
`

func TestEveryPublishedShapeIsMasked(t *testing.T) {
	r := New()
	var all []string
	for line := range strings.Lines(strings.TrimSpace(examples)) {
		line = strings.TrimSuffix(line, "\n")
		owner, token := strings.TrimSpace(line[:22]), strings.Replace(line[22:], "|", "", 1)
		all = append(all, token)
		for _, context := range []string{"%s", "see %s.", "x='%s'", "(%s)", "\t%s\n", "https://h/?q=%s&z=1", "{\"v\":\"%s\"}"} {
			in := strings.Replace(context, "%s", token, 1)
			if got := r.Text(in); strings.Contains(got, token[len(token)/2:]) || !mark.In(got) {
				t.Errorf("%s: %q became %q", owner, in, got)
			}
		}
	}
	for _, line := range corpus.Lines(rand.New(rand.NewPCG(1, 2))) {
		all = append(all, line.Secret)
	}
	for _, sh := range shape.Table {
		has := false
		for _, token := range all {
			has = has || strings.HasPrefix(token, sh.Prefix)
		}
		if !has {
			t.Errorf("%s has no example, neither here nor in the corpus", sh.Prefix)
		}
	}
}

func TestSecretsOnCommandLinesAndInKeysAreMasked(t *testing.T) {
	r := New()
	for line := range strings.Lines(strings.TrimSpace(commands)) {
		line = strings.TrimSuffix(line, "\n")
		line = strings.ReplaceAll(line, "|user:||", "user:|")
		parts := strings.Split(line, "|")
		in, want := strings.Join(parts, ""), ""
		for i, part := range parts {
			if i%2 == 1 {
				part = Mark
			}
			want += part
		}
		for _, around := range []string{"%s", "$ %s\nnext", "first\n\t%s\n"} {
			in, want := strings.Replace(around, "%s", in, 1), strings.Replace(around, "%s", want, 1)
			if got := r.Text(in); got != want {
				t.Errorf("%q\n got %q\nwant %q", in, got, want)
			} else if again := r.Text(got); again != got {
				t.Errorf("%q became %q", got, again)
			}
		}
	}
	for in, want := range map[string]string{
		`["docker","login","-u","me","-p","hunter2"]`: `["docker","login","-u","me","-p","[REDACTED]"]`,
		`["mysql","-u","root","-phunter2"]`:           `["mysql","-u","root","-p[REDACTED]"]`,
		`["mysql","-p","db"]`:                         `["mysql","-p","db"]`,
		`["curl","-uuser:hunter2","h"]`:               `["curl","-uuser:[REDACTED]","h"]`,
		`["htpasswd","-b","f","bob","hunter2"]`:       `["htpasswd","-b","f","bob","[REDACTED]"]`,
		`["openssl","rsa","-passin","pass:hunter2"]`:  `["openssl","rsa","-passin","pass:[REDACTED]"]`,
		`["docker","run","-p","8080:80"]`:             `["docker","run","-p","8080:80"]`,
		`{"pass":"hunter2"}`:                          `{"pass":"[REDACTED]"}`,
		`{"pass":12,"fail":1}`:                        `{"pass":12,"fail":1}`,
		`{"pass":"ok"}`:                               `{"pass":"ok"}`,
		`{"SOME_KEY":"a1b2c3d4e5"}`:                   `{"SOME_KEY":"[REDACTED]"}`,
		`{"CACHE_KEY":"a1b2c3d4e5"}`:                  `{"CACHE_KEY":"a1b2c3d4e5"}`,
	} {
		if got := string(r.JSON([]byte(in))); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestCommandsWithoutASecretStayAsTheyAre(t *testing.T) {
	r := New()
	for _, s := range []string{
		"docker run -p 8080:80 nginx", "docker login && docker run -p 8080:80 nginx", "docker login -u me --password-stdin", "docker login; nginx -p /srv/web", "mysql -e x | grep -patch", "docker run --name mysql -p3306:3306 mysql", "ssh -p 2222 host", "mkdir -p a/b", "cp -pr a b",
		"mysql -u root -p db", "mysql -P 3306", "curl -k https://h", "curl -u $USER:$PASS https://h", "curl -u \"$(cat f)\" https://h", "sort -u a:b", "openssl rsa -passin env:PW", "openssl rsa -passin file:p.txt -in k", "openssl req -key k.pem -k",
		"htpasswd -c f bob", "net use Z: \\\\srv\\share *", "the net use of it is small", "net user count grew by 5 %", "zip -r a.zip d", "PASS: TestX1 (0.00s)", "--- PASS: TestX12345 (0.00s)", "PASS=0 FAIL=1", "12 pass=12 fail=3", "pass=true", "pass := 2", "first_pass=done", "foo(pass=password)",
		"PRIMARY_KEY=id1234567", "PUBLIC_KEY=a1b2c3d4e5f6", "CACHE_KEY=v1-linux-abc123", "GPG_KEY=E3FF2839C048B25C084DEBE9B26995E310250568", "SSH_KEY=~/.ssh/id_ed25519", "TLS_KEY=/etc/tls/k1.pem", "ROUTE_KEY=orders", "https://h/?design=1&sig=none", "sign: x",
	} {
		if got := r.Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// TestProgramTextIsHardlyMasked reads the sources of Go: 104 MB in Go 1.26,
// with 263 masks, nearly all of them passwords and keys of tests.
func TestProgramTextIsHardlyMasked(t *testing.T) {
	r := New()
	size, masks := 0, 0
	err := fs.WalkDir(os.DirFS(filepath.Join(build.Default.GOROOT, "src")), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(build.Default.GOROOT, "src", path))
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			return err
		}
		size += len(b)
		masks += strings.Count(r.Text(string(b)), "[REDACTED")
		return nil
	})
	if err != nil || size < 10<<20 {
		t.Fatalf("%d bytes of program text were read: %v", size, err)
	}
	t.Logf("%d masks in %d MB", masks, size>>20)
	if masks > 3*size>>20 {
		t.Errorf("%d masks in %d MB; at most 3 in each were to be expected", masks, size>>20)
	}
}
