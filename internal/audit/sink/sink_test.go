package sink

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/otlp"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// collector takes what is sent to it, as scripted.
type collector struct {
	*httptest.Server

	mu     sync.Mutex
	got    map[string][]int64 // rows by path, in the order in which they were taken
	heads  []http.Header
	bodies []string
	answer func(path string, rows []int64, w http.ResponseWriter) (taken bool) // nil = everything is taken
	posts  int
}

func newCollector(t *testing.T) *collector {
	c := &collector{got: map[string][]int64{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Errorf("what was sent is not packed: %v", err)
			return
		}
		body, err := io.ReadAll(z)
		if err != nil {
			t.Errorf("read: %v", err)
			return
		}
		rows := rowsOf(t, body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.posts++
		c.heads = append(c.heads, r.Header.Clone())
		c.bodies = append(c.bodies, string(body))
		if c.answer != nil && !c.answer(r.URL.Path, rows, w) {
			return
		}
		c.got[r.URL.Path] = append(c.got[r.URL.Path], rows...)
	}))
	t.Cleanup(c.Close)
	return c
}

// rowsOf are the numbers of the rows in a request of either kind.
func rowsOf(t *testing.T, body []byte) (rows []int64) {
	t.Helper()
	type part struct {
		Attributes []struct {
			Key   string
			Value struct{ IntValue json.Number }
		}
	}
	var req struct {
		ResourceLogs  []struct{ ScopeLogs []struct{ LogRecords []part } }
		ResourceSpans []struct{ ScopeSpans []struct{ Spans []part } }
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Errorf("%v: %s", err, body)
	}
	var parts []part
	for _, r := range req.ResourceLogs {
		for _, s := range r.ScopeLogs {
			parts = append(parts, s.LogRecords...)
		}
	}
	for _, r := range req.ResourceSpans {
		for _, s := range r.ScopeSpans {
			parts = append(parts, s.Spans...)
		}
	}
	for _, p := range parts {
		for _, a := range p.Attributes {
			if a.Key == "reeve.row" {
				n, _ := a.Value.IntValue.Int64()
				rows = append(rows, n)
			}
		}
	}
	return rows
}

func (c *collector) taken(path string) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got[path])
}

func (c *collector) set(answer func(path string, rows []int64, w http.ResponseWriter) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
}

// state is a directory with a record and a sender's position.
type state struct {
	t   *testing.T
	dir string
	n   int
}

