package tally

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
)

// TestAStepHoldsWhatFallsIntoIt: a length lies between the edges of its step, the
// steps follow each other without a gap, and none is wider than 1/32 of what it
// stands for.
func TestAStepHoldsWhatFallsIntoIt(t *testing.T) {
	want := int64(0)
	for s := range uint16(58 * fine) {
		first, last := edges(s)
		if first != want || last < first || step(first) != s || step(last) != s {
			t.Fatalf("step %d is %d to %d, want it to begin at %d; they fall into %d and %d", s, first, last, want, step(first), step(last))
		}
		if width := last - first + 1; width > 1 && width*fine > first {
			t.Errorf("step %d, from %d, is %d wide", s, first, width)
		}
		want = last + 1
	}
	for _, ms := range []int64{-1, 0, 1<<63 - 1, 1<<62 + 12345} {
		if first, last := edges(step(ms)); max(ms, 0) < first || max(ms, 0) > last {
			t.Errorf("%d falls between %d and %d", ms, first, last)
		}
	}
}

func TestQuantilesAreNearThoseOfTheSortedTimes(t *testing.T) {
	seed := time.Now().UnixNano()
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	for range 50 {
		var s Spread
		all := make([]int64, 1+r.IntN(3000))
		for i := range all {
			all[i] = r.Int64N(1 << (1 + r.IntN(40)))
			s.Add(all[i])
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.5, 0.95, 1} {
			want := all[int64(q*float64(len(all)-1))]
			if got := s.Quantile(q); got-want > want/60+1 || want-got > want/60+1 {
				t.Errorf("seed %d: the %v quantile of %d times is %d, want about %d", seed, q, len(all), got, want)
			}
		}
	}
	if got := new(Spread).Quantile(0.5); got != 0 {
		t.Errorf("of none it is %d", got)
	}
}

func day(n int) time.Time { return time.Date(2026, 8, 5+n, 10, 0, 0, 0, time.UTC) }

func call(n int, tool string, d int, status reeve.Status, ms int) reeve.Record {
	r := reeve.Record{CallID: fmt.Sprintf("c%d", n), Phase: reeve.PhaseOutcome, Time: day(d), Session: "s", Tool: tool, Tier: reeve.TierWrite,
		Actor: "hook:claude", Decision: reeve.Allow, Status: status, Duration: time.Duration(ms) * time.Millisecond}
	if status == reeve.StatusDenied {
		r.Decision = reeve.Deny
	}
	return r
}

func TestCallsAreCountedByWhatTheyHaveInCommon(t *testing.T) {
	asked, no := call(4, "bash", 1, reeve.StatusSuccess, 9), call(5, "bash", 1, reeve.StatusDenied, 60_000)
	asked.Approval, asked.Confirmed, no.Approval = "a1", true, "a2"
	left := call(7, "write_file", 1, "", 0)
	left.Phase = reeve.PhaseIntent
	intent := call(1, "bash", 0, "", 0)
	intent.Phase = reeve.PhaseIntent
	r := recorded(t, []reeve.Record{intent, call(1, "bash", 0, reeve.StatusSuccess, 1), call(2, "bash", 0, reeve.StatusError, 3), call(3, "bash", 1, reeve.StatusTimeout, 5),
		asked, no, call(6, "write_file", 0, reeve.StatusSuccess, 40), left})
	all := Group{Key: []string{}, Calls: 7, Refused: 1, Asked: 2, Agreed: 1, Failed: 2, Unknown: 1, Total: 58, Median: 5, P95: 9}
	bash := Group{Key: []string{"bash"}, Calls: 5, Refused: 1, Asked: 2, Agreed: 1, Failed: 2, Total: 18, Median: 3, P95: 5}
	write := Group{Key: []string{"write_file"}, Calls: 2, Unknown: 1, Total: 40, Median: 40, P95: 40}
	for _, c := range []struct {
		by   []string
		f    audit.Filter
		want Tally
	}{
		{[]string{"tool"}, audit.Filter{}, Tally{Groups: []Group{bash, write}, All: all}},
		{[]string{"tool"}, audit.Filter{Tool: "write_file"}, Tally{Groups: []Group{write}, All: Group{Key: []string{}, Calls: 2, Unknown: 1, Total: 40, Median: 40, P95: 40}}},
		{[]string{"day", "decision"}, audit.Filter{}, Tally{Groups: []Group{
			{Key: []string{"2026-08-05", "allow"}, Calls: 3, Failed: 1, Total: 44, Median: 3, P95: 3},
			{Key: []string{"2026-08-06", "allow"}, Calls: 3, Asked: 1, Agreed: 1, Failed: 1, Unknown: 1, Total: 14, Median: 5, P95: 5},
			{Key: []string{"2026-08-06", "deny"}, Calls: 1, Refused: 1, Asked: 1},
		}, All: all}},
		{[]string{"session"}, audit.Filter{Session: "none"}, Tally{Groups: []Group{}, All: Group{Key: []string{}}}},
	} {
		c.want.By = c.by
		got, err := Count(context.Background(), r, c.f, c.by)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("by %v:\n got %+v\nwant %+v", c.by, got, c.want)
		}
	}
	if _, err := Count(context.Background(), r, audit.Filter{}, []string{"hash"}); !errors.Is(err, reeve.ErrUsage) {
		t.Errorf("by hash: %v, want a fault of usage", err)
	}
}

// TestCountingKeepsABoundedNumberOfGroups: what comes after is in one group, and
// nothing is lost.
func TestCountingKeepsABoundedNumberOfGroups(t *testing.T) {
	c := map[string]int64{}
	all := make([]reeve.Record, 0, MaxGroups+50)
	for n := range MaxGroups + 50 {
		all = append(all, call(n, fmt.Sprintf("tool%d", n), 0, reeve.StatusSuccess, 1))
	}
	got, err := Count(context.Background(), recorded(t, all), audit.Filter{}, []string{"tool", "day"})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range got.Groups {
		c[g.Key[0]] += g.Calls
	}
	if !got.Cut || len(got.Groups) != MaxGroups+1 || c[Others] != 50 || got.All.Calls != MaxGroups+50 {
		t.Errorf("%d groups, cut %v, %d others of %d calls", len(got.Groups), got.Cut, c[Others], got.All.Calls)
	}
}

// recorded writes records, of which those of many share their commits, in no
// order; few are written in theirs.
func recorded(t *testing.T, all []reeve.Record) *audit.Reader {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	l, err := audit.Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	writers := min(64, 1+len(all)/100)
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
