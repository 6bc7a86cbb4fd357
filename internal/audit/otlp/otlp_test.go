package otlp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

var start = time.Date(2026, 8, 5, 10, 0, 0, 123456000, time.UTC)

func row() chain.Row {
	return chain.Row{ID: 7, Hash: chain.Hash{1}, Prev: chain.Hash{2}, Record: reeve.Record{
		CallID: "01989c00-0000-7000-8aaa-00000000bbbb", Phase: reeve.PhaseOutcome, Time: start,
		Session: "01989c00-0000-7000-8000-00000000aaaa", Tool: "write_file", Source: "native", Tier: reeve.TierWrite,
		Args: `{"path":"planted-argument"}`, Channel: reeve.ChannelHook, Actor: "hook:claude",
		Origin: reeve.OriginAgent, Mode: reeve.ModeDefault, Decision: reeve.Allow, Step: reeve.StepPolicy,
		Rule: "write(src/**)", RuleAt: "policy.toml:3", Sandbox: reeve.SandboxReady, Contained: true, Parent: "01989c00-0000-7000-8aaa-00000000cccc",
		Status: reeve.StatusSuccess, Summary: "planted-summary", Duration: 3 * time.Millisecond,
	}}
}

var hexID = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([0-9a-f]*)"`)

// decode reads a request with the published messages of OTLP, and refuses what
// they do not name. Ids are hexadecimal in OTLP's JSON and base64 in that of
// Protocol Buffers, which is the one difference between the two that we meet.
func decode(t testing.TB, body []byte, into proto.Message) {
	t.Helper()
	body = hexID.ReplaceAllFunc(body, func(m []byte) []byte {
		part := hexID.FindSubmatch(m)
		id, err := hex.DecodeString(string(part[2]))
		if err != nil {
			t.Fatalf("%s: %v", m, err)
		}
		return fmt.Appendf(nil, `"%s":"%s"`, part[1], base64.StdEncoding.EncodeToString(id))
	})
	if err := protojson.Unmarshal(body, into); err != nil {
		t.Fatalf("the published messages do not take it: %v\n%s", err, body)
	}
}

func values(all []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range all {
		out[a.Key] = fmt.Sprint(a.Value.GetValue())
		switch v := a.Value.GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_BoolValue:
			out[a.Key] = fmt.Sprint(v.BoolValue)
		}
	}
	return out
}

func spans(t testing.TB, e Encoder, rows ...chain.Row) []*trace.Span {
	t.Helper()
	body, n := e.Traces(rows)
	if n == 0 {
		return nil
	}
	var data trace.TracesData
	decode(t, body, &data)
	got := data.ResourceSpans[0].ScopeSpans[0].Spans
	if len(got) != n {
		t.Errorf("%d spans, said to be %d", len(got), n)
	}
	return got
}

func records(t testing.TB, e Encoder, rows ...chain.Row) (*logs.ResourceLogs, []*logs.LogRecord) {
	t.Helper()
	body, n := e.Logs(rows)
	var data logs.LogsData
	decode(t, body, &data)
	got := data.ResourceLogs[0].ScopeLogs[0].LogRecords
	if len(got) != n {
		t.Errorf("%d log records, said to be %d", len(got), n)
	}
	return data.ResourceLogs[0], got
}

func TestACallIsASpanAsTheConventionsNameIt(t *testing.T) {
	got := spans(t, Encoder{}, row())[0]
	if got.Name != "execute_tool write_file" || got.Kind != trace.Span_SPAN_KIND_INTERNAL || got.Status.Code != trace.Status_STATUS_CODE_OK {
		t.Errorf("span %v", got)
	}
	for name, want := range map[string][2]string{
		"trace id":       {hex.EncodeToString(got.TraceId), "01989c0000007000800000000000aaaa"},
		"span id":        {hex.EncodeToString(got.SpanId), "8aaa00000000bbbb"},
		"parent span id": {hex.EncodeToString(got.ParentSpanId), "8aaa00000000cccc"},
		"start":          {fmt.Sprint(got.StartTimeUnixNano), fmt.Sprint(start.Add(-3 * time.Millisecond).UnixNano())},
		"end":            {fmt.Sprint(got.EndTimeUnixNano), fmt.Sprint(start.UnixNano())},
	} {
		if want[0] != want[1] {
			t.Errorf("%s is %s, want %s", name, want[0], want[1])
		}
	}
	a := values(got.Attributes)
	for key, want := range map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write_file", "gen_ai.tool.type": "function",
		"gen_ai.tool.call.id": row().CallID, "gen_ai.conversation.id": row().Session,
		"reeve.row": "7", "reeve.tier": "write", "reeve.decision": "allow", "reeve.rule": "write(src/**)", "reeve.contained": "true",
		"error.type": "",
	} {
		if a[key] != want {
			t.Errorf("%s is %q, want %q", key, a[key], want)
		}
	}
}

