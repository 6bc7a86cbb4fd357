// Package collector sends a record to the receiver of the OpenTelemetry
// Collector itself, with Reeve's sender. It is a module of its own, so that
// nothing of it is a dependency of Reeve.
package collector

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/otlp"
	"github.com/reeve-gate/reeve/internal/audit/sink"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// receiver is the collector's own, for both kinds, on an address of this machine.
func receiver(t *testing.T) (addr string, logs *consumertest.LogsSink, traces *consumertest.TracesSink) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	l.Close()
	f := otlpreceiver.NewFactory()
	conf := f.CreateDefaultConfig().(*otlpreceiver.Config)
	conf.Protocols.GRPC = configoptional.None[configgrpc.ServerConfig]()
	conf.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = addr
	logs, traces = new(consumertest.LogsSink), new(consumertest.TracesSink)
	set := receivertest.NewNopSettings(f.Type())
	a, err := f.CreateLogs(context.Background(), set, conf, logs)
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.CreateTraces(context.Background(), set, conf, traces)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []interface {
		Start(context.Context, component.Host) error
		Shutdown(context.Context) error
	}{a, b} {
		if err := c.Start(context.Background(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Shutdown(context.Background()) })
	}
	return addr, logs, traces
}

func TestTheCollectorTakesTheRecord(t *testing.T) {
	const calls = 1000
	dir := filepath.Join(t.TempDir(), "state")
	addr, logs, traces := receiver(t)
	to, err := sink.Address("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	l, err := audit.Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := sink.New(sink.Options{Dir: dir, Position: filepath.Join(dir, "telemetry.json"), Endpoint: to, Guard: &netguard.Guard{},
		Encoder: otlp.Encoder{Build: "1.2.3", Host: "desk", Content: true}, Look: time.Millisecond, Log: t.Logf})
	s.Begin(t.Context())
	go s.Run(t.Context())
	for n := range calls {
		r := reeve.Record{CallID: fmt.Sprintf("01989c00-0000-7000-8000-%012x", n+1), Phase: reeve.PhaseIntent, Session: "01989c00-0000-7000-8000-00000000aaaa",
			Tool: "bash\u2028\x1b[31m", Decision: reeve.Allow, Args: `{"command":"true"}`}
		out := r
		out.Phase, out.Status, out.Duration = reeve.PhaseOutcome, reeve.StatusSuccess, time.Millisecond
		for _, one := range []reeve.Record{r, out} {
			if err := l.Append(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
	}
	for limit := time.Now().Add(time.Minute); logs.LogRecordCount() < 2*calls || traces.SpanCount() < calls; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d log records and %d spans arrived; %v", logs.LogRecordCount(), traces.SpanCount(), s.State())
		}
	}
	if logs.LogRecordCount() != 2*calls || traces.SpanCount() != calls {
		t.Errorf("%d log records and %d spans of %d calls", logs.LogRecordCount(), traces.SpanCount(), calls)
	}
	span := traces.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	trace, id := span.TraceID(), span.SpanID()
	if span.Name() != "execute_tool bash\u2028\x1b[31m" || hex.EncodeToString(trace[:]) != "01989c0000007000800000000000aaaa" || hex.EncodeToString(id[:]) != "8000000000000001" {
		t.Errorf("the first span is %q, %x, %x", span.Name(), trace, id)
	}
	if v, ok := span.Attributes().Get("gen_ai.tool.call.arguments"); !ok || v.Str() != `{"command":"true"}` {
		t.Errorf("its arguments are %v", v)
	}
}
