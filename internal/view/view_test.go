package view_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reeve-gate/reeve/internal/testuser"
	"github.com/reeve-gate/reeve/internal/view"
	"github.com/reeve-gate/reeve/internal/view/shown"
)

// place is a workspace, a view of it and something beside both.
type place struct {
	t *testing.T
	view.View
	beside string
}

// in makes files ("(dir)" a directory, "-> x" a link) and a view of them.
func in(t *testing.T, files map[string]string, held ...string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{t, view.View{Root: filepath.Join(dir, "ws"), Folder: filepath.Join(dir, "state", "view")}, filepath.Join(dir, "beside")}
	for _, d := range []string{p.Root, p.beside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.write(filepath.Join(p.beside, "theirs"), "theirs")
	for name, text := range files {
		p.write(filepath.Join(p.Root, name), text)
	}
	if _, err := view.Make(t.Context(), p.View, held, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) write(path, text string) {
	p.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	switch to, link := strings.CutPrefix(text, "-> "); {
	case err != nil:
	case text == "(dir)":
		err = os.MkdirAll(path, 0o755)
	case link:
		os.Remove(path)
		err = os.Symlink(to, path)
	default:
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// agent does something in the view.
func (p *place) agent(path, text string) { p.t.Helper(); p.write(filepath.Join(p.Tree(), path), text) }

func (p *place) person(path, text string) { p.t.Helper(); p.write(filepath.Join(p.Root, path), text) }

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) changes() view.Found {
	p.t.Helper()
	f, err := p.Changes(p.t.Context(), view.MaxChanges)
	p.must(err)
	return f
}

// lines are the changes as a person reads them.
func (p *place) lines() []string {
	p.t.Helper()
	var out []string
	for _, c := range p.changes().Changes {
		out = append(out, c.Line())
	}
	return out
}

// take takes everything, or the paths, and gives what was refused.
func (p *place) take(paths ...string) (refused []string) {
	p.t.Helper()
	chosen, err := view.Choose(p.changes().Changes, paths)
	p.must(err)
	taking, err := p.Begin()
	p.must(err)
	for _, c := range chosen {
		err := taking.Take(c)
		var conflict *view.Conflict
		if err != nil && !errors.As(err, &conflict) {
			p.t.Errorf("take %s: %v", c.Path, err)
		}
		if err != nil {
			refused = append(refused, err.Error())
		}
	}
	p.must(taking.End())
	return refused
}

// reads what stands below a directory: path, mode and content.
func (p *place) reads(dir string) map[string]string {
	p.t.Helper()
	all := map[string]string{}
	p.must(filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			all[rel+"/"] = fmt.Sprintf("%o", info.Mode().Perm())
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			all[rel] = "-> " + to
		case info.Mode().IsRegular():
			text, _ := os.ReadFile(path)
			all[rel] = fmt.Sprintf("%o %s", info.Mode().Perm(), text)
		default:
			all[rel] = info.Mode().Type().String()
		}
		return nil
	}))
	return all
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %v\nwant %v", got, want)
		return
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: got %q, want %q", k, got[k], v)
		}
	}
}

