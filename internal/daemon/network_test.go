package daemon

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/session"
)

// outside is a web server that counts who reaches it, and its address.
func outside(t testing.TB) (addr string, seen *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen = &atomic.Int32{}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		io.WriteString(w, "hello from "+r.Host)
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), seen
}

// way is a session's way out with everything behind it real but the boundary:
// its listener stands on this machine's loopback.
type way struct {
	*bench
	id   string
	addr string
}

// newWay starts a daemon with the rules and settings, and a session in it.
func newWay(t testing.TB, mode, rules, conf, answer string, allowed ...session.Allowed) *way {
	t.Helper()
	v := &vector{rules: rules, conf: conf}
	v.call.Mode, v.call.Sandbox, v.call.Answer = mode, "ready", answer
	w := &way{bench: newBench(t, v)}
	m, err := reeve.ParseMode(mode)
	must(t, err)
	one, err := w.d.store.Create(session.Session{Client: "run", Workspace: w.ws, Mode: m, Profile: "agent", Agent: "tester", Allowed: allowed}, w.c.Paths.Home)
	must(t, err)
	w.id = one.ID
	w.serve()
	return w
}

func (w *way) serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(w.t, err)
	f, err := l.(*net.TCPListener).File()
	must(w.t, err)
	w.addr = l.Addr().String()
	l.Close()
	must(w.t, w.d.ServeNetwork(w.id, f))
}

