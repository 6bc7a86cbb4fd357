package files

import (
	"context"
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
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/patch"
)

func TestReadingLines(t *testing.T) {
	w := newWorld(t, map[string]string{"f": "1\n2\n3\n4", "empty": "", "bin": "a\x00b", "latin": "caf\xe9\n", "long": strings.Repeat("0123456789abcde\n", 30_000)})
	for _, tt := range []struct {
		args []any
		want string
		cut  bool
	}{
		{[]any{"path", "f"}, "1\n2\n3\n4", false},
		{[]any{"path", "f", "offset", 2}, "2\n3\n4", false},
		{[]any{"path", "f", "offset", 2, "limit", 2}, "2\n3\n", true},
		{[]any{"path", "f", "limit", 4}, "1\n2\n3\n4", false},
		{[]any{"path", "f", "offset", 9}, "", false},
		{[]any{"path", "empty"}, "", false},
		{[]any{"path", "latin"}, "caf\ufffd\n", false},
		{[]any{"path", "long"}, strings.Repeat("0123456789abcde\n", maxText/16), true},
		{[]any{"path", "long", "offset", 29_999}, "0123456789abcde\n0123456789abcde\n", false},
	} {
		r := w.do("read_file", tt.args...)
		if r.Status != reeve.StatusSuccess || r.Output != tt.want || r.Truncated != tt.cut {
			t.Errorf("%v: %s %.60q (%d bytes), truncated %v", tt.args, r.Error, r.Output, len(r.Output), r.Truncated)
		}
	}
	w.refused("is not text", "read_file", "path", "bin")
	w.refused("is the workspace itself", "read_file", "path", ".")
	w.refused("no such file", "read_file", "path", "none")
	w.refused("not a directory", "list_dir", "path", "f")
	big, err := os.Create(w.ws + "/big")
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	if err := big.Truncate(maxRead + 1); err != nil {
		t.Fatal(err)
	}
	w.refused("at most 16777216 are read", "read_file", "path", "big")
}