func TestEveryKindOfChangeIsFoundAndTaken(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		p := in(t, map[string]string{
			"keep.txt": "keep", "edit.txt": "one\ntwo\n", "gone.txt": "gone", "tool.sh": "#!/bin/sh\n", "link": "-> keep.txt", "turn": "-> edit.txt",
			"dir/a": "a", "dir/b/c": "c", "wasdir/x": "x", "wasfile": "f", "moved/y": "y", "empty": "(dir)", "touched": "same",
		})
		if got := p.lines(); len(got) != 0 {
			t.Fatalf("a fresh view differs: %q", got)
		}
		tree := p.Tree()
		p.agent("edit.txt", "one\n2\n")
		p.must(os.Remove(filepath.Join(tree, "gone.txt")))
		p.must(os.Chmod(filepath.Join(tree, "tool.sh"), 0o755))
		p.agent("turn", "-> dir/a")
		p.must(os.RemoveAll(filepath.Join(tree, "dir/b")))
		p.must(os.RemoveAll(filepath.Join(tree, "wasdir")))
		p.agent("wasdir", "now a file")
		p.must(os.Remove(filepath.Join(tree, "wasfile")))
		p.agent("wasfile/in", "in")
		p.must(os.Rename(filepath.Join(tree, "moved"), filepath.Join(tree, "dir/moved")))
		p.must(os.Remove(filepath.Join(tree, "empty")))
		p.agent("new/deep/er", "(dir)")
		p.agent("new/run", "run")
		p.must(os.Chmod(filepath.Join(tree, "new/run"), 0o4757))
		p.agent("touched", "same")
		p.agent("newlink", "-> new/run")
		want := []string{
			"deleted  dir/b (directory)", "deleted  dir/b/c (file)", "added    dir/moved (directory, 0755)", "added    dir/moved/y (file, 0644)",
			"modified edit.txt (file, 0644)", "deleted  empty (directory)", "deleted  gone.txt (file)", "deleted  moved (directory)", "deleted  moved/y (file)",
			"added    new (directory, 0755)", "added    new/deep (directory, 0755)", "added    new/deep/er (directory, 0755)", "added    new/run (file, 0755)", "added    newlink -> new/run",
			"mode     tool.sh (0755, was 0644)", "modified turn -> dir/a", "modified wasdir (file, 0644), was a directory", "deleted  wasdir/x (file)",
			"modified wasfile (directory, 0755), was a file", "added    wasfile/in (file, 0644)",
		}
		if got := p.lines(); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if refused := p.take(); len(refused) != 0 {
			t.Errorf("refused: %q", refused)
		}
		after := p.reads(tree)
		after["new/run"] = strings.Replace(after["new/run"], "757", "755", 1) // never what everybody may write
		same(t, p.reads(p.Root), after)
		if got := p.lines(); len(got) != 0 {
			t.Errorf("left over: %q", got)
		}
		// It goes on from there: the same file once more.
		p.agent("edit.txt", "3\n")
		if refused := p.take("edit.txt"); len(refused) != 0 || p.reads(p.Root)["edit.txt"] != "644 3\n" {
			t.Errorf("again: %q, %q", refused, p.reads(p.Root)["edit.txt"])
		}
	})
}

func TestWhatChangedMeanwhileIsAConflictByName(t *testing.T) {
	p := in(t, map[string]string{"a": "a", "b": "b", "c": "c", "d": "d", "dir/x": "x", "l": "-> a", "m": "m"})
	tree := p.Tree()
	for _, name := range []string{"a", "b", "c", "new", "both"} {
		p.agent(name, "agent")
	}
	p.must(os.Remove(filepath.Join(tree, "d")))
	p.must(os.RemoveAll(filepath.Join(tree, "dir")))
	p.agent("l", "-> b")
	p.must(os.Chmod(filepath.Join(tree, "m"), 0o755))
	p.person("a", "person")
	p.must(os.Remove(filepath.Join(p.Root, "b")))
	p.person("new", "person's")
	p.person("d", "still needed")
	p.person("dir/y", "y")
	p.person("l", "-> c")
	p.person("m", "n")
	p.person("both", "agent") // the same as the agent's: no conflict
	refused := strings.Join(p.take(), "\n")
	for _, want := range []string{`"a" was changed`, `"b" is gone`, `"new" was made in the workspace too`, `"d" was changed`, `"dir" is not deleted`, `"l" was changed`, `"m" was changed`} {
		if !strings.Contains(refused, want) {
			t.Errorf("no %s in\n%s", want, refused)
		}
	}
	same(t, p.reads(p.Root), map[string]string{
		"a": "644 person", "new": "644 person's", "c": "644 agent", "d": "644 still needed", "dir/": "755", "dir/y": "644 y", "l": "-> c", "m": "644 n", "both": "644 agent",
	})
	if n := len(p.changes().Changes); n == 0 {
		t.Error("what was refused is not in the view any more")
	}
}

