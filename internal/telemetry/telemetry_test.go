package telemetry

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/metrics"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// keep is a vault of a test.
type keep struct {
	mu     sync.Mutex
	values map[string]string
	masked []string
}

func (k *keep) Resolve(n ref.Name) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.values[n.String()]; ok {
		return []byte(v), nil
	}
	return nil, fmt.Errorf("%s is not in the vault", n)
}

func (k *keep) mask(values ...string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.masked = append(k.masked, values...)
	return 0
}

func room(t *testing.T, settings string, k *keep, dir string) (*Room, error) {
	t.Helper()
	conf, err := config.Parse("config.toml", []byte(settings))
	if err != nil {
		return nil, err
	}
	return Open(Options{Config: conf, State: dir, Build: "1.2.3", Vault: k, Mask: k.mask, Look: time.Millisecond,
		Gauges: func() []metrics.Gauge { return []metrics.Gauge{{Name: "reeve_sessions", Help: "Sessions.", Value: 2}} }})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestSettingsThatCannotHoldAreRefused(t *testing.T) {
	for settings, want := range map[string]string{
		`endpoint = "http://collector.example.com"`:                                  "telemetry.endpoint: http is spoken to this machine alone",
		`endpoint = "nonsense"`:                                                      "telemetry.endpoint",
		`signals = ["metrics"]`:                                                      "logs, traces or both",
		`metrics = "0.0.0.0:9464"`:                                                   "telemetry.metrics: 0.0.0.0:9464 is no address of this machine alone",
		`metrics = "9464"`:                                                           "telemetry.metrics",
		`metrics_token = "reeve://a/b"`:                                              "names no address",
		"metrics = \"127.0.0.1:9464\"\nmetrics_token = \"hunter2\"":                  "reference to the vault",
		"metrics = \"127.0.0.1:9464\"\nmetrics_token = \"reeve://../x\"":             "names no secret",
		"endpoint = \"https://c.example.com\"\nheaders.\"a b\" = \"x\"":              "no name of a header",
		"endpoint = \"https://c.example.com\"\nheaders.host = \"x\"":                 "no name of a header",
		"endpoint = \"https://c.example.com\"\nheaders.Content-Encoding = \"x\"":     "no name of a header",
		"endpoint = \"https://c.example.com\"\nheaders.X = \"${reeve://../x}\"":      "telemetry.headers.X",
		"endpoint = \"https://c.example.com\"\nheaders.X = \"Bearer ${reeve://a/b\"": "has no }",
		"endpoint = \"https://c.example.com\"\nheaders.X = \"reeve://nothing\"":      "names no secret",
		`colour = "red"`: "unknown key",
	} {
		r, err := room(t, "[telemetry]\n"+settings+"\n", &keep{}, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the fault repeats a value: %v", err)
		}
		if r != nil {
			t.Errorf("%s: a room", settings)
		}
	}
}

func TestWithoutSettingsNothingIsSentAndNothingServed(t *testing.T) {
	dir := t.TempDir()
	r, err := room(t, "", &keep{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	r.Start()
	r.Count(&reeve.Record{Phase: reeve.PhaseOutcome})
	if r.State() != "" || r.sender != nil || r.scraped != nil {
		t.Errorf("state %q", r.State())
	}
	r.Stop()
	var none *Room
	none.Count(&reeve.Record{})
	none.Stop()
	if none.State() != "" {
		t.Error("no room has a state")
	}
}

// TestHeadersComeFromTheVaultAtEachRequest: what is not there is a fault, what
// changed is the changed one, and every value is masked from then on.
func TestHeadersComeFromTheVaultAtEachRequest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	l, err := audit.Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var mu sync.Mutex
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err == nil {
			io.Copy(io.Discard, z)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Scope"))
	}))
	defer srv.Close()
	k := &keep{values: map[string]string{}}
	r, err := room(t, "[telemetry]\nendpoint = \""+srv.URL+"/otlp\"\nsignals = [\"traces\"]\nheaders.Authorization = \"Bearer ${reeve://otel/token}\"\nheaders.X-Scope = \"desk\"\n", k, dir)
	if err != nil {
		t.Fatal(err)
	}
	r.Start()
	defer r.Stop()
	write := func(n int) {
		t.Helper()
		if err := l.Append(context.Background(), reeve.Record{CallID: fmt.Sprint(n), Phase: reeve.PhaseOutcome, Status: reeve.StatusSuccess, Session: "s", Tool: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	until(t, "a token that is not there is a fault", func() bool {
		return strings.Contains(r.State(), "1 rows behind") && strings.Contains(r.State(), "otel/token is not in the vault")
	})
	set := func(v string) { k.mu.Lock(); k.values["otel/token"] = v; k.mu.Unlock() }
	set("one")
	until(t, "it is sent", func() bool { return r.State() == "up to date" })
	set("two")
	write(2)
	until(t, "the next is sent", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == 2 })
	if want := "[/otlp/v1/traces Bearer one desk /otlp/v1/traces Bearer two desk]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if fmt.Sprint(k.masked) != "[one two]" {
		t.Errorf("masked are %v", k.masked)
	}
}

func TestMetricsAreServedAndAnAddressThatIsTakenIsAFault(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken, err := room(t, fmt.Sprintf("[telemetry]\nmetrics = %q\n", l.Addr()), &keep{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	taken.Start()
	until(t, "the fault shows", func() bool { return strings.Contains(taken.State(), "metrics are not served") })
	taken.Stop() // at once, though it would try again later

	addr := l.Addr().String()
	l.Close()
	r, err := room(t, fmt.Sprintf("[telemetry]\nmetrics = %q\nendpoint = \"https://collector.example.com\"\n", addr), &keep{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.Count(&reeve.Record{Phase: reeve.PhaseOutcome, Tool: "bash", Tier: reeve.TierWrite, Decision: reeve.Allow, Status: reeve.StatusSuccess})
	r.Start()
	defer r.Stop()
	var page string
	until(t, "it is served", func() bool {
		resp, err := http.Get("http://" + addr + metrics.Path)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		page = string(b)
		return err == nil && resp.StatusCode == 200
	})
	for _, want := range []string{`reeve_calls_total{tool="bash",tier="write",decision="allow",status="success"} 1`, "reeve_sessions 2", "reeve_telemetry_behind_rows 0"} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("%s is missing:\n%s", want, page)
		}
	}
	if _, err := expand("reeve://a/b", func(ref.Name) (string, error) { return "", errors.New("locked") }); err == nil {
		t.Error("a value that cannot be had is none")
	}
}
