package files

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/testuser"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/tooltest"
)

// world is a workspace beside a place that no tool may touch.
type world struct {
	t       testing.TB
	ws, out string
	tools   map[string]tool.Runner
	place   tool.Place
	issuer  *permit.Issuer
}

func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ws: top + "/ws", out: top + "/out", tools: map[string]tool.Runner{}, issuer: permit.NewIssuer(time.Now)}
	for _, dir := range []string{w.ws, w.out, top + "/home"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(w.out+"/secret", "outside")
	for name, text := range files {
		w.write(filepath.Join(w.ws, name), text)
	}
	w.place = tool.Place{Workspace: w.ws, Home: top + "/home", Dir: w.ws}
	for _, tl := range Tools(safepath.NewDisk(safepath.Options{Home: w.place.Home})) {
		w.tools[tl.Spec().Name] = tl.(tool.Runner)
	}
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(to, name string) {
	w.t.Helper()
	if err := os.Symlink(to, filepath.Join(w.ws, name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.ws, name))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(text)
}

// do runs one call with a permit of its own. Args are names and values.
func (w *world) do(name string, args ...any) reeve.Result {
	w.t.Helper()
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	raw, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		w.t.Fatal(err)
	}
	digest := sha256.Sum256(raw)
	return w.tools[name].Run(w.t.Context(), tool.Call{Permit: w.issuer.Mint(digest, time.Hour), Digest: digest, Args: raw, Place: w.place})
}

func (w *world) must(name string, args ...any) string {
	w.t.Helper()
	r := w.do(name, args...)
	if r.Status != reeve.StatusSuccess {
		w.t.Fatalf("%s %v: %s", name, args, r.Error)
	}
	return r.Output
}

// refused expects an error that says why.
func (w *world) refused(why, name string, args ...any) {
	w.t.Helper()
	r := w.do(name, args...)
	if r.Status == reeve.StatusSuccess || !strings.Contains(r.Error, why) {
		w.t.Errorf("%s %v: %s %q %q, want an error with %q", name, args, r.Status, r.Error, r.Output, why)
	}
}

// untouched fails where the place outside differs from what it was made with.
func (w *world) untouched() {
	w.t.Helper()
	entries, err := os.ReadDir(w.out)
	if err != nil || len(entries) != 1 {
		w.t.Errorf("outside the workspace: %v, %v", entries, err)
	}
	if text, err := os.ReadFile(w.out + "/secret"); string(text) != "outside" {
		w.t.Errorf("the file outside holds %q, %v", text, err)
	}
}

// leftovers fails where a temporary file was left behind.
func (w *world) leftovers() {
	w.t.Helper()
	filepath.WalkDir(w.ws, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".reeve-") {
			w.t.Errorf("%s was left behind", path)
		}
		return nil
	})
}

