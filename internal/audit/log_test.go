package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// group writes calls from to to-1 from 32 goroutines.
func group(t testing.TB, l *Log, from, to int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for n := from + w; n < to; n += 32 {
				for _, r := range []reeve.Record{intent(n), outcome(n)} {
					if err := l.Append(context.Background(), r); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestConcurrentCallersShareCommitsAndLoseNothing(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	group(t, l, 0, 500)
	mustClose(t, l)
	rep := mustVerify(t, dir)
	if rep.Broken != nil || rep.Rows != 1000 || rep.OpenAll != 0 || rep.Ahead != 0 {
		t.Errorf("verify: %+v, want 1000 good rows, all anchored", rep)
	}
}

// TestQueuedRecordsShareOneCommit holds the writer up with one batch and sees
// what it takes next.
func TestQueuedRecordsShareOneCommit(t *testing.T) {
	l := &Log{wake: make(chan struct{}, 1)}
	for range 3 * maxBatch / 2 {
		l.queue = append(l.queue, &entry{})
	}
	first, _ := l.take(maxBatch)
	second, _ := l.take(maxBatch)
	third, _ := l.take(maxBatch)
	if len(first) != maxBatch || len(second) != maxBatch/2 || len(third) != 0 {
		t.Errorf("batches of %d, %d and %d, want %d, %d and none", len(first), len(second), len(third), maxBatch, maxBatch/2)
	}
}

func TestASecondWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	mustAppend(t, l, intent(1))
	if _, err := Open(dir, clock); err == nil || !strings.Contains(err.Error(), "another reeve") {
		t.Errorf("second writer: %v, want a refusal", err)
	}
	mustAppend(t, l, outcome(1))
	mustClose(t, l)
	fill(t, dir, 2, 3)
	if rep := mustVerify(t, dir); rep.Broken != nil || rep.Rows != 4 {
		t.Errorf("verify: %+v", rep)
	}
}

func TestFilesArePrivateUnderAnyUmask(t *testing.T) {
	for _, mask := range []int{0o000, 0o022, 0o777} {
		t.Run(fmt.Sprintf("umask %04o", mask), func(t *testing.T) {
			base := t.TempDir()
			old := syscall.Umask(mask)
			defer syscall.Umask(old)
			dir := filepath.Join(base, "state", "reeve")
			l := mustOpen(t, dir)
			mustAppend(t, l, intent(1), outcome(1))
			seen := map[string]bool{}
			for path, want := range map[string]fs.FileMode{filepath.Dir(dir): 0o700, dir: 0o700} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %v, %v, want %04o", path, info.Mode(), err, want)
				}
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				info, err := e.Info()
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v, want 0600", e.Name(), info.Mode(), err)
				}
				seen[e.Name()] = true
			}
			for _, name := range []string{"audit.db", "audit.db-wal", "audit.db-shm", "audit.head", "audit.lock", "audit.reserve"} {
				if !seen[name] {
					t.Errorf("%s is not there", name)
				}
			}
			mustClose(t, l)
		})
	}
}

func TestALooseRecordIsTightened(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 0, 1)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, "audit.db"), 0o644)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, dir))
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, "audit.db"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %04o", path, info.Mode(), err, want)
		}
	}
}