func TestSpecialFilesAreNeitherReadNorReplaced(t *testing.T) {
	w := newWorld(t, map[string]string{"f": "x\n"})
	if err := syscall.Mkfifo(w.ws+"/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	w.link("/dev/zero", "zero")
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.refused("not a regular file", "read_file", "path", "pipe")
		w.refused("not a regular file", "write_file", "path", "pipe", "content", "x")
		w.refused("not a regular file", "copy_path", "from", "pipe", "to", "p2")
		w.refused("outside the workspace", "read_file", "path", "zero")
		if out := w.must("grep", "pattern", "x"); !strings.HasPrefix(out, "f:1:x\n") {
			t.Errorf("grep beside a pipe: %q", out)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a tool waits on a pipe")
	}
}

func TestListing(t *testing.T) {
	w := newWorld(t, map[string]string{"b": "", "a/x": "", ".env": ""})
	w.link("b", "c")
	if got := w.must("list_dir", "path", "."); got != ".env\na/\nb\nc -> b\n" {
		t.Errorf("list: %q", got)
	}
	w.write(w.ws+"/two\nlines", "x\n")
	if got := w.must("list_dir", "path", ".") + w.must("glob", "pattern", "two*") + w.must("grep", "pattern", "x"); strings.Count(got, `"two\nlines"`) != 3 {
		t.Errorf("a name that would look like two: %q", got)
	}
	many := w.ws + "/many"
	if err := os.Mkdir(many, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range maxEntries + 1 {
		if err := os.Symlink("x", fmt.Sprintf("%s/%05d", many, i)); err != nil {
			t.Fatal(err)
		}
	}
	r := w.do("list_dir", "path", "many")
	if !r.Truncated || strings.Count(r.Output, "\n") != maxEntries+1 || !strings.HasSuffix(r.Output, "(more than 10000 entries; the rest is not shown)\n") {
		t.Errorf("%d lines, truncated %v", strings.Count(r.Output, "\n"), r.Truncated)
	}
	w.refused("holds more than 20000 names", "delete_path", "path", "many")
}

func TestGlob(t *testing.T) {
	w := newWorld(t, map[string]string{"a.go": "", "x/b.go": "", "x/y/c.go": "", "x/c.md": "", ".git/d.go": "", "node_modules/m/e.go": "", ".hidden/f.go": ""})
	w.link("x", "loop")
	w.link("../..", "x/y/up")
	for pattern, want := range map[string]string{
		"*.go": "a.go\n", "**/*.go": ".hidden/f.go\na.go\nx/b.go\nx/y/c.go\n", "x/*": "x/b.go\nx/c.md\n", "{a,z}.go": "a.go\n", "*.none": "(no file below . matches)\n",
		"node_modules/**/*.go": "node_modules/m/e.go\n", "../*": "(no file below . matches)\n",
	} {
		if got := w.must("glob", "pattern", pattern); got != want {
			t.Errorf("glob %s: %q, want %q", pattern, got, want)
		}
	}
	if got := w.must("glob", "pattern", "*", "path", "x"); got != "x/b.go\nx/c.md\n" {
		t.Errorf("glob below x: %q", got)
	}
	w.refused("not well-formed", "glob", "pattern", "[")
}

func TestGrep(t *testing.T) {
	w := newWorld(t, map[string]string{"a.go": "one\r\ntwo\n", "x/b.go": "two two\nthree", "bin": "two\x00", "wide": strings.Repeat("w", 5000) + "two\n", ".git/x": "two"})
	if got := w.must("grep", "pattern", "^two"); got != "a.go:2:two\nx/b.go:1:two two\n(1 name left out: credentials or protected)\n" {
		t.Errorf("grep: %q", got)
	}
	if got := w.must("grep", "pattern", "one", "path", "a.go"); got != "a.go:1:one\n" {
		t.Errorf("grep in a file: %q", got)
	}
	if got := w.must("grep", "pattern", "wtwo"); len(got) > maxLine+200 || !strings.Contains(got, "w...\n") {
		t.Errorf("a long line: %d bytes", len(got))
	}
	w.refused("not a regular expression", "grep", "pattern", "(")
	w.write(w.ws+"/many", strings.Repeat("match\n", 100_000))
	if r := w.do("grep", "pattern", "match"); !r.Truncated || len(r.Output) > maxOutput+300 || !strings.Contains(r.Output, "more matches than fit") {
		t.Errorf("many matches: %d bytes", len(r.Output))
	}
}

func TestASearchEndsWithItsCaller(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := []byte(`{"pattern":"x"}`)
	digest := sha256.Sum256(args)
	r := w.tools["grep"].Run(ctx, tool.Call{Permit: w.issuer.Mint(digest, time.Hour), Digest: digest, Args: args, Place: w.place})
	if r.Status == reeve.StatusSuccess || !strings.Contains(r.Error, "canceled") {
		t.Errorf("%+v", r)
	}
}

func TestASearchIsBounded(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 3 {
		dir := fmt.Sprintf("%s/d%d", w.ws, i)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range 8_000 {
			if err := os.Symlink("x", fmt.Sprintf("%s/%05d", dir, j)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r := w.do("glob", "pattern", "**"); !r.Truncated || !strings.Contains(r.Output, "only the first 20000 names") {
		t.Errorf("truncated %v: %q", r.Truncated, r.Output)
	}
}

func TestEditing(t *testing.T) {
	w := newWorld(t, map[string]string{"f": "one two one", "ro": "x"})
	w.refused("2 times", "edit_file", "path", "f", "old", "one", "new", "1")
	w.refused("does not hold the old text", "edit_file", "path", "f", "old", "three", "new", "3")
	w.refused("no such file", "edit_file", "path", "g", "old", "a", "new", "b")
	if got := w.must("edit_file", "path", "f", "old", "two", "new", "2"); got != "changed f in 1 place" || w.read("f") != "one 2 one" {
		t.Errorf("%q: %q", got, w.read("f"))
	}
	w.must("edit_file", "path", "f", "old", "one", "new", "$1", "all", true)
	if w.read("f") != "$1 2 $1" {
		t.Errorf("all: %q", w.read("f"))
	}
	if err := os.Chmod(w.ws+"/ro", 0o444); err != nil {
		t.Fatal(err)
	}
	w.refused("read-only", "edit_file", "path", "ro", "old", "x", "new", "y")
	w.refused("read-only", "write_file", "path", "ro", "content", "y")
	w.refused("at most 10 MB are written", "edit_file", "path", "f", "old", "2", "new", strings.Repeat("x", 10_000_001))
	w.refused("at most 10 MB are written", "write_file", "path", "new/f", "content", strings.Repeat("x", 10_000_001))
	if _, err := os.Lstat(w.ws + "/new"); err == nil {
		t.Error("a refused call left a directory behind")
	}
	w.leftovers()
}

func TestAPatchChangesAllFilesOrNone(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "1\n2\n3\n", "b": "x\n", "d/c": "gone\n"})
	good := "--- a/a\n+++ b/a\n@@ -2 +2 @@\n-2\n+two\n--- a/b\n+++ b/b\n@@ -1 +1,2 @@\n x\n+y\n--- a/d/c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n--- /dev/null\n+++ b/n/e/w\n@@ -0,0 +1 @@\n+new\n"
	for _, bad := range []string{
		"--- a/z\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n",         // missing
		"--- /dev/null\n+++ b/old\n@@ -0,0 +1 @@\n+x\n",   // exists
		"--- a/old\n+++ b/old\n@@ -1 +1 @@\n-other\n+x\n", // does not fit
		"--- a/../out/secret\n+++ b/../out/secret\n@@ -1 +1 @@\n-outside\n+x\n",
		"--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-x\n+y\n",
		"--- a/./b\n+++ b/./b\n@@ -1 +1 @@\n-x\n+z\n", // the same file by another name
		"--- a/old/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
	} {
		w.write(w.ws+"/old", "old\n")
		w.write(w.ws+"/.env", "x\n")
		for _, patch := range []string{good + bad, bad + good} {
			if r := w.do("apply_patch", "patch", patch); r.Status == reeve.StatusSuccess {
				t.Errorf("applied:\n%s", patch)
			}
			if w.read("a") != "1\n2\n3\n" || w.read("b") != "x\n" || w.read("d/c") != "gone\n" || w.read("old") != "old\n" || w.read(".env") != "x\n" {
				t.Errorf("a part of it was applied:\n%s", patch)
			}
			if _, err := os.Lstat(w.ws + "/n"); err == nil {
				t.Errorf("a directory was left behind by\n%s", patch)
			}
		}
	}
	r := w.do("apply_patch", "patch", good)
	if r.Output != "changed a\nchanged b\ndeleted d/c\ncreated n/e/w\n" || strings.Join(r.Changed, " ") != "a b d/c n/e/w" {
		t.Errorf("%+v", r)
	}
	if w.read("a") != "1\ntwo\n3\n" || w.read("b") != "x\ny\n" || w.read("n/e/w") != "new\n" || !strings.HasPrefix(w.read("d/c"), "error") {
		t.Error("the patch is not applied")
	}
	w.untouched()
	w.leftovers()
}

func TestAPatchThatFailsOnTheLastWayIsUndone(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "1\n", "b": "2\n", "c": "3\n"})
	if err := os.Chmod(w.ws+"/b", 0o640); err != nil {
		t.Fatal(err)
	}
	ws, err := openWorkspace(w.place, aliasNone{})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.close()
	p := "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/taken\n@@ -0,0 +1 @@\n+y\n"
	if err := ws.patchWith(p, func() { w.write(w.ws+"/taken", "somebody's") }); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("the patch ended with %v", err)
	}
	if w.read("a") != "1\n" || w.read("b") != "2\n" || w.read("taken") != "somebody's" || !strings.HasPrefix(w.read("new"), "error") {
		t.Errorf("a %q, b %q, taken %q, new %q", w.read("a"), w.read("b"), w.read("taken"), w.read("new"))
	}
	if info, err := os.Stat(w.ws + "/b"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file that was put back has mode %v, %v", info.Mode(), err)
	}
	w.leftovers()
}