// get fetches an address through the proxy on a connection of its own.
func (w *way) get(address string) (int, string) {
	w.t.Helper()
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.addr}), DisableKeepAlives: true}
	r, err := (&http.Client{Transport: tr, Timeout: 20 * time.Second}).Get(address)
	if err != nil {
		w.t.Fatalf("get %s: %v", address, err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// ended closes the way and returns its receipt.
func (w *way) ended() string { return strings.Join(w.d.Network(w.id), "\n") }

func named(addr string) session.Allowed {
	return session.Allowed{From: "reeve run --allow-host", Why: "named for this run", Hosts: []string{addr}}
}

func TestTheNetworkOfARunIsDecidedByTheRules(t *testing.T) {
	addr, _ := outside(t)
	pin := fmt.Sprintf("[egress]\nhosts = { \"good.example\" = %q, \"evil.example\" = %[1]q, \"new.example\" = %[1]q, \"in.example\" = %[1]q }\n", addr)
	rules := `deny = ["web(domain:evil.example)", "web(domain:*:8081)"]
allow = ["web(domain:good.example)", "web(domain:in.example)"]`
	for _, c := range []struct {
		name, mode, answer string
		allowed            []session.Allowed
		address            string
		code               int
		text               string // in what the client is told
		questions          int
	}{
		{"a rule allows", "default", "", nil, "http://good.example/", 200, "hello from good.example", 0},
		{"a rule denies", "default", "yes", nil, "http://evil.example/", 403, "web(domain:evil.example)", 0},
		{"a rule denies what was named for the run", "default", "yes", []session.Allowed{named("evil.example")}, "http://evil.example/", 403, "A deny wins", 0},
		{"a rule denies a port", "default", "yes", []session.Allowed{named("good.example:8081")}, "http://good.example:8081/", 403, "web(domain:*:8081)", 0},
		{"nobody knows it, a person says yes", "default", "yes", nil, "http://new.example/", 200, "hello from new.example", 1},
		{"nobody knows it, a person says no", "default", "no", nil, "http://new.example/", 403, "--allow-host new.example", 1},
		{"nobody knows it, nobody answers", "default", "timeout", nil, "http://new.example/", 403, "nobody answered", 1},
		{"named for this run", "default", "", []session.Allowed{named("new.example")}, "http://new.example/", 200, "hello", 0},
		{"another port than named", "default", "no", []session.Allowed{named("new.example")}, "http://new.example:8080/", 403, "--allow-host new.example:8080", 1},
		{"plan, allowed by a rule", "plan", "", nil, "http://good.example/", 200, "hello", 0},
		{"plan, unknown", "plan", "yes", nil, "http://new.example/", 403, "plan", 0},
		{"auto, allowed by a rule", "auto", "", nil, "http://good.example/", 200, "hello", 0},
		{"auto, unknown", "auto", "yes", nil, "http://new.example/", 403, "auto", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWay(t, c.mode, rules, pin, c.answer, c.allowed...)
			code, body := w.get(c.address)
			if code != c.code || !strings.Contains(body, c.text) {
				t.Errorf("%d %q, want %d with %q", code, body, c.code, c.text)
			}
			if n := int(w.questions.Load()); n != c.questions {
				t.Errorf("%d questions, want %d", n, c.questions)
			}
			receipt := w.ended()
			if refused := strings.Contains(receipt, "refused: "); refused != (c.code != 200) {
				t.Errorf("the receipt says\n%s", receipt)
			}
			w.d.Ended(w.id)
			w.audited(c.code == 200)
		})
	}
}

// audited checks the rows that one connection left.
func (w *way) audited(reached bool) {
	w.t.Helper()
	rows := w.rows()
	want := 1
	if reached {
		want = 2
	}
	if len(rows) != want {
		w.t.Fatalf("%d rows, want %d: %+v", len(rows), want, rows)
	}
	last := rows[len(rows)-1]
	if last.Tool != "connect" || last.Actor != "agent:tester" || last.Origin != reeve.OriginAgent || last.Channel != reeve.ChannelCLI || last.Phase != reeve.PhaseOutcome {
		w.t.Errorf("recorded %+v", last)
	}
	if !reached {
		if last.Status != reeve.StatusDenied {
			w.t.Errorf("recorded %+v", last)
		}
		return
	}
	if rows[0].Phase != reeve.PhaseIntent || last.Status != reeve.StatusSuccess || !strings.Contains(last.Summary, "1 connection, ") || strings.Contains(last.Summary, " 0 B") {
		w.t.Errorf("recorded %+v", rows)
	}
}

// rows are the record's rows of the tool connect, oldest first.
func (w *way) rows() []reeve.Record {
	w.t.Helper()
	r, err := audit.OpenRead(w.c.Paths.State)
	must(w.t, err)
	defer r.Close()
	calls, err := r.List(w.t.Context(), audit.Filter{Session: w.id, Tool: "connect"})
	must(w.t, err)
	var out []reeve.Record
	for _, c := range calls {
		all, err := r.Show(w.t.Context(), c.CallID)
		must(w.t, err)
		for _, row := range all {
			out = append(out, row.Record)
		}
	}
	return out
}

func TestAnAnswerForTheSessionIsAskedOnceAndCanBeTakenBack(t *testing.T) {
	addr, _ := outside(t)
	w := newWay(t, "default", "", fmt.Sprintf("[egress]\nhosts = { \"new.example\" = %q }\n", addr), "")
	events, _, stop := w.d.broker.Watch(true)
	defer stop()
	answer := func(scope approval.Scope) approval.Question {
		for e := range events {
			if e.State == approval.Pending {
				must(t, w.d.broker.Settle(e.Question.ID, approval.Answer{State: approval.Allowed, Scope: scope}))
				return e.Question
			}
		}
		return approval.Question{}
	}
	asked := make(chan approval.Question, 1)
	go func() { asked <- answer(approval.Session) }()
	if code, body := w.get("http://new.example/"); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	q := <-asked
	if q.Operation != "connect to new.example:80" || q.Suggest != "web(domain:new.example)" || !q.Standing || q.Warn || q.Actor != "agent:tester" {
		t.Errorf("the question is %+v", q)
	}
	if code, _ := w.get("http://new.example/"); code != 200 || len(w.d.broker.Questions()) != 0 {
		t.Errorf("after a yes for the session: %d", code)
	}
	must(t, w.d.broker.Revoke(q.ID))
	go func() { asked <- answer(approval.Once) }()
	if code, _ := w.get("http://new.example/"); code != 200 {
		t.Errorf("asked again: %d", code)
	}
	if again := <-asked; again.ID == q.ID || again.ID == "" {
		t.Error("it was not asked again after the answer was taken back")
	}
}

func TestLoopbackIsReachedByItsVeryAddressOnly(t *testing.T) {
	addr, seen := outside(t)
	_, port, _ := net.SplitHostPort(addr)
	for _, c := range []struct {
		name    string
		rules   string
		allowed []session.Allowed
		address string
		code    int
	}{
		{"nothing is said", "", nil, "http://" + addr + "/", 403},
		{"every host is allowed", `allow = ["web(*)", "web(domain:127.0.0.1)", "connect"]`, nil, "http://" + addr + "/", 403},
		{"every host with this port", `allow = ["web(domain:*:` + port + `)"]`, nil, "http://" + addr + "/", 403},
		{"another spelling", `allow = ["web(*)"]`, nil, "http://0x7f.1:" + port + "/", 403},
		{"a name of it", `allow = ["web(domain:localhost)", "web(domain:localhost:` + port + `)"]`, nil, "http://localhost:" + port + "/", 403},
		{"another port", "", []session.Allowed{named("127.0.0.1:1")}, "http://" + addr + "/", 403},
		{"its neighbour", "", []session.Allowed{named(addr)}, "http://127.0.0.2:" + port + "/", 403},
		{"its very address", "", []session.Allowed{named(addr)}, "http://" + addr + "/", 200},
		{"in another spelling", "", []session.Allowed{named(addr)}, "http://127.1:" + port + "/", 200},
		{"by a rule", `allow = ["web(domain:` + addr + `)"]`, nil, "http://" + addr + "/", 200},
		{"metadata by a rule", `allow = ["web(domain:169.254.169.254:80)"]`, nil, "http://169.254.169.254/", 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := seen.Load()
			w := newWay(t, "default", c.rules, "", "yes", c.allowed...)
			code, body := w.get(c.address)
			if code != c.code || (seen.Load() != before) != (c.code == 200) {
				t.Errorf("%d %q, want %d", code, body, c.code)
			}
			if w.questions.Load() != 0 {
				t.Error("a person was asked")
			}
		})
	}
}

