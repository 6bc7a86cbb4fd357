package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	model "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	labelnames "github.com/prometheus/common/model"

	"github.com/reeve-gate/reeve"
)

// parsed is a page as Prometheus' own parser reads it, by family.
func parsed(t testing.TB, page string) map[string]*model.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(labelnames.LegacyValidation)
	all, err := p.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("Prometheus' parser: %v\n%s", err, page)
	}
	return all
}

// value is the number of one series; -1 where there is none.
func value(f *model.MetricFamily, labels map[string]string) float64 {
next:
	for _, m := range f.GetMetric() {
		if len(m.Label) != len(labels) {
			continue
		}
		for _, l := range m.Label {
			if v, ok := labels[l.GetName()]; !ok || v != l.GetValue() {
				continue next
			}
		}
		return m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return -1
}

func page(t testing.TB, c *Counter, gauges ...Gauge) string {
	t.Helper()
	var b strings.Builder
	if err := c.Write(&b, gauges...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func ended(tool string, tier reeve.Tier, d reeve.Verdict, s reeve.Status, took time.Duration) *reeve.Record {
	return &reeve.Record{Phase: reeve.PhaseOutcome, Tool: tool, Tier: tier, Decision: d, Status: s, Duration: took}
}

func TestPrometheusReadsWhatIsCounted(t *testing.T) {
	var c Counter
	for _, ms := range []int{0, 1, 2, 700, 3_600_000, -5} {
		c.Add(ended("bash", reeve.TierWrite, reeve.Allow, reeve.StatusSuccess, time.Duration(ms)*time.Millisecond))
	}
	yes, no := ended("bash", reeve.TierWrite, reeve.Allow, reeve.StatusError, time.Second), ended("rm", reeve.TierDestructive, reeve.Deny, reeve.StatusDenied, time.Hour)
	yes.Approval, yes.Confirmed, no.Approval = "a", true, "b"
	c.Add(yes)
	c.Add(no)
	c.Add(&reeve.Record{Phase: reeve.PhaseIntent, Tool: "bash"})
	c.Add(ended("x", reeve.TierRead, reeve.Allow, "a status of somebody else", 0))
	all := parsed(t, page(t, &c, Gauge{"reeve_sessions", "Sessions that are open.", nil, 3},
		Gauge{"reeve_vault", "How the vault is.", [][2]string{{"state", "open"}}, 1}, Gauge{"reeve_vault", "How the vault is.", [][2]string{{"state", "locked"}}, 0}))
	calls := all["reeve_calls_total"]
	for name, c := range map[string]struct{ got, want float64 }{
		"success":   {value(calls, map[string]string{"tool": "bash", "tier": "write", "decision": "allow", "status": "success"}), 6},
		"error":     {value(calls, map[string]string{"tool": "bash", "tier": "write", "decision": "allow", "status": "error"}), 1},
		"refused":   {value(calls, map[string]string{"tool": "rm", "tier": "destructive", "decision": "deny", "status": "denied"}), 1},
		"unknown":   {value(calls, map[string]string{"tool": "x", "tier": "read", "decision": "allow", "status": "unknown"}), 1},
		"yes":       {value(all["reeve_questions_total"], map[string]string{"answer": "yes"}), 1},
		"no":        {value(all["reeve_questions_total"], map[string]string{"answer": "no"}), 1},
		"sessions":  {value(all["reeve_sessions"], map[string]string{}), 3},
		"open":      {value(all["reeve_vault"], map[string]string{"state": "open"}), 1},
		"locked":    {value(all["reeve_vault"], map[string]string{"state": "locked"}), 0},
		"of series": {float64(len(calls.Metric)), 4},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if calls.GetType() != model.MetricType_COUNTER || all["reeve_sessions"].GetType() != model.MetricType_GAUGE {
		t.Error("types are not said")
	}
	h := all["reeve_call_duration_seconds"].Metric[0].Histogram
	if h.GetSampleCount() != 7 || h.GetSampleSum() < 3601.7 || h.GetSampleSum() > 3601.8 || len(h.Bucket) != len(bounds)+1 {
		t.Errorf("histogram %v", h)
	}
	for i, want := range []uint64{3, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 7} {
		if got := h.Bucket[i].GetCumulativeCount(); got != want {
			t.Errorf("%d calls of at most %v s, want %d", got, h.Bucket[i].GetUpperBound(), want)
		}
	}
}

// TestTheNumberOfSeriesIsBounded: a client that makes up names of tools makes no
// more than so many.
func TestTheNumberOfSeriesIsBounded(t *testing.T) {
	var c Counter
	for n := range 5 * MaxTools {
		c.Add(ended(fmt.Sprintf("tool%d", n), reeve.TierWrite, reeve.Deny, reeve.StatusDenied, 0))
	}
	c.Add(ended(strings.Repeat("x", 4096), reeve.TierWrite, reeve.Deny, reeve.StatusDenied, 0))
	calls := parsed(t, page(t, &c))["reeve_calls_total"]
	of := map[string]string{"tool": Other, "tier": "write", "decision": "deny", "status": "denied"}
	if len(calls.Metric) != MaxTools+1 || value(calls, of) != 4*MaxTools+1 {
		t.Errorf("%d series, %v others", len(calls.Metric), value(calls, of))
	}
}

func FuzzAnyNameOfAToolIsALabel(f *testing.F) {
	for _, s := range []string{"bash", `a"} 1` + "\nreeve_fake_total 7", "\\", "\xff\xfe", "", "é\u2028", "a\rb", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var c Counter
		c.Add(ended(name, reeve.TierRead, reeve.Allow, reeve.StatusSuccess, 0))
		all := parsed(t, page(t, &c))
		if len(all) != 3 || len(all["reeve_calls_total"].Metric) != 1 {
			t.Fatalf("%q made %d families", name, len(all))
		}
		want := name
		if len(name) > maxName {
			want = Other
		}
		if got := all["reeve_calls_total"].Metric[0].Label; len(got) != 4 || got[3].GetValue() != want && utf8.ValidString(want) {
			for _, l := range got {
				if l.GetName() == "tool" && l.GetValue() != want {
					t.Errorf("%q became %q", want, l.GetValue())
				}
			}
		}
	})
}

func TestCountingByManyAtOnceLosesNothing(t *testing.T) {
	var c Counter
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				c.Add(ended("bash", reeve.TierRead, reeve.Allow, reeve.StatusSuccess, 0))
				_ = c.Write(io.Discard)
			}
		})
	}
	wg.Wait()
	if got := value(parsed(t, page(t, &c))["reeve_calls_total"], map[string]string{"tool": "bash", "tier": "read", "decision": "allow", "status": "success"}); got != 4000 {
		t.Errorf("%v calls, want 4000", got)
	}
}