type aliasNone struct{}

func (aliasNone) Alias(string, os.FileInfo) bool { return false }

// TestBothEndsOfAMoveAndACopyAreHeld is contract Y56.
func TestBothEndsOfAMoveAndACopyAreHeld(t *testing.T) {
	w := newWorld(t, map[string]string{"a/f": "x", "a/d/g": "y", "b": "z", "links/f": "x"})
	w.link("f", "links/l")
	if err := os.Chmod(w.ws+"/a/d/g", 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.ws+"/a/f", 0o755); err != nil {
		t.Fatal(err)
	}
	effects, err := w.tools["move_path"].Effects([]byte(`{"from":"a","to":"c/d"}`), w.place)
	want := []reeve.Effect{{Kind: reeve.EffectDelete, Path: w.ws + "/a", Exists: true, Deep: true}, {Kind: reeve.EffectWrite, Path: w.ws + "/c/d", Deep: true}}
	if err != nil || fmt.Sprint(effects) != fmt.Sprint(want) {
		t.Errorf("effects of a move: %v, %v", effects, err)
	}
	for _, tl := range []string{"move_path", "copy_path"} {
		w.refused("outside", tl, "from", "../out/secret", "to", "s")
		w.refused("outside", tl, "from", "b", "to", "../out/s")
		w.refused("exists already", tl, "from", "b", "to", "a/f")
		w.refused("exists already", tl, "from", "b", "to", "b")
		w.refused("exists already", tl, "from", "b", "to", "a")
		w.refused("lies inside", tl, "from", "a", "to", "a/d/x")
		w.refused("no such file", tl, "from", "none", "to", "n")
		w.refused("holds credentials", tl, "from", "b", "to", ".env")
	}
	w.refused("is a symbolic link; links are not copied", "copy_path", "from", "links", "to", "copied")
	w.refused("is a symbolic link; links are not copied", "copy_path", "from", "links/l", "to", "copied")
	if _, err := os.Lstat(w.ws + "/copied"); err == nil {
		t.Error("a part of a refused copy is there")
	}
	w.must("copy_path", "from", "a", "to", "c/d")
	w.must("move_path", "from", "a", "to", "m/n")
	if w.read("c/d/f") != "x" || w.read("c/d/d/g") != "y" || w.read("m/n/d/g") != "y" || !strings.HasPrefix(w.read("a/f"), "error") {
		t.Error("the copy or the move is not whole")
	}
	for name, perm := range map[string]os.FileMode{"c/d/f": 0o755, "c/d/d/g": 0o444} {
		if info, err := os.Stat(filepath.Join(w.ws, name)); err != nil || info.Mode().Perm() != perm&^umask() {
			t.Errorf("the copy %s has mode %v, %v", name, info.Mode(), err)
		}
	}
	w.must("move_path", "from", "links/l", "to", "l2")
	if to, err := os.Readlink(w.ws + "/l2"); to != "f" || err != nil {
		t.Errorf("a moved link reads %q, %v", to, err)
	}
	w.untouched()
	w.leftovers()
}

