package probe

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/testuser"
)

// TestWhatKilledProbesLeftIsSwept: also what is mounted there, and nothing that
// is in use, fresh, another's or only named so.
func TestWhatKilledProbesLeftIsSwept(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		dir := t.TempDir()
		old := time.Now().Add(-time.Hour)
		mkdir := func(name string) string {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Join(path, "agent/ws/mnt"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
			return path
		}
		left, other := mkdir("reeve-probe-1"), mkdir("other-1")
		if os.Getuid() == 0 {
			at := filepath.Join(left, "agent/ws/mnt")
			if err := unix.Mount("tmpfs", at, "tmpfs", 0, ""); err != nil {
				t.Fatal(err)
			}
			defer unix.Unmount(at, unix.MNT_DETACH)
			mkdir("reeve-probe-2")
			if err := os.Lchown(filepath.Join(dir, "reeve-probe-2"), 12345, 12345); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(dir, "reeve-probe-2"), old, old); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(other, filepath.Join(dir, "reeve-probe-3")); err != nil {
			t.Fatal(err)
		}
		fresh := filepath.Join(dir, "reeve-probe-4")
		if err := os.Mkdir(fresh, 0o755); err != nil {
			t.Fatal(err)
		}
		used, end, err := folder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(used, old, old); err != nil {
			t.Fatal(err)
		}
		sweep(dir, time.Now())
		want := map[string]bool{left: false, other: true, fresh: true, used: true, filepath.Join(dir, "reeve-probe-3"): true}
		if os.Getuid() == 0 {
			want[filepath.Join(dir, "reeve-probe-2")] = true
		}
		for path, stays := range want {
			if _, err := os.Lstat(path); (err == nil) != stays {
				t.Errorf("%s: there %v, want %v", filepath.Base(path), err == nil, stays)
			}
		}
		end()
		if _, err := os.Lstat(used); err == nil {
			t.Error("a probe that ended left its folder")
		}
	})
}
