package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// uniform accepts what these tests write: one digit or letter, many times.
func uniform(data []byte) error {
	if len(data) < 2 || len(bytes.Trim(data, string(data[:1]))) > 0 {
		return errors.New("it is mixed or cut")
	}
	return nil
}

func text(c byte) []byte { return bytes.Repeat([]byte{c}, 20_000) }

func newFile(path string) *File { return &File{Path: path, Max: 1 << 20, Check: uniform} }

func mustRead(t *testing.T, f *File) []byte {
	t.Helper()
	f.Told = func(note string) { t.Error(note) }
	data, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustWrite(t *testing.T, f *File, c byte) {
	t.Helper()
	if err := f.Write(text(c)); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsWrittenBeforeItWasRead(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{"whole": string(text('a')), "broken": "half a sta"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f := newFile(name)
		if err := f.Write(text('b')); !errors.Is(err, ErrNotRead) {
			t.Errorf("%s, never read: %v, want ErrNotRead", name, err)
		}
		if _, err := f.Read(); name == "broken" && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: read %v, want ErrDamaged", name, err)
		}
		if err := f.Write(text('b')); name == "broken" && !errors.Is(err, ErrNotRead) {
			t.Errorf("%s, which cannot be read: %v, want ErrNotRead", name, err)
		}
		if got := read(t, name); name == "broken" && got != content {
			t.Errorf("%s holds %d bytes, want it as it was", name, len(got))
		}
	}
	f := newFile("new")
	if data := mustRead(t, f); data != nil {
		t.Errorf("nothing there reads as %q", data)
	}
	mustWrite(t, f, 'a')
	if err := f.Write([]byte("what could not be read again")); err == nil {
		t.Error("a content was written that its own check refuses")
	}
}

func TestADamagedFileIsTakenFromItsBackup(t *testing.T) {
	for name, damage := range map[string]func() error{
		"empty":   func() error { return os.WriteFile("f", nil, 0o600) },
		"cut":     func() error { return os.Truncate("f", 1) },
		"other":   func() error { return os.WriteFile("f", []byte("<html>"), 0o600) },
		"long":    func() error { return os.WriteFile("f", bytes.Repeat([]byte("b"), 1<<20+1), 0o600) },
		"missing": func() error { return os.Remove("f") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			f := newFile("f")
			mustRead(t, f)
			mustWrite(t, f, 'a')
			mustWrite(t, f, 'b')
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			note := ""
			g := newFile("f")
			g.Told = func(n string) { note = n }
			data, err := g.Read()
			if err != nil || string(data) != string(text('b')) || !strings.Contains(note, "was taken from its backup") {
				t.Fatalf("read %d bytes, note %q, %v; want what was written last", len(data), note, err)
			}
			if got := read(t, "f"); got != string(text('b')) {
				t.Errorf("the file was not put back: %d bytes", len(got))
			}
			if _, err := os.Stat("f" + Damage); (err == nil) != (name != "missing") {
				t.Errorf("what was damaged: %v", err)
			}
			mustRead(t, f)
			mustWrite(t, f, 'c')
		})
	}
	t.Run("both", func(t *testing.T) {
		t.Chdir(t.TempDir())
		for _, name := range []string{"f", "f.bak"} {
			if err := os.WriteFile(name, []byte("half a sta"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := newFile("f")
		if _, err := f.Read(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "remove it and f.bak") {
			t.Errorf("%v, want ErrDamaged and what to do", err)
		}
		if err := errors.Join(f.Remove(), f.Write(text('a'))); err != nil {
			t.Errorf("begin without: %v", err)
		}
	})
}

// TestWhatIsWholeAndNotKnownIsNotPassedBy covers Y104: a backup stands in for
// damage. A newer or stricter content that this build cannot judge is refused.
func TestWhatIsWholeAndNotKnownIsNotPassedBy(t *testing.T) {
	t.Chdir(t.TempDir())
	f := newFile("f")
	mustRead(t, f)
	mustWrite(t, f, 'a')
	const later = `{"narrower":true}`
	if err := os.WriteFile("f", []byte(later), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newFile("f")
	g.Told = func(note string) { t.Error(note) }
	for what, act := range map[string]func() error{
		"read":   func() error { _, err := g.Read(); return err },
		"put":    func() error { return g.Put(text('b')) },
		"change": func() error { return f.Change(func([]byte) ([]byte, error) { return text('b'), nil }) },
	} {
		if err := act(); !errors.Is(err, ErrForm) || !strings.Contains(err.Error(), "remove it and f.bak") {
			t.Errorf("%s: %v, want ErrForm and what to do", what, err)
		}
	}
	if got := read(t, "f"); got != later {
		t.Errorf("it holds %q now, want it as it was", got)
	}
	if got := read(t, "f.bak"); got != string(text('a')) {
		t.Errorf("its backup has %d bytes, want it as it was", len(got))
	}
}

func TestWhatIsNotOurOwnFileIsNotReadAndNotReplaced(t *testing.T) {
	for name, make := range map[string]func() error{
		"link":      func() error { return errors.Join(os.WriteFile("to", text('a'), 0o600), os.Symlink("to", "f")) },
		"directory": func() error { return os.Mkdir("f", 0o700) },
		"pipe":      func() error { return syscall.Mkfifo("f", 0o600) },
		"loose":     func() error { return errors.Join(os.WriteFile("f", text('a'), 0o600), os.Chmod("f", 0o620)) },
		"foreign": func() error {
			if os.Geteuid() != 0 {
				return nil // nothing can be given away: the next line finds nothing there
			}
			return errors.Join(os.WriteFile("f", text('a'), 0o600), os.Chown("f", 1, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := make(); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat("f")
			if errors.Is(err, fs.ErrNotExist) {
				return
			}
			if err := os.WriteFile("f.bak", text('b'), 0o600); err != nil {
				t.Fatal(err)
			}
			f := newFile("f")
			if _, err := f.Read(); err == nil || errors.Is(err, ErrDamaged) {
				t.Errorf("read: %v, want a refusal", err)
			}
			if err := f.Write(text('c')); !errors.Is(err, ErrNotRead) {
				t.Errorf("write: %v, want ErrNotRead", err)
			}
			if now, err := os.Lstat("f"); err != nil || !os.SameFile(before, now) {
				t.Errorf("it was replaced: %v", err)
			}
		})
	}
}

func TestWhatSomebodyElseWroteIsNotOverwritten(t *testing.T) {
	t.Chdir(t.TempDir())
	f, other := newFile("f"), newFile("f")
	mustRead(t, f)
	mustRead(t, other)
	mustWrite(t, other, 'b')
	if err := f.Write(text('a')); !errors.Is(err, ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
	if got := read(t, "f"); got != string(text('b')) {
		t.Errorf("holds %q", got[:1])
	}
	mustRead(t, f)
	mustWrite(t, f, 'c')
}

// child runs this test again as a process of its own.
func child(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$", "-test.count=1")
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), env...)
	return cmd
}

// dieAt ends this process, as a kill does, at the n-th step from now.
func dieAt(n int) {
	step = func(string) {
		if n--; n < 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// TestAKillAtAnyStepLeavesTheOldOrTheNew kills writers at each step, one after
// the other in one directory, so that each finds what the last one left.
func TestAKillAtAnyStepLeavesTheOldOrTheNew(t *testing.T) {
	if at := os.Getenv("DURABLE_TEST_DIE"); at != "" {
		n, _ := strconv.Atoi(at)
		next := text(os.Getenv("DURABLE_TEST_TEXT")[0])
		dieAt(n)
		f := newFile("f")
		_, err := f.Read()
		if err == nil {
			err = errors.Join(f.Write(next), WriteFileBackup("mine", next, 0o644, "mine", 2))
		}
		fmt.Println("came to its end", err)
		return
	}
	t.Chdir(t.TempDir())
	const most = 40 // steps of one turn
	ends, kills := 0, 0
	old := map[string]byte{} // the content of each file, as far as it is known
	for round, begun := 0, time.Now(); round < 240; round++ {
		if round > most && time.Since(begun) > 8*time.Second {
			break
		}
		next := byte('a' + round%26)
		out, err := child(t, "DURABLE_TEST_DIE="+strconv.Itoa(round%most), "DURABLE_TEST_TEXT="+string(next)).CombinedOutput()
		if strings.Contains(string(out), "came to its end") {
			if ends++; !strings.Contains(string(out), "end <nil>") {
				t.Fatalf("round %d: %s", round, out)
			}
		} else if kills++; err == nil {
			t.Fatalf("round %d ended by itself: %s", round, out)
		}
		for _, name := range []string{"f", "f.bak", "mine", "mine.bak", "mine.bak.2"} {
			got, err := os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) {
				if old[name] != 0 {
					t.Fatalf("round %d: %s is gone", round, name)
				}
				continue
			}
			if err != nil || len(got) != 20_000 || uniform(got) != nil {
				t.Fatalf("round %d: %s has %d bytes, mixed or cut: %v", round, name, len(got), err)
			}
			if name == "f" || name == "mine" {
				was := old[name]
				if was == 0 {
					was = old[name+".bak"] // the first write was cut off behind its backup
				}
				if got[0] != next && got[0] != was {
					t.Fatalf("round %d: %s holds %q, neither the old %q nor the new %q", round, name, got[0], was, next)
				}
			}
			old[name] = got[0]
		}
		if b := old["f.bak"]; b != old["f"] && b != next {
			t.Fatalf("round %d: the backup holds %q, older than the file, which holds %q", round, b, old["f"])
		}
	}
	if kills < most/2 || ends == 0 {
		t.Fatalf("%d were killed and %d came to their end: the steps are not what they were", kills, ends)
	}
	mustRead(t, newFile("f"))
	left, _ := filepath.Glob(".f.*.tmp")
	if same := read(t, "f.bak"); len(left) > 0 || same != read(t, "f") {
		t.Errorf("after the next reading %v are left, and the backup is the same: %v", left, same == read(t, "f"))
	}
	long := time.Now().Add(-2 * staleAfter)
	left, _ = filepath.Glob(".mine.*.tmp")
	for _, path := range left {
		os.Chtimes(path, long, long)
	}
	if err := WriteFileBackup("mine", text('z'), 0o600, "mine", 2); err != nil {
		t.Fatal(err)
	}
	if still, _ := filepath.Glob(".mine.*.tmp"); len(left) == 0 || len(still) > 0 {
		t.Errorf("of %d temporary files of a killed writer %v are left after hours", len(left), still)
	}
	t.Logf("%d kills", kills)
}

func TestAKilledFirstWriteLeavesNothingBehind(t *testing.T) {
	t.Chdir(t.TempDir())
	kept := []string{".f.0123456789abcdef.tmp.txt", ".g.0123456789abcdef.tmp"}
	for _, name := range append([]string{".f.0123456789abcdef.tmp", ".f.bak.0123456789abcdef.tmp"}, kept...) {
		if err := os.WriteFile(name, []byte("half a sta"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if data := mustRead(t, newFile("f")); data != nil {
		t.Errorf("read as %q", data)
	}
	if left, _ := filepath.Glob(".*.tmp*"); !slices.Equal(left, kept) {
		t.Errorf("left are %v, want %v", left, kept)
	}
	mustRead(t, newFile("none"))
	if made, _ := filepath.Glob("none*"); made != nil {
		t.Errorf("where nothing was cut off, reading made %v", made)
	}
}

func TestTwoProcessesLoseNoWriteOfEachOther(t *testing.T) {
	const each = 30
	count := func(data []byte) error { _, err := strconv.Atoi(string(data)); return err }
	if path := os.Getenv("DURABLE_TEST_COUNT"); path != "" {
		f := &File{Path: path, Max: 100, Check: count}
		for range each {
			err := f.Change(func(old []byte) ([]byte, error) {
				n, _ := strconv.Atoi(string(old))
				return []byte(strconv.Itoa(n + 1)), nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	path := filepath.Join(t.TempDir(), "n")
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if out, err := child(t, "DURABLE_TEST_COUNT="+path).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	if got := read(t, path); got != strconv.Itoa(2*each) {
		t.Errorf("counted %s, want %d", got, 2*each)
	}
}

// TestWritesOfOneFileWaitForEachOtherAndThoseOfOthersDoNot holds one write up
// in the middle.
func TestWritesOfOneFileWaitForEachOtherAndThoseOfOthersDoNot(t *testing.T) {
	t.Chdir(t.TempDir())
	one, other := newFile("one"), newFile("other")
	mustRead(t, one)
	mustRead(t, other)
	reached, goOn := make(chan bool), make(chan bool)
	held := make(chan bool, 1)
	held <- true
	step = func(string) {
		select {
		case <-held:
			close(reached)
			<-goOn
		default:
		}
	}
	defer func() { step = func(string) {} }()
	results := make(chan string, 2)
	go func() { one.Write(text('a')); results <- "first" }()
	<-reached
	mustWrite(t, other, 'x') // comes to its end meanwhile
	go func() { one.Write(text('b')); results <- "second" }()
	select {
	case r := <-results:
		t.Errorf("the %s write of one file ended while the first stood", r)
	case <-time.After(20 * time.Millisecond): // a write takes a few; too short a time can only hide a fault
	}
	close(goOn)
	if a, b := <-results, <-results; a != "first" || b != "second" {
		t.Errorf("%s ended before %s", a, b)
	}
	if got := read(t, "one"); got != string(text('b')) {
		t.Errorf("holds %q, want what was written last", got[:1])
	}
}

func TestALinkUnderTheTemporaryNameIsPassedBy(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("target", []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "f.bak"} {
		if err := os.Symlink("target", "."+name+".0123456789abcdef.tmp"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("made", "g.lock"); err != nil {
		t.Fatal(err)
	}
	random, calls := mark, 0
	mark = func() string {
		if calls++; calls%2 == 1 {
			return "0123456789abcdef"
		}
		return random()
	}
	defer func() { mark = random }()
	f := newFile("f")
	f.read = true // settled: sweeping the planted names away would spoil the attempt
	mustWrite(t, f, 'a')
	if got := read(t, "target"); got != "kept" || calls != 4 {
		t.Errorf("the target holds %q after %d names were tried", got, calls)
	}
	g := newFile("g")
	mustRead(t, g)
	if err := g.Write(text('a')); err == nil {
		t.Error("a lock was taken through a link")
	}
	if _, err := os.Lstat("made"); err == nil {
		t.Error("a file was made at the end of a link")
	}
}

func TestADirectoryThatIsReplacedMeanwhileIsTold(t *testing.T) {
	t.Chdir(t.TempDir())
	f := newFile("d/f")
	if err := MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	mustRead(t, f)
	mustWrite(t, f, 'a')
	synced := 0
	step = func(s string) {
		if s == "synced" {
			if synced++; synced == 2 {
				os.Rename("d", "away")
				os.Mkdir("d", 0o700)
			}
		}
	}
	defer func() { step = func(string) {} }()
	if err := f.Write(text('b')); err == nil || !strings.Contains(err.Error(), "was replaced by another directory") {
		t.Errorf("%v", err)
	}
	if names, _ := os.ReadDir("d"); len(names) > 0 {
		t.Errorf("the other directory was written into: %v", names)
	}
	if _, err := os.Stat("d/f"); err == nil {
		t.Error("the other directory has the file")
	}
}

func TestRemovingLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	f := newFile("f")
	mustRead(t, f)
	mustWrite(t, f, 'a')
	if err := f.Remove(); err != nil {
		t.Fatal(err)
	}
	if names, _ := os.ReadDir("."); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
	if data := mustRead(t, newFile("f")); data != nil {
		t.Errorf("it came back: %q", data)
	}
	mustWrite(t, f, 'b')
	if err := newFile("missing/f").Remove(); err != nil {
		t.Errorf("in a directory that is not there: %v", err)
	}
}
