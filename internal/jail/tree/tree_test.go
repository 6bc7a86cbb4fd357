package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPathsAreComparedByElements(t *testing.T) {
	for _, c := range []struct {
		root, path string
		want       bool
	}{
		{"/a", "/a", true}, {"/a", "/a/b", true}, {"/a", "/ab", false}, {"/a/b", "/a", false}, {"/", "/a", true}, {"/a", "", false}, {"/a b", "/a b/c", true},
	} {
		if got := Within(c.root, c.path); got != c.want {
			t.Errorf("Within(%q, %q) = %v", c.root, c.path, got)
		}
	}
	got := Outermost([]string{"/b/c", "/a-b", "/a", "/a/x", "/b/c", "/a/x/y"})
	if want := []string{"/a", "/a-b", "/b/c"}; !slices.Equal(got, want) {
		t.Errorf("Outermost: %v, want %v", got, want)
	}
	for _, c := range [][2]string{{"/a", "/a"}, {"/a", "/a/b"}, {"/a/b", "/a-b"}, {"/a-b", "/a\x01"}, {"/a b", "/a"}, {"/é/x", "/é-"}, {"/", "/a"}, {"", "/"}} {
		for _, p := range [][2]string{c, {c[1], c[0]}} {
			if want := strings.ReplaceAll(p[0], "/", "\x00") < strings.ReplaceAll(p[1], "/", "\x00"); Less(p[0], p[1]) != want {
				t.Errorf("Less(%q, %q) = %v", p[0], p[1], !want)
			}
		}
	}
	if tidy := Tidy([]string{"/a-b", "/a/b", "/a", "/a"}); !slices.Equal(tidy, []string{"/a", "/a/b", "/a-b"}) {
		t.Errorf("Tidy: %v", tidy)
	}
}

func TestCanonicalResolvesWhatExistsAndRefusesOddSpellings(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "real", "dangling": "none", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		dir + "/link": dir + "/real", dir + "/link/new/deep": dir + "/real/new/deep", dir + "/./link/../new": dir + "/new",
		dir + "/dangling": "", dir + "/dangling/x": "", dir + "/loop": "", "relative": "", "": "", "/a\nb": "", "/a\x00b": "", "/a\x7f": "", "/" + strings.Repeat("x", MaxPath): "",
	} {
		got, err := Canonical(in)
		if got != want && err == nil || (want == "") != (err != nil) {
			t.Errorf("Canonical(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

// FuzzCanonical: an answer is absolute, clean, free of control characters and
// of links, and a second look gives the same.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{"/", "/tmp", "/tmp/../etc", "/proc/self/root", "//x", "/a\x01", "/\xff", "/var/run/x", "/dev/fd/0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := Canonical(path)
		if err != nil {
			return
		}
		if !filepath.IsAbs(got) || filepath.Clean(got) != got || CheckPath(got) != nil {
			t.Fatalf("Canonical(%q) = %q", path, got)
		}
		if strings.HasPrefix(got, "/proc/") || strings.HasPrefix(got, "/dev/") {
			return // differs from look to look
		}
		if again, err := Canonical(got); err != nil || again != got {
			t.Fatalf("Canonical(%q) = %q, then %q %v", path, got, again, err)
		}
	})
}

func TestAWalkFindsRepositoriesAndEndsAtItsBound(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".git", "a/b/.git", "node_modules/x/.git", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "c/.git"), []byte("gitdir: x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	found := Look(dir)
	want := []string{filepath.Join(dir, ".git"), filepath.Join(dir, "c/.git"), filepath.Join(dir, "a/b/.git")}
	if !slices.Equal(found.Gits, want) || found.Cut {
		t.Errorf("found %v cut %v, want %v", found.Gits, found.Cut, want)
	}
	deep := dir
	for range maxLevels + 2 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if !Look(dir).Cut {
		t.Error("the bound is not told")
	}
}

func TestReachableFollowsTheModeBitsAndNotRoot(t *testing.T) {
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	if err := os.MkdirAll(filepath.Join(closed, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !NewReach().Reachable(filepath.Join(closed, "x")) {
		t.Error("an open directory is not reachable")
	}
	if err := os.Chmod(closed, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o700)
	if NewReach().Reachable(filepath.Join(closed, "x")) {
		t.Error("a directory without the x bit is reachable")
	}
}

func TestCopyTakesFilesDirectoriesAndLinksAndNothingElse(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a/b/f"), []byte("text"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "a/l")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "a/p"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := Copy(root, "a", to); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(to, "b/f"))
	target, linkErr := os.Readlink(filepath.Join(to, "l"))
	if string(text) != "text" || target != "/etc/passwd" {
		t.Errorf("%q %v, %q %v", text, err, target, linkErr)
	}
	if _, err := os.Lstat(filepath.Join(to, "p")); err == nil {
		t.Error("a pipe was copied")
	}
}

// TestRealIsWhatIsLeftWithoutLinks compares with the slower way.
func TestRealIsWhatIsLeftWithoutLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"l": "a", "m": "l/b", "none": "nothing", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a/f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a", "a/b", "a/f", "l", "l/b", "l/f", "m", "none", "none/x", "loop", "loop/x", "a/none", "a/f/x", "none2", "l/../a", "m/../b", "a//b", "a/b/"} {
		path := dir + "/" + name
		want, wantErr := filepath.EvalSymlinks(path)
		if got, err := Real(path); got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("Real(%q) = %q, %v; want %q, %v", name, got, err, want, wantErr)
		}
	}
}