// TestAViewNeverWritesOutOfTheWorkspace: whatever an agent leaves in the view,
// and whatever stands in the workspace when it is taken over.
func TestAViewNeverWritesOutOfTheWorkspace(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		p := in(t, map[string]string{"src/a": "a", "src/b": "b", "lib/c": "c", "hard": "h", "out": "-> ../beside", ".vscode/tasks.json": "{}", "hooks/pre": "x", ".git/HEAD": "ref: x", ".git/config": "[core]"}, "hooks")
		tree := p.Tree()
		p.must(os.Link(filepath.Join(p.Root, "hard"), filepath.Join(p.beside, "hard")))
		p.must(p.Drop())
		_, err := view.Make(t.Context(), p.View, []string{"hooks"}, nil)
		p.must(err)
		p.agent("abs", "-> "+p.beside)
		p.agent("up", "-> ../beside/theirs")
		p.agent("around", "-> src/../../beside/theirs")
		p.agent("steers", "-> .vscode")
		p.agent("in/lib", "-> ../lib")
		p.agent(".vscode/tasks.json", "evil")
		p.agent("sub/.VSCode/tasks.json", "evil")
		p.agent("hooks/pre", "evil")
		p.agent("Hooks2", "fine")
		p.agent(".git/hooks/post-commit", "evil")
		p.agent(".git/config", "evil")
		p.agent("x/.git/config", "evil")
		p.agent("hard", "changed")
		p.agent("out2", "-> out")
		p.must(syscall.Mkfifo(filepath.Join(tree, "fifo"), 0o666))
		p.must(os.Remove(filepath.Join(tree, "src/a")))
		p.must(syscall.Mkfifo(filepath.Join(tree, "src/a"), 0o666))
		p.agent("src/b", "written")
		p.agent("lib/c", "written")
		p.agent("lib/d", "written")
		if os.Getuid() == 0 {
			p.must(syscall.Mknod(filepath.Join(tree, "dev"), syscall.S_IFCHR|0o666, 1<<8|3))
			p.must(os.Remove(filepath.Join(tree, "lib/c")))
			p.must(syscall.Mknod(filepath.Join(tree, "lib/c"), syscall.S_IFCHR, 0)) // an overlay's whiteout
		}
		// The person's tree: lib leads elsewhere by now.
		p.must(os.RemoveAll(filepath.Join(p.Root, "lib")))
		p.must(os.Symlink(p.beside, filepath.Join(p.Root, "lib")))
		before := p.reads(p.beside)
		refused := strings.Join(p.take(), "\n")
		same(t, p.reads(p.beside), before)
		now := p.reads(p.Root)
		same(t, now, map[string]string{
			"src/": "755", "src/a": "644 a", "src/b": "644 written", "lib": "-> " + p.beside, "hard": "644 h", "out": "-> ../beside", "out2": "-> out",
			".vscode/": "755", ".vscode/tasks.json": "644 {}", "hooks/": "755", "hooks/pre": "644 x", ".git/": "755", ".git/HEAD": "644 ref: x", ".git/config": "644 [core]",
			"Hooks2": "644 fine", "in/": "755", "in/lib": "-> ../lib", "sub/": "755", "x/": "755",
		})
		for _, want := range []string{`"abs" is a symbolic link to an absolute path`, `"up" is a symbolic link out of`, `"around" is a symbolic link that goes down and up`, `"steers" is a symbolic link to what is protected`,
			`"hooks/pre" is protected by the boundary`, `"fifo" is neither`, `"src/a" is neither`, `"lib/d" has no directory`, `"hard" has 2 hard links`} {
			if !strings.Contains(refused, want) {
				t.Errorf("no %s in\n%s", want, refused)
			}
		}
		if got := p.changes().Git; !slices.Equal(got, []string{"x/.git"}) {
			t.Errorf("git: %q", got)
		}
	})
}