func TestDeleting(t *testing.T) {
	w := newWorld(t, map[string]string{"a/b/c": "x", "f": "x", "repo/.git/HEAD": "x", "repo/f": "x", "keys/id_rsa": "x"})
	w.link(w.out, "a/b/link")
	w.must("delete_path", "path", "a")
	w.must("delete_path", "path", "f")
	w.refused("repo/.git lies inside", "delete_path", "path", "repo")
	w.refused("keys/id_rsa lies inside", "delete_path", "path", "keys")
	w.must("delete_path", "path", "repo/.git") // named: the policy judged it as protected metadata
	w.must("delete_path", "path", "repo")
	w.refused("no such file", "delete_path", "path", "f")
	if s := w.tools["delete_path"].Spec(); s.Tier != reeve.TierDestructive {
		t.Errorf("delete_path is of tier %s", s.Tier)
	}
	w.untouched()
}

func TestWritingKeepsWhatStandsThereWhole(t *testing.T) {
	w := newWorld(t, map[string]string{"f": "before"})
	before, err := os.Open(w.ws + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	w.must("write_file", "path", "f", "content", "after")
	text := make([]byte, 10)
	if n, _ := before.Read(text); string(text[:n]) != "before" {
		t.Errorf("who had the file open reads %q", text[:n])
	}
	if info, err := before.Stat(); err != nil || beneath.Links(info) != 0 {
		t.Errorf("the old file has %d links", beneath.Links(info))
	}
}

func TestOwnersAreKept(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes files of other users")
	}
	w := newWorld(t, map[string]string{"f": "x"})
	if err := os.Chown(w.ws+"/f", 12345, 23456); err != nil {
		t.Fatal(err)
	}
	w.must("edit_file", "path", "f", "old", "x", "new", "y")
	info, err := os.Stat(w.ws + "/f")
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 12345 || st.Gid != 23456 {
		t.Errorf("the file belongs to %d:%d", st.Uid, st.Gid)
	}
}

