package safepath

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/testuser"
)

// world is a workspace, a home and a place outside both.
type world struct{ ws, home, out, state string }

func newWorld(t testing.TB) world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{ws: top + "/ws", home: top + "/home", out: top + "/out", state: top + "/home/.local/state/reeve"}
	for _, dir := range []string{w.ws + "/sub/.git/hooks", w.ws + "/.git", w.ws + "/.claude", w.home + "/.ssh", w.out, w.state, top + "/scratch"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		w.ws + "/main.go": "package main", w.ws + "/.env": "KEY=1", w.ws + "/.git/config": "[core]\n", w.home + "/.ssh/config": "Host x",
		w.out + "/file": "outside", w.state + "/audit.db": "rows", w.ws + "/sub/file.txt": "x",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w world) resolver(t testing.TB) *Resolver {
	t.Helper()
	r, err := NewResolver(Options{Workspace: w.ws, Home: w.home, State: []string{w.state}, Scratch: filepath.Dir(w.ws) + "/scratch"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func link(t testing.TB, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func TestFactsResolvePathsAsTheSystemWould(t *testing.T) {
	w := newWorld(t)
	link(t, w.out+"/file", w.ws+"/filelink")
	link(t, w.out, w.ws+"/dirlink")
	link(t, "missing/../../out/new", w.ws+"/dotlink")
	link(t, w.out+"/not-yet", w.ws+"/broken")
	link(t, "loop2", w.ws+"/loop1")
	link(t, "loop1", w.ws+"/loop2")
	link(t, "sub", w.ws+"/inside")
	link(t, "../.ssh", w.home+"/keys")
	link(t, w.ws, filepath.Dir(w.ws)+"/alias")
	link(t, "main.go", w.ws+"/innocent.env.d")
	link(t, ".env", w.ws+"/notes.txt")
	link(t, "/proc/self/fd/0", w.ws+"/magic")
	const (
		outside, protected, credential = reeve.PathOutside, reeve.PathProtected, reeve.PathCredential
		own, gate, scratch, device     = reeve.PathOwnState, reeve.PathGateConfig, reeve.PathScratch, reeve.PathDevice
	)
	tests := []struct {
		path   string
		known  bool
		target string
		exists bool
		marks  reeve.PathMark
	}{
		{w.ws, true, w.ws, true, 0},
		{w.ws + "/main.go", true, w.ws + "/main.go", true, 0},
		{w.ws + "/sub/../main.go", true, w.ws + "/main.go", true, 0},
		{w.ws + "/deep/new/note.txt", true, w.ws + "/deep/new/note.txt", false, 0},
		{w.ws + "/new", true, w.ws + "/new", false, 0},
		{w.ws + "/main.go/x", true, w.ws + "/main.go/x", false, 0},
		{w.ws + "/inside/file.txt", true, w.ws + "/sub/file.txt", true, 0},
		{w.ws + "/filelink", true, w.out + "/file", true, outside},
		{w.ws + "/dirlink/new", true, w.out + "/new", false, outside},
		{w.ws + "/broken", true, w.out + "/not-yet", false, outside},
		{w.ws + "/dotlink", false, "", false, 0},
		{w.ws + "/loop1", false, "", false, 0},
		{w.ws + "/magic", false, "", false, 0},
		{w.ws + "/../out/file", true, w.out + "/file", true, outside},
		{w.ws + "x", true, w.ws + "x", false, outside},
		{filepath.Dir(w.ws) + "/alias/main.go", true, w.ws + "/main.go", true, outside},
		{"/etc/hosts", true, "/etc/hosts", true, outside},
		{w.ws + "/.env", true, w.ws + "/.env", true, credential},
		{w.ws + "/.ENV", true, w.ws + "/.ENV", false, credential},
		{w.ws + "/notes.txt", true, w.ws + "/.env", true, credential},
		{w.ws + "/.git/config", true, w.ws + "/.git/config", true, protected | credential},
		{w.ws + "/sub/.git/hooks/pre-commit", true, w.ws + "/sub/.git/hooks/pre-commit", false, protected},
		{w.ws + "/.claude/settings.json", true, w.ws + "/.claude/settings.json", false, protected | gate},
		{w.home + "/.ssh/config", true, w.home + "/.ssh/config", true, outside | credential},
		{w.state + "/audit.db", true, w.state + "/audit.db", true, outside | own},
		{w.home + "/.LOCAL/state/reeve/x", true, w.home + "/.LOCAL/state/reeve/x", false, outside | own},
		{filepath.Dir(w.ws) + "/scratch/x", true, filepath.Dir(w.ws) + "/scratch/x", false, outside | scratch},
		{"/dev/null", true, "/dev/null", true, outside | device},
		{"/dev/stderr", true, "/dev/stderr", true, outside | device},
		{"/dev/fd/3", false, "", false, outside},
		{"/dev/tcp/host/80", false, "", false, outside},
		{"/proc/self/root" + w.ws + "/.env", false, "", false, outside | credential},
		{"/proc/1/root" + w.state, false, "", false, outside | own},
		{"/proc/self/task/7/cwd/x", false, "", false, outside},
		{"/proc/self/fd/0", false, "", false, outside},
		{"/proc/1/environ", true, "/proc/1/environ", true, outside | credential},
		{"/proc/self/status", true, "/proc/self/status", true, outside},
		{"/etc/claude-code/managed-settings.json", true, "/etc/claude-code/managed-settings.json", false, outside | gate},
		{"relative/.env", false, "", false, outside | credential},
		{"/a\x00b", false, "", false, outside},
	}
	r := w.resolver(t)
	for _, tt := range tests {
		got := r.Facts(tt.path)
		got.Links = 0
		want := reeve.PathFacts{Known: tt.known, Target: tt.target, Exists: tt.exists, Marks: tt.marks}
		if got != want {
			t.Errorf("Facts(%q)\n got %+v\nwant %+v", tt.path, got, want)
		}
	}
}

func TestFactsAgreeWithAndWithoutTheFastWay(t *testing.T) {
	w := newWorld(t)
	link(t, "sub", w.ws+"/inside")
	r := w.resolver(t)
	for _, path := range []string{
		w.ws, w.ws + "/main.go", w.ws + "/new", w.ws + "/a/b", w.ws + "/main.go/x", w.ws + "/inside/file.txt", w.ws + "/sub/.git", "/", "/etc/hosts",
	} {
		fast, ok := r.lookFast(path)
		if slow := r.lookSlow(path); ok && fast != slow {
			t.Errorf("%s: fast %+v, slow %+v", path, fast, slow)
		}
	}
}

func TestAClosedFolderIsNotKnownAndItsNamesStillCount(t *testing.T) {
	if os.Getuid() == 0 { // who may look everywhere
		testuser.Rerun(t, "^"+t.Name()+"$")
		return
	}
	w := newWorld(t)
	dir := w.out + "/closed"
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	if f := w.resolver(t).Facts(dir + "/.ssh/id_rsa"); f.Known || !f.Marks.Has(reeve.PathCredential|reeve.PathOutside) {
		t.Errorf("facts of a path in a closed folder: %+v", f)
	}
}

func TestCaseIsNotFoldedHereAndTwoNamesAreTwoFiles(t *testing.T) {
	w := newWorld(t)
	d := NewDisk(Options{Home: w.home})
	if err := os.WriteFile(w.ws+"/MAIN.GO", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a, err1 := os.Lstat(w.ws + "/main.go")
	b, err2 := os.Lstat(w.ws + "/MAIN.GO")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if got := d.FoldsCase(w.ws); got != os.SameFile(a, b) {
		t.Errorf("FoldsCase = %v", got)
	}
	if d.FoldsCase(w.out + "/none") {
		t.Error("a missing workspace folds")
	}
}

func TestHardLinksAreCountedAndAliasesOfCredentialsFound(t *testing.T) {
	w := newWorld(t)
	for from, to := range map[string]string{
		w.ws + "/sub/file.txt":    w.ws + "/store/pkg.txt",
		w.ws + "/.env":            w.ws + "/store/innocent.txt",
		w.home + "/.ssh/config":   w.ws + "/store/readme.md",
		w.state + "/audit.db":     w.ws + "/store/data.bin",
		w.ws + "/sub/.git/config": w.ws + "/store/git.txt",
	} {
		if _, err := os.Stat(from); err != nil {
			if err := os.WriteFile(from, []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(from, to); err != nil {
			t.Fatal(err)
		}
	}
	r := w.resolver(t)
	if f := r.Facts(w.ws + "/main.go"); f.Links != 1 || f.Marks != 0 {
		t.Errorf("a file with one name: %+v", f)
	}
	if f := r.Facts(w.ws + "/store/pkg.txt"); f.Links != 2 || f.Marks != reeve.PathHardLinked {
		t.Errorf("a file of a package store: %+v", f)
	}
	for _, name := range []string{"innocent.txt", "readme.md", "data.bin", "git.txt"} {
		if f := r.Facts(w.ws + "/store/" + name); f.Marks != reeve.PathHardLinked|reeve.PathCredential {
			t.Errorf("an alias, %s: %+v", name, f)
		}
	}
}

func TestANewAliasIsFoundAfterTheLookHasAged(t *testing.T) {
	w := newWorld(t)
	now := time.Unix(1000, 0)
	r, err := NewResolver(Options{Workspace: w.ws, Home: w.home, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(w.ws+"/sub/file.txt", w.ws+"/second"); err != nil {
		t.Fatal(err)
	}
	r.Facts(w.ws + "/second")
	if err := os.WriteFile(w.ws+"/sub/.env.local", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(w.ws+"/sub/.env.local", w.ws+"/third"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(aliasAge + 1)
	if f := r.Facts(w.ws + "/third"); !f.Marks.Has(reeve.PathCredential) {
		t.Errorf("an alias of a new credential: %+v", f)
	}
}

func TestAMissingWorkspaceIsAnError(t *testing.T) {
	w := newWorld(t)
	for _, ws := range []string{"", "relative", w.out + "/none", w.ws + "/main.go"} {
		if _, err := NewResolver(Options{Workspace: ws}); err == nil {
			t.Errorf("NewResolver(%q) made a resolver", ws)
		}
	}
}

func TestAWorkspaceGivenByALinkIsInsideByBothSpellings(t *testing.T) {
	w := newWorld(t)
	given := filepath.Dir(w.ws) + "/alias"
	link(t, w.ws, given)
	r, err := NewResolver(Options{Workspace: given, Home: w.home})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{given + "/main.go", w.ws + "/main.go"} {
		if f := r.Facts(path); f.Marks != 0 || f.Target != w.ws+"/main.go" {
			t.Errorf("Facts(%s) = %+v", path, f)
		}
	}
}

// FuzzResolve holds two properties: what resolve calls existing is what the
// system opens under that name, and a target never holds a link or a dot.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"a", "a/b", "../x", "l/../l/x", "l", "m/../../..", "./.", "l/l/l", "a//b/"} {
		f.Add(seed, "a/..", "/")
	}
	f.Fuzz(func(t *testing.T, path, to1, to2 string) {
		if strings.ContainsRune(path+to1+to2, 0) || len(path)+len(to1)+len(to2) > 200 || to1 == "" || to2 == "" {
			return
		}
		dir := t.TempDir()
		os.MkdirAll(dir+"/a/b", 0o755)
		if os.Symlink(to1, dir+"/l") != nil || os.Symlink(to2, dir+"/a/m") != nil {
			return
		}
		full := filepath.Clean(dir + "/" + path)
		target, exists, err := resolve(full)
		if err != nil {
			return
		}
		want, statErr := filepath.EvalSymlinks(full)
		if strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/dev/") {
			return
		}
		if exists != (statErr == nil) || exists && want != target {
			t.Fatalf("resolve(%q) = %q, %v; the system says %q, %v", full, target, exists, want, statErr)
		}
		if target != filepath.Clean(target) {
			t.Fatalf("target %q is not clean", target)
		}
	})
}

func TestFactsOfAWorkspaceFileAllocateLittle(t *testing.T) {
	w := newWorld(t)
	r := w.resolver(t)
	if n := testing.AllocsPerRun(100, func() { r.Facts(w.ws + "/sub/file.txt") }); n > 16 {
		t.Errorf("%v allocations, want at most 16", n)
	}
}

// BenchmarkFacts/bare is one lstat of the same file, for the ratio.
func BenchmarkFacts(b *testing.B) {
	w := newWorld(b)
	r := w.resolver(b)
	link(b, "sub", w.ws+"/inside")
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			os.Lstat(w.ws + "/sub/file.txt")
		}
	})
	for name, path := range map[string]string{
		"file": w.ws + "/sub/file.txt", "new": w.ws + "/sub/new.txt", "link": w.ws + "/inside/file.txt", "protected": w.ws + "/.git/config",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Facts(path)
			}
		})
	}
}

// TestAFolderIsKnownByTheStoreBelowIt: what is done to everything below a
// folder is done to the credentials in it.
func TestAFolderIsKnownByTheStoreBelowIt(t *testing.T) {
	root := t.TempDir()
	home, state := filepath.Join(root, "a[b", "home"), filepath.Join(root, "state")
	for _, dir := range []string{home + "/.ssh", home + "/.config/google-chrome-beta", home + "/code/x", home + "/.config/gh", state} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := NewDisk(Options{Home: home, State: []string{state}})
	for path, want := range map[string]string{
		home: home + "/.ssh", filepath.Dir(home): home + "/.ssh", root + "/./": home + "/.ssh", home + "/code": "",
		home + "/.config": home + "/.config/gh", home + "/.ssh": "", home + "/code/x": "", home + "x": "",
	} {
		if got := d.Holds(path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	if err := os.RemoveAll(home + "/.config/gh"); err != nil {
		t.Fatal(err)
	}
	if got, want := d.Holds(home+"/.config"), home+"/.config/google-chrome-beta"; got != want {
		t.Errorf("a store with a star in its name: %q, want %q", got, want)
	}
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	if got := d.Holds(root); got != state {
		t.Errorf("Reeve's own state: %q, want %q", got, state)
	}
}
