package export

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

func at(n int) time.Time {
	return time.Date(2026, 8, 5, 10, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

// outcome is the end of call n, and intent its beginning.
func outcome(n int) reeve.Record {
	return reeve.Record{
		CallID: fmt.Sprintf("01989c00-0000-7000-8000-%012d", n+1), Phase: reeve.PhaseOutcome, Time: at(n),
		Session: "01989c00-0000-7000-8000-00000000aaaa", Tool: "write_file", Source: "native", Tier: reeve.TierWrite,
		Args: fmt.Sprintf(`{"path":"file%d","content":"[REDACTED]"}`, n), Channel: reeve.ChannelHook, Actor: "hook:claude",
		Origin: reeve.OriginAgent, Mode: reeve.ModeDefault, Decision: reeve.Allow, Step: reeve.StepPolicy,
		Rule: "write(src/**)", RuleAt: "policy.toml:3", Sandbox: reeve.SandboxReady, Contained: true,
		Status: reeve.StatusSuccess, Summary: "wrote 12 bytes", Duration: 3 * time.Millisecond,
	}
}

func intent(n int) reeve.Record {
	r := outcome(n)
	r.Phase, r.Status, r.Summary, r.Duration = reeve.PhaseIntent, "", "", 0
	return r
}

// record writes rows, and opens them for reading.
func record(t testing.TB, all ...reeve.Record) *audit.Reader {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	l, err := audit.Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	writers := min(64, 1+len(all)/100) // few are written in their order
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < len(all); i += writers {
				if err := l.Append(context.Background(), all[i]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := audit.OpenRead(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// written is what Write writes.
func written(t testing.TB, r *audit.Reader, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(context.Background(), r, &b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExportedJSONHasTheColumnsByTheirNames(t *testing.T) {
	r := record(t, intent(1), outcome(1))
	array := written(t, r, Options{Format: JSON})
	line := written(t, r, Options{Format: JSONL})
	var rows []map[string]any
	var row map[string]any
	if err := json.Unmarshal([]byte(array), &rows); err != nil || len(rows) != 1 {
		t.Fatalf("%v: %s", err, array)
	}
	if err := json.Unmarshal([]byte(line), &row); err != nil || strings.Count(line, "\n") != 1 {
		t.Fatalf("%v: %s", err, line)
	}
	if fmt.Sprint(row) != fmt.Sprint(rows[0]) {
		t.Errorf("the line is %v, the object %v", row, rows[0])
	}
	for _, name := range chain.Columns {
		if _, have := row[name]; !have {
			t.Errorf("column %s is missing", name)
		}
	}
	for name, want := range map[string]any{
		"timestamp": "2026-08-05T10:00:01.000000Z", "tool_source": "native", "risk_tier": "write", "result_status": "success",
		"user_confirmed": false, "duration_ms": 3.0, "input_channel": "hook", "approval_id": nil,
		"arguments": map[string]any{"path": "file1", "content": "[REDACTED]"},
	} {
		if got := row[name]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestNothingIsExportedAsNothing(t *testing.T) {
	r := record(t)
	for format, want := range map[Format]string{JSON: "[\n]\n", JSONL: "", OCSF: "", OTLP: "", CSV: strings.Join(chain.Columns[:], ",") + "\n"} {
		if got := written(t, r, Options{Format: format}); got != want {
			t.Errorf("%s of nothing is %q, want %q", format, got, want)
		}
	}
	if err := Write(context.Background(), r, io.Discard, Options{Format: "xml"}); err == nil || !strings.Contains(err.Error(), "json, jsonl, csv, ocsf or otlp") {
		t.Errorf("an unknown format: %v", err)
	}
}

// formulas is what a spreadsheet may take for the beginning of one, however it
// got to the front of a cell.
var formulas = []string{
	"=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\ttab", "\rreturn", "\nline", " =1+1", "\u00a0=1", "\u3000@x", "\ufeff=1", "\u200b+1",
	"＝1+1", "＋1", "－1", "＠SUM(1)", "﹦1", "⁺1", "₌1", "−1", "\x01=1", "'quoted", "'=1", "\u2028=1", "\u202e=1", "\u0085=1", "  \t =1",
}

func TestExportedCSVIsNoFormula(t *testing.T) {
	var all []reeve.Record
	harmless := []string{"plain", "a \"quoted\", cell\nof two lines", " indented", "a=1", "3 - 2", "a;=1+1", "a\t=1+1", ""}
	for n, text := range append(append([]string{}, formulas...), harmless...) {
		r := outcome(n)
		r.Summary, r.Rule, r.Tool, r.Args = text, text, text, text
		if text == "" {
			r.Tool = "empty"
		}
		all = append(all, r)
	}
	text := written(t, record(t, all...), Options{Format: CSV})
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(all)+1 || fmt.Sprint(rows[0]) != fmt.Sprint(chain.Columns) {
		t.Fatalf("%d lines, the first %v", len(rows), rows[0])
	}
	for n, row := range rows[1:] {
		want := all[n].Rule
		got := row[19]
		if n < len(formulas) {
			want = "'" + want
		}
		if got != want && want != "" {
			t.Errorf("%q became %q, want %q", all[n].Rule, got, want)
		}
		for i, cell := range row {
			if begins(cell) {
				t.Errorf("column %s starts as a formula: %q", rows[0][i], cell)
			}
		}
	}
	// A spreadsheet that splits at semicolons or tabs sees quoted cells only.
	for line := range strings.Lines(text) {
		if strings.Contains(line, ";=1+1") && !strings.Contains(line, `"a;=1+1"`) {
			t.Errorf("a cell is not quoted: %s", line)
		}
	}
}

// begins reports whether a cell begins as a formula does, by another way than
// the one that guards it.
func begins(cell string) bool {
	cell = strings.TrimLeftFunc(cell, func(c rune) bool { return unicode.IsSpace(c) || unicode.In(c, unicode.C, unicode.Z) })
	c, _ := utf8.DecodeRuneInString(cell)
	switch c {
	case '=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '⁼', '⁺', '⁻', '₌', '₊', '₋', '−':
		return true
	}
	return false
}

func FuzzNoCellIsAFormulaAndNoneIsLost(f *testing.F) {
	for _, s := range append(formulas, "plain", "", "é", "\xff=1") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := guard(s)
		if begins(got) || got != s && got != "'"+s || got == s && strings.HasPrefix(s, "'") {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func TestCleaningChangesArgumentsAndSummariesAlone(t *testing.T) {
	r := outcome(1)
	r.Args, r.Summary, r.Rule = `{"to":"ada@example.com"}`, "sent to ada@example.com", "mail(ada@example.com)"
	src := record(t, r)
	for _, format := range Formats {
		got := written(t, src, Options{Format: format, Clean: func(s string) string { return strings.ReplaceAll(s, "ada@example.com", "[PII]") }})
		if n := strings.Count(got, "ada@example.com"); n != strings.Count(got, "mail(ada@example.com)") {
			t.Errorf("%s still holds it: %s", format, got)
		}
		if format != OTLP && strings.Count(got, "[PII]") < 2 {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// TestExportingALongRecordNeedsTheMemoryOfAShortOne in every format.
func TestExportingALongRecordNeedsTheMemoryOfAShortOne(t *testing.T) {
	var all []reeve.Record
	for n := range 2500 {
		r := outcome(n)
		r.Args = `{"content":"` + strings.Repeat("x", 8<<10) + `"}`
		all = append(all, r)
	}
	src := record(t, all...)
	all = nil
	for _, format := range Formats {
		var most uint64
		w := writer(func(p []byte) (int, error) {
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.HeapAlloc > most {
				most = m.HeapAlloc
			}
			return len(p), nil
		})
		runtime.GC()
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := Write(context.Background(), src, w, Options{Format: format}); err != nil {
			t.Fatal(err)
		}
		if grown := int64(most) - int64(before.HeapAlloc); grown > 10<<20 {
			t.Errorf("%s: %d MB of a record of 20 are in memory", format, grown>>20)
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestAnExportThatCannotBeWrittenSaysSo: a full disk or a reader that went away.
func TestAnExportThatCannotBeWrittenSaysSo(t *testing.T) {
	src := record(t, outcome(1))
	for _, format := range Formats {
		err := Write(context.Background(), src, writer(func([]byte) (int, error) { return 0, io.ErrClosedPipe }), Options{Format: format})
		if err == nil || !strings.Contains(err.Error(), "export") {
			t.Errorf("%s: %v", format, err)
		}
	}
}