// FuzzTools holds three properties of any patch and any path: nothing outside
// changes, a refused call changes nothing at all, and no temporary file stays.
func FuzzTools(f *testing.F) {
	for _, seed := range [][2]string{
		{"a", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"}, {"../out/secret", "--- a/../out/secret\n+++ b/../out/secret\n@@ -1 +1 @@\n-outside\n\\ No newline at end of file\n+x\n"},
		{"l/secret", "--- /dev/null\n+++ b/l/new\n@@ -0,0 +1 @@\n+x\n"}, {"d/../l", "--- a/l/secret\n+++ /dev/null\n@@ -1 +0,0 @@\n-outside\n\\ No newline at end of file\n"},
		{"d//b/.", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- a/d/b\n+++ b/d/b\n@@ -1 +1 @@\n-zz\n+2\n"}, {"a\x00b", ""}, {"m/secret", ""}, {strings.Repeat("x", 300), "--- a/" + strings.Repeat("y", 300) + "\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, patch string) {
		w := newWorld(t, map[string]string{"a": "1\n", "d/b": "2\n"})
		w.link(w.out, "l")
		w.link("../../out", "d/m")
		for name, args := range map[string]map[string]any{
			"apply_patch": {"patch": patch}, "write_file": {"path": path, "content": "x"}, "create_dir": {"path": path + "/x"},
			"copy_path": {"from": "a", "to": path}, "move_path": {"from": path, "to": "moved"}, "delete_path": {"path": path},
		} {
			raw, err := json.Marshal(args)
			if err != nil {
				return // not UTF-8: no door lets it in
			}
			before := inside(t, w.ws)
			digest := sha256.Sum256(raw)
			r := w.tools[name].Run(t.Context(), tool.Call{Permit: w.issuer.Mint(digest, time.Hour), Digest: digest, Args: raw, Place: w.place})
			if after := inside(t, w.ws); r.Status != reeve.StatusSuccess && after != before {
				t.Errorf("%s %s was refused (%s) and changed\n%s\nto\n%s", name, raw, r.Error, before, after)
			}
		}
		w.untouched()
		w.leftovers()
	})
}

// inside lists every file of the workspace with its content.
func inside(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if d.Type().IsRegular() {
			content, _ := os.ReadFile(path)
			text = string(content)
		}
		b.WriteString(strings.TrimPrefix(path, dir) + "=" + text + "\n")
		return nil
	})
	return b.String()
}

func BenchmarkTools(b *testing.B) {
	w := newWorld(b, map[string]string{"a/b/c/f": strings.Repeat("a line of text\n", 200)})
	for name, args := range map[string][]any{"read_file": {"path", "a/b/c/f"}, "write_file": {"path", "a/b/c/g", "content", "x"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.must(name, args...)
			}
		})
	}
}

// patchWith applies a patch text and calls between when everything is staged.
func (w *workspace) patchWith(text string, between func()) error {
	p, err := patch.Parse(text)
	if err != nil {
		return err
	}
	_, err = w.patch(p, between)
	return err
}
