package audit

import (
	"context"
	"database/sql/driver"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// longDir keeps a record of many rows between runs: making it takes minutes and
// gigabytes, so that nothing of it happens unless it is asked for.
var (
	longDir  = flag.String("long-record", "", "directory for a record of -long-rows rows, made there where it is missing")
	longRows = flag.Int("long-rows", 5_000_000, "rows of the record of -long-record")
)

// writeLong makes a record of n rows as the log would: the same table, indexes
// and chain, without a sync for each batch.
func writeLong(b *testing.B, dir string, n int) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	must(os.MkdirAll(dir, 0o700))
	f := chain.In(dir)
	must(f.Create())
	c, err := chain.Dial(f.DB, "mode=rw&_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=locking_mode(exclusive)&_pragma=cache_size(-262144)")
	must(err)
	for _, o := range chain.Schema {
		must(c.Exec(o.SQL))
	}
	insert, err := c.Prepare(chain.InsertRow)
	must(err)
	args := make([]driver.NamedValue, chain.TableColumns)
	for i := range args {
		args[i].Ordinal = i + 1
	}
	prev := chain.Hash{}
	must(c.Exec("BEGIN"))
	for i := range n {
		r := longCall(i)
		vals := chain.Values(&r)
		id := int64(i + 1)
		hash := chain.Link(prev, id, chain.Leaf(vals[:]))
		args[chain.ColID].Value = id
		for j, v := range vals {
			args[chain.ColFirst+j].Value = v
		}
		args[chain.ColPrev].Value, args[chain.ColHash].Value = append([]byte(nil), prev[:]...), append([]byte(nil), hash[:]...)
		must(insert.Run(args))
		prev = hash
	}
	must(c.Exec("COMMIT"))
	must(insert.Close())
	must(c.Close())
	must(os.WriteFile(f.Head, []byte(chain.Anchor{ID: int64(n), Hash: prev}.String()), 0o600))
}

// longCall is row n of a day's mix: forty tools of which one is rare, sessions of
// about 150 rows, a denial in fifty calls.
func longCall(n int) reeve.Record {
	call := n / 2
	r := intent(n)
	if n%2 == 1 {
		r = outcome(n)
	}
	r.CallID = fmt.Sprintf("01989c00-0000-7000-8000-%012d", call)
	r.Session = fmt.Sprintf("01989c00-0000-7000-8000-%012d", n/150)
	r.Tool = fmt.Sprintf("tool_%d", call%40)
	if call%100_000 == 7 {
		r.Tool = "rare"
	}
	if call%50 == 0 && r.Phase == reeve.PhaseOutcome {
		r.Status, r.Decision = reeve.StatusDenied, reeve.Deny
	}
	r.Args = fmt.Sprintf(`{"command":"go test ./internal/room%d/... -run TestThat -count=1","note":"%s"}`, n%40, strings.Repeat("x", 120))
	return r
}

// BenchmarkMillions asks a record of millions of rows what a person asks. It
// needs -long-record DIR.
func BenchmarkMillions(b *testing.B) {
	if *longDir == "" {
		b.Skip("name a directory with -long-record, for a record of some gigabytes")
	}
	dir := filepath.Join(*longDir, fmt.Sprint(*longRows))
	if have, err := chain.Exists(filepath.Join(dir, "audit.head")); err != nil {
		b.Fatal(err)
	} else if !have {
		writeLong(b, dir, *longRows)
	}
	ctx := context.Background()
	for _, c := range []struct {
		name string
		f    Filter
		want int
	}{
		{"last 50", Filter{Limit: 50}, 50},
		{"last 50 of a tool", Filter{Limit: 50, Tool: "tool_3"}, 50},
		{"last 50 of a rare tool", Filter{Limit: 50, Tool: "rare"}, min(50, *longRows/200_000)},
		{"last 50 of no tool", Filter{Limit: 50, Tool: "none"}, 0},
		{"last 50 of a session", Filter{Limit: 50, Session: longCall(*longRows / 2).Session}, 50},
		{"last 50 denied", Filter{Limit: 50, Status: reeve.StatusDenied}, 50},
		{"last 50 of a tool, a day", Filter{Limit: 50, Tool: "tool_3", Since: at(*longRows - 86_400)}, 50},
		{"last 50 of a tool, years ago", Filter{Limit: 50, Tool: "tool_3", Until: at(86_400)}, 50},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				rows, err := reader(b, dir).List(ctx, c.f)
				if err != nil || len(rows) != c.want {
					b.Fatalf("%d calls, %v, want %d", len(rows), err, c.want)
				}
			}
		})
	}
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			calls := 0
			err := reader(b, dir).Brief(ctx, Filter{}, func(*reeve.Record) error { calls++; return nil })
			if err != nil || calls != *longRows/2 {
				b.Fatalf("%d calls, %v", calls, err)
			}
		}
		b.ReportMetric(float64(*longRows)/(b.Elapsed().Seconds()/float64(b.N)), "rows/s")
	})
}
