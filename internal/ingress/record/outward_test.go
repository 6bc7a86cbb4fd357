package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
)

// desk is a desk over a record that holds the calls.
func desk(t *testing.T, calls ...reeve.Record) (d *Desk, out, errs *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	d = &Desk{Stdout: out, Stderr: errs, Dir: filepath.Join(home, "state"), Settings: filepath.Join(home, "config"), Build: "1.2.3",
		Present: func(string, string) error { return reeve.ErrPresence },
		Fail:    func(err error) int { fmt.Fprintln(errs, err); return reeve.ExitFailed }}
	if calls == nil {
		return d, out, errs
	}
	l, err := audit.Open(d.Dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range calls {
		if err := l.Append(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return d, out, errs
}

// call is the outcome of call n.
func call(n int, tool string, s reeve.Status, took time.Duration) reeve.Record {
	r := reeve.Record{CallID: fmt.Sprintf("c%d", n), Phase: reeve.PhaseOutcome, Time: time.Date(2026, 8, 5, 10, n, 0, 0, time.UTC), Session: "s1", Tool: tool,
		Tier: reeve.TierWrite, Actor: "hook:claude", Channel: reeve.ChannelHook, Decision: reeve.Allow, Status: s, Duration: took, Args: `{"to":"ada@example.com"}`}
	if s == reeve.StatusDenied {
		r.Decision = reeve.Deny
	}
	return r
}

func some() []reeve.Record {
	asked := call(4, "bash", reeve.StatusSuccess, 3*time.Minute)
	asked.Approval, asked.Confirmed = "a", true
	return []reeve.Record{call(1, "bash", reeve.StatusSuccess, 2*time.Millisecond), call(2, "bash", reeve.StatusDenied, 0),
		call(3, "\x1b[31mevil\ttool", reeve.StatusError, 90*time.Minute), asked}
}

func TestStatsIsATableForAPersonAndJSONForAScript(t *testing.T) {
	d, out, errs := desk(t, some()...)
	if code := d.Run([]string{"stats"}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	want := `tool                calls  refused  asked  agreed  failed  unknown  total  median  p95
bash                3      1        1      1       0       0        3m0s   2ms     2ms
`
	if !strings.HasPrefix(out.String(), want) || strings.Contains(out.String(), "\x1b") || !strings.Contains(out.String(), "1h30m  1h30m   1h30m\n") ||
		!strings.Contains(out.String(), "\nall ") {
		t.Errorf("the table is\n%s\nwant it to begin\n%s", out, want)
	}
	out.Reset()
	if code := d.Run([]string{"stats", "--by", "decision,actor", "--json", "--until", "2026-08-05T10:03:30Z"}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var got struct {
		By     []string
		Groups []struct {
			Key   []string
			Calls int64
		}
		All struct{ Calls, Failed int64 }
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "{[decision actor] [{[allow hook:claude] 2} {[deny hook:claude] 1}] {3 1}}" {
		t.Errorf("got %v", got)
	}
	out.Reset()
	errs.Reset()
	if code := d.Run([]string{"stats", "--limit", "1"}); code != 0 || strings.Count(out.String(), "\n") != 3 || !strings.Contains(errs.String(), "1 more lines") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

func TestMetricsAreForTheTextfileCollector(t *testing.T) {
	d, out, errs := desk(t, some()...)
	if code := d.Run([]string{"metrics"}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{`reeve_calls_total{tool="bash",tier="write",decision="allow",status="success"} 2`, `reeve_questions_total{answer="yes"} 1`,
		`reeve_call_duration_seconds_count{tier="write"} 3`, "reeve_audit_rows 4"} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%s is missing:\n%s", want, out)
		}
	}
	page := out.String()
	file := filepath.Join(t.TempDir(), "reeve.prom")
	if err := os.WriteFile(file, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if code := d.Run([]string{"metrics", "--out", file}); code != 0 || out.Len() != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	got, err := os.ReadFile(file)
	info, serr := os.Stat(file)
	if err := errors.Join(err, serr); err != nil {
		t.Fatal(err)
	}
	if string(got) != page || info.Mode().Perm() != 0o644 {
		t.Errorf("%v: %s", info.Mode(), got)
	}
	if code := d.Run([]string{"metrics", "--out", filepath.Join(file, "no")}); code != reeve.ExitFailed || !strings.Contains(errs.String(), "write the metrics") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestPersonalDataIsMaskedInExportsWhereTheSettingsSaySo(t *testing.T) {
	d, out, errs := desk(t, some()...)
	for _, on := range []bool{false, true} {
		if on {
			if err := errors.Join(os.MkdirAll(d.Settings, 0o700), os.WriteFile(filepath.Join(d.Settings, "config.toml"), []byte("[redact.personal]\nexport = true\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{{}, {"--format", "csv"}, {"--format", "ocsf"}, {"--format", "otlp", "--content"}} {
			out.Reset()
			if code := d.Run(append([]string{"export"}, args...)); code != 0 || strings.Contains(out.String(), "ada@example.com") == on || strings.Contains(out.String(), "[PII REDACTED]") != on {
				t.Errorf("export %v, on %v: exit %d: %s%s", args, on, code, out, errs)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(d.Settings, "config.toml"), []byte("nonsense = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if code := d.Run([]string{"export"}); code != reeve.ExitFailed || out.Len() != 0 {
		t.Errorf("with settings that cannot be read: exit %d: %s", code, out)
	}
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	d, out, errs := desk(t, some()...)
	for _, c := range []struct{ args, want string }{
		{"stats --by colour", "tool, actor, decision, status, tier, day, session"},
		{"stats --by tool,tool", "one of"},
		{"stats --by ", "one of"},
		{"stats extra", "too much"},
		{"export --format xml", "json, jsonl, csv, ocsf or otlp"},
		{"export --content", "of --format otlp"},
		{"export --since soon", "no moment"},
		{"metrics --json", "no --json"},
		{"metrics --limit 3", "no --limit"},
		{"nonsense", "it is ls, show, stats, export, metrics"},
	} {
		errs.Reset()
		if code := d.Run(strings.Split(c.args, " ")); code != reeve.ExitUsage || !strings.Contains(errs.String(), c.want) || out.Len() != 0 {
			t.Errorf("%s: exit %d: %s%s", c.args, code, out, errs)
		}
	}
}

func TestWhereNothingIsRecordedThereIsNothingToCount(t *testing.T) {
	d, out, errs := desk(t)
	for _, c := range []struct{ args, want string }{
		{"stats --json", `{"by":["tool"],"groups":[],"all":{"key":[],"calls":0`},
		{"metrics", "reeve_audit_rows 0\n"},
		{"export --format ocsf", ""},
	} {
		out.Reset()
		if code := d.Run(strings.Split(c.args, " ")); code != 0 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit %d: %s%s", c.args, code, out, errs)
		}
	}
	if entries, err := os.ReadDir(d.Dir); err == nil {
		t.Errorf("looking made %v", entries)
	}
}