func TestRecordsThatTheTableCannotHoldAreRefused(t *testing.T) {
	l := mustOpen(t, t.TempDir())
	for name, change := range map[string]func(*reeve.Record){
		"no call":                 func(r *reeve.Record) { r.CallID = "" },
		"no session":              func(r *reeve.Record) { r.Session = "" },
		"no tool":                 func(r *reeve.Record) { r.Tool = "" },
		"no phase":                func(r *reeve.Record) { r.Phase = "" },
		"an outcome of no status": func(r *reeve.Record) { r.Phase = reeve.PhaseOutcome },
		"an intent with a status": func(r *reeve.Record) { r.Status = reeve.StatusSuccess },
	} {
		r := intent(1)
		change(&r)
		if err := l.Append(context.Background(), r); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Append(done, intent(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("append under an ended context: %v", err)
	}
	mustClose(t, l)
	if err := l.Append(context.Background(), intent(1)); err == nil {
		t.Error("append to a closed record succeeded")
	}
}

func TestAppendFailsOnceItsFilesAreReplaced(t *testing.T) {
	for _, name := range []string{"audit.db", "audit.db-wal"} {
		for _, how := range []string{"removed", "replaced"} {
			t.Run(name+" "+how, func(t *testing.T) {
				dir := t.TempDir()
				l := mustOpen(t, dir)
				mustAppend(t, l, intent(1))
				path := filepath.Join(dir, name)
				if err := os.Rename(path, path+".away"); err != nil {
					t.Fatal(err)
				}
				if how == "replaced" {
					data, err := os.ReadFile(path + ".away")
					if err == nil {
						err = os.WriteFile(path, data, 0o600)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				err := l.Append(context.Background(), outcome(1))
				if !errors.Is(err, reeve.ErrBroken) || !strings.Contains(err.Error(), "row 2") {
					t.Errorf("append: %v, want ErrBroken at row 2", err)
				}
				if err := l.Append(context.Background(), intent(2)); !errors.Is(err, reeve.ErrBroken) {
					t.Errorf("next append: %v, want ErrBroken", err)
				}
			})
		}
	}
}

// TestTheAnchorFollowsWithinItsTime waits for the anchor of an idle record.
func TestTheAnchorFollowsWithinItsTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(dir, clock)
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, intent(1), outcome(1))
		time.Sleep(anchorEvery + time.Millisecond) // of the bubble's clock
		synctest.Wait()
		a, err := chain.ReadAnchor(filepath.Join(dir, "audit.head"))
		if err != nil || a.ID != 2 {
			t.Errorf("anchor at row %d (%v) after %v, want row 2", a.ID, err, anchorEvery)
		}
		mustClose(t, l)
	})
}

func TestARemovedAnchorBreaksARunningRecord(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	mustAppend(t, l, intent(1))
	if err := os.Remove(filepath.Join(dir, "audit.head")); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for n := 2; l.Broken() == nil; n++ {
		l.Append(context.Background(), intent(n))
		if time.Now().After(deadline) {
			t.Fatal("the record went on without its anchor")
		}
	}
	var b *chain.Break
	if err := l.Append(context.Background(), intent(1)); !errors.As(err, &b) || b.Kind != chain.KindAnchor {
		t.Errorf("append: %v, want anchor missing", err)
	}
}

func TestOpenIntentsAreFoundBySessionAndAge(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	other := intent(4)
	other.Session = "01989c00-0000-7000-8000-00000000bbbb"
	mustAppend(t, l, intent(1), intent(2), outcome(2), intent(3), other)
	for _, c := range []struct {
		name    string
		session string
		older   time.Time
		want    []string
	}{
		{"all", "", time.Time{}, []string{intent(1).CallID, intent(3).CallID, other.CallID}},
		{"one session", intent(1).Session, time.Time{}, []string{intent(1).CallID, intent(3).CallID}},
		{"old ones", "", at(3), []string{intent(1).CallID}},
		{"old ones of a session", other.Session, at(3), nil},
	} {
		got, err := l.OpenIntents(c.session, c.older)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range got {
			ids = append(ids, r.CallID)
		}
		if fmt.Sprint(ids) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, ids, c.want)
		}
	}
	unknown := intent(1)
	unknown.Phase, unknown.Status = reeve.PhaseOutcome, reeve.StatusUnknown
	mustAppend(t, l, unknown)
	if got, err := l.OpenIntents(intent(1).Session, time.Time{}); err != nil || len(got) != 1 || got[0] != intent(3) {
		t.Errorf("after the outcome unknown: %v, %v, want call 3 alone", got, err)
	}
}

func TestALateOutcomeSpeaksForItsCall(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	unknown := outcome(1)
	unknown.Status = reeve.StatusUnknown
	mustAppend(t, l, intent(1), unknown, outcome(1))
	mustClose(t, l)
	rows := list(t, dir, Filter{})
	if len(rows) != 1 || rows[0].Status != reeve.StatusSuccess {
		t.Errorf("executions: %+v, want one with success", rows)
	}
}