// served is a server on loopback, and its address.
func served(t *testing.T, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestTheEndpointAnswersThisMachineUnderItsOwnNameAlone(t *testing.T) {
	var c Counter
	at := served(t, &Server{Write: func(w io.Writer) error { return c.Write(w) }, Token: func() (string, error) { return "right", nil }})
	_, port, _ := net.SplitHostPort(at)
	for _, q := range []struct {
		name, method, path, host, auth string
		want                           int
	}{
		{"right", "GET", "/metrics", at, "Bearer right", 200},
		{"localhost", "GET", "/metrics", "localhost:" + port, "bearer right", 200},
		{"head", "HEAD", "/metrics", at, "Bearer right", 200},
		{"no token", "GET", "/metrics", at, "", 401},
		{"wrong token", "GET", "/metrics", at, "Bearer wrong", 401},
		{"other scheme", "GET", "/metrics", at, "Basic right", 401},
		{"rebound name", "GET", "/metrics", "evil.example.com:" + port, "Bearer right", 403},
		{"other port", "GET", "/metrics", "127.0.0.1:80", "Bearer right", 403},
		{"no port", "GET", "/metrics", "localhost", "Bearer right", 403},
		{"name that begins so", "GET", "/metrics", "127.0.0.1.evil.example.com:" + port, "Bearer right", 403},
		{"other page", "GET", "/", at, "Bearer right", 404},
		{"post", "POST", "/metrics", at, "Bearer right", 405},
	} {
		req, err := http.NewRequest(q.method, "http://"+at+q.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = q.host
		if q.auth != "" {
			req.Header.Set("Authorization", q.auth)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != q.want || strings.Contains(string(body), "reeve_calls_total") != (q.want == 200 && q.method == "GET") {
			t.Errorf("%s: %s\n%s", q.name, resp.Status, body)
		}
		if q.want == 200 && resp.Header.Get("Content-Type") != contentType {
			t.Errorf("%s: content type %q", q.name, resp.Header.Get("Content-Type"))
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: another origin may read it", q.name)
		}
	}
}

// TestATokenThatCannotBeHadLetsNobodyIn: the vault is locked, or it is empty.
func TestATokenThatCannotBeHadLetsNobodyIn(t *testing.T) {
	for _, token := range []func() (string, error){
		func() (string, error) { return "", errors.New("the vault is locked") },
		func() (string, error) { return "", nil },
	} {
		at := served(t, &Server{Write: func(io.Writer) error { return nil }, Token: token})
		for _, auth := range []string{"", "Bearer", "Bearer "} {
			req, err := http.NewRequest("GET", "http://"+at+Path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Authorization"] = []string{auth}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 401 {
				t.Errorf("%q: %s", auth, resp.Status)
			}
		}
	}
}

func TestOnlyLoopbackIsServed(t *testing.T) {
	for text, good := range map[string]bool{
		"127.0.0.1:9464": true, "[::1]:9464": true, "127.0.0.1:0": true, "0.0.0.0:9464": false, "[::]:9464": false, "10.0.0.1:9464": false,
		"localhost:9464": false, ":9464": false, "127.0.0.1": false, "": false, "[::ffff:127.0.0.1]:1": true, "[::ffff:10.0.0.1]:1": false,
	} {
		if _, err := Address(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// BenchmarkAdd is what a call pays.
func BenchmarkAdd(b *testing.B) {
	var c Counter
	r := ended("bash", reeve.TierWrite, reeve.Allow, reeve.StatusSuccess, time.Millisecond)
	b.ReportAllocs()
	for b.Loop() {
		c.Add(r)
	}
}
