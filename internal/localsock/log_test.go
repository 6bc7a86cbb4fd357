package localsock

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTheDaemonsLogIsBoundedAndKeepsItsEnd covers Y107.
func TestTheDaemonsLogIsBoundedAndKeepsItsEnd(t *testing.T) {
	dir := t.TempDir()
	f, err := openLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other, err := openLog(dir) // a second daemon, which is about to end
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	l := &Log{File: f}
	line := strings.Repeat("x", 1000)
	for i := range 3 * MaxLog / 1000 {
		if _, err := fmt.Fprintf(l, "%06d %s\n", i, line); err != nil {
			t.Fatal(err)
		}
		if info, err := f.Stat(); err != nil || info.Size() > MaxLog {
			t.Fatalf("after %d lines it has %d bytes, %v", i, info.Size(), err)
		}
	}
	if n, err := l.Write(bytes.Repeat([]byte("y"), 1<<20)); n != 1<<20 || err != nil {
		t.Errorf("a long line: %d, %v", n, err)
	}
	fmt.Fprintln(other, "another daemon serves")
	text, err := os.ReadFile(filepath.Join(dir, LogName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	n := len(lines)
	if n < MaxLog/2/1010 || lines[n-1] != "another daemon serves" || !strings.HasSuffix(lines[n-2], "y [cut]") || len(lines[n-2]) > maxLine+10 {
		t.Fatalf("%d lines, the last: %.40q", n, lines[n-1])
	}
	for i, got := range lines[:n-2] {
		if want := fmt.Sprintf("%06d %s", 3*MaxLog/1000-(n-2)+i, line); got != want {
			t.Fatalf("line %d is %.20q, want %.20q", i, got, want)
		}
	}
}

func TestTheDaemonsLogLeadsNowhereElse(t *testing.T) {
	for what, lay := range map[string]func(path, to string) error{
		"link":      func(path, to string) error { return errors.Join(os.WriteFile(to, nil, 0o600), os.Symlink(to, path)) },
		"dangling":  func(path, to string) error { return os.Symlink(to, path) },
		"pipe":      func(path, to string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path, to string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		to := filepath.Join(dir, "to")
		if err := lay(filepath.Join(dir, LogName), to); err != nil {
			t.Fatal(err)
		}
		if f, err := openLog(dir); err == nil || !strings.Contains(err.Error(), "daemon's log") {
			t.Errorf("a %s was opened, %v", what, err)
			f.Close()
		}
		if _, err := os.Stat(to); err == nil && what == "dangling" {
			t.Error("a file was made at the end of a link")
		}
	}
}