func TestEveryFileToolPassesTheSuite(t *testing.T) {
	files := map[string]string{"a.txt": "one\ntwo\n", "d/b.txt": "x", "d/e/": ""}
	for name, args := range map[string]string{
		"read_file":   `{"path":"a.txt"}`,
		"list_dir":    `{"path":"d"}`,
		"glob":        `{"pattern":"**/*.txt"}`,
		"grep":        `{"pattern":"o"}`,
		"write_file":  `{"path":"new/deep/f","content":"x"}`,
		"edit_file":   `{"path":"a.txt","old":"one","new":"1"}`,
		"apply_patch": `{"patch":"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- /dev/null\n+++ b/n/m\n@@ -0,0 +1 @@\n+x\n"}`,
		"create_dir":  `{"path":"x/y/z"}`,
		"move_path":   `{"from":"d","to":"m/n"}`,
		"copy_path":   `{"from":"d","to":"m/n"}`,
		"delete_path": `{"path":"d"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			tooltest.Run(t, tooltest.Case{Tool: w.tools[name], Args: args, Files: files})
		})
	}
}

// TestTheJailOfFileTools is the list of contract Y52, and P1 to P4.
func TestTheJailOfFileTools(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"sub/file.txt": "inside", "plain.txt": "plain"})
		w.link(w.out+"/secret", "filelink")
		w.link(w.out, "dirlink")
		w.link(w.out+"/not-yet", "broken")
		w.link("sub", "inner")
		w.link("../out", "updots")

		// allowed
		if got := w.must("read_file", "path", "sub/file.txt"); got != "inside" {
			t.Errorf("read a file: %q", got)
		}
		if got := w.must("read_file", "path", w.ws+"/sub/../sub/file.txt"); got != "inside" {
			t.Errorf("read by an absolute path with dots: %q", got)
		}
		if got := w.must("read_file", "path", "inner/file.txt"); got != "inside" {
			t.Errorf("read through a link that stays inside: %q", got)
		}
		w.must("write_file", "path", "deep/new/note.txt", "content", "note")
		w.must("edit_file", "path", "deep/new/note.txt", "old", "note", "new", "noted")
		if got := w.read("deep/new/note.txt"); got != "noted" {
			t.Errorf("a new file below new directories: %q", got)
		}

		// refused, by every tool that takes the path
		for _, path := range []string{
			"../out/secret", "../../etc/passwd", "/etc/hosts", w.out + "/secret", "filelink", "dirlink/secret", "dirlink/new", "broken", "updots/secret",
			"dirlink", "updots/new/deep", w.ws + "x/f", "sub/../../out/secret",
		} {
			for _, tl := range []string{"read_file", "list_dir", "create_dir"} {
				if r := w.do(tl, "path", path); r.Status == reeve.StatusSuccess {
					t.Errorf("%s %s: %q", tl, path, r.Output)
				}
			}
			for _, tl := range []string{"glob", "grep"} {
				if r := w.do(tl, "pattern", ".*", "path", path); r.Status == reeve.StatusSuccess {
					t.Errorf("%s %s: %q", tl, path, r.Output)
				}
			}
			w.do("edit_file", "path", path, "old", "outside", "new", "changed")
			w.do("apply_patch", "patch", "--- "+path+"\n+++ "+path+"\n@@ -1 +1 @@\n-outside\n\\ No newline at end of file\n+changed\n")
			w.do("copy_path", "from", path, "to", "stolen")
			if path != "filelink" && path != "broken" && path != "dirlink" { // these names are themselves inside
				w.do("write_file", "path", path, "content", "changed")
				w.do("move_path", "from", path, "to", "stolen")
				w.do("move_path", "from", "plain.txt", "to", path)
				w.do("copy_path", "from", "plain.txt", "to", path)
				w.do("delete_path", "path", path)
			}
			if _, err := os.Lstat(w.ws + "/stolen"); err == nil {
				t.Errorf("something of %s was brought inside", path)
			}
			w.untouched()
		}

		// the root
		w.refused("workspace itself", "delete_path", "path", ".")
		w.refused("workspace itself", "delete_path", "path", w.ws)
		w.refused("workspace itself", "delete_path", "path", "sub/..")
		w.refused("workspace itself", "move_path", "from", ".", "to", "x")
		w.refused("is a directory", "write_file", "path", "sub", "content", "x")
		w.place.Workspace, w.place.Dir = w.ws+"/none", w.ws+"/none"
		w.refused("no such file", "read_file", "path", "x")
		w.refused("no such file", "write_file", "path", "x", "content", "y")
		w.untouched()
	})
}

func TestALinkAtTheEndIsReplacedNotFollowed(t *testing.T) {
	w := newWorld(t, map[string]string{"target": "kept"})
	w.link(w.out+"/secret", "planted")
	w.link("target", "inner")
	w.must("write_file", "path", "planted", "content", "mine")
	w.must("write_file", "path", "inner", "content", "mine")
	w.untouched()
	if w.read("target") != "kept" || w.read("planted") != "mine" || w.read("inner") != "mine" {
		t.Errorf("target %q, planted %q, inner %q", w.read("target"), w.read("planted"), w.read("inner"))
	}
	if info, err := os.Lstat(w.ws + "/planted"); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o644&^umask() {
		t.Errorf("what replaced the link: %v, %v", info.Mode(), err)
	}
	w.leftovers()
}

func TestAChangeGoesThroughNoLinkAndNamesTheRealPath(t *testing.T) {
	w := newWorld(t, map[string]string{"real/f": "x"})
	w.link("real", "alias")
	w.link("f", "real/g")
	for tl, args := range map[string][]any{
		"write_file":  {"path", "alias/f", "content", "y"},
		"edit_file":   {"path", "alias/f", "old", "x", "new", "y"},
		"create_dir":  {"path", "alias/d"},
		"move_path":   {"from", "alias/f", "to", "h"},
		"copy_path":   {"from", "alias/f", "to", "h"},
		"delete_path": {"path", "alias/f"},
	} {
		w.refused("alias is a symbolic link to real", tl, args...)
	}
	w.refused("symbolic link to f", "edit_file", "path", "real/g", "old", "x", "new", "y")
	if w.read("real/f") != "x" {
		t.Errorf("the file holds %q", w.read("real/f"))
	}
}

func umask() os.FileMode {
	m := syscall.Umask(0)
	syscall.Umask(m)
	return os.FileMode(m)
}

func TestModesHoldUnderAnyUmask(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		for mask, want := range map[int][2]os.FileMode{0o000: {0o644, 0o755}, 0o022: {0o644, 0o755}, 0o077: {0o600, 0o700}} {
			old := syscall.Umask(mask)
			defer syscall.Umask(old)
			w := newWorld(t, nil)
			w.must("write_file", "path", "d/new", "content", "x")
			w.must("apply_patch", "patch", "--- /dev/null\n+++ b/d/patched\n@@ -0,0 +1 @@\n+x\n")
			w.must("create_dir", "path", "made")
			for name, perm := range map[string]os.FileMode{"d/new": want[0], "d/patched": want[0], "d": want[1], "made": want[1]} {
				if info, err := os.Stat(filepath.Join(w.ws, name)); err != nil || info.Mode().Perm() != perm {
					t.Errorf("umask %03o: %s has mode %v, want %v (%v)", mask, name, info.Mode().Perm(), perm, err)
				}
			}
			for _, perm := range []os.FileMode{0o600, 0o755, 0o640, 0o666} {
				path := fmt.Sprintf("%s/kept%o", w.ws, perm)
				w.write(path, "x")
				os.Chmod(path, perm)
				w.must("write_file", "path", path, "content", "y")
				w.must("edit_file", "path", path, "old", "y", "new", "z\n")
				w.must("apply_patch", "patch", "--- "+path+"\n+++ "+path+"\n@@ -1 +1 @@\n-z\n+zz\n")
				if info, _ := os.Stat(path); info.Mode().Perm() != perm {
					t.Errorf("umask %03o: a file of mode %v has mode %v after changes", mask, perm, info.Mode().Perm())
				}
			}
			w.leftovers()
		}
	})
}

func TestHardLinksAreNotChangedAndAliasesOfCredentialsNotRead(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"store/pkg": "one\n", ".env": "KEY=hunter2\n", "a/b": "x"})
		for from, to := range map[string]string{"store/pkg": "linked", ".env": "notes.txt"} {
			if err := os.Link(filepath.Join(w.ws, from), filepath.Join(w.ws, to)); err != nil {
				t.Fatal(err)
			}
		}
		w.refused("hard links", "write_file", "path", "linked", "content", "two")
		w.refused("hard links", "edit_file", "path", "linked", "old", "one", "new", "two")
		w.refused("hard links", "apply_patch", "patch", "--- a/linked\n+++ b/linked\n@@ -1 +1 @@\n-one\n+two\n")
		w.refused("hard links", "apply_patch", "patch", "--- a/linked\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n")
		if w.read("store/pkg") != "one\n" || w.must("read_file", "path", "linked") != "one\n" {
			t.Error("a file of a package store cannot be read, or was changed")
		}
		w.refused("another name", "read_file", "path", "notes.txt")
		w.refused("another name", "copy_path", "from", "notes.txt", "to", "copy")
		w.refused("another name", "edit_file", "path", "notes.txt", "old", "KEY", "new", "K")
		if out := w.must("grep", "pattern", "hunter2|one"); strings.Contains(out, "hunter2") || !strings.Contains(out, "linked:1:one") {
			t.Errorf("grep: %s", out)
		}
		w.leftovers()
	})
}

// TestCredentialsAreRefusedByName is contract A20, A21 and P28.
func TestCredentialsAreRefusedByName(t *testing.T) {
	w := newWorld(t, map[string]string{
		".env": "KEY=hunter2\n", "services/api/.env.production": "KEY=hunter2\n", ".git/config": "url = https://hunter2@h\n", "k/id_rsa": "hunter2\n",
		".env.example": "KEY=sample\n", "src/main.go": "package main // hunter\n", ".vscode/settings.json": "hunter\n", "pkg/d/.npmrc": "hunter2\n",
	})
	w.link(".env", "readme.txt")
	w.link("services/api", "svc")
	for _, path := range []string{".env", "services/api/.env.production", ".git/config", "k/id_rsa", "readme.txt", "svc/.env.production", ".ENV", "./k/../.env"} {
		for tl, args := range map[string][]any{
			"read_file": {"path", path}, "edit_file": {"path", path, "old", "KEY", "new", "K"},
			"grep": {"pattern", "hunter2", "path", path}, "copy_path": {"from", path, "to", "copy"}, "move_path": {"from", path, "to", "moved"},
			"apply_patch": {"patch", "--- " + path + "\n+++ " + path + "\n@@ -1 +1 @@\n-KEY=hunter2\n+K\n"},
		} {
			if tl == "move_path" && path == "readme.txt" {
				continue // moves the link itself
			}
			if r := w.do(tl, args...); r.Status == reeve.StatusSuccess || strings.Contains(r.Output+r.Error, "hunter2@") {
				t.Errorf("%s %s: %s %s", tl, path, r.Output, r.Error)
			}
		}
		if path != "readme.txt" {
			if r := w.do("write_file", "path", path, "content", "x"); r.Status == reeve.StatusSuccess {
				t.Errorf("write_file %s: %s", path, r.Output)
			}
		}
	}
	if got := w.must("read_file", "path", ".env.example"); got != "KEY=sample\n" {
		t.Errorf("an example: %q", got)
	}
	out := w.must("grep", "pattern", "hunter|KEY")
	if strings.Contains(out, "hunter2") || strings.Contains(out, ".vscode") {
		t.Errorf("grep shows what it must leave out:\n%s", out)
	}
	if !strings.Contains(out, "src/main.go:1:") || !strings.Contains(out, ".env.example:1:") || !strings.Contains(out, "6 names left out") {
		t.Errorf("grep:\n%s", out)
	}
	w.refused("protected", "copy_path", "from", "pkg", "to", "pkg2")
	w.refused("protected", "delete_path", "path", "services")
	w.refused("protected", "move_path", "from", "pkg", "to", "pkg2")
	w.leftovers()
}
