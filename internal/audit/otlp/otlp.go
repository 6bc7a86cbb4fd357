// Package otlp writes rows of the record as OpenTelemetry has them: requests of
// OTLP in its JSON encoding (opentelemetry.io/docs/specs/otlp), which is the body
// of a POST to a collector's /v1/logs or /v1/traces and one line of a file that
// a collector reads.
//
// [Encoder.Logs] gives one log record for each row, an intent as well as an
// outcome. [Encoder.Traces] gives one span for each outcome, named and described
// as the conventions for generative AI have a tool that is executed
// (execute_tool, status: development). Both kinds name each other:
//
//	trace id        the 16 bytes of the session's UUID
//	span id         the last 8 bytes of the call's UUID
//	parent span id  that of the calling call; none for a call that no other made
//
// so that a session is a trace, and a row that is sent twice has the same ids.
// An id that is no UUID stands for the first bytes of its SHA-256.
//
// Arguments and summaries are left out unless [Encoder.Content] asks for them,
// as the conventions have it for what may hold a person's data. Everything else
// of the row is in the attributes that begin with reeve.
package otlp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// Encoder writes requests. The zero Encoder leaves out what it does not know.
type Encoder struct {
	Build   string // of the program
	Host    string // name of this machine
	Content bool   // arguments and summaries are sent along
}

// scope names what the data is of.
const scope = "github.com/reeve-gate/reeve"

// Numbers of OTLP's enums (opentelemetry-proto, trace.proto and logs.proto).
const (
	kindInternal  = 1
	statusOK      = 1
	statusError   = 2
	severityInfo  = 9
	severityWarn  = 13
	severityError = 17
)

