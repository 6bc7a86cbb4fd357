package audit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
)

// at is the clock of most tests.
func at(n int) time.Time {
	return time.Date(2026, 8, 5, 10, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

func clock() time.Time { return at(0) }

// mustOpen opens a record that holds.
func mustOpen(t testing.TB, dir string) *Log {
	t.Helper()
	l, err := Open(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Broken(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func mustAppend(t testing.TB, l *Log, all ...reeve.Record) {
	t.Helper()
	for _, r := range all {
		if err := l.Append(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func mustClose(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustVerify(t testing.TB, dir string) Report {
	t.Helper()
	rep, err := Verify(context.Background(), dir, Known{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// intent and outcome are the two records of call n.
func intent(n int) reeve.Record {
	return reeve.Record{
		CallID: fmt.Sprintf("01989c00-0000-7000-8000-%012d", n), Phase: reeve.PhaseIntent, Time: at(n),
		Session: "01989c00-0000-7000-8000-00000000aaaa", Tool: "write_file", Source: "native", Tier: reeve.TierWrite,
		Args: fmt.Sprintf(`{"path":"file%d","content":"[REDACTED]"}`, n), Channel: reeve.ChannelHook, Actor: "hook:claude",
		Origin: reeve.OriginAgent, Mode: reeve.ModeDefault, Decision: reeve.Allow, Step: reeve.StepPolicy,
		Rule: "write(src/**)", RuleAt: "policy.toml:3", Sandbox: reeve.SandboxReady, Contained: true,
	}
}

func outcome(n int) reeve.Record {
	r := intent(n)
	r.Phase, r.Status, r.Summary, r.Duration = reeve.PhaseOutcome, reeve.StatusSuccess, "wrote 12 bytes", 3*time.Millisecond
	return r
}

// fill writes calls from to to-1, both rows of each.
func fill(t testing.TB, dir string, from, to int) {
	t.Helper()
	l := mustOpen(t, dir)
	for n := from; n < to; n++ {
		mustAppend(t, l, intent(n), outcome(n))
	}
	mustClose(t, l)
}

func TestAppendedRecordsReadBackAsWritten(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	denied := reeve.Record{
		CallID: "c3", Phase: reeve.PhaseOutcome, Session: "s3", Tool: "bash", Source: "foreign:claude", Tier: reeve.TierDestructive,
		Status: reeve.StatusDenied, Actor: "chat:slack/u/c", Channel: "messaging:slack", Decision: reeve.Deny, Step: reeve.StepMode,
		Approval: "a1", Parent: "p1", Dangerous: true, Confirmed: true,
	}
	mustAppend(t, l, intent(1), outcome(1), intent(2), denied)
	r, err := OpenRead(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := r.List(context.Background(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	unknown := intent(2)
	unknown.Status = reeve.StatusUnknown
	denied.Time = clock()
	want := []reeve.Record{outcome(1), unknown, denied}
	if len(rows) != len(want) {
		t.Fatalf("got %d executions, want %d", len(rows), len(want))
	}
	for i := range want {
		if rows[i].Record != want[i] {
			t.Errorf("execution %d:\n got %+v\nwant %+v", i, rows[i].Record, want[i])
		}
	}
	both, err := r.Show(context.Background(), intent(1).CallID)
	if err != nil || len(both) != 2 || both[0].Record != intent(1) || both[1].Record != outcome(1) {
		t.Errorf("show gave %+v, %v; want intent and outcome", both, err)
	}
	if _, err := r.Show(context.Background(), "nothing"); !errors.Is(err, reeve.ErrNotFound) {
		t.Errorf("show of an unknown call: %v, want not found", err)
	}
}
