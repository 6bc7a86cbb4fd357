package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/wire"
)

// outdoors is what stands outside: one HTTPS server for every name, on loopback,
// which only a pinned name leads to, and its authority.
type outdoors struct {
	ca   []byte // PEM
	addr string // of the HTTPS server
	http string // of the plain one

	mu   sync.Mutex
	seen map[string]int // requests by host
	serv map[string]http.Handler
}

// outdoorNames are the hosts of the test, all of them below the reserved example.
var outdoorNames = []string{"site.example", "git.example", "npm.example", "pypi.example", "go.example", "crates.example", "secret.example"}

func newOutdoors(t *testing.T) *outdoors {
	t.Helper()
	o := &outdoors{seen: map[string]int{}, serv: map[string]http.Handler{}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	o.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: outdoorNames[0]}, DNSNames: outdoorNames, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, &leafKey.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leafDER}, PrivateKey: leafKey}}}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	o.addr, o.http = l.Addr().String(), plain.Addr().String()
	s := &http.Server{Handler: o, ErrorLog: log.New(io.Discard, "", 0)}
	go s.Serve(l)
	go s.Serve(plain)
	t.Cleanup(func() { s.Close() })
	o.serv["site.example"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello from outside\n") })
	o.serv["secret.example"] = o.serv["site.example"]
	return o
}

func (o *outdoors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	o.mu.Lock()
	o.seen[host]++
	h := o.serv[host]
	o.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h.ServeHTTP(w, r)
}

func (o *outdoors) reached(host string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen[host]
}

// paths serves a fixed set of paths.
func paths(m map[string][]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := m[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/") || strings.HasSuffix(r.URL.Path, ".html") {
			w.Header().Set("Content-Type", "text/html")
		}
		w.Write(b)
	})
}

// room is a rig with a workspace that programs run in, inside the boundary.
type room struct {
	*rig
	out *outdoors
}

func newRoom(t *testing.T, policy string) *room {
	t.Helper()
	o := newOutdoors(t)
	var conf strings.Builder
	conf.WriteString("[egress.hosts]\n")
	for _, name := range outdoorNames {
		fmt.Fprintf(&conf, "%q = %q\n", name, o.addr)
	}
	fmt.Fprintf(&conf, "%q = %q\n", "plain.example", o.http)
	o.serv["plain.example"] = o.serv["site.example"]
	r := &room{newRigWith(t, policy, conf.String()), o}
	r.put(t, "ca.pem", o.ca)
	ca := filepath.Join(r.ws, "ca.pem")
	r.env = append(r.env, "SSL_CERT_FILE="+ca, "NODE_EXTRA_CA_CERTS="+ca, "REQUESTS_CA_BUNDLE="+ca, "CURL_CA_BUNDLE="+ca)
	return r
}

func (r *room) put(t *testing.T, name string, content []byte) {
	t.Helper()
	path := filepath.Join(r.ws, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// inside runs a program in the boundary with the flags of reeve run, and
// returns its output and the receipt with its standard error.
func (r *room) inside(t *testing.T, flags []string, argv ...string) (out, rest string, err error) {
	t.Helper()
	cmd := exec.Command(r.bin, append(append([]string{"run"}, flags...), append([]string{"--"}, argv...)...)...)
	cmd.Dir, cmd.Env = r.ws, r.env
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	done := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-time.After(2 * time.Minute):
		cmd.Process.Kill()
		t.Fatalf("%v does not end:\n%s%s", argv, o.String(), e.String())
	}
	if strings.Contains(e.String(), "has no network by rule") {
		t.Skip("the boundary of this machine hands no listener out")
	}
	return o.String(), e.String(), err
}

func allow(hosts ...string) []string {
	var flags []string
	for _, h := range hosts {
		flags = append(flags, "--allow-host", h)
	}
	return append(flags, "--net", "ask")
}

// need skips where a program of the test is not there.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	return path
}

