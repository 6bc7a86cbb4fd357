// Package telemetry is what a daemon tells of itself to the systems that watch
// machines: it sends the record to an OpenTelemetry collector (package
// audit/sink) and counts calls for Prometheus (package audit/metrics), each only
// where the settings name an address.
//
// [Open] reads the settings, [Room.Start] begins, [Room.Count] is given every
// record that is written, [Room.State] is a line of reeve status. Nothing here
// is waited for by a call, and no fault of it changes a decision.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/metrics"
	"github.com/reeve-gate/reeve/internal/audit/otlp"
	"github.com/reeve-gate/reeve/internal/audit/sink"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/personal"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// PositionFile says in the state directory how far the record was sent.
const PositionFile = "telemetry.json"

// Options are what a room is made of. Config, State, Vault and Mask are
// required.
type Options struct {
	Config *config.Config
	State  string // directory of the record
	Build  string
	Vault  ref.Resolver
	Mask   func(values ...string) int    // masks values from now on
	Gauges func() []metrics.Gauge        // what a page tells beside the counters; nil = nothing
	Log    func(format string, a ...any) // nil = nowhere
	Look   time.Duration                 // for tests; 0 = the sender's own
}

// Room is one daemon's telemetry. Its methods may be called by any number of
// goroutines; the zero Room, and nil, tell nothing to nobody.
type Room struct {
	opt     Options
	sender  *sink.Sender // nil = nothing is sent
	scraped *netip.AddrPort
	token   *ref.Name // nil = none is needed
	counter metrics.Counter

	cancel context.CancelFunc
	work   sync.WaitGroup

	mu    sync.Mutex // guards fault
	fault string     // why the metrics are not served
}

// Open reads the settings. Nothing is sent or served before Start.
func Open(o Options) (*Room, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	r := &Room{opt: o}
	set := o.Config.Telemetry
	if set.Endpoint != "" {
		s, err := r.newSender()
		if err != nil {
			return nil, err
		}
		r.sender = s
	}
	if set.Metrics == "" {
		if set.MetricsToken != "" {
			return nil, errors.New("telemetry.metrics_token: telemetry.metrics names no address that would ask for it")
		}
		return r, nil
	}
	at, err := metrics.Address(set.Metrics)
	if err != nil {
		return nil, fmt.Errorf("telemetry.metrics: %w", err)
	}
	r.scraped = &at
	if set.MetricsToken != "" {
		n, ok, err := ref.Parse(set.MetricsToken)
		if err == nil && !ok {
			err = errors.New("it is a reference to the vault, such as reeve://prometheus/token; put the token there with reeve vault set")
		}
		if err != nil {
			return nil, fmt.Errorf("telemetry.metrics_token: %w", err)
		}
		r.token = &n
	}
	return r, nil
}

// newSender is the sender that the settings describe.
func (r *Room) newSender() (*sink.Sender, error) {
	set := r.opt.Config.Telemetry
	to, err := sink.Address(set.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("telemetry.endpoint: %w", err)
	}
	pins, err := r.opt.Config.Pins()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(set.Headers)) {
		if !token(name) {
			return nil, fmt.Errorf("telemetry.headers: %q is no name of a header", name)
		}
		if _, err := expand(set.Headers[name], func(ref.Name) (string, error) { return "", nil }); err != nil {
			return nil, fmt.Errorf("telemetry.headers.%s: %w", name, err)
		}
	}
	o := sink.Options{Dir: r.opt.State, Position: filepath.Join(r.opt.State, PositionFile), Endpoint: to,
		Guard: &netguard.Guard{Pins: pins}, Headers: r.headers, Log: r.opt.Log, Look: r.opt.Look,
		Encoder: otlp.Encoder{Build: r.opt.Build, Content: set.Content}}
	o.Encoder.Host, _ = os.Hostname() // what is sent without it is still of use
	if r.opt.Config.Outward("export") {
		o.Clean = personal.Text
	}
	if len(set.Signals) > 0 {
		o.NoLogs, o.NoTraces = !slices.Contains(set.Signals, "logs"), !slices.Contains(set.Signals, "traces")
	}
	return sink.New(o), nil
}