// TestAForgedChangeIsRefused: what was found is judged once more when it is
// taken.
func TestAForgedChangeIsRefused(t *testing.T) {
	p := in(t, map[string]string{"a": "a"})
	p.agent("a", "b")
	p.agent(".envrc", "evil")
	before := p.reads(p.Root)
	outside := p.reads(p.beside)
	taking, err := p.Begin()
	p.must(err)
	for _, c := range []view.Change{
		{Path: "../beside/theirs", Kind: view.Deleted, Was: 0o644},
		{Path: "../beside/theirs", Kind: view.Modified, Was: 0o644, Is: 0o644},
		{Path: "/etc/passwd", Kind: view.Modified, Is: 0o644},
		{Path: "..", Kind: view.Deleted, Was: fs.ModeDir}, {Path: ".", Kind: view.Deleted, Was: fs.ModeDir}, {Path: "", Kind: view.Deleted},
		{Path: "x/../a", Kind: view.Deleted}, {Path: ".git/HEAD", Kind: view.Added, Is: 0o644}, {Path: ".envrc", Kind: view.Added, Is: 0o644},
		{Path: "ln", Kind: view.Added, Is: fs.ModeSymlink | 0o777, Link: "/etc"}, {Path: "dev", Kind: view.Added, Is: fs.ModeDevice | 0o666},
		{Path: "a", Kind: view.Modified, Was: 0o644, Is: 0o644}, // with another content than the view has
		{Path: "a", Kind: view.Added, Is: 0o644},
	} {
		if err := taking.Take(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	p.must(taking.End())
	same(t, p.reads(p.Root), before)
	same(t, p.reads(p.beside), outside)
	// A workspace that is another directory by now.
	p.must(os.Rename(p.Root, p.Root+"2"))
	p.must(os.Symlink(p.Root+"2", p.Root))
	if taking, err := p.Begin(); err != nil {
		t.Errorf("the same directory by a link: %v", err)
	} else {
		taking.End()
	}
	p.must(os.Remove(p.Root))
	p.must(os.Mkdir(p.Root, 0o755))
	if _, err := p.Begin(); err == nil {
		t.Error("another directory is taken for the workspace")
	}
}

func TestAPartIsTakenWithWhatItNeeds(t *testing.T) {
	p := in(t, map[string]string{"d/a": "a", "d/b": "b", "e": "e"})
	p.agent("n/m/x", "x")
	p.agent("n/y", "y")
	p.must(os.RemoveAll(filepath.Join(p.Tree(), "d")))
	p.agent("e", "f")
	if refused := p.take("n/m/x", "d"); len(refused) != 0 {
		t.Errorf("refused: %q", refused)
	}
	same(t, p.reads(p.Root), map[string]string{"n/": "755", "n/m/": "755", "n/m/x": "644 x", "e": "644 e"})
	if _, err := view.Choose(p.changes().Changes, []string{"no/such"}); err == nil {
		t.Error("a path without a change is chosen")
	}
	if got := p.lines(); !slices.Equal(got, []string{"modified e (file, 0644)", "added    n/y (file, 0644)"}) {
		t.Errorf("left: %q", got)
	}
}

// TestAKillWhileItIsTakenLosesNothing: the same again does what is left.
func TestAKillWhileItIsTakenLosesNothing(t *testing.T) {
	p := in(t, map[string]string{"a": "a", "b": "b", "d/c": "c", "f": "f"})
	for _, name := range []string{"a", "b", "n/x"} {
		p.agent(name, "agent")
	}
	p.must(os.RemoveAll(filepath.Join(p.Tree(), "d")))
	p.must(os.Remove(filepath.Join(p.Tree(), "f")))
	p.agent("f/in", "in")
	all, err := view.Choose(p.changes().Changes, nil)
	p.must(err)
	for n := range len(all) {
		taking, err := p.Begin()
		p.must(err)
		for _, c := range all[:n+1] { // those before are there already
			if err := taking.Take(c); err != nil {
				t.Errorf("%s after a kill: %v", c.Path, err)
			}
		} // no End: killed
	}
	if got := p.lines(); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	same(t, p.reads(p.Root), p.reads(p.Tree()))
}

func TestNamesAndContentsCannotSteerATerminal(t *testing.T) {
	p := in(t, map[string]string{"a": "one\ntwo\nthree\n", "bin": "x\x00y"})
	p.agent("a", "one\n2\x1b[2J\nthree\ntoken=hunter2\n=== added    fake\n")
	p.agent("new\n=== added    harmless\x1b[1m", "x")
	p.agent("lnk", "-> a\nb")
	p.agent("bin", "x\x00z")
	p.agent(".env", "KEY=verysecret")
	p.agent("bad\xff", "x")
	p.agent("big", strings.Repeat("line\n", 5000))
	var out strings.Builder
	show := func(s string) string {
		return strings.NewReplacer("\x1b", "␛", "hunter2", "[masked]").Replace(s)
	}
	p.must(shown.Diff(t.Context(), p.View, &out, p.changes().Changes, show))
	got := out.String()
	for _, want := range []string{"-two\n+2␛[2J\n", "+token=[masked]\n", "+=== added    fake\n", `=== added    "new\n=== added    harmless\x1b[1m"`, `-> "a\nb"`, "=== binary", "=== its content is not shown", "=== the rest of this file is not shown"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got[:min(len(got), 3000)])
		}
	}
	for _, bad := range []string{"\x1b", "hunter2", "verysecret", "\n=== added    harmless", "\n=== added    fake"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is shown", bad)
		}
	}
	refused := strings.Join(p.take(), "\n")
	for _, want := range []string{`".env" is a credential`, `"bad\xff" has a name that is no text`} {
		if !strings.Contains(refused, want) {
			t.Errorf("no %s in\n%s", want, refused)
		}
	}
	if got := p.reads(p.Root); got["new\n=== added    harmless\x1b[1m"] != "644 x" || got[".env"] != "" {
		t.Errorf("%q", got)
	}
}

