package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// underUmasks runs f once for each umask a person or a service may have.
func underUmasks(t *testing.T, f func(t *testing.T)) {
	for _, mask := range []int{0o000, 0o022, 0o077, 0o777} {
		t.Run(fmt.Sprintf("umask %04o", mask), func(t *testing.T) {
			dir := t.TempDir() // made before the umask changes
			t.Chdir(dir)
			old := syscall.Umask(mask)
			defer syscall.Umask(old)
			f(t)
		})
	}
}

func perm(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFilesAndDirectoriesHaveExactModesUnderAnyUmask(t *testing.T) {
	underUmasks(t, func(t *testing.T) {
		if err := MkdirAll("a/b/c"); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"a", "a/b", "a/b/c"} {
			if got := perm(t, dir); got != 0o700 {
				t.Errorf("%s has mode %04o, want 0700", dir, got)
			}
		}
		for _, want := range []fs.FileMode{0o600, 0o644, 0o400} {
			path := fmt.Sprintf("a/b/c/file%o", want)
			if err := WriteFile(path, []byte("x"), want); err != nil {
				t.Fatal(err)
			}
			if got := perm(t, path); got != want {
				t.Errorf("%s has mode %04o, want %04o", path, got, want)
			}
		}
		l, err := TryLock("a/lock")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if got := perm(t, "a/lock"); got != 0o600 {
			t.Errorf("lock has mode %04o, want 0600", got)
		}
	})
}

func TestWriteFileReplacesContentAndLeavesNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	for _, content := range []string{"first", "", strings.Repeat("long", 100_000), "last"} {
		if err := WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != content {
			t.Fatalf("read back %d bytes, want %d", len(got), len(content))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("directory holds %v (%v), want state.json alone", entries, err)
	}
}

func TestWriteFileReplacesALinkAndNotItsTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.WriteFile("target", []byte("kept"), 0o600), os.Symlink("target", "link")); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile("link", []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, "target"); got != "kept" {
		t.Errorf("target holds %q, want it untouched", got)
	}
	if got := read(t, "link"); got != "new" {
		t.Errorf("link holds %q, want new", got)
	}
}

