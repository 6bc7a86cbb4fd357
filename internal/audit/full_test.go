//go:build linux

package audit

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// smallDisk gives a directory on a file system of its own.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		t.Skipf("a small file system cannot be mounted: %v (needs root)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fillUp leaves no room on the file system of dir.
func fillUp(t *testing.T, dir string) (filler string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return f.Name()
}

func TestAFullDiskDeniesAndIsRecorded(t *testing.T) {
	dir := filepath.Join(smallDisk(t, 16<<20), "state")
	l := mustOpen(t, dir)
	mustAppend(t, l, intent(1))
	filler := fillUp(t, filepath.Dir(dir))

	// Rows go on into the space that the file already has, then fail.
	refused := 0
	for n := 2; n < 5000; n++ {
		r := intent(n)
		r.Args = `{"content":"` + strings.Repeat("x", 8000) + `"}`
		if err := l.Append(context.Background(), r); err != nil {
			if !strings.Contains(err.Error(), "free at least") {
				t.Fatalf("append on a full disk says %q", err)
			}
			refused = n
			break
		}
	}
	if refused == 0 {
		t.Fatal("five thousand intents went onto a full disk")
	}
	if err := l.Append(context.Background(), intent(refused)); err == nil {
		t.Error("an intent was taken while the disk is full")
	}
	if err := l.Append(context.Background(), outcome(1)); err != nil {
		t.Errorf("the outcome of a call that already ran: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(context.Background(), intent(refused)); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "audit.reserve")); err != nil || info.Size() != chain.ReserveSize {
		t.Errorf("the reserve was not set aside again: %v", err)
	}
	mustClose(t, l)
	if rep := mustVerify(t, dir); rep.Broken != nil {
		t.Errorf("verify: %v", rep.Broken)
	}
	told := false
	for _, r := range list(t, dir, Filter{Tool: "reeve.audit"}) {
		told = told || r.Status == reeve.StatusError && strings.Contains(r.Summary, "full")
	}
	if !told {
		t.Error("the record does not tell of its own failure")
	}
}

// TestAWriteFailureDenies runs under a limit on the size of files, which an
// ordinary user has too.
func TestAWriteFailureDenies(t *testing.T) {
	if dir := os.Getenv("AUDIT_TEST_LIMITED"); dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: 600 << 10, Max: 600 << 10}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		l := mustOpen(t, dir)
		n, failed := 0, error(nil)
		for ; n < 5000 && failed == nil; n++ {
			failed = l.Append(context.Background(), intent(n))
		}
		if failed == nil {
			t.Fatal("five thousand intents went into 600 KiB")
		}
		if err := l.Append(context.Background(), intent(n)); err == nil {
			t.Error("an intent was taken after the failure")
		}
		l.Close()
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "state")
	fill(t, dir, 0, 1) // with its reserve
	cmd := exec.Command(exe, "-test.run=^TestAWriteFailureDenies$")
	cmd.Env = append(os.Environ(), "AUDIT_TEST_LIMITED="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if rep := mustVerify(t, dir); rep.Broken != nil || rep.Rows < 10 {
		t.Errorf("verify: %+v, want good rows", rep)
	}
	fill(t, dir, 6000, 6001)
	if rep := mustVerify(t, dir); rep.Broken != nil {
		t.Errorf("after going on: %v", rep.Broken)
	}
}

func TestTheWriterSyncsEveryCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	c, err := chain.Dial(path, strings.Replace(pragmas, "mode=rw", "mode=rwc", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for pragma, want := range map[string]any{"synchronous": int64(2), "journal_mode": "wal", "fullfsync": int64(1), "checkpoint_fullfsync": int64(1)} {
		err := c.Query(t.Context(), "PRAGMA "+pragma, nil, func(v []driver.Value) error {
			if v[0] != want {
				t.Errorf("%s is %v, want %v", pragma, v[0], want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCallersWhoWaitTogetherShareASync counts the commits in the -wal: a frame
// whose header names a database size ends a transaction.
func TestCallersWhoWaitTogetherShareASync(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	before := commits(t, dir)
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for n := range 3 {
				if err := l.Append(context.Background(), outcome(3*w+n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := commits(t, dir) - before; n < 3 || n > 96 {
		t.Errorf("%d commits for 192 records of 64 callers", n)
	} else {
		t.Logf("%d commits for 192 records of 64 callers", n)
	}
}

func commits(t *testing.T, dir string) (n int) {
	t.Helper()
	wal, err := os.ReadFile(filepath.Join(dir, "audit.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	const header, frame = 32, 24
	page := int(binary.BigEndian.Uint32(wal[8:]))
	for at := header; at+frame+page <= len(wal); at += frame + page {
		if binary.BigEndian.Uint32(wal[at+4:]) != 0 {
			n++
		}
	}
	return n
}