func TestBoundsAreNamed(t *testing.T) {
	p := in(t, map[string]string{"a": "a"})
	deep := filepath.Join(p.Tree(), strings.Repeat("d/", view.MaxDepth+20))
	p.must(os.MkdirAll(deep, 0o755))
	f, err := os.Create(filepath.Join(p.Tree(), "huge"))
	p.must(err)
	p.must(f.Truncate(view.MaxFile + 1))
	f.Close()
	refused := strings.Join(p.take(), "\n")
	for _, want := range []string{"lies deeper than 100 directories", "is larger than 1024 MiB"} {
		if !strings.Contains(refused, want) {
			t.Errorf("no %q in\n%s", want, refused)
		}
	}
	for i := range view.MaxChanges + 1 {
		p.must(os.Symlink("a", filepath.Join(p.Tree(), fmt.Sprintf("l%d", i))))
	}
	if _, err := p.Changes(t.Context(), view.MaxChanges); !errors.Is(err, view.ErrMany) || !strings.Contains(err.Error(), "more than 20000") {
		t.Errorf("any number of changes: %v", err)
	}
	if f, err := p.Changes(t.Context(), view.AllChanges); err != nil || len(f.Changes) <= view.MaxChanges {
		t.Errorf("asked for all: %d changes, %v", len(f.Changes), err)
	}
	p.must(p.Drop())
	if _, err := os.Lstat(p.Folder); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestWhatCannotBeCopiedIsLeftAlone(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		dir := t.TempDir()
		p := &place{t, view.View{Root: filepath.Join(dir, "ws"), Folder: filepath.Join(dir, "view")}, dir}
		p.person("a", "a")
		p.person("closed/in", "in")
		p.person("shut", "s")
		p.must(syscall.Mkfifo(filepath.Join(p.Root, "pipe"), 0o644))
		p.must(os.Chmod(filepath.Join(p.Root, "shut"), 0))
		p.must(os.Chmod(filepath.Join(p.Root, "closed"), 0))
		t.Cleanup(func() { os.Chmod(filepath.Join(p.Root, "closed"), 0o755) })
		made, err := view.Make(t.Context(), p.View, nil, nil)
		p.must(err)
		if os.Getuid() != 0 && len(made.Left) != 2 {
			t.Errorf("left: %q", made.Left)
		}
		if got := p.lines(); len(got) != 0 {
			t.Errorf("what is not in the view counts as deleted: %q", got)
		}
		p.agent("pipe", "mine")
		if os.Getuid() != 0 {
			p.agent("closed/in", "mine")
		}
		if refused := p.take(); len(refused) == 0 || !strings.Contains(strings.Join(refused, "\n"), "was not in the view") {
			t.Errorf("refused: %q", refused)
		}
		p.must(os.Chmod(filepath.Join(p.Root, "closed"), 0o755))
		if got := p.reads(p.Root); got["pipe"] != "p---------" || got["closed/in"] != "644 in" {
			t.Errorf("the workspace: %v", got)
		}
		// Directories that cannot be entered are dropped all the same.
		p.agent("x/y/z", "z")
		p.must(os.Chmod(filepath.Join(p.Tree(), "x/y"), 0))
		p.must(os.Chmod(filepath.Join(p.Tree(), "x"), 0))
		if os.Getuid() != 0 {
			if got := strings.Join(p.lines(), "\n"); !strings.Contains(got, "x (directory, 0000): held back, it may not be read") {
				t.Errorf("closed by the agent: %s", got)
			}
		}
		p.must(p.Drop())
		if _, err := os.Lstat(p.Folder); !os.IsNotExist(err) {
			t.Errorf("it is still there: %v", err)
		}
	})
}