func TestFailedWriteKeepsTheFormerFileAndNoTemporaryFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("d", 0o700), os.WriteFile("d/inside", []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile("d", []byte("new"), 0o600); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if err := WriteFile("missing/file", []byte("new"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write into a missing directory: %v, want not exist", err)
	}
	if err := WriteFile("file", nil, fs.ModeSetuid|0o755); err == nil {
		t.Error("a setuid file was made")
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 1 {
		t.Errorf("directory holds %v (%v), want d alone", entries, err)
	}
}

func TestBackupsRotateAndTheOldestGoes(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 6 {
		if err := WriteFileBackup("f", fmt.Appendf(nil, "v%d", i), 0o644, "f", 3); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"f": "v5", "f.bak": "v4", "f.bak.2": "v3", "f.bak.3": "v2"} {
		if got := read(t, name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
		if got := perm(t, name); name != "f" && got != 0o600 {
			t.Errorf("%s has mode %04o, want 0600", name, got)
		}
	}
	if entries, _ := os.ReadDir("."); len(entries) != 4 {
		t.Errorf("directory holds %v, want four files", entries)
	}
	for i := range 3 {
		if err := errors.Join(MkdirAll("apart"), WriteFileBackup("apart/g", fmt.Appendf(nil, "v%d", i), 0o600, "g", 1)); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, "g.bak"); got != "v1" {
		t.Errorf("g.bak holds %q, want v1", got)
	}
	for _, keep := range []int{0, MaxBackups + 1} {
		if err := WriteFileBackup("g", nil, 0o600, "g", keep); err == nil {
			t.Errorf("%d backups were accepted", keep)
		}
	}
}

func TestConcurrentWritersLeaveOneWholeContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			data := bytes.Repeat([]byte{byte('a' + i)}, 50_000)
			for range 10 {
				if err := WriteFile(path, data, 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := read(t, path)
	if len(got) != 50_000 || strings.Trim(got, got[:1]) != "" {
		t.Errorf("content is mixed or cut: %d bytes", len(got))
	}
}

func TestPrivateTightensOursAndRefusesTheRest(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("loose", 0o755), os.Chmod("loose", 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := Private("loose"); err != nil {
		t.Fatal(err)
	}
	if got := perm(t, "loose"); got != 0o700 {
		t.Errorf("loose has mode %04o, want 0700", got)
	}
	if err := errors.Join(os.Symlink("loose", "link"), os.WriteFile("file", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"link", "file", "file/below"} {
		if err := Private(path); err == nil {
			t.Errorf("Private(%s) accepted it", path)
		}
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Mkdir("other", 0o700), os.Chown("other", 1, 1)); err != nil {
			t.Fatal(err)
		}
		if err := Private("other"); err == nil {
			t.Error("Private accepted a directory of another user")
		}
	} else if err := Private("/"); err == nil {
		t.Error("Private accepted a directory of another user")
	}
}

func TestMkdirAllLeavesAnExistingDirectoryAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("d", 0o755), os.Chmod("d", 0o755), MkdirAll("d"), MkdirAll("d/e")); err != nil {
		t.Fatal(err)
	}
	if got := perm(t, "d"); got != 0o755 {
		t.Errorf("d has mode %04o, want it left at 0755", got)
	}
}

// TestALockIsARegularFile: a pipe would have both wait for its other end.
func TestALockIsARegularFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, err := range map[string]error{"pipe": syscall.Mkfifo("pipe", 0o600), "directory": os.Mkdir("directory", 0o700),
		"to": os.WriteFile("to", nil, 0o600), "link": os.Symlink("to", "link"), "dangling": os.Symlink("none", "dangling")} {
		if err != nil {
			t.Fatal(err)
		}
		if name == "to" {
			continue
		}
		if l, err := TryLock(name); err == nil {
			t.Errorf("a %s was locked", name)
			l.Close()
		}
		if held, err := Locked(name); err == nil {
			t.Errorf("a %s is looked at as a lock, held %t", name, held)
		}
	}
	if _, err := os.Lstat("none"); err == nil {
		t.Error("a file was made at the end of a link")
	}
}

func TestLockExcludesASecondHolderAndIsSeenWithoutTakingIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if held, err := Locked(path); held || err != nil {
		t.Fatalf("lock that was never made: held %v, %v", held, err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("looking at the lock made it")
	}
	first, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Fatalf("second holder got %v, want ErrLocked", err)
	}
	if held, err := Locked(path); !held || err != nil {
		t.Fatalf("held lock: held %v, %v", held, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if held, err := Locked(path); held || err != nil {
		t.Fatalf("lock given up: held %v, %v", held, err)
	}
	again, err := TryLock(path)
	if err != nil {
		t.Fatalf("lock cannot be taken again: %v", err)
	}
	again.Close()
}

func TestNameRefusesWhatCouldLeaveItsDirectory(t *testing.T) {
	for _, good := range []string{"a", "session-1", "A_b.c", "console", "com", "com10", "nullable", "x.con", "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", strings.Repeat("x", MaxName)} {
		if err := Name(good); err != nil {
			t.Errorf("Name(%q): %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", ".hidden", "a/b", `a\b`, "../x", "a\x00", "a\nb", "a b", "C:x", "é", "~x", "a.", "con", "NUL", "nul.txt", "Aux.tar.gz", "COM1", "lpt9.log", "com0", strings.Repeat("x", MaxName+1)} {
		if err := Name(bad); err == nil {
			t.Errorf("Name(%q) was accepted", bad)
		}
	}
}

func FuzzAcceptedNamesAreOnePathElement(f *testing.F) {
	for _, s := range []string{"a", "..", "a/b", "a\\b", ".x", "x..y", "\x00", "NUL", "con.txt", "a.", "a:b"} {
		f.Add(s)
	}
	device := regexp.MustCompile(`(?i)^(con|prn|aux|nul|(com|lpt)[0-9])(\..*)?$`)
	f.Fuzz(func(t *testing.T, s string) {
		if Name(s) != nil {
			return
		}
		joined := filepath.Join("/base", s)
		if filepath.Dir(joined) != "/base" || filepath.Base(joined) != s || !filepath.IsLocal(s) || device.MatchString(s) || len(s) > MaxName {
			t.Errorf("Name accepted %q, which joins to %s", s, joined)
		}
	})
}

func BenchmarkWriteFile4K(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	data := bytes.Repeat([]byte("x"), 4096)
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteFile(path, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}
