package private

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reeve-gate/reeve/internal/testuser"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// lay makes path with a mode, whatever the umask.
func lay(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	if mode.IsDir() {
		must(t, os.Mkdir(path, 0o700))
	} else {
		must(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	must(t, os.Chmod(path, mode&^fs.ModeDir))
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return info.Mode() &^ fs.ModeType
}

func told(faults []Fault) string {
	var all []string
	for _, f := range faults {
		all = append(all, f.String())
	}
	return strings.Join(all, "\n")
}

func TestWhatOthersHaveIsNamedAndTakenAway(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		lay(t, dir, fs.ModeDir|0o755)
		t.Chdir(dir) // a socket's path is short
		lay(t, filepath.Join(dir, "good"), 0o600)
		lay(t, filepath.Join(dir, "closed"), 0o400)
		lay(t, filepath.Join(dir, "read"), 0o644)
		lay(t, filepath.Join(dir, "sub"), fs.ModeDir|0o770)
		lay(t, filepath.Join(dir, "sub/run"), fs.ModeSetuid|0o755)
		lay(t, filepath.Join(dir, "tree"), fs.ModeDir|0o777)
		lay(t, filepath.Join(dir, "tree/theirs"), 0o666)
		l, err := net.Listen("unix", "sock")
		must(t, err)
		defer l.Close()
		must(t, os.Chmod(filepath.Join(dir, "sock"), 0o666))
		places := []Place{{Path: dir, Skip: []string{"tree"}}, {Path: filepath.Join(dir, "sub/run")}, {Path: dir + "/none"}}
		faults := Look(places)
		for _, want := range []string{"state has mode 0755 and should have 0700", "/read has mode 0644 and should have 0600", "/sub has mode 0770 and should have 0700",
			"/sub/run has mode 4755 and should have 0700", "/tree has mode 0777 and should have 0700", "/sock has mode 0666 and should have 0600"} {
			if !strings.Contains(told(faults), want) {
				t.Errorf("%q is not said:\n%s", want, told(faults))
			}
		}
		if len(faults) != 7 { // the program is named by two places
			t.Errorf("%d faults:\n%s", len(faults), told(faults))
		}
		done, left := Mend(faults)
		if len(done) != 6 || len(left) != 1 || !strings.Contains(left[0].Reason, "meanwhile") {
			t.Errorf("done %q, left %s", done, told(left))
		}
		for path, want := range map[string]fs.FileMode{"": 0o700, "good": 0o600, "closed": 0o400, "read": 0o600, "sub": 0o700, "sub/run": 0o700, "tree": 0o700, "tree/theirs": 0o666, "sock": 0o600} {
			if got := modeOf(t, filepath.Join(dir, path)); got != want {
				t.Errorf("%s has mode %v, want %v", path, got, want)
			}
		}
		if faults = Look(places); len(faults) != 0 {
			t.Errorf("after mending:\n%s", told(faults))
		}
	})
}

func TestLinksOthersFilesAndFurtherNamesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	lay(t, state, fs.ModeDir|0o700)
	outside := filepath.Join(dir, "outside")
	lay(t, outside, 0o644)
	lay(t, filepath.Join(dir, "named"), 0o644)
	lay(t, filepath.Join(state, "swapped"), 0o644)
	must(t, os.Symlink(outside, filepath.Join(state, "link")), os.Link(filepath.Join(dir, "named"), filepath.Join(state, "again")))
	if os.Geteuid() == 0 {
		lay(t, filepath.Join(state, "foreign"), 0o600)
		must(t, os.Chown(filepath.Join(state, "foreign"), 1, 1))
	}
	faults := Look([]Place{{Path: state}})
	if strings.Contains(told(faults), "/link") || !strings.Contains(told(faults), "has 2 names") {
		t.Errorf("said:\n%s", told(faults))
	}
	must(t, os.Remove(filepath.Join(state, "swapped")), os.Symlink(outside, filepath.Join(state, "swapped")))
	done, left := Mend(faults)
	if len(done) != 0 || len(left) != len(faults) {
		t.Errorf("done %q, left:\n%s", done, told(left))
	}
	if os.Geteuid() == 0 && (!strings.Contains(told(left), "belongs to user 1") || modeOf(t, filepath.Join(state, "foreign")) != 0o600) {
		t.Errorf("one of somebody else: %s", told(left))
	}
	for _, path := range []string{outside, filepath.Join(dir, "named")} {
		if got := modeOf(t, path); got != 0o644 {
			t.Errorf("%s has mode %v", path, got)
		}
	}
}

// TestADirectoryThatIsElsewhereIsLookedAtThere: settings are often kept among
// others of a person's and linked to.
func TestADirectoryThatIsElsewhereIsLookedAtThere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	lay(t, filepath.Join(dir, "real"), fs.ModeDir|0o700)
	lay(t, filepath.Join(dir, "real/loose"), 0o644)
	must(t, os.Symlink("real", filepath.Join(dir, "state")), os.Symlink("none", filepath.Join(dir, "dangling")))
	places := []Place{{Path: filepath.Join(dir, "state")}, {Path: filepath.Join(dir, "dangling")}}
	if got, want := told(Look(places)), dir+"/real/loose has mode 0644 and should have 0600"; got != want {
		t.Errorf("said:\n%s\nwant:\n%s", got, want)
	}
	if done, left := Mend(Look(places)); len(done) != 1 || len(left) != 0 || modeOf(t, filepath.Join(dir, "real/loose")) != 0o600 {
		t.Errorf("done %q, left %s", done, told(left))
	}
}

func TestAPersonsOwnFilesMayBeReadAndNotWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "config")
	lay(t, dir, fs.ModeDir|0o755)
	lay(t, filepath.Join(dir, "config.toml"), 0o644)
	lay(t, filepath.Join(dir, "policy.toml"), 0o664)
	lay(t, filepath.Join(dir, "mcp.json"), 0o644)
	places := []Place{{Path: dir, Loose: 0o055, Strict: []string{"mcp.json"}}}
	got := told(Look(places))
	if want := dir + "/mcp.json has mode 0644 and should have 0600\n" + dir + "/policy.toml has mode 0664 and should have 0644"; got != want {
		t.Errorf("said:\n%s\nwant:\n%s", got, want)
	}
	if done, left := Mend(Look(places)); len(done) != 2 || len(left) != 0 || len(Look(places)) != 0 {
		t.Errorf("done %q, left %s", done, told(left))
	}
}

// TestNothingIsEverGiven: whatever the mode, mending only takes bits away.
func TestNothingIsEverGiven(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	lay(t, file, 0o600)
	for mode := range fs.FileMode(0o1000) {
		for _, loose := range []fs.FileMode{0, 0o055} {
			must(t, syscall.Chmod(file, uint32(mode)))
			Mend(Look([]Place{{Path: file, Loose: loose}}))
			if now := modeOf(t, file); now&^mode != 0 || now&(0o077&^loose) != 0 && mode&0o400 != 0 || now&0o700 != mode&0o700 {
				t.Fatalf("%04o became %04o", mode, now)
			}
		}
	}
}