// write writes n calls, two rows each.
func (s *state) write(n int) {
	s.t.Helper()
	l, err := audit.Open(s.dir, time.Now)
	if err != nil {
		s.t.Fatal(err)
	}
	for range n {
		s.n++
		r := reeve.Record{CallID: fmt.Sprintf("01989c00-0000-7000-8000-%012d", s.n), Phase: reeve.PhaseIntent, Session: "s", Tool: "bash",
			Decision: reeve.Allow, Args: `{"command":"planted-argument"}`}
		out := r
		out.Phase, out.Status, out.Summary = reeve.PhaseOutcome, reeve.StatusSuccess, "planted-summary"
		if err := errors.Join(l.Append(context.Background(), r), l.Append(context.Background(), out)); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *state) options(c *collector) Options {
	u, err := Address(c.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return Options{Dir: s.dir, Position: filepath.Join(s.dir, "telemetry.json"), Endpoint: u, Guard: &netguard.Guard{},
		Look: time.Millisecond, Pause: time.Millisecond}
}

// run runs a sender until the test says stop.
func run(t *testing.T, o Options) (s *Sender, stop func()) {
	t.Helper()
	s = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return s, stop
}

// until polls, for as long as a slow machine may need.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func begun(t *testing.T, s *Sender, o Options) {
	t.Helper()
	until(t, "the position is written", func() bool { _, err := os.Stat(o.Position); return err == nil })
}

func upTo(n int64) (all, even []int64) {
	for i := int64(1); i <= n; i++ {
		if all = append(all, i); i%2 == 0 {
			even = append(even, i)
		}
	}
	return all, even
}

const (
	logs   = "/v1/logs"
	traces = "/v1/traces"
)

// fromTheStart is a position before the first row.
func fromTheStart(t *testing.T, o Options) {
	t.Helper()
	if err := os.WriteFile(o.Position, []byte(`{"row":0,"hash":""}`), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEveryRowArrivesOnceAndInOrder(t *testing.T) {
	s := &state{t: t, dir: t.TempDir()}
	s.write(3)
	c := newCollector(t)
	o := s.options(c)
	o.Headers = func() (map[string]string, error) { return map[string]string{"Authorization": "Bearer planted"}, nil }
	o.Encoder = otlp.Encoder{Build: "1.2.3"}
	snd, stop := run(t, o)
	begun(t, snd, o)
	if got := c.taken(logs); got != nil {
		t.Fatalf("what was recorded before it began was sent: %v", got)
	}
	s.write(2)
	until(t, "the new rows arrive", func() bool { return len(c.taken(traces)) == 2 })
	s.write(700) // more than a batch
	until(t, "many rows arrive", func() bool { return len(c.taken(traces)) == 702 })
	until(t, "it knows", func() bool { return snd.State().Behind == 0 && snd.State().Sent == 1410 })
	stop()
	all, even := upTo(1410)
	if got := c.taken(logs); !slices.Equal(got, all[6:]) {
		t.Errorf("logs of rows %v", got)
	}
	if got := c.taken(traces); !slices.Equal(got, even[3:]) {
		t.Errorf("spans of rows %v", got)
	}
	if h := c.heads[0]; h.Get("Content-Type") != "application/json" || h.Get("Authorization") != "Bearer planted" || h.Get("User-Agent") != "reeve/1.2.3" {
		t.Errorf("headers %v", h)
	}
	if all := strings.Join(c.bodies, ""); strings.Contains(all, "planted-") {
		t.Error("arguments or summaries were sent without being asked for")
	}
	if st := snd.State(); st.Fault != "" || st.String() != "up to date" {
		t.Errorf("state %+v", st)
	}
}

func TestARestartGoesOnWhereItWas(t *testing.T) {
	s := &state{t: t, dir: t.TempDir()}
	s.write(1)
	c := newCollector(t)
	o := s.options(c)
	fromTheStart(t, o)
	for n := range 5 {
		s.write(2) // while nothing sends
		_, stop := run(t, o)
		until(t, "its rows arrive", func() bool { return len(c.taken(traces)) == 1+2*(n+1) })
		until(t, "they are noted", func() bool {
			p, _, err := readPosition(o.Position)
			return err == nil && p.Row == int64(2*(1+2*(n+1)))
		})
		stop()
	}
	all, even := upTo(22)
	if !slices.Equal(c.taken(logs), all) || !slices.Equal(c.taken(traces), even) {
		t.Errorf("logs %v, spans %v", c.taken(logs), c.taken(traces))
	}
}

// TestAnOutageLosesNothing: a collector that is busy, asks for time, hangs up, is
// behind a broken proxy or wants another token is tried again until it takes what
// stands in the record.
func TestAnOutageLosesNothing(t *testing.T) {
	for name, fail := range map[string]func(w http.ResponseWriter){
		"busy":       func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"retry":      func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); w.WriteHeader(429) },
		"gateway":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"token":      func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) },
		"not found":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"elsewhere":  func(w http.ResponseWriter) { w.Header().Set("Location", "http://127.0.0.1:1/"); w.WriteHeader(307) },
		"hangs up":   func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"talks long": func(w http.ResponseWriter) { w.WriteHeader(503); io.WriteString(w, strings.Repeat("x", 1<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &state{t: t, dir: t.TempDir()}
			s.write(5)
			c := newCollector(t)
			failures := 0
			c.set(func(path string, _ []int64, w http.ResponseWriter) bool {
				if path == traces && failures < 4 { // the logs are taken, the spans are not
					failures++
					fail(w)
					return false
				}
				return true
			})
			o := s.options(c)
			fromTheStart(t, o)
			snd, _ := run(t, o)
			until(t, "the fault shows", func() bool { st := snd.State(); return st.Fault != "" && st.Behind == 10 || len(c.taken(traces)) == 5 })
			until(t, "everything arrives", func() bool { return len(c.taken(traces)) == 5 && snd.State().Fault == "" })
			all, even := upTo(10)
			if !slices.Equal(c.taken(logs), all) || !slices.Equal(c.taken(traces), even) {
				t.Errorf("logs %v, spans %v", c.taken(logs), c.taken(traces))
			}
			if failures != 4 || snd.State().Refused != 0 {
				t.Errorf("%d failures, %d refused", failures, snd.State().Refused)
			}
		})
	}
}

// TestNewRowsJoinABatchThatFailed: rows written while the spans of a batch are
// held are sent as logs too.
func TestNewRowsJoinABatchThatFailed(t *testing.T) {
	s := &state{t: t, dir: t.TempDir()}
	s.write(2)
	c := newCollector(t)
	hold := true
	c.set(func(path string, _ []int64, w http.ResponseWriter) bool {
		if path == traces && hold {
			w.WriteHeader(503)
			return false
		}
		return true
	})
	o := s.options(c)
	fromTheStart(t, o)
	run(t, o)
	until(t, "the logs are taken", func() bool { return len(c.taken(logs)) == 4 })
	s.write(3)
	until(t, "the new logs too", func() bool { return len(c.taken(logs)) == 10 })
	c.mu.Lock()
	hold = false
	c.mu.Unlock()
	until(t, "the spans", func() bool { return len(c.taken(traces)) == 5 })
	all, even := upTo(10)
	if !slices.Equal(c.taken(logs), all) || !slices.Equal(c.taken(traces), even) {
		t.Errorf("logs %v, spans %v", c.taken(logs), c.taken(traces))
	}
}