// headers are those of one request, with what the vault holds now.
func (r *Room) headers() (map[string]string, error) {
	out := map[string]string{}
	for name, text := range r.opt.Config.Telemetry.Headers {
		value, err := expand(text, r.secret)
		if err != nil {
			return nil, fmt.Errorf("telemetry.headers.%s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

// secret is a value of the vault, masked wherever it appears from now on.
func (r *Room) secret(n ref.Name) (string, error) {
	b, err := r.opt.Vault.Resolve(n)
	if err != nil {
		return "", err
	}
	defer ref.Wipe(b)
	value := string(b)
	r.opt.Mask(value)
	return value, nil
}

// expand replaces references to the vault: one that is the whole text, and any
// that stands in ${ }.
func expand(text string, value func(ref.Name) (string, error)) (string, error) {
	if n, ok, err := ref.Parse(text); ok {
		if err != nil {
			return "", err
		}
		return value(n)
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${"+ref.Scheme)
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("a reference to the vault has no }")
		}
		n, err := ref.ParseName(name)
		if err != nil {
			return "", err
		}
		v, err := value(n)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		text = after
	}
}

// token reports whether s may name a header (RFC 9110, 5.6.2). What frames a
// request is not a person's to name.
func token(s string) bool {
	switch strings.ToLower(s) {
	case "", "host", "content-type", "content-length", "content-encoding", "transfer-encoding", "connection":
		return false
	}
	return strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Start begins to send and to serve, until Stop.
func (r *Room) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	if r.sender != nil {
		r.sender.Begin(ctx)
		r.work.Go(func() { r.sender.Run(ctx) })
	}
	if r.scraped != nil {
		r.work.Go(func() { r.serve(ctx) })
	}
}

// Stop ends what Start began, at once: what was not sent stands in the record.
func (r *Room) Stop() {
	if r != nil && r.cancel != nil {
		r.cancel()
		r.work.Wait()
	}
}

// listenAgain is the time after which an address that is taken is tried anew.
const listenAgain = 5 * time.Second

// serve serves the page of metrics; an address that is taken, by a daemon that is
// just ending for one, is tried again.
func (r *Room) serve(ctx context.Context) {
	srv := &metrics.Server{Write: r.write}
	if r.token != nil {
		srv.Token = func() (string, error) { return r.secret(*r.token) }
	}
	for ctx.Err() == nil {
		l, err := net.Listen("tcp", r.scraped.String())
		if err == nil {
			r.tell("")
			err = srv.Serve(ctx, l)
		}
		if err != nil {
			r.tell("metrics are not served: " + err.Error())
		}
		timer := time.NewTimer(listenAgain)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (r *Room) tell(fault string) {
	r.mu.Lock()
	changed := r.fault != fault
	r.fault = fault
	r.mu.Unlock()
	if changed && fault != "" {
		r.opt.Log("telemetry: %s", fault)
	}
}

// write writes the page.
func (r *Room) write(w io.Writer) error {
	var gauges []metrics.Gauge
	if r.opt.Gauges != nil {
		gauges = r.opt.Gauges()
	}
	if r.sender != nil {
		s := r.sender.State()
		gauges = append(gauges,
			metrics.Gauge{Name: "reeve_telemetry_behind_rows", Help: "Rows of the record that the collector has not taken yet.", Value: float64(s.Behind)},
			metrics.Gauge{Name: "reeve_telemetry_refused", Help: "Rows and spans that the collector refused since the start.", Value: float64(s.Refused)},
			metrics.Gauge{Name: "reeve_telemetry_faulty", Help: "1 while nothing can be sent to the collector.", Value: one(s.Fault != "")})
	}
	return r.counter.Write(w, gauges...)
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Count takes a record that was written into the counters. It waits for nothing.
func (r *Room) Count(rec *reeve.Record) {
	if r != nil && r.scraped != nil {
		r.counter.Add(rec)
	}
}

// State says in one line how it is; empty where the settings ask for nothing.
func (r *Room) State() string {
	if r == nil {
		return ""
	}
	var parts []string
	if r.sender != nil {
		parts = append(parts, r.sender.State().String())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scraped != nil {
		parts = append(parts, cmp.Or(r.fault, fmt.Sprintf("metrics at http://%s%s", r.scraped, metrics.Path)))
	}
	return strings.Join(parts, "; ")
}
