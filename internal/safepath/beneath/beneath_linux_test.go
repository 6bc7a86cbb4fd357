package beneath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// put writes files below a new top and opens it.
func put(t *testing.T, files map[string]string) (Dir, string) {
	t.Helper()
	top := t.TempDir()
	for name, text := range files {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(top)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, top
}

// swapping exchanges a name with the link NAME.link beside it until stopped.
func swapping(t *testing.T, dir, name string) (stop func()) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !over.Load() || i%2 == 1; i++ {
			unix.Renameat2(fd, name, fd, name+".link", unix.RENAME_EXCHANGE)
			for range i % 20 {
				unix.Getppid()
			}
		}
	}()
	return func() {
		over.Store(true)
		<-done
		unix.Close(fd)
	}
}

// TestWhatIsOpenedIsWhatWasLookedAt holds the one step that everything else
// stands on, with a link to the same directory, where os.Root alone would
// follow it (contract M34).
func TestWhatIsOpenedIsWhatWasLookedAt(t *testing.T) {
	d, top := put(t, map[string]string{"f": "real", "other": "wrong", "sub/f": "real", "decoy/f": "wrong"})
	for name, to := range map[string]string{"f.link": "other", "sub.link": "decoy"} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(in Dir) bool {
		f, _, err := in.File("f")
		if err != nil {
			return false
		}
		defer f.Close()
		if text, err := io.ReadAll(f); err != nil || string(text) != "real" {
			t.Fatalf("opened %q, %v", text, err)
		}
		return true
	}
	for name, try := range map[string]func() bool{
		"f": func() bool { return read(d) },
		"sub": func() bool {
			sub, err := d.Dir("sub")
			if err != nil {
				return false
			}
			defer sub.Close()
			return read(sub)
		},
	} {
		stop := swapping(t, top, name)
		opened, refused := 0, 0
		for range 30_000 {
			if try() {
				opened++
			} else {
				refused++
			}
		}
		stop()
		if t.Logf("%s: %d opened, %d refused", name, opened, refused); opened == 0 || refused == 0 {
			t.Errorf("%s: the race was not live", name)
		}
	}
}

func TestAPathGoesThroughNoLink(t *testing.T) {
	d, top := put(t, map[string]string{"a/b/f": "x"})
	if err := os.Symlink("b", top+"/a/l"); err != nil {
		t.Fatal(err)
	}
	var met Linked
	if _, err := d.At("a/l", nil); !errors.As(err, &met) || met != (Linked{"a/l", "b"}) {
		t.Errorf("a link on the way: %v", err)
	}
	if _, err := d.At("a/b/f", nil); !errors.Is(err, ErrNoDir) {
		t.Errorf("a file on the way: %v", err)
	}
	if _, err := d.At("a/none", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	var made []string
	deep, err := d.At("a/n/m", &made)
	if err != nil || deep.Rel() != "a/n/m" || deep.Path("f") != "a/n/m/f" || strings.Join(made, " ") != "a/n a/n/m" {
		t.Errorf("missing directories made: %v, %v, %v", deep.Rel(), made, err)
	}
	deep.Close()
}

func TestRenameNewReplacesNothing(t *testing.T) {
	d, top := put(t, map[string]string{"a": "a", "s/b": "b"})
	s, err := d.Dir("s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := RenameNew(d, "a", s, "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto what exists: %v", err)
	}
	if err := RenameNew(d, "a", s, "c"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"s/b": "b", "s/c": "a"} {
		if text, err := os.ReadFile(filepath.Join(top, name)); string(text) != want {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
}

func TestAStagedFileThatIsDroppedLeavesNothing(t *testing.T) {
	d, top := put(t, map[string]string{"f": "before"})
	s, err := d.Stage("f", []byte("after"), nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(top + "/" + s.temp)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the staged file: %v, %v", info, err)
	}
	s.Discard()
	entries, more, err := d.Entries(10)
	if err != nil || more || len(entries) != 1 {
		t.Errorf("entries: %v, %v, %v", entries, more, err)
	}
	if text, _ := os.ReadFile(top + "/f"); string(text) != "before" {
		t.Errorf("the file holds %q", text)
	}
}