// TestARowThatIsNeverTakenStopsNoOther: it is found by halves, passed over and
// counted.
func TestARowThatIsNeverTakenStopsNoOther(t *testing.T) {
	for _, code := range []int{400, 413, 422} {
		s := &state{t: t, dir: t.TempDir()}
		s.write(20)
		c := newCollector(t)
		c.set(func(_ string, rows []int64, w http.ResponseWriter) bool {
			if slices.Contains(rows, 14) {
				w.WriteHeader(code)
				return false
			}
			return true
		})
		o := s.options(c)
		fromTheStart(t, o)
		snd, stop := run(t, o)
		until(t, "the rest arrives", func() bool { return len(c.taken(traces)) == 19 })
		until(t, "it knows", func() bool { return snd.State().Behind == 0 })
		stop()
		all, even := upTo(40)
		all, even = slices.Delete(all, 13, 14), slices.Delete(even, 6, 7)
		if !slices.Equal(c.taken(logs), all) || !slices.Equal(c.taken(traces), even) || snd.State().Refused != 2 {
			t.Errorf("%d: logs %v, spans %v, %d refused", code, c.taken(logs), c.taken(traces), snd.State().Refused)
		}
		if !strings.Contains(snd.State().String(), "2 refused") {
			t.Errorf("%d: it says %q", code, snd.State())
		}
	}
}

func TestWhatACollectorRefusesInPartIsCounted(t *testing.T) {
	s := &state{t: t, dir: t.TempDir()}
	s.write(3)
	c := newCollector(t)
	c.set(func(path string, _ []int64, w http.ResponseWriter) bool {
		body := `{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"no"}}`
		if path == traces {
			body = `{"partialSuccess":{"rejectedSpans":1}}`
		}
		io.WriteString(w, body)
		return true
	})
	o := s.options(c)
	fromTheStart(t, o)
	snd, _ := run(t, o)
	until(t, "both are counted", func() bool { return snd.State().Refused == 3 && snd.State().Behind == 0 })
}

func TestANewRecordIsSentFromItsFirstRow(t *testing.T) {
	s := &state{t: t, dir: t.TempDir()}
	s.write(4)
	c := newCollector(t)
	o := s.options(c)
	fromTheStart(t, o)
	snd, stop := run(t, o)
	until(t, "the first record", func() bool { return len(c.taken(traces)) == 4 && snd.State().Behind == 0 })
	stop()
	for _, name := range []string{"audit.db", "audit.head"} {
		if err := os.Rename(filepath.Join(s.dir, name), filepath.Join(s.dir, name+".broken")); err != nil {
			t.Fatal(err)
		}
	}
	s.n = 100
	s.write(6)
	run(t, o)
	until(t, "the second record", func() bool { return len(c.taken(traces)) == 10 })
	_, even := upTo(12)
	if got := c.taken(traces)[4:]; !slices.Equal(got, even) {
		t.Errorf("spans of rows %v", got)
	}
}

func TestWhereNothingCanBeSentItSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"locked vault": {func(o *Options) {
			o.Headers = func() (map[string]string, error) { return nil, errors.New("the vault is locked") }
		}, "the vault is locked"},
		"private address": {func(o *Options) { o.Endpoint = &url.URL{Scheme: "https", Host: "metadata.localhost"} }, "not dialled"},
		"never":           {func(o *Options) { o.Endpoint = &url.URL{Scheme: "https", Host: "169.254.169.254"} }, "169.254.169.254 is not dialled"},
		"nobody listens":  {func(o *Options) { o.Endpoint = &url.URL{Scheme: "http", Host: "127.0.0.1:1"} }, "refused"},
		"bad header": {func(o *Options) {
			o.Headers = func() (map[string]string, error) { return map[string]string{"X": "a\r\nB: c"}, nil }
		}, "invalid header"},
		"position": {func(o *Options) { os.WriteFile(o.Position, []byte(`{"row":5}`), 0o600) }, "remove the file"},
		"no json":  {func(o *Options) { os.WriteFile(o.Position, []byte("\x00\x00"), 0o600) }, "remove the file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &state{t: t, dir: t.TempDir()}
			s.write(2)
			col := newCollector(t)
			o := s.options(col)
			fromTheStart(t, o)
			c.change(&o)
			var said []string
			var mu sync.Mutex
			o.Log = func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				said = append(said, fmt.Sprintf(format, args...))
			}
			snd, stop := run(t, o)
			until(t, "the fault shows", func() bool { return strings.Contains(snd.State().Fault, c.want) })
			stop()
			if len(said) != 1 || !strings.Contains(said[0], c.want) {
				t.Errorf("the log has %q", said)
			}
			if col.taken(logs) != nil {
				t.Error("something was sent")
			}
		})
	}
}

