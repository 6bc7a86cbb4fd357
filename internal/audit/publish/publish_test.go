package publish

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// log is a tree with its checkpoints.
type log struct {
	t      testing.TB
	signer *seal.Signer
	tree   *seal.Tree
	rows   *seal.Range
}

func newLog(t testing.TB) *log {
	t.Helper()
	secret, err := seal.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	s, err := seal.ParseSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := seal.OpenTree(filepath.Join(t.TempDir(), "audit.tree"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return &log{t, s, tree, &seal.Range{}}
}

func (l *log) sign(more int) string {
	l.t.Helper()
	for range more {
		l.tree.Push(l.rows, sha256.Sum256([]byte(strconv.FormatInt(l.rows.Size(), 10))))
	}
	if err := l.tree.Flush(l.rows); err != nil {
		l.t.Fatal(err)
	}
	signed, _, err := l.signer.Sign(l.rows)
	if err != nil {
		l.t.Fatal(err)
	}
	return signed
}

func (l *log) prove(older int64) (tlog.TreeProof, error) {
	if older == 0 || older == l.rows.Size() {
		return nil, nil
	}
	return tlog.ProveTree(l.rows.Size(), older, l.tree)
}

func TestPlacesAreReadStrictly(t *testing.T) {
	key := newWitness(t).key()
	for text, want := range map[string]string{
		"/mnt/usb": "/mnt/usb", "https://log.example/reeve": "log.example", "http://127.0.0.1:8080/x": "127.0.0.1:8080",
		"witness " + key + " https://w.example": "witness w.example/test",
	} {
		p, err := Parse(text, "", &netguard.Guard{})
		if err != nil || p.Name() != want {
			t.Errorf("%q: %v, %v, want %s", text, p, err, want)
		}
	}
	for _, text := range []string{"", "usb", "http://log.example/x", "http://127.0.0.1/x", "ftp://a/b", "https://u:p@a/", "https://a/#x", "witness https://a", "witness " + key, "witness " + key[:len(key)-4] + "AAAA https://a"} {
		if p, err := Parse(text, "", &netguard.Guard{}); err == nil {
			t.Errorf("%q is taken for %s", text, p.Name())
		}
	}
	one := "witness " + key + " https://w.example"
	if _, err := ParseAll([]string{one, "/mnt/usb", one}, "", &netguard.Guard{}); err == nil {
		t.Error("two witnesses are taken")
	}
}

func TestAFileElsewhereHasEachCheckpointOnce(t *testing.T) {
	l, dir := newLog(t), t.TempDir()
	for name, path := range map[string]string{"a directory": dir, "a file": filepath.Join(dir, "kept")} {
		p := &File{Path: path}
		a, b := l.sign(3), l.sign(2)
		for _, signed := range []string{a, a, b} {
			if err := p.Publish(t.Context(), signed, l.prove); err != nil {
				t.Fatal(err)
			}
		}
		file := path
		if name == "a directory" {
			file = filepath.Join(dir, strings.ReplaceAll(l.signer.Name(), "/", "-")+".checkpoints")
		}
		if got, err := seal.ReadBook(file); err != nil || len(got.Notes) != 2 || got.Notes[0] != a || got.Notes[1] != b {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if err := (&File{Path: filepath.Join(dir, "away", "kept")}).Publish(t.Context(), l.sign(1), l.prove); err == nil {
		t.Error("a medium that is not there was made")
	}
}

// TestTwoMachinesMayKeepTheirCheckpointsInOneFile: they write at the same time,
// and one was cut off while it wrote.
func TestTwoMachinesMayKeepTheirCheckpointsInOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept")
	logs := []*log{newLog(t), newLog(t), newLog(t)}
	if err := os.WriteFile(path, []byte(logs[0].sign(1)[:50]), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, l := range logs {
		var signed []string
		for range 20 {
			s := l.sign(1)
			signed = append(signed, s, s)
		}
		all.Go(func() {
			for _, s := range signed {
				if err := (&File{Path: path}).Publish(t.Context(), s, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, err := seal.ReadBook(path)
	if err != nil || got.Torn {
		t.Fatalf("read: torn %v, %v", got.Torn, err)
	}
	for i, l := range logs {
		own := got.Of(l.signer.Name())
		if len(own) != 20 || own[19] != l.sign(0) {
			t.Errorf("machine %d: %d checkpoints are kept, want 20", i, len(own))
		}
	}
	writes, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writes.Close()
	if err := durable.Hold(writes); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := (&File{Path: path}).Publish(ctx, logs[0].sign(1), nil); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("while another one writes: %v", err)
	}
}

// TestARecordThatWasPutBackIsNotPublishedOverWhatWasKept: what lies elsewhere
// has more rows, or others.
func TestARecordThatWasPutBackIsNotPublishedOverWhatWasKept(t *testing.T) {
	l, path := newLog(t), filepath.Join(t.TempDir(), "kept")
	p := &File{Path: path}
	older, newer := l.sign(3), l.sign(2)
	other := l.rows
	l.rows = &seal.Range{}
	l.tree.Begin(l.rows)
	l.rows.Push(sha256.Sum256([]byte("another")), nil)
	for range 4 {
		l.rows.Push(sha256.Sum256(nil), nil)
	}
	fork := l.sign(0)
	if l.rows.Size() != other.Size() || fork == newer {
		t.Fatal("it is no fork")
	}
	if err := p.Publish(t.Context(), newer, nil); err != nil {
		t.Fatal(err)
	}
	for what, signed := range map[string]string{"an older one": older, "another one of as many rows": fork} {
		if err := p.Publish(t.Context(), signed, nil); err == nil || !strings.Contains(err.Error(), "verify --against") {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != newer+"\n" {
		t.Errorf("the file is now %q, %v", now, err)
	}
}

// TestWhatIsNoFileOfCheckpointsIsLeftAlone: somebody has named the wrong path.
func TestWhatIsNoFileOfCheckpointsIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	signed := newLog(t).sign(3)
	for name, text := range map[string]string{
		"a letter": "Dear all,\n\nwe meet at noon.\n", "one line": "x", "the end of one": signed[90:], "a blank line": "\n", "behind one": signed + "\nand more",
		"much": "reeve/" + strings.Repeat("x", 1<<20),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := (&File{Path: path}).Publish(t.Context(), newLog(t).sign(5), nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want a refusal that names it", name, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%s: it is %q now, %v", name, now, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: its mode is another one: %v, %v", name, info.Mode(), err)
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&File{Path: pipe}).Publish(t.Context(), signed, nil); err == nil {
		t.Error("a pipe was written to")
	}
}

// parse is what the daemon has of the settings.
func parse(t *testing.T, text, witnessed string) Publisher {
	t.Helper()
	p, err := Parse(text, witnessed, &netguard.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAServerIsSentEachCheckpointAndNothingIsFollowed(t *testing.T) {
	l := newLog(t)
	var got []string
	status := http.StatusNoContent
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.Path+" "+string(b))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	defer s.Close()
	p := parse(t, s.URL+"/here", "")
	signed := l.sign(3)
	if err := p.Publish(t.Context(), signed, l.prove); err != nil || len(got) != 1 || got[0] != "POST /here "+signed {
		t.Errorf("sent %q, %v", got, err)
	}
	for _, status = range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusInternalServerError, http.StatusForbidden} {
		got = nil
		if err := p.Publish(t.Context(), signed, l.prove); err == nil || len(got) != 1 {
			t.Errorf("status %d: %v, after %q", status, err, got)
		}
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	// A name that leads to this machine is dialled only where it is pinned.
	named, err := Parse("https://log.example:"+u.Port()+"/", "", &netguard.Guard{Lookup: netguardLoopback})
	if err != nil {
		t.Fatal(err)
	}
	if err := named.Publish(t.Context(), signed, l.prove); err == nil || !strings.Contains(err.Error(), "log.example") {
		t.Errorf("a name that leads to this machine: %v, want a refusal", err)
	}
}

// TestWhatAServerSaysDoesNotCount: it took the checkpoint and then talks without
// end. What it refuses is told without its address, which may hold a token.
func TestWhatAServerSaysDoesNotCount(t *testing.T) {
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	signed := newLog(t).sign(3)
	p := parse(t, s.URL+"/here?token=hush", "")
	if err := p.Publish(t.Context(), signed, nil); err != nil {
		t.Errorf("it was taken, and is told as %v", err)
	}
	<-ended
	s.Close()
	if err := p.Publish(t.Context(), signed, nil); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("a server that is gone is told as %v", err)
	}
}

// witness is a server as c2sp.org/tlog-witness has it, made from that page, with
// Ed25519 and the public library of proofs.
type witness struct {
	name    string
	private ed25519.PrivateKey
	log     note.Verifier

	mu    sync.Mutex // guards what follows
	size  int64
	root  tlog.Hash
	asked []string
	wrong bool // signs something else
}

func newWitness(t testing.TB) *witness {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &witness{name: "w.example/test", private: private}
}

func (w *witness) id() (id []byte, public []byte) {
	public = append([]byte{4}, w.private.Public().(ed25519.PublicKey)...)
	sum := sha256.Sum256(append([]byte(w.name+"\n"), public...))
	return sum[:4], public
}

func (w *witness) key() string {
	id, public := w.id()
	return fmt.Sprintf("%s+%x+%s", w.name, id, base64.StdEncoding.EncodeToString(public))
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	body := bufio.NewReader(r.Body)
	line := func() string { s, _ := body.ReadString('\n'); return strings.TrimSuffix(s, "\n") }
	first := line()
	w.asked = append(w.asked, r.URL.Path+" "+first)
	var older int64
	fmt.Sscanf(first, "old %d", &older)
	var proof tlog.TreeProof
	for l := line(); l != ""; l = line() {
		h, err := tlog.ParseHash(l)
		if err != nil {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		proof = append(proof, h)
	}
	rest, _ := io.ReadAll(body)
	n, err := note.Open(rest, note.VerifierList(w.log))
	if err != nil {
		rw.WriteHeader(http.StatusForbidden)
		return
	}
	lines := strings.Split(n.Text, "\n")
	size, _ := strconv.ParseInt(lines[1], 10, 64)
	root, _ := tlog.ParseHash(lines[2])
	if older != w.size {
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(http.StatusConflict)
		fmt.Fprintf(rw, "%d\n", w.size)
		return
	}
	if older > 0 && tlog.CheckTree(proof, size, root, older, w.root) != nil {
		rw.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	w.size, w.root = size, root
	text := n.Text
	if w.wrong {
		text = strings.ToUpper(text)
	}
	time := uint64(1767225600)
	sig := ed25519.Sign(w.private, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", time, text))
	id, _ := w.id()
	raw := append(append(id, binary.BigEndian.AppendUint64(nil, time)...), sig...)
	fmt.Fprintf(rw, "— %s %s\n", w.name, base64.StdEncoding.EncodeToString(raw))
}

// TestAWitnessSignsWhatItHasSeenToGrow: each checkpoint comes with the proof
// that it goes on from the one before, and the witness's signature is kept only
// where it is one.
func TestAWitnessSignsWhatItHasSeenToGrow(t *testing.T) {
	l, w := newLog(t), newWitness(t)
	var err error
	if w.log, err = note.NewVerifier(l.signer.Key.String()); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(w)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "audit.witnessed")
	p := parse(t, "witness "+w.key()+" "+s.URL+"/some", file)
	publish := func(what string, more int) {
		t.Helper()
		signed := l.sign(more)
		if err := p.Publish(t.Context(), signed, l.prove); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		kept, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(kept), signed+"— w.example/test ") || strings.Count(string(kept), "\n— ") != 2 {
			t.Fatalf("%s: kept %q, %v", what, kept, err)
		}
		if _, err := l.signer.Key.Open(string(kept)); err != nil {
			t.Errorf("%s: what is kept has not our signature: %v", what, err)
		}
	}
	publish("the first", 5)
	publish("the next", 7)
	publish("the same again", 0)
	if err := os.Remove(file); err != nil { // what it has seen is asked of it then
		t.Fatal(err)
	}
	publish("without what it has signed", 4)
	want := []string{"/some/add-checkpoint old 0", "/some/add-checkpoint old 5", "/some/add-checkpoint old 12", "/some/add-checkpoint old 0", "/some/add-checkpoint old 12"}
	if strings.Join(w.asked, ",") != strings.Join(want, ",") {
		t.Errorf("asked %q, want %q", w.asked, want)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.wrong = true
	if err := p.Publish(t.Context(), l.sign(1), l.prove); err == nil {
		t.Error("a signature of something else was taken")
	}
	w.wrong = false
	other := newLog(t)
	if err := p.Publish(t.Context(), other.sign(30), other.prove); err == nil {
		t.Error("another log was signed")
	}
	w.size = 3 // it says that it has seen less; its root is another
	if err := p.Publish(t.Context(), l.sign(1), l.prove); err == nil {
		t.Error("a tree that does not go on was signed")
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(before) {
		t.Errorf("what was kept is another one now (%v)", err)
	}
}

func FuzzKeysOfWitnessesAreReadStrictly(f *testing.F) {
	f.Add(newWitness(f).key())
	f.Add("a+00000000+BAAA")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseWitness(text)
		if err != nil {
			return
		}
		if !strings.HasPrefix(text, k.Name()+"+") || k.Verify([]byte("x"), make([]byte, 72)) || k.Verify(nil, nil) {
			t.Errorf("%q is read as the key of %q", text, k.Name())
		}
	})
}

// netguardLoopback is a resolver for whom every name is this machine.
func netguardLoopback(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}