func TestProgramsReachAnAllowedHostAndNoOther(t *testing.T) {
	r := newRoom(t, "")
	t.Run("curl", func(t *testing.T) {
		need(t, "curl")
		out, rest, err := r.inside(t, allow("site.example"), "curl", "-sS", "https://site.example/x")
		if err != nil || out != "hello from outside\n" {
			t.Fatalf("%q, %v\n%s", out, err, rest)
		}
		if !strings.Contains(rest, "network by rule: 1 host, ") {
			t.Errorf("the receipt says\n%s", rest)
		}
		before := r.out.reached("secret.example")
		out, rest, err = r.inside(t, append(allow("site.example"), "--mode", "auto"), "curl", "-sS", "https://secret.example/x")
		if err == nil || out != "" || r.out.reached("secret.example") != before || !strings.Contains(rest, "403") || !strings.Contains(rest, "refused: secret.example:443: ") {
			t.Errorf("another host: %q, %v\n%s", out, err, rest)
		}
		out, rest, err = r.inside(t, append(allow("site.example"), "--mode", "auto"), "curl", "-sS", "http://secret.example/x")
		if err != nil || !strings.Contains(out, "Reeve refused the connection to secret.example:80") || !strings.Contains(out, "--allow-host secret.example") {
			t.Errorf("the refusal reads %q, %v\n%s", out, err, rest)
		}
	})
	t.Run("curl, plain", func(t *testing.T) {
		need(t, "curl")
		if out, rest, err := r.inside(t, allow("plain.example"), "curl", "-sS", "http://plain.example/x"); err != nil || out != "hello from outside\n" {
			t.Errorf("%q, %v\n%s", out, err, rest)
		}
	})
	t.Run("curl by SOCKS", func(t *testing.T) {
		need(t, "curl")
		if out, rest, err := r.inside(t, allow("site.example"), "curl", "-sS", "-x", "socks5h://127.0.0.1:3128", "https://site.example/x"); err != nil || out != "hello from outside\n" {
			t.Errorf("%q, %v\n%s", out, err, rest)
		}
	})
	t.Run("git", func(t *testing.T) {
		need(t, "git")
		r.serveGit(t)
		out, rest, err := r.inside(t, allow("git.example"), "git", "-c", "http.sslCAInfo=ca.pem", "clone", "-q", "https://git.example/r.git", "cloned")
		if err != nil {
			t.Fatalf("%s, %v\n%s", out, err, rest)
		}
		if b, err := os.ReadFile(filepath.Join(r.ws, "cloned/file")); string(b) != "content\n" {
			t.Errorf("cloned %q, %v", b, err)
		}
	})
	t.Run("ssh", func(t *testing.T) {
		need(t, "ssh")
		heard := make(chan string, 1)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() { // says what a server says first, and hears what a client does
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			io.WriteString(c, "SSH-2.0-test\r\n")
			line, _ := bufio.NewReader(c).ReadString('\n')
			heard <- line
		}()
		_, rest, err := r.inside(t, allow(l.Addr().String()), "sh", "-c", "eval $GIT_SSH_COMMAND -o BatchMode=yes -p "+l.Addr().String()[len("127.0.0.1:"):]+" 127.0.0.1 true")
		if err == nil {
			t.Error("ssh says that all is well")
		}
		select {
		case line := <-heard:
			if !strings.HasPrefix(line, "SSH-2.0-") {
				t.Errorf("the server heard %q", line)
			}
		default:
			t.Errorf("the server heard nothing\n%s", rest)
		}
	})
	t.Run("node", func(t *testing.T) {
		node, err := newNode()
		if errors.Is(err, errNoRegistry) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, rest, err := r.inside(t, allow("site.example"), node, "-e", `fetch('https://site.example/x').then(r => r.text()).then(t => process.stdout.write(t))`)
		if err != nil || out != "hello from outside\n" {
			t.Errorf("%q, %v\n%s", out, err, rest)
		}
	})
	t.Run("npm", func(t *testing.T) {
		need(t, "npm")
		r.serveNPM(t)
		r.put(t, "js/package.json", []byte(`{"name":"app","version":"1.0.0"}`))
		out, rest, err := r.inside(t, allow("npm.example"), "sh", "-c", "cd js && npm install --no-audit --no-fund --cafile ../ca.pem --registry https://npm.example/ thing@1.0.0")
		if err != nil {
			t.Fatalf("%s, %v\n%s", out, err, rest)
		}
		if b, err := os.ReadFile(filepath.Join(r.ws, "js/node_modules/thing/index.js")); string(b) != "module.exports = 42\n" {
			t.Errorf("installed %q, %v", b, err)
		}
	})
	t.Run("pip", func(t *testing.T) {
		python := need(t, "python3")
		if b, err := exec.Command(python, "-c", "import pip, sys; print(sys.executable)").Output(); err != nil {
			t.Skip("pip is not installed")
		} else {
			python = strings.TrimSpace(string(b)) // and no shim that starts it
		}
		r.servePyPI(t)
		out, rest, err := r.inside(t, allow("pypi.example"), python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--cert", "ca.pem", "--index-url", "https://pypi.example/simple/", "--target", "py", "thing")
		if err != nil {
			t.Fatalf("%s, %v\n%s", out, err, rest)
		}
		if b, err := os.ReadFile(filepath.Join(r.ws, "py/thing.py")); string(b) != "answer = 42\n" {
			t.Errorf("installed %q, %v", b, err)
		}
	})
	t.Run("go", func(t *testing.T) {
		need(t, "go")
		r.serveGo(t)
		r.put(t, "gomod/go.mod", []byte("module app\n\ngo 1.20\n\nrequire go.example/thing v1.0.0\n"))
		r.put(t, "gomod/main.go", []byte("package main\n\nimport \"go.example/thing\"\n\nfunc main() { println(thing.Answer) }\n"))
		out, rest, err := r.inside(t, append(allow("go.example"), "--profile", "build"), "sh", "-c", "cd gomod && GOPROXY=https://go.example GOSUMDB=off GOFLAGS=-mod=mod go run .")
		if err != nil || !strings.Contains(rest, "42") {
			t.Errorf("%q, %v\n%s", out, err, rest)
		}
	})
	t.Run("cargo", func(t *testing.T) {
		need(t, "cargo")
		if exec.Command("cargo", "--version").Run() != nil {
			t.Skip("cargo is not installed")
		}
		if home, err := os.UserHomeDir(); err == nil && os.Getenv("RUSTUP_HOME") == "" {
			r.env = append(r.env, "RUSTUP_HOME="+filepath.Join(home, ".rustup"))
		}
		r.serveCrates(t)
		r.put(t, "rs/Cargo.toml", []byte("[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nthing = \"1.0.0\"\n"))
		r.put(t, "rs/src/main.rs", []byte("fn main() {}\n"))
		config := "[source.crates-io]\nreplace-with = \"ours\"\n[source.ours]\nregistry = \"sparse+https://crates.example/index/\"\n[http]\ncainfo = \"" + filepath.Join(r.ws, "ca.pem") + "\"\n"
		r.put(t, "rs/.cargo/config.toml", []byte(config))
		out, rest, err := r.inside(t, append(allow("crates.example"), "--profile", "build"), "sh", "-c", "cd rs && cargo fetch")
		if err != nil || r.out.reached("crates.example") < 3 {
			t.Errorf("%q, %v, %d requests\n%s", out, err, r.out.reached("crates.example"), rest)
		}
	})
	t.Run("java", func(t *testing.T) {
		need(t, "java")
		need(t, "keytool")
		store := filepath.Join(r.ws, "store.p12")
		if b, err := exec.Command("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", filepath.Join(r.ws, "ca.pem"), "-keystore", store, "-storetype", "PKCS12", "-storepass", "changeit").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		r.put(t, "Fetch.java", []byte(`import java.net.*;
import java.net.http.*;

class Fetch {
	public static void main(String[] args) throws Exception {
		var in = new URL("https://site.example/x").openStream();
		System.out.print(new String(in.readAllBytes()));
		var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("https://site.example/x")).build(), HttpResponse.BodyHandlers.ofString());
		System.out.print(answer.body());
	}
}
`))
		out, rest, err := r.inside(t, allow("site.example"), "java", "-Djavax.net.ssl.trustStore="+store, "-Djavax.net.ssl.trustStorePassword=changeit", "Fetch.java")
		if err != nil || out != "hello from outside\nhello from outside\n" {
			t.Errorf("%q, %v\n%s", out, err, rest)
		}
	})
}

// newNode is a Node whose fetch knows a proxy: the one on the PATH, else one
// from npm in the user's cache.
var newNode = sync.OnceValues(func() (string, error) {
	knows := func(node string) bool {
		return exec.Command(node, "-e", "const [a, b] = process.versions.node.split('.').map(Number); process.exit(a >= 24 || a == 22 && b >= 21 ? 0 : 1)").Run() == nil
	}
	if at, err := exec.LookPath("node"); err == nil && knows(at) {
		return at, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	const version = "24.21.0"
	name := "node-linux-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	place := filepath.Join(cache, "reeve-test", name+"-"+version)
	program := filepath.Join(place, "node_modules", name, "bin", "node")
	if _, err := os.Stat(program); err != nil {
		if err := installNPM(place, name+"@"+version, "--ignore-scripts"); err != nil {
			return "", err
		}
	}
	if !knows(program) {
		return "", fmt.Errorf("%s is no Node %s", program, version)
	}
	return program, nil
})

// serveGit serves a repository as files.
func (r *room) serveGit(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@site.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@site.example")
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, b)
		}
	}
	run("init", "-q", "-b", "main", "w")
	if err := os.WriteFile(filepath.Join(dir, "w/file"), []byte("content\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run("-C", "w", "add", "file")
	run("-C", "w", "commit", "-q", "-m", "first")
	run("clone", "-q", "--bare", "w", "r.git")
	run("-C", "r.git", "update-server-info")
	r.out.mu.Lock()
	defer r.out.mu.Unlock()
	r.out.serv["git.example"] = http.FileServer(http.Dir(dir))
}

// packed makes a compressed archive of one folder.
func packed(t *testing.T, m map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range m {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: time.Unix(1e9, 0)}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, content)
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

func zipped(t *testing.T, m map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range m {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, content)
	}
	w.Close()
	return b.Bytes()
}