func TestTheNetworksRecordHoldsNoSecret(t *testing.T) {
	const secret = "planted-s3cret-value-0815"
	w := newWay(t, "default", `deny = ["web(domain:*.evil.example)"]`, "", "")
	must(t, w.d.clean.AddSecret(secret))
	code, _ := w.get("http://" + secret + ".evil.example/")
	if code != 403 {
		t.Errorf("%d", code)
	}
	receipt := w.ended()
	rows := w.rows()
	if len(rows) != 1 || !strings.Contains(receipt, "refused: ") {
		t.Fatalf("%d rows, receipt\n%s", len(rows), receipt)
	}
	if strings.Contains(receipt, secret) || strings.Contains(fmt.Sprintf("%+v", rows), secret) {
		t.Errorf("it is in the receipt or the record:\n%s\n%+v", receipt, rows)
	}
}

func TestASessionThatHasReadBothIsAskedBeforeItSends(t *testing.T) {
	addr, _ := outside(t)
	pin := fmt.Sprintf("[egress]\nhosts = { \"one.example\" = %q, \"two.example\" = %[1]q, \"three.example\" = %[1]q, \"api.example\" = %[1]q }\n", addr)
	rules := `allow = ["web(domain:one.example)", "web(domain:two.example)", "web(domain:*)"]`
	w := newWay(t, "default", rules, pin, "no", session.Allowed{From: "the hosts of tester", Why: "its service", Hosts: []string{"api.example"}, Own: true})
	w.d.store.AddTaint(w.id, flow.Taint{Private: true})
	if code, _ := w.get("http://one.example/"); code != 200 {
		t.Errorf("before anything from outside was read: %d", code)
	}
	if taint := w.d.store.Taint(w.id); !taint.Untrusted {
		t.Error("what came over the network leaves no trace while the connection's call is open")
	}
	if code, _ := w.get("http://two.example/"); code != 200 || w.questions.Load() != 0 {
		t.Errorf("a host that a rule names: %d with %d questions", code, w.questions.Load())
	}
	if code, _ := w.get("http://three.example/"); code != 403 || w.questions.Load() != 1 {
		t.Errorf("a host that a rule covers with every other: %d with %d questions", code, w.questions.Load())
	}
}

func TestAConnectionOutlivesNoSession(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go io.Copy(c, c)
		}
	}()
	w := newWay(t, "default", "", "", "", named(l.Addr().String()))
	c, err := net.Dial("tcp", w.addr)
	must(t, err)
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\n\r\n", l.Addr())
	r := bufio.NewReader(c)
	if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
	r.ReadString('\n')
	io.WriteString(c, "some bytes")
	if _, err := io.ReadFull(r, make([]byte, len("some bytes"))); err != nil {
		t.Fatal(err)
	}
	w.d.Ended(w.id)
	if b, err := io.ReadAll(r); len(b) != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it goes on: %q, %v", b, err)
	}
	if _, err := net.Dial("tcp", w.addr); err == nil {
		t.Error("the listener of a session that has ended is served")
	}
	if rows := w.rows(); len(rows) != 2 || !strings.Contains(rows[1].Summary, "10 B sent, 10 B received") {
		t.Errorf("recorded %+v", rows)
	}
}

// BenchmarkConnectUnderARule opens connections through the proxy under a rule
// that allows them, with the record on disk, and directly, in turns. Bound: 1 ms
// more; the first connection to a host also waits for its intent to be durable.
func BenchmarkConnectUnderARule(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("x"))
			c.Close()
		}
	}()
	w := newWay(b, "default", twoHundredText(), fmt.Sprintf("[egress]\nhosts = { \"good.example\" = %q }\n", l.Addr()), "", named("good.example:9999"))
	one := make([]byte, 1)
	var through, direct []time.Duration
	open := func(addr, ask string) time.Duration {
		begin := time.Now()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		if ask != "" {
			io.WriteString(c, ask)
			r := bufio.NewReader(c)
			if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
				b.Fatalf("%q, %v", line, err)
			}
			r.ReadString('\n')
			if _, err := io.ReadFull(r, one); err != nil {
				b.Fatal(err)
			}
			return time.Since(begin)
		}
		if _, err := io.ReadFull(c, one); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	}
	const ask = "CONNECT good.example:9999 HTTP/1.1\r\n\r\n"
	first := open(w.addr, ask)
	for b.Loop() {
		direct = append(direct, open(l.Addr().String(), ""))
		through = append(through, open(w.addr, ask))
	}
	slices.Sort(direct)
	slices.Sort(through)
	d, p := direct[len(direct)/2], through[len(through)/2]
	b.ReportMetric(float64(d.Microseconds()), "direct-µs")
	b.ReportMetric(float64(p.Microseconds()), "proxy-µs")
	b.ReportMetric(float64((p - d).Microseconds()), "more-µs")
	b.ReportMetric(float64(first.Microseconds()), "first-µs")
}