type value struct {
	String *string `json:"stringValue,omitempty"`
	Bool   *bool   `json:"boolValue,omitempty"`
	Int    *string `json:"intValue,omitempty"` // 64 bits are a string in JSON
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// attributes collects what is not empty.
type attributes []attribute

func (a *attributes) text(key, s string) {
	if s != "" {
		*a = append(*a, attribute{key, value{String: &s}})
	}
}

func (a *attributes) flag(key string, b bool) { *a = append(*a, attribute{key, value{Bool: &b}}) }

func (a *attributes) number(key string, n int64) {
	s := strconv.FormatInt(n, 10)
	*a = append(*a, attribute{key, value{Int: &s}})
}

type resource struct {
	Attributes attributes `json:"attributes"`
}

type instrumentation struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type logRecord struct {
	Time       string     `json:"timeUnixNano"`
	Observed   string     `json:"observedTimeUnixNano"`
	Severity   int        `json:"severityNumber"`
	Level      string     `json:"severityText"`
	Event      string     `json:"eventName"`
	Body       value      `json:"body"`
	Attributes attributes `json:"attributes"`
	Trace      string     `json:"traceId"`
	Span       string     `json:"spanId"`
}

type status struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type span struct {
	Trace      string     `json:"traceId"`
	Span       string     `json:"spanId"`
	Parent     string     `json:"parentSpanId,omitempty"`
	Name       string     `json:"name"`
	Kind       int        `json:"kind"`
	Start      string     `json:"startTimeUnixNano"`
	End        string     `json:"endTimeUnixNano"`
	Attributes attributes `json:"attributes"`
	Status     status     `json:"status"`
}

// Logs is the request with one log record for each row, and how many there are;
// nil where there is none.
func (e Encoder) Logs(rows []chain.Row) (body []byte, n int) {
	records := make([]logRecord, 0, len(rows))
	for _, row := range rows {
		records = append(records, e.record(row))
	}
	type scoped struct {
		Scope   instrumentation `json:"scope"`
		Records []logRecord     `json:"logRecords"`
	}
	type resourced struct {
		Resource resource `json:"resource"`
		Scopes   []scoped `json:"scopeLogs"`
	}
	if len(records) == 0 {
		return nil, 0
	}
	return encode(struct {
		Resources []resourced `json:"resourceLogs"`
	}{[]resourced{{e.resource(), []scoped{{e.scope(), records}}}}}), len(records)
}

// Traces is the request with one span for each row that ends a call, and how
// many there are; nil where there is none.
func (e Encoder) Traces(rows []chain.Row) (body []byte, n int) {
	var spans []span
	for _, row := range rows {
		if row.Phase == reeve.PhaseOutcome {
			spans = append(spans, e.span(row))
		}
	}
	type scoped struct {
		Scope instrumentation `json:"scope"`
		Spans []span          `json:"spans"`
	}
	type resourced struct {
		Resource resource `json:"resource"`
		Scopes   []scoped `json:"scopeSpans"`
	}
	if len(spans) == 0 {
		return nil, 0
	}
	return encode(struct {
		Resources []resourced `json:"resourceSpans"`
	}{[]resourced{{e.resource(), []scoped{{e.scope(), spans}}}}}), len(spans)
}

func (e Encoder) resource() resource {
	var a attributes
	a.text("service.name", "reeve")
	a.text("service.version", e.Build)
	a.text("host.name", e.Host)
	return resource{a}
}

func (e Encoder) scope() instrumentation { return instrumentation{scope, e.Build} }

func (e Encoder) record(row chain.Row) logRecord {
	level, number := "INFO", severityInfo
	switch row.Status {
	case reeve.StatusDenied, reeve.StatusTimeout, reeve.StatusUnknown:
		level, number = "WARN", severityWarn
	case reeve.StatusError:
		level, number = "ERROR", severityError
	}
	what := row.Tool + " " + string(row.Phase) + " " + row.Decision.String()
	if row.Status != "" {
		what += " " + string(row.Status)
	}
	what = clip(what)
	a := e.attributes(row)
	a.text("reeve.hash", row.Hash.String())
	a.text("reeve.prev_hash", row.Prev.String())
	if row.Phase == reeve.PhaseOutcome {
		a.number("reeve.duration_ms", row.Duration.Milliseconds())
	}
	when := nano(row.Time)
	return logRecord{
		Time: when, Observed: when, Severity: number, Level: level, Event: "reeve.call." + string(row.Phase),
		Body: value{String: &what}, Attributes: a, Trace: traceID(row.Session), Span: spanID(row.CallID),
	}
}

func (e Encoder) span(row chain.Row) span {
	s := span{
		Trace: traceID(row.Session), Span: spanID(row.CallID), Name: clip("execute_tool " + row.Tool), Kind: kindInternal,
		Start: nano(row.Time.Add(-row.Duration)), End: nano(row.Time), Attributes: e.attributes(row),
	}
	if row.Parent != "" {
		s.Parent = spanID(row.Parent)
	}
	switch row.Status {
	case reeve.StatusSuccess:
		s.Status.Code = statusOK
	case reeve.StatusDenied, reeve.StatusError, reeve.StatusTimeout:
		s.Status = status{statusError, string(row.Status)}
		s.Attributes.text("error.type", string(row.Status))
	}
	return s
}

// attributes are the columns of a row, under the names of the conventions where
// they have one.
func (e Encoder) attributes(row chain.Row) attributes {
	a := make(attributes, 0, 28)
	kind := "function"
	if strings.HasPrefix(row.Source, "mcp:") {
		kind = "extension"
	}
	a.text("gen_ai.operation.name", "execute_tool")
	a.text("gen_ai.tool.name", row.Tool)
	a.text("gen_ai.tool.type", kind)
	a.text("gen_ai.tool.call.id", row.CallID)
	a.text("gen_ai.conversation.id", row.Session)
	a.number("reeve.row", row.ID)
	a.text("reeve.phase", string(row.Phase))
	a.text("reeve.tool.source", row.Source)
	a.text("reeve.tier", row.Tier.String())
	a.text("reeve.status", string(row.Status))
	a.text("reeve.actor", string(row.Actor))
	a.text("reeve.channel", string(row.Channel))
	a.text("reeve.origin", row.Origin.String())
	a.text("reeve.mode", row.Mode.String())
	a.text("reeve.decision", row.Decision.String())
	a.text("reeve.step", string(row.Step))
	a.text("reeve.rule", row.Rule)
	a.text("reeve.rule_at", row.RuleAt)
	a.text("reeve.approval.id", row.Approval)
	a.text("reeve.parent.id", row.Parent)
	a.flag("reeve.confirmed", row.Confirmed)
	a.text("reeve.sandbox", row.Sandbox.String())
	a.flag("reeve.contained", row.Contained)
	a.flag("reeve.dangerous", row.Dangerous)
	if e.Content {
		a.text("gen_ai.tool.call.arguments", row.Args)
		a.text("gen_ai.tool.call.result", row.Summary)
	}
	return a
}

// encode writes JSON; text that is no UTF-8 has the replacement character.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("otlp: " + err.Error()) // strings, numbers and booleans alone
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// maxName bounds a name and a body, in bytes: a client may give a tool any name.
const maxName = 256

func clip(s string) string {
	if len(s) <= maxName {
		return s
	}
	end := maxName
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// nano is a moment as OTLP has it; 0, which is unknown, for one before 1970 and
// one past what 64 bits hold.
func nano(t time.Time) string {
	if y := t.Year(); y < 1970 || y > 2261 {
		return "0"
	}
	return strconv.FormatInt(max(t.UnixNano(), 0), 10)
}

func traceID(session string) string { b := idBytes(session); return hex.EncodeToString(b[:]) }

func spanID(call string) string { b := idBytes(call); return hex.EncodeToString(b[8:]) }

// idBytes are the bytes of a UUID, or of the digest of what is none; never zero
// in either half, since zero is no id.
func idBytes(id string) (out [16]byte) {
	b, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if len(id) == 36 && err == nil && len(b) == len(out) {
		copy(out[:], b)
		if [8]byte(out[8:]) != ([8]byte{}) {
			return out
		}
	}
	sum := sha256.Sum256([]byte(id))
	copy(out[:], sum[:])
	return out
}
