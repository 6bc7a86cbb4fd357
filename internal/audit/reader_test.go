package audit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

func reader(t testing.TB, dir string) *Reader {
	t.Helper()
	r, err := OpenRead(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func list(t testing.TB, dir string, f Filter) []chain.Row {
	t.Helper()
	rows, err := reader(t, dir).List(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// traces is what a look at a directory shows of it.
func traces(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() == "audit.db-shm" {
			data = nil // readers mark themselves there, beside the writer
		}
		fmt.Fprintf(&b, "%s %v %d %v %x\n", e.Name(), info.Mode(), info.Size(), info.ModTime(), sha256.Sum256(data))
	}
	return b.String()
}

// crashed copies a record while it is open: what a power cut would leave.
func crashed(t *testing.T) string {
	t.Helper()
	dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "state")
	l := mustOpen(t, dir)
	mustAppend(t, l, intent(1), outcome(1), intent(2))
	for _, name := range []string{"audit.db", "audit.db-wal", "audit.head", "audit.lock"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = errors.Join(os.MkdirAll(copied, 0o700), os.WriteFile(filepath.Join(copied, name), data, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

func TestReadingLeavesNoTrace(t *testing.T) {
	look := func(t *testing.T, dir string, calls int) {
		before := traces(t, dir)
		if rows := list(t, dir, Filter{}); len(rows) != calls {
			t.Errorf("%d calls, want %d", len(rows), calls)
		}
		if rep := mustVerify(t, dir); rep.Broken != nil {
			t.Errorf("verify: %v", rep.Broken)
		}
		if after := traces(t, dir); after != before {
			t.Errorf("the directory changed:\n%s\nwas:\n%s", after, before)
		}
	}
	t.Run("after a clean end", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, 1, 2)
		look(t, dir, 1)
	})
	t.Run("after a crash", func(t *testing.T) { look(t, crashed(t), 2) })
	t.Run("beside a writer", func(t *testing.T) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) { // its clock stands still while we look
			l, err := Open(dir, clock)
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, l, intent(1), outcome(1), intent(2))
			time.Sleep(anchorEvery + time.Millisecond) // of the bubble's clock
			synctest.Wait()
			look(t, dir, 2)
			mustClose(t, l)
		})
	})
}

func TestAReadOnlyDirectoryCanBeReadAndVerified(t *testing.T) {
	dir := crashed(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Chmod(filepath.Join(dir, e.Name()), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	if rep := mustVerify(t, dir); rep.Broken != nil || rep.Rows != 3 {
		t.Errorf("verify: %+v, want three good rows", rep)
	}
	if rows := list(t, dir, Filter{}); len(rows) != 2 {
		t.Errorf("%d calls, want 2", len(rows))
	}
}

func TestAWriterGoesOnAfterACrash(t *testing.T) {
	dir := crashed(t)
	fill(t, dir, 3, 4)
	if rep := mustVerify(t, dir); rep.Broken != nil || rep.Rows != 5 {
		t.Errorf("verify: %+v, want five good rows", rep)
	}
}

func TestNoRecordIsNotAnError(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenRead(dir); !errors.Is(err, reeve.ErrNotFound) {
		t.Errorf("open: %v, want not found", err)
	}
	if _, err := Verify(context.Background(), dir, Known{}); !errors.Is(err, reeve.ErrNotFound) {
		t.Errorf("verify: %v, want not found", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("looking made %v", entries)
	}
}

// mixed writes calls that differ in what filters choose by.
func mixed(t *testing.T) string {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	for n := range 12 {
		in, out := intent(n), outcome(n)
		if n%2 == 1 {
			in.Tool, in.Tier = "bash", reeve.TierDestructive
		}
		if n%3 == 0 {
			in.Session = "01989c00-0000-7000-8000-00000000cccc"
		}
		out.Tool, out.Tier, out.Session = in.Tool, in.Tier, in.Session
		switch {
		case n == 4:
			out.Status = reeve.StatusDenied
		case n == 5:
			out.Status = reeve.StatusUnknown
		}
		if n != 4 {
			mustAppend(t, l, in)
		}
		if n != 7 {
			mustAppend(t, l, out)
		}
	}
	mustClose(t, l)
	return dir
}

func TestFiltersChooseCalls(t *testing.T) {
	dir := mixed(t)
	for _, c := range []struct {
		name string
		f    Filter
		want []int
	}{
		{"none", Filter{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		{"tool", Filter{Tool: "bash"}, []int{1, 3, 5, 7, 9, 11}},
		{"tier", Filter{Tier: "write"}, []int{0, 2, 4, 6, 8, 10}},
		{"session", Filter{Session: "01989c00-0000-7000-8000-00000000cccc"}, []int{0, 3, 6, 9}},
		{"status denied", Filter{Status: reeve.StatusDenied}, []int{4}},
		{"status unknown, said or never said", Filter{Status: reeve.StatusUnknown}, []int{5, 7}},
		{"since", Filter{Since: at(9)}, []int{9, 10, 11}},
		{"until", Filter{Until: at(2)}, []int{0, 1}},
		{"newest three", Filter{Limit: 3}, []int{9, 10, 11}},
		{"all together", Filter{Tool: "bash", Since: at(2), Until: at(10), Status: reeve.StatusSuccess, Limit: 1}, []int{9}},
		{"nothing", Filter{Tool: "' OR 1 --"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			for _, n := range c.want {
				want = append(want, intent(n).CallID)
			}
			var got []string
			for _, r := range list(t, dir, c.f) {
				got = append(got, r.CallID)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("list gave %v, want %v", got, want)
			}
			got = nil
			err := reader(t, dir).Each(context.Background(), c.f, func(r chain.Row) error {
				got = append(got, r.CallID)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("walking gave %v, want %v", got, want)
			}
		})
	}
}

func TestTailShowsRowsAsTheyAreWritten(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	mustAppend(t, l, intent(1), outcome(1))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rows := make(chan chain.Row, 10)
	ended := make(chan error, 1)
	r := reader(t, dir)
	go func() { ended <- r.Tail(ctx, Filter{Limit: 5}, func(row chain.Row) { rows <- row }) }()
	next := func(want reeve.Record) {
		t.Helper()
		if got := <-rows; got.Record != want {
			t.Errorf("got %+v, want %+v", got.Record, want)
		}
	}
	next(outcome(1))
	mustAppend(t, l, intent(2))
	next(intent(2))
	mustAppend(t, l, outcome(2))
	next(outcome(2))
	mustClose(t, l) // the daemon goes away and comes back
	fill(t, dir, 3, 4)
	next(intent(3))
	next(outcome(3))
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("tail ended with %v", err)
	}
}

func TestShowFindsACallByAnyOfItsNames(t *testing.T) {
	dir := mixed(t)
	r := reader(t, dir)
	for _, name := range []string{"3", "4", intent(1).CallID} {
		rows, err := r.Show(context.Background(), name)
		if err != nil || len(rows) != 2 || rows[0].CallID != intent(1).CallID || rows[0].Phase != reeve.PhaseIntent || rows[1].Phase != reeve.PhaseOutcome {
			t.Errorf("show %s: %+v, %v, want both rows of call 1", name, rows, err)
		}
	}
}