func (r *room) serve(host string, m map[string][]byte) {
	r.out.mu.Lock()
	defer r.out.mu.Unlock()
	r.out.serv[host] = paths(m)
}

func (r *room) serveNPM(t *testing.T) {
	tgz := packed(t, map[string]string{"package/package.json": `{"name":"thing","version":"1.0.0","main":"index.js"}`, "package/index.js": "module.exports = 42\n"})
	one, long := sha1.Sum(tgz), sha512.Sum512(tgz)
	r.serve("npm.example", map[string][]byte{
		"/thing": fmt.Appendf(nil, `{"name":"thing","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"thing","version":"1.0.0","main":"index.js","dist":{"tarball":"https://npm.example/thing/-/thing-1.0.0.tgz","shasum":%q,"integrity":"sha512-%s"}}}}`,
			hex.EncodeToString(one[:]), base64.StdEncoding.EncodeToString(long[:])),
		"/thing/-/thing-1.0.0.tgz": tgz,
	})
}

func (r *room) servePyPI(t *testing.T) {
	wheel := zipped(t, map[string]string{"thing.py": "answer = 42\n", "thing-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0.0\n",
		"thing-1.0.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "thing-1.0.0.dist-info/RECORD": "thing.py,,\n"})
	sum := sha256.Sum256(wheel)
	r.serve("pypi.example", map[string][]byte{
		"/simple/thing/":                      fmt.Appendf(nil, `<!DOCTYPE html><html><body><a href="/files/thing-1.0.0-py3-none-any.whl#sha256=%x">thing-1.0.0-py3-none-any.whl</a></body></html>`, sum),
		"/files/thing-1.0.0-py3-none-any.whl": wheel,
	})
}

func (r *room) serveGo(t *testing.T) {
	r.serve("go.example", map[string][]byte{
		"/go.example/thing/@v/list":        []byte("v1.0.0\n"),
		"/go.example/thing/@v/v1.0.0.info": []byte(`{"Version":"v1.0.0","Time":"2024-01-01T00:00:00Z"}`),
		"/go.example/thing/@v/v1.0.0.mod":  []byte("module go.example/thing\n\ngo 1.20\n"),
		"/go.example/thing/@v/v1.0.0.zip": zipped(t, map[string]string{"go.example/thing@v1.0.0/go.mod": "module go.example/thing\n\ngo 1.20\n",
			"go.example/thing@v1.0.0/thing.go": "package thing\n\nconst Answer = 42\n"}),
	})
}

func (r *room) serveCrates(t *testing.T) {
	crate := packed(t, map[string]string{"thing-1.0.0/Cargo.toml": "[package]\nname = \"thing\"\nversion = \"1.0.0\"\nedition = \"2021\"\n", "thing-1.0.0/src/lib.rs": "pub const ANSWER: i32 = 42;\n"})
	sum := sha256.Sum256(crate)
	r.serve("crates.example", map[string][]byte{
		"/index/config.json": []byte(`{"dl":"https://crates.example/dl/{crate}/{version}"}`),
		"/index/th/in/thing": fmt.Appendf(nil, `{"name":"thing","vers":"1.0.0","deps":[],"cksum":"%x","features":{},"yanked":false}`+"\n", sum),
		"/dl/thing/1.0.0":    crate,
	})
}

// TestProgramsThatIgnoreTheProxyDoNotGetOut tries every way round it that needs
// no privilege.
func TestProgramsThatIgnoreTheProxyDoNotGetOut(t *testing.T) {
	python := need(t, "python3")
	r := newRoom(t, "")
	_, port, _ := net.SplitHostPort(r.out.addr)
	script := `
import os, socket, struct, sys, urllib.request
def attempt(name, f):
    try:
        f()
        print('OUT', name)
    except Exception as e:
        print('held', name)
def tcp(family, host, port):
    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(3); s.connect((host, port)); s.send(b'x')
def udp(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.sendto(b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04site\x07example\x00\x00\x01\x00\x01', (host, port)); s.recv(512)
def socks(request):
    s = socket.create_connection(('127.0.0.1', 3128), 3); s.sendall(b'\x05\x01\x00'); s.recv(2); s.sendall(request); a = s.recv(10)
    if a[1] != 0: raise OSError(a[1])
def direct(url):
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=3).read()
attempt('the server by its address', lambda: tcp(socket.AF_INET, '127.0.0.1', PORT))
attempt('a public address', lambda: tcp(socket.AF_INET, '93.184.215.14', 443))
attempt('a public address of IPv6', lambda: tcp(socket.AF_INET6, '2606:4700::1111', 443))
attempt('a neighbour', lambda: tcp(socket.AF_INET, '192.168.0.1', 80))
attempt('the name', lambda: socket.getaddrinfo('site.example', 443))
attempt('localhost by name service of the host', lambda: udp('127.0.0.53', 53))
attempt('a public name server', lambda: udp('8.8.8.8', 53))
attempt('https without the proxy', lambda: direct('https://site.example/'))
attempt('SOCKS to the machine', lambda: socks(b'\x05\x01\x00\x01\x7f\x00\x00\x01' + struct.pack('>H', PORT)))
attempt('SOCKS to a name of it', lambda: socks(b'\x05\x01\x00\x03\x09localhost' + struct.pack('>H', PORT)))
attempt('SOCKS to another port', lambda: socks(b'\x05\x01\x00\x03\x0csite.example' + struct.pack('>H', 22)))
attempt('SOCKS for UDP', lambda: socks(b'\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00'))
attempt('SOCKS to bind', lambda: socks(b'\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50'))
attempt('a packet socket', lambda: socket.socket(17, socket.SOCK_RAW, 3))
attempt('a raw socket', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt('a vsock', lambda: socket.socket(40, socket.SOCK_STREAM).connect((2, 1)))
attempt('a second listener at the proxy', lambda: socket.create_server(('127.0.0.1', 3128)))
`
	before := r.out.reached("site.example")
	out, rest, err := r.inside(t, append(allow("site.example"), "--mode", "auto"), python, "-c", strings.ReplaceAll(script, "PORT", port))
	if err != nil || strings.Contains(out, "OUT") || strings.Count(out, "held") != strings.Count(script, "\nattempt(") {
		t.Errorf("%v\n%s\n%s", err, out, rest)
	}
	if r.out.reached("site.example") != before {
		t.Error("the server outside was reached")
	}
}

func TestTheMachinesLoopbackIsReachedByItsAddressAndPort(t *testing.T) {
	need(t, "curl")
	r := newRoom(t, "")
	if out, rest, err := r.inside(t, allow(r.out.http), "curl", "-sS", "-H", "Host: "+r.out.http, "http://"+r.out.http+"/"); err != nil || !strings.Contains(out, "404") {
		t.Errorf("%q, %v\n%s", out, err, rest)
	}
	if out, rest, err := r.inside(t, append(allow("127.0.0.1:1"), "--mode", "auto"), "curl", "-sS", "http://"+r.out.http+"/"); err != nil || !strings.Contains(out, "--allow-host "+r.out.http) {
		t.Errorf("another port: %q, %v\n%s", out, err, rest)
	}
}

func TestAQuestionAboutAHostWaitsWithTheConnection(t *testing.T) {
	need(t, "curl")
	r := newRoom(t, "")
	type end struct {
		out, rest string
		err       error
	}
	done := make(chan end, 1)
	go func() {
		out, rest, err := r.inside(t, []string{"--net", "ask"}, "curl", "-sS", "https://site.example/x")
		done <- end{out, rest, err}
	}()
	var q approval.Question
	deadline := time.Now().Add(time.Minute)
	for {
		var list wire.Approvals
		if err := json.Unmarshal(r.run(t, nil, "approvals", "ls", "--json"), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Questions) > 0 {
			q = list.Questions[0]
			break
		}
		select {
		case e := <-done:
			t.Fatalf("it ended before anybody was asked: %+v", e)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody is asked")
		}
	}
	if q.Operation != "connect to site.example:443" || q.Tool != "connect" || q.Suggest != "web(domain:site.example)" {
		t.Errorf("the question is %+v", q)
	}
	r.run(t, nil, "approvals", "allow", "--session", q.ID)
	if e := <-done; e.err != nil || e.out != "hello from outside\n" {
		t.Errorf("%+v", e)
	}
}