func TestAWorkspaceBeyondTheBoundsIsRefusedWhole(t *testing.T) {
	dir := t.TempDir()
	v := view.View{Root: filepath.Join(dir, "ws"), Folder: filepath.Join(dir, "view")}
	if err := os.MkdirAll(filepath.Join(v.Root, strings.Repeat("d/", view.MaxDepth+1)), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := view.Make(t.Context(), v, nil, nil); err == nil || !strings.Contains(err.Error(), "deeper than") {
		t.Errorf("deep: %v", err)
	}
	if _, err := os.Lstat(v.Folder); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("nobody waits"))
	if _, err := view.Make(ctx, v, nil, nil); err == nil || !strings.Contains(err.Error(), "nobody waits") {
		t.Errorf("cancelled: %v", err)
	}
}

// TestARepositoryUnderAnotherNameIsHeldBack: git obeys the configuration of a
// directory that looks like one of its own, also where it has come together out
// of parts.
func TestARepositoryUnderAnotherNameIsHeldBack(t *testing.T) {
	p := in(t, map[string]string{"a": "a", "half/objects/x": "x", "half/refs/y": "y"})
	p.agent("bare/HEAD", "ref: refs/heads/x")
	p.agent("bare/objects", "(dir)")
	p.agent("bare/refs", "(dir)")
	p.agent("bare/config", "[core] fsmonitor = evil")
	p.agent("bare/hooks/pre-commit", "evil")
	p.agent("linked/head", "ref: refs/heads/x")
	p.agent("linked/commondir", "..")
	p.must(os.RemoveAll(filepath.Join(p.Tree(), "half/refs"))) // the person keeps it
	p.agent("half/HEAD", "ref: refs/heads/x")
	p.agent("half/config", "evil")
	p.agent("half/objects/sub/z", "z")
	refused := strings.Join(p.take("bare", "linked", "half/HEAD", "half/config", "half/objects"), "\n")
	if got := p.reads(p.Root); got["bare/config"] != "" || got["bare/hooks/pre-commit"] != "" || got["linked/commondir"] != "" || got["half/HEAD"] != "" {
		t.Errorf("taken: %v", got)
	}
	for _, want := range []string{`"bare/config" lies in what git would take for a repository`, `"linked/head" lies in`, `"half/HEAD" would stand in`} {
		if !strings.Contains(refused, want) {
			t.Errorf("no %s in\n%s", want, refused)
		}
	}
	p.person("half/HEAD", "ref: refs/heads/x") // now it is one
	p.agent("half/objects/sub/z2", "z")
	if refused := strings.Join(p.take("half/objects"), "\n"); !strings.Contains(refused, "would stand in") {
		t.Errorf("into the person's own: %q", refused)
	}
}

