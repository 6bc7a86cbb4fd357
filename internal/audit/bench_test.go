package audit

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// benchRecord is a row of the size that research found in use: about 700
// bytes on disk, indexes included.
func benchRecord(n int) reeve.Record {
	r := intent(n)
	if n%2 == 1 {
		r = outcome(n)
	}
	r.CallID = fmt.Sprintf("01989c00-0000-7000-8000-%012d", n/2)
	r.Args = fmt.Sprintf(`{"command":"go test ./internal/room%d/... -run TestThat -count=1","cwd":"/home/user/project","timeout_s":120,"note":"%s"}`, n%40, strings.Repeat("x", 120))
	return r
}

const benchRows = 12_800

// rawRate inserts rows as the driver itself can: the same schema, indexes,
// pragmas and rows, the chain computed before, 64 rows a transaction.
func rawRate(b *testing.B) float64 {
	path := filepath.Join(b.TempDir(), "raw.db")
	c, err := chain.Dial(path, strings.Replace(pragmas, "mode=rw", "mode=rwc", 1))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, o := range chain.Schema {
		must(c.Exec(o.SQL))
	}
	begin, err := c.Prepare("BEGIN IMMEDIATE")
	must(err)
	insert, err := c.Prepare(chain.InsertRow)
	must(err)
	commit, err := c.Prepare("COMMIT")
	must(err)
	rows := make([][]driver.NamedValue, benchRows)
	prev := chain.Hash{}
	for i := range rows {
		r := benchRecord(i)
		vals := chain.Values(&r)
		hash := chain.Link(prev, int64(i+1), chain.Leaf(vals[:]))
		all := append(append([]driver.Value{int64(i + 1)}, vals[:]...), append([]byte(nil), prev[:]...), append([]byte(nil), hash[:]...))
		for j, v := range all {
			rows[i] = append(rows[i], driver.NamedValue{Ordinal: j + 1, Value: v})
		}
		prev = hash
	}
	start := time.Now()
	for i := 0; i < len(rows); i += maxBatch {
		must(begin.Run(nil))
		for _, row := range rows[i:min(i+maxBatch, len(rows))] {
			must(insert.Run(row))
		}
		must(commit.Run(nil))
	}
	return float64(benchRows) / time.Since(start).Seconds()
}

func groupRate(b *testing.B, writers int) float64 {
	l, err := Open(filepath.Join(b.TempDir(), "audit"), clock)
	if err != nil {
		b.Fatal(err)
	}
	records := make([]reeve.Record, benchRows)
	for i := range records {
		records[i] = benchRecord(i)
	}
	start := time.Now()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < benchRows; i += writers {
				if err := l.Append(context.Background(), records[i]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	rate := float64(benchRows) / time.Since(start).Seconds()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return rate
}

// BenchmarkAppend64Writers compares 64 callers who each wait for their own
// row with the driver's own rate for batches of 64, in the same run, taking
// turns; it reports medians, since a neighbour may take a core for a while.
func BenchmarkAppend64Writers(b *testing.B) {
	for _, writers := range []int{64, 16} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			b.ReportAllocs()
			var raw, group, ratio []float64
			for b.Loop() {
				g := groupRate(b, writers)
				b.StopTimer()
				r := rawRate(b)
				b.StartTimer()
				raw, group, ratio = append(raw, r), append(group, g), append(ratio, 100*g/r)
			}
			b.ReportMetric(median(group), "rows/s")
			b.ReportMetric(median(raw), "raw-rows/s")
			b.ReportMetric(median(ratio), "%-of-raw")
		})
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkAppendAlone is one caller: every row pays its own sync.
func BenchmarkAppendAlone(b *testing.B) {
	l, err := Open(b.TempDir(), clock)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if err := l.Append(context.Background(), benchRecord(n)); err != nil {
			b.Fatal(err)
		}
	}
}

// longRecord is a record of n rows in sessions of about 150.
func longRecord(b *testing.B, n int) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "audit")
	l, err := Open(dir, clock)
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := w; i < n; i += 64 {
				r := benchRecord(i)
				r.Session = fmt.Sprintf("01989c00-0000-7000-8000-%012d", i/150)
				if err := l.Append(context.Background(), r); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkLongRecord reads and checks a record of 50,000 rows.
func BenchmarkLongRecord(b *testing.B) {
	const rows = 50_000
	dir := longRecord(b, rows)
	ctx := context.Background()
	for name, f := range map[string]Filter{
		"list 50": {Limit: 50}, "list 50 of a tool": {Limit: 50, Tool: "write_file"}, "list a session": {Session: fmt.Sprintf("01989c00-0000-7000-8000-%012d", 100)},
		"list 50 denied": {Limit: 50, Status: reeve.StatusDenied},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reader(b, dir).List(ctx, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("verify", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rep, err := Verify(ctx, dir, Known{})
			if err != nil || rep.Broken != nil {
				b.Fatal(err, rep.Broken)
			}
		}
		b.ReportMetric(rows/(b.Elapsed().Seconds()/float64(b.N)), "rows/s")
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			l, err := Open(dir, clock)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			l.Close()
			b.StartTimer()
		}
	})
	b.Run("open intents of a session", func(b *testing.B) {
		l := mustOpen(b, dir)
		for b.Loop() {
			if _, err := l.OpenIntents(fmt.Sprintf("01989c00-0000-7000-8000-%012d", 100), time.Time{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