func TestHowACallEndedIsTheStatusOfItsSpan(t *testing.T) {
	for status, want := range map[reeve.Status]struct {
		code     trace.Status_StatusCode
		err      string
		severity logs.SeverityNumber
	}{
		reeve.StatusSuccess: {trace.Status_STATUS_CODE_OK, "", 9}, reeve.StatusUnknown: {trace.Status_STATUS_CODE_UNSET, "", 13},
		reeve.StatusDenied: {trace.Status_STATUS_CODE_ERROR, "denied", 13}, reeve.StatusTimeout: {trace.Status_STATUS_CODE_ERROR, "timeout", 13},
		reeve.StatusError: {trace.Status_STATUS_CODE_ERROR, "error", 17},
	} {
		r := row()
		r.Status, r.Source, r.Parent = status, "mcp:files", ""
		s := spans(t, Encoder{}, r)[0]
		a := values(s.Attributes)
		if s.Status.Code != want.code || a["error.type"] != want.err || a["gen_ai.tool.type"] != "extension" || s.ParentSpanId != nil {
			t.Errorf("%s: %v", status, s)
		}
		if _, l := records(t, Encoder{}, r); l[0].SeverityNumber != want.severity {
			t.Errorf("%s: severity %d, want %d", status, l[0].SeverityNumber, want.severity)
		}
	}
}

func TestEachRowIsALogRecordOfItsSpan(t *testing.T) {
	in := row()
	in.ID, in.Phase, in.Status, in.Summary, in.Duration = 6, reeve.PhaseIntent, "", "", 0
	res, got := records(t, Encoder{Build: "1.2.3", Host: "desk"}, in, row())
	if len(got) != 2 || got[0].EventName != "reeve.call.intent" || got[1].EventName != "reeve.call.outcome" {
		t.Fatalf("records %v", got)
	}
	span := spans(t, Encoder{}, in, row())
	if len(span) != 1 {
		t.Fatalf("%d spans of one call", len(span))
	}
	for _, l := range got {
		if string(l.TraceId) != string(span[0].TraceId) || string(l.SpanId) != string(span[0].SpanId) {
			t.Errorf("the record is of another span: %v", l)
		}
	}
	a := values(got[1].Attributes)
	if a["reeve.hash"] != row().Hash.String() || a["reeve.duration_ms"] != "3" || got[1].TimeUnixNano != uint64(start.UnixNano()) {
		t.Errorf("record %v", got[1])
	}
	if r := values(res.Resource.Attributes); r["service.name"] != "reeve" || r["service.version"] != "1.2.3" || r["host.name"] != "desk" {
		t.Errorf("resource %v", r)
	}
}

func TestArgumentsAndSummariesAreSentOnlyWhereAskedFor(t *testing.T) {
	for _, content := range []bool{false, true} {
		e := Encoder{Content: content}
		l, _ := e.Logs([]chain.Row{row()})
		s, _ := e.Traces([]chain.Row{row()})
		for _, body := range [][]byte{l, s} {
			for _, planted := range []string{"planted-argument", "planted-summary"} {
				if strings.Contains(string(body), planted) != content {
					t.Errorf("content %v: %s in %s", content, planted, body)
				}
			}
		}
	}
}

// FuzzWhateverARowHoldsTheMessagesTakeIt: hostile names, ids and times.
func FuzzWhateverARowHoldsTheMessagesTakeIt(f *testing.F) {
	f.Add("bash", "c", "s", "", "{}", "ok", int64(0), int64(1))
	f.Add("\xff\x00\"\u2028", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000", "p", "no json", "\x1b[31m", int64(-1<<62), int64(-5))
	f.Add(strings.Repeat("é", 900), strings.Repeat("0", 36), "01989c00-0000-7000-8000-00000000aaaa", "01989c00-0000-7000-8000-00000000aaaa", "", "", int64(1<<62), int64(1<<62))
	f.Fuzz(func(t *testing.T, tool, call, session, parent, args, summary string, when, took int64) {
		r := row()
		r.Tool, r.CallID, r.Session, r.Parent, r.Args, r.Summary = tool, call, session, parent, args, summary
		r.Time, r.Duration = time.Unix(when, 0), time.Duration(took)
		e := Encoder{Content: true}
		s := spans(t, e, r)[0]
		_, l := records(t, e, r)
		for name, id := range map[string][]byte{"trace": s.TraceId, "span": s.SpanId, "record": l[0].SpanId} {
			if len(id) != len(s.SpanId) && name != "trace" || strings.Trim(string(id), "\x00") == "" {
				t.Errorf("%s has the id %x", name, id)
			}
		}
		if len(s.TraceId) != 16 || len(s.SpanId) != 8 || (parent == "") != (s.ParentSpanId == nil) {
			t.Errorf("ids %x, %x, %x", s.TraceId, s.SpanId, s.ParentSpanId)
		}
		if len(s.Name) > maxName+len("…") || !utf8.ValidString(s.Name) {
			t.Errorf("name %q", s.Name)
		}
	})
}

func TestAnIdThatIsNoUUIDStandsForItsDigest(t *testing.T) {
	sum := sha256.Sum256([]byte("call-1"))
	if got := spanID("call-1"); got != hex.EncodeToString(sum[8:16]) {
		t.Errorf("span id %s", got)
	}
	if a, b := traceID("s1"), traceID("s2"); a == b {
		t.Error("two sessions have one trace")
	}
}
