package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// put makes a file with exactly this mode.
func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// install adds the hook to the file at path, uninstall takes it out.
func install(t *testing.T, path string) error {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		return err
	}
	after, err := Claude.Add(f.Text, f.Exists, command)
	if err != nil {
		return err
	}
	return f.Save(after, true)
}

func uninstall(t *testing.T, path string) error {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		return err
	}
	after, exists, err := Claude.Remove(f.Text)
	if err != nil {
		return err
	}
	return f.Save(after, exists && f.Exists)
}

func TestFilesComeBackByteForByteWithTheirMode(t *testing.T) {
	for name, src := range settings(t) {
		path := filepath.Join(t.TempDir(), "settings.json")
		put(t, path, src, 0o640)
		if err := install(t, path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(path); string(got) == src {
			t.Errorf("%s: install changed nothing", name)
		}
		if err := uninstall(t, path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != src {
			t.Errorf("%s\n got %q, %v\nwant %q", name, got, err, src)
		}
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
			t.Errorf("%s: mode is %v", name, info.Mode())
		}
	}
}

func TestAFileThatWasAbsentIsPrivateAndGoesAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".claude", "settings.json")
	if err := install(t, path); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, want mode %v", at, info.Mode(), want)
		}
	}
	for range 2 {
		if err := uninstall(t, path); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the file is still there: %v", err)
		}
	}
}

func TestALinkIsFollowedAndStaysALink(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"dotfiles", "home"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	real, link := filepath.Join(dir, "dotfiles", "claude.json"), filepath.Join(dir, "home", "settings.json")
	for _, step := range [][2]string{{"middle.json", filepath.Join(dir, "dotfiles", "link.json")}, {"../dotfiles/link.json", link}, {"claude.json", filepath.Join(dir, "dotfiles", "middle.json")}} {
		if err := os.Symlink(step[0], step[1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, exists := range []bool{false, true} {
		if exists {
			put(t, real, "{}\n", 0o644)
		}
		if err := install(t, link); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(real); err != nil || !strings.Contains(string(b), "hook claude") {
			t.Errorf("the real file has %q, %v", b, err)
		}
		if to, err := os.Readlink(link); err != nil || to != "../dotfiles/link.json" {
			t.Errorf("the link is %q, %v", to, err)
		}
		if err := uninstall(t, link); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(real); exists != (err == nil) || exists && string(b) != "{}\n" {
			t.Errorf("after uninstall the real file has %q, %v", b, err)
		}
	}
}

func TestFilesThatAreNotThePersonsOwnAreRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("shared"), "{}", 0o666)
	if err := os.Mkdir(at("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"loop": "loop", "device": "/dev/null"} {
		if err := os.Symlink(to, at(from)); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]string{"shared": "others may write it", "folder": "no regular file", "loop": "too many symbolic links", "device": "no regular file"}
	if os.Geteuid() == 0 {
		put(t, at("foreign"), "{}", 0o644)
		if err := os.Chown(at("foreign"), 12345, 12345); err != nil {
			t.Fatal(err)
		}
		tests["foreign"] = "belongs to user 12345"
	}
	for name, want := range tests {
		if err := install(t, at(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if b, _ := os.ReadFile(at("shared")); string(b) != "{}" {
		t.Errorf("a refused file was changed to %q", b)
	}
}

func TestABrokenFileIsLeftUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	put(t, path, "{\n  broken\n}", 0o600)
	for _, do := range []func(*testing.T, string) error{install, uninstall} {
		if err := do(t, path); err == nil || !strings.Contains(err.Error(), "line 2, column 3") {
			t.Errorf("err = %v", err)
		}
	}
	if b, _ := os.ReadFile(path); string(b) != "{\n  broken\n}" {
		t.Errorf("the file is now %q", b)
	}
}

func TestAChangeBetweenReadingAndWritingIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	put(t, path, "{}", 0o600)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, `{"model":"opus"}`, 0o600)
	if err := f.Save([]byte("{}\n"), true); err == nil || !strings.Contains(err.Error(), "changed it meanwhile") {
		t.Errorf("err = %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != `{"model":"opus"}` {
		t.Errorf("the file is now %q", b)
	}
}

func TestTheDifferenceIsOneThatPatchApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing: it applies the diff")
	}
	for name, src := range settings(t) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "settings.json"), src, 0o600)
		diff := Diff("settings.json", []byte(src), []byte(add(t, src, true)))
		cmd := exec.Command(git, "apply", "-p0", "--whitespace=nowarn", "-")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		cmd.Stdin = strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s\n%s", name, err, out, diff)
			continue
		}
		if got, _ := os.ReadFile(filepath.Join(dir, "settings.json")); string(got) != add(t, src, true) {
			t.Errorf("%s: the applied difference gives\n%q", name, got)
		}
	}
}

func TestTheDifferenceShowsChangedLinesWithThreeAround(t *testing.T) {
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	after := "1\n2\n3\n4\nx\n5\n6\n7\n8\n9\n10\n11\n12"
	want := "--- s\n+++ s\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n@@ -9,4 +10,4 @@\n 9\n 10\n 11\n-12\n+12\n\\ No newline at end of file\n"
	if got := Diff("s", []byte(before), []byte(after)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Diff("s", []byte(before), []byte(before)); got != "" {
		t.Errorf("no difference shows as %q", got)
	}
	many := strings.Repeat("a\nb\n", 4000)
	if got := Diff("s", []byte("x\n"+many+"y\n"), []byte("z\n"+strings.ToUpper(many))); len(got) < 2*len(many) {
		t.Errorf("a large difference is cut to %d bytes", len(got))
	}
}
