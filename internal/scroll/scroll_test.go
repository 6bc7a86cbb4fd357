package scroll

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killed is set in the process that a test kills while it writes.
const killed = "REEVE_SCROLL_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killed); dir != "" {
		writeForEver(dir)
	}
	os.Exit(m.Run())
}

func all(t *testing.T, dir string, from int64) (string, int64) {
	t.Helper()
	var b strings.Builder
	next, err := Copy(&b, dir, from)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), next
}

func create(t *testing.T, dir string) *Writer {
	t.Helper()
	w, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestTheLogIsBoundedAndKeepsItsEnd(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := t.TempDir()
	w := create(t, dir)
	var whole bytes.Buffer
	for i := range 120_000 {
		line := fmt.Sprintf("%07d %s\n", i, strings.Repeat(".", i%97))
		whole.WriteString(line)
		if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("wrote %d of %d, %v", n, len(line), err)
		}
	}
	text, next := all(t, dir, 0)
	if len(text) < half || len(text) > Size || !strings.HasSuffix(whole.String(), text) {
		t.Errorf("%d bytes are kept, want the last %d to %d", len(text), half, Size)
	}
	if next != int64(whole.Len()) || w.At() != next {
		t.Errorf("the log ends at %d, the writer stands at %d, want %d", next, w.At(), whole.Len())
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("%d files, %v; want 2", len(files), err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode() != fs.FileMode(0o600) {
			t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
	// A new writer goes on where the old one was.
	w.Close()
	again := create(t, dir)
	again.Write([]byte("after\n"))
	if more, _ := all(t, dir, next); more != "after\n" {
		t.Errorf("after a new writer %q, want what it wrote", more)
	}
}

func TestTailBeginsBehindTheEndOfALine(t *testing.T) {
	dir := t.TempDir()
	if tail, at, err := Tail(dir, 100); len(tail) != 0 || at != 0 || err != nil {
		t.Errorf("of nothing: %q at %d, %v", tail, at, err)
	}
	create(t, dir).Write([]byte("one\ntwo\nthree"))
	for _, c := range []struct {
		n    int64
		want string
		at   int64
	}{{100, "one\ntwo\nthree", 0}, {13, "one\ntwo\nthree", 0}, {10, "two\nthree", 4}, {7, "three", 8}, {3, "ree", 10}} {
		if tail, at, err := Tail(dir, c.n); string(tail) != c.want || at != c.at || err != nil {
			t.Errorf("the last %d: %q at %d, %v; want %q at %d", c.n, tail, at, err, c.want, c.at)
		}
	}
}

func TestChunksGoThroughTheWholeLog(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	want := strings.Repeat("0123456789abcde\n", (half+4096)/16)
	w.Write([]byte(want))
	var got strings.Builder
	at := int64(0)
	for {
		chunk, next, err := Chunk(dir, at, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		if len(chunk) == 0 {
			break
		}
		got.Write(chunk)
		at = next
	}
	if got.String() != want {
		t.Errorf("read %d bytes, want %d", got.Len(), len(want))
	}
	// What is gone is passed over.
	w.Write([]byte(want))
	w.Write([]byte(want))
	chunk, next, err := Chunk(dir, 0, 16)
	if err != nil || len(chunk) != 16 || next <= 16 {
		t.Errorf("from what is gone: %q up to %d, %v", chunk, next, err)
	}
	files, err := Files(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		f.Close()
	}
}

// TestALogThatCannotBeWrittenSaysWhatIsMissing: the disk is full for a while,
// which is a limit on the size of files here.
func TestALogThatCannotBeWrittenSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	w.Write([]byte("before\r\n"))
	file := w.file
	broken, err := os.Open(os.DevNull) // not open for writing
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	w.file = broken
	for range 3 {
		if n, err := w.Write([]byte("lost\r\n")); n != 6 || err != nil {
			t.Errorf("%d, %v: the session must go on", n, err)
		}
	}
	w.file = file
	w.Write([]byte("after\r\n"))
	if text, _ := all(t, dir, 0); text != "before\r\n\r\n[reeve: 18 bytes could not be kept here]\r\nafter\r\n" {
		t.Errorf("the log holds %q", text)
	}
}

// writeForEver writes numbered lines and acknowledges each on its standard
// output once Write has returned.
func writeForEver(dir string) {
	w, err := Create(dir)
	if err != nil {
		os.Exit(1)
	}
	for i := 0; ; i++ {
		fmt.Fprintf(w, "line %d %s\n", i, strings.Repeat("x", i%4000))
		fmt.Println(i)
	}
}

func TestAKilledWriterLosesNoAcknowledgedLine(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for round := range 20 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), killed+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(5+7*round)*time.Millisecond, func() { cmd.Process.Kill() })
		var acknowledged bytes.Buffer
		acknowledged.ReadFrom(out)
		cmd.Wait()
		lines := strings.Split(acknowledged.String(), "\n")
		if len(lines) < 2 {
			continue
		}
		last, err := strconv.Atoi(lines[len(lines)-2])
		if err != nil {
			t.Fatal(err)
		}
		tail, _, err := Tail(dir, 1<<20)
		if err != nil || !strings.Contains(string(tail), fmt.Sprintf("line %d x", last)) && !strings.Contains(string(tail), fmt.Sprintf("line %d \n", last)) {
			t.Fatalf("round %d: line %d was acknowledged and is not in the log (%v)", round, last, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "log-*")); len(files) > 3 {
		t.Errorf("%d files are left", len(files))
	}
}

func plain(t *testing.T, parts ...string) string {
	t.Helper()
	var b strings.Builder
	p := NewPlain(&b)
	for _, s := range parts {
		if _, err := p.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPlainTextCannotSteerATerminal(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\x1b[1;31mred\x1b[0m\r\n", "red\n"},
		{"\x1b]0;title\x07text", "text\n"},
		{"\x1b]52;c;Y2xpcA==\x1b\\text\n", "text\n"},
		{"\x1bPq#0;2\x1b\\a\x1b_kitty\x1b\\b\n", "ab\n"},
		{"10%\r20%\r100%\r\nnext", "10%\n20%\n100%\nnext\n"},
		{"\x1b(0lqk\x1b(B\x1b=\x1b7x\x1b8\n", "lqkx\n"},
		{"ab\x08c\x07\n", "ac\n"},
		{"a\x01\x9bb\u202e\u200bc\n", "a\\x01\\x9bb\\u202e\\u200bc\n"},
		{"\x1b[31", ""},
		{"\x1b]0;never ended\x1b[2Jx\n", "x\n"},
		{"héllo \u4e16\n", "héllo \u4e16\n"},
		{"\n\n", "\n\n"},
	} {
		if got := plain(t, c.in); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.in, got, c.want)
		}
		bytewise := strings.Split(c.in, "")
		if got := plain(t, bytewise...); got != c.want {
			t.Errorf("%q in pieces becomes %q, want %q", c.in, got, c.want)
		}
	}
}

// FuzzPlain: whatever a program writes, in whatever pieces, what comes out is
// printable text and newlines.
func FuzzPlain(f *testing.F) {
	f.Add("\x1b[1mx\x1b]0;t\x07\r\n", 3)
	f.Add(strings.Repeat("\xff", 200_000), 70_000)
	f.Add("\x1b\x1b\\\x1bP\x18a\x1b[\x1b[2J", 1)
	f.Fuzz(func(t *testing.T, in string, at int) {
		if at < 0 || at > len(in) {
			at = 0
		}
		out := plain(t, in[:at], in[at:])
		for _, r := range out {
			if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0) {
				t.Fatalf("%q became %q with %q in it", in, out, r)
			}
		}
		if whole := plain(t, in); whole != out {
			t.Fatalf("in pieces %q, whole %q", out, whole)
		}
	})
}