// TestNothingIsTakenThroughWhatWasLeftOut: another file system, say, that is
// mounted below the workspace, or what the run did not see.
// TestADirectoryThatIsNotReplacedKeepsWhatIsInIt: the link in its place is held
// back, and what would be deleted for it is named and stays.
func TestADirectoryThatIsNotReplacedKeepsWhatIsInIt(t *testing.T) {
	for to, kept := range map[string]bool{"/etc": true, "../out": true, "lib": false} {
		p := in(t, map[string]string{"src/a": "a", "src/sub/b": "b", "lib/c": "c"})
		p.must(os.RemoveAll(filepath.Join(p.Tree(), "src")))
		p.must(os.Symlink(to, filepath.Join(p.Tree(), "src")))
		for _, c := range p.changes().Changes {
			if below := strings.HasPrefix(c.Path, "src"); below && (c.Held != "") != kept {
				t.Errorf("src -> %s: %s %s is held back: %q, want %v", to, c.Kind, c.Path, c.Held, kept)
			}
		}
		refused := strings.Join(p.take(), "\n")
		_, err := os.Stat(filepath.Join(p.Root, "src/sub/b"))
		if (err == nil) != kept || kept != strings.Contains(refused, `"src/sub/b" lies in "src", in whose place something stands`) {
			t.Errorf("src -> %s: what was in it is there: %v; refused:\n%s", to, err == nil, refused)
		}
	}
}

func TestNothingIsTakenThroughWhatWasLeftOut(t *testing.T) {
	p := in(t, map[string]string{"a": "a", "hidden/secret": "s", "linked": "x"})
	p.must(p.Drop())
	made, err := view.Make(t.Context(), p.View, nil, []string{"hidden"})
	p.must(err)
	if len(made.Left) != 1 || !strings.Contains(made.Left[0], "hidden is hidden from the run") {
		t.Errorf("left: %q", made.Left)
	}
	if _, err := os.Lstat(filepath.Join(p.Tree(), "hidden")); err == nil {
		t.Error("what is hidden from the run is in the view")
	}
	p.agent("hidden/new", "evil")
	if refused := strings.Join(p.take(), "\n"); !strings.Contains(refused, `"hidden/new" lies in what was not in the view`) {
		t.Errorf("refused: %s", refused)
	}
	same(t, p.reads(filepath.Join(p.Root, "hidden")), map[string]string{"secret": "644 s"})
}

func TestPermissionsOfAHardLinkedFileStay(t *testing.T) {
	p := in(t, map[string]string{"a": "a"})
	p.must(p.Drop())
	p.must(os.Link(filepath.Join(p.Root, "a"), filepath.Join(p.beside, "tool")))
	_, err := view.Make(t.Context(), p.View, nil, nil)
	p.must(err)
	p.must(os.Chmod(filepath.Join(p.Tree(), "a"), 0o755))
	if refused := p.take(); len(refused) != 1 || !strings.Contains(refused[0], "has 2 hard links") {
		t.Errorf("refused: %q", refused)
	}
	if got := p.reads(p.beside)["tool"]; got != "644 a" {
		t.Errorf("the other name: %q", got)
	}
}