// TestWhatIsWrittenAfterItBeganIsSent, however late it comes to run.
func TestWhatIsWrittenAfterItBeganIsSent(t *testing.T) {
	s := &state{t: t, dir: t.TempDir()}
	s.write(2)
	c := newCollector(t)
	snd := New(s.options(c))
	snd.Begin(context.Background())
	s.write(1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { snd.Run(ctx); close(done) }()
	until(t, "it is sent", func() bool { return len(c.taken(traces)) == 1 })
	cancel()
	<-done
	if got := c.taken(logs); !slices.Equal(got, []int64{5, 6}) {
		t.Errorf("logs of rows %v", got)
	}
}

// TestNothingRecordedYetIsNoFault, and what comes then is sent.
func TestNothingRecordedYetIsNoFault(t *testing.T) {
	s := &state{t: t, dir: t.TempDir()}
	c := newCollector(t)
	o := s.options(c)
	if err := os.WriteFile(o.Position, []byte(`{"row":0,"hash":""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	snd, _ := run(t, o)
	s.write(1)
	until(t, "it is sent", func() bool { return len(c.taken(traces)) == 1 && snd.State().Fault == "" })
}

// TestAskingForTimeIsHeard: nothing is sent before a collector's Retry-After.
func TestAskingForTimeIsHeard(t *testing.T) {
	now := time.Date(2026, 8, 5, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"120": 2 * time.Minute, " 7 ": 7 * time.Second, "0": 0, "": 0, "-5": 0, "soon": 0, "99999999999999": 0,
		"Wed, 05 Aug 2026 10:01:00 GMT": time.Minute, "Wed, 05 Aug 2026 09:00:00 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	s := &state{t: t, dir: t.TempDir()}
	s.write(1)
	c := newCollector(t)
	c.set(func(_ string, _ []int64, w http.ResponseWriter) bool {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(429)
		return false
	})
	o := s.options(c)
	fromTheStart(t, o)
	snd, stop := run(t, o)
	until(t, "it is held", func() bool { return snd.State().Fault != "" })
	until(t, "some of its own pauses went by", func() bool { return len(c.taken(logs)) == 0 && snd.State().Behind == 2 })
	stop() // at once, though it waits
	if c.posts != 1 {
		t.Errorf("%d attempts within the hour that was asked for", c.posts)
	}
}

func TestAddressesOfCollectors(t *testing.T) {
	for text, want := range map[string]string{
		"https://collector.example.com:4318": "", "https://collector.example.com/otlp/": "", "http://127.0.0.1:4318": "", "http://localhost:4318": "", "http://[::1]:4318": "",
		"http://collector.example.com:4318": "this machine alone", "http://10.0.0.7:4318": "this machine alone", "ftp://x": "neither", "collector:4318": "no address",
		"https://user:secret@x.example.com": "no password", "https://x.example.com?token=1": "more than a path", "https://x.example.com:0": "usable host and port",
		"https://": "no address", "https://x\\y": "", "": "no address",
	} {
		u, err := Address(text)
		switch {
		case want == "" && strings.Contains(text, "\\"):
			if err == nil {
				t.Errorf("%q is %v", text, u)
			}
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%q: the fault repeats the password: %v", text, err)
		}
	}
}

// FuzzAnswersOfCollectors: whatever is answered, what was refused is a number of
// parts of one request.
func FuzzAnswersOfCollectors(f *testing.F) {
	for _, s := range []string{`{}`, `{"partialSuccess":{"rejectedSpans":"3"}}`, `{"partialSuccess":{"rejectedSpans":-1,"rejectedLogRecords":99999999999999999999}}`, "\x0a\x02", `[`, `{"partialSuccess":null}`} {
		f.Add([]byte(s), "1")
	}
	f.Fuzz(func(t *testing.T, answer []byte, after string) {
		if n := partly(answer); n < 0 || n > 2*maxRows {
			t.Errorf("%q: %d were refused", answer, n)
		}
		if d := retryAfter(after, time.Unix(0, 0)); d < 0 {
			t.Errorf("%q asks for %s", after, d)
		}
	})
}
