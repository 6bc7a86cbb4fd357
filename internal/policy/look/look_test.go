package look

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread"
)

// disk marks what is called secret.
type disk struct{ repos *[]string }

func (d disk) Facts(workspace, path string) reeve.PathFacts {
	f := reeve.PathFacts{Known: true, Target: path}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		f.Target = target
	}
	if strings.Contains(f.Target, "secret") {
		f.Marks = reeve.PathCredential
	}
	return f
}

func (d disk) Holds(path string) string {
	if path == "/" || strings.HasSuffix(path, "/home") {
		return path + "/.secrets"
	}
	return ""
}

func (d disk) RepoRuns(dir string) string {
	*d.repos = append(*d.repos, dir)
	return "core.fsmonitor"
}

func tree(t *testing.T, files ...string) Place {
	dir := t.TempDir()
	for _, f := range files {
		file := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Place{Workspace: dir, Home: filepath.Join(dir, "home"), Dir: dir}
}

// pattern is a command with its words, those with a star patterns, and the
// read of the folder that the first pattern begins in.
func pattern(at Place, line, folder string) []reeve.Effect {
	c := &reeve.Command{Dir: at.Dir}
	for _, w := range strings.Fields(line) {
		c.Words = append(c.Words, reeve.Word{Text: w, Known: true, Glob: strings.ContainsAny(w, "*?[")})
	}
	return []reeve.Effect{{Kind: reeve.EffectRun, Command: c}, {Kind: reeve.EffectRead, Path: filepath.Join(at.Dir, folder), Deep: true, Command: c}}
}

func paths(at Place, effects []reeve.Effect) string {
	var all []string
	for _, e := range effects {
		if e.Kind == reeve.EffectRun {
			continue
		}
		p := strings.TrimPrefix(strings.TrimPrefix(e.Path, at.Dir), "/")
		if e.Path == "" {
			p = "unknown"
		}
		if e.Deep {
			p += "/..."
		}
		if e.Facts.Marks.Has(reeve.PathCredential) {
			p += "!"
		}
		all = append(all, p)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestPatternsAreJudgedByTheFilesTheyStandFor(t *testing.T) {
	at := tree(t, "a.md", "b.md", ".secret", "lib/secret.go", "lib/x.go", "lib/sub/y.go", "home/.secrets/k", "[odd")
	if err := os.Symlink(at.Dir+"/.secret", at.Dir+"/[l]ink"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, folder, want string }{
		{"cat *.md", "", " a.md b.md"},
		{"cat .s*", "", " .secret!"},
		{"cat *ecret", "", ""},
		{"cat .[s]ecret", "", " .secret!"},
		{"cat ./lib/*.go", "lib", "lib lib/secret.go! lib/x.go"},
		{"cat l*/s*", "", " lib/secret.go! lib/sub"},
		{"cat l*/../.s*", "", " .secret!"},
		{"cat l*/none", "", " lib/none"},
		{"cat ~/.s*/k", "home", "home home/.secrets/k!"},
		{"grep -r x lib/s*", "lib", "lib/... lib/secret.go/...! lib/sub/..."},
		{"grep x lib/s*", "lib", "lib lib/secret.go! lib/sub"},
		{"unknown lib/x*", "lib", "lib/... lib/x.go/..."},
		{"ls .s*", "", "/..."},
		{"cat nothing*", "", ""},
		{"cat [odd*", "", " [odd"},
		{"cat [l]ink", "", " [l]ink!"}, // no file matches: bash gives the pattern itself
	} {
		got, _ := Fill(disk{new([]string)}, at, pattern(at, c.line, c.folder))
		if p := paths(at, got); p != c.want {
			t.Errorf("%s: got %q, want %q", c.line, p, c.want)
		}
	}
}

func TestLeadingDotsMatchWhereTheLineMadeThem(t *testing.T) {
	at := tree(t, ".secret", "a")
	for _, change := range []func(*reeve.Command) []reeve.Effect{
		func(c *reeve.Command) []reeve.Effect {
			c.Words[1].Loose = true
			return nil
		},
		func(c *reeve.Command) []reeve.Effect {
			c.Assigns = []reeve.Assign{{Name: "GLOBIGNORE", Value: "x"}}
			return nil
		},
		func(c *reeve.Command) []reeve.Effect {
			c.Wrappers = []reeve.Wrapper{{Name: "bash", Text: "bash -O dotglob -c"}}
			return nil
		},
	} {
		effects := pattern(at, "cat *", "")
		effects = append(change(effects[0].Command), effects...)
		got, _ := Fill(disk{new([]string)}, at, effects)
		if p := paths(at, got); p != " .secret! a" {
			t.Errorf("got %q", p)
		}
	}
}

func TestMoreThanCanBeLookedAtIsUnknown(t *testing.T) {
	var files []string
	for i := range maxFiles + 10 {
		files = append(files, fmt.Sprintf("f%d", i))
	}
	at := tree(t, files...)
	got, _ := Fill(disk{new([]string)}, at, pattern(at, "cat f*", ""))
	if n := len(got); n != maxFiles+3 || got[n-1].Path != "" || got[n-1].Why == "" {
		t.Errorf("%d effects, last %+v", n, got[n-1])
	}
}

func TestTheRepositoryOfTheFirstGitIsLookedAt(t *testing.T) {
	at := tree(t, "a")
	var asked []string
	git := &reeve.Command{Words: []reeve.Word{{Text: "git", Known: true}}, Dir: at.Dir, Marks: reeve.CommandReadOnly | reeve.CommandGitConfig}
	_, runs := Fill(disk{&asked}, at, []reeve.Effect{{Kind: reeve.EffectRun, Command: git}})
	if runs != "core.fsmonitor" || !slices.Equal(asked, []string{at.Dir}) {
		t.Errorf("%q, asked %v", runs, asked)
	}
}

func TestARepositoryThatIsNotKnownMayStartAnything(t *testing.T) {
	var asked []string
	git := &reeve.Command{Words: []reeve.Word{{Text: "git", Known: true}}, Marks: reeve.CommandReadOnly | reeve.CommandGitConfig}
	_, runs := Fill(disk{&asked}, tree(t, "a"), []reeve.Effect{{Kind: reeve.EffectRun, Command: git}})
	if runs != unknownRepo || len(asked) > 0 {
		t.Errorf("%q, asked %v", runs, asked)
	}
}

func TestWhatIsDoneBelowAFolderIsDoneToTheStoreInIt(t *testing.T) {
	at := tree(t, "home/.secrets/k", "a")
	grep := func(program string) *reeve.Command {
		return &reeve.Command{Dir: at.Dir, Words: []reeve.Word{{Text: program, Known: true}}}
	}
	home := at.Dir + "/home"
	for _, c := range []struct {
		name, want string
		effect     reeve.Effect
	}{
		{"a search", "home/... home/.secrets!", reeve.Effect{Kind: reeve.EffectRead, Path: home, Deep: true, Command: grep("grep")}},
		{"a removal", "home/... home/.secrets!", reeve.Effect{Kind: reeve.EffectDelete, Path: home, Deep: true, Command: grep("rm")}},
		{"a list of names", "home/...", reeve.Effect{Kind: reeve.EffectRead, Path: home, Deep: true, Command: grep("ls")}},
		{"the folder alone", "home", reeve.Effect{Kind: reeve.EffectRead, Path: home, Command: grep("cat")}},
		{"another folder", "a/...", reeve.Effect{Kind: reeve.EffectRead, Path: at.Dir + "/a", Deep: true, Command: grep("grep")}},
		{"a tool that leaves such files out", "home/...", reeve.Effect{Kind: reeve.EffectRead, Path: home, Deep: true}},
	} {
		got, _ := Fill(disk{new([]string)}, at, []reeve.Effect{c.effect})
		if p := paths(at, got); p != c.want {
			t.Errorf("%s: %q, want %q", c.name, p, c.want)
		}
	}
}

func TestAPathGoesUpFromWhereALinkLeads(t *testing.T) {
	at := tree(t, "home/out/deep/x", "in/x")
	if err := os.Symlink(at.Dir+"/home/out/deep", at.Dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for spelled, want := range map[string]string{
		"/link/../f":       "f home/out/f",
		"/in/../link/../f": "f home/out/f",
		"/in/../f":         "f",
		"/none/../f":       "f",
	} {
		e := reeve.Effect{Kind: reeve.EffectWrite, Path: filepath.Clean(at.Dir + spelled), Spelled: at.Dir + spelled}
		got, _ := Fill(disk{new([]string)}, at, []reeve.Effect{e})
		if p := paths(at, got); p != want {
			t.Errorf("%s: %q, want %q", spelled, p, want)
		}
	}
}

func BenchmarkFillARead(b *testing.B) {
	at := Place{Workspace: "/w", Dir: "/w"}
	effects := []reeve.Effect{{Kind: reeve.EffectRead, Path: "/w/a"}}
	b.ReportAllocs()
	for b.Loop() {
		Fill(disk{}, at, effects)
	}
}

// TestNothingIsOpenedThatIsNoFolder: to open a pipe waits for its other end.
func TestNothingIsOpenedThatIsNoFolder(t *testing.T) {
	at := tree(t, "lib/x.go")
	if err := syscall.Mkfifo(at.Dir+"/lib2", 0o600); err != nil {
		t.Fatal(err)
	}
	got, _ := Fill(disk{new([]string)}, at, pattern(at, "cat lib*/*.go", ""))
	if p := paths(at, got); p != " lib/x.go" {
		t.Errorf("got %q", p)
	}
}

// TestEveryFileThatBashGivesIsLookedAt asks bash itself: each line runs in a
// real bash with a cat that says what it was given, and every name that it says
// is looked at, or the line is said not to be known.
func TestEveryFileThatBashGivesIsLookedAt(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is missing")
	}
	at := tree(t, "a.md", "B.md", ".env", ".ENV2", "x", "lib/.env", "lib/deep/down/.env", "lib/a.go", "home/.secrets/k", "[q]", "Q")
	stub := filepath.Join(t.TempDir(), "cat")
	if err := os.WriteFile(stub, []byte("#!/bin/sh\nfor f; do printf '%s\\n' \"$f\"; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"cat *", "cat .*", "cat .e*", "cat */.e*", "cat **/.env", "cat [q]", "cat [Q]*", "cat lib/*", "cat none*", "cat [!a]*", "cat ?env", "cat [.]env", "cat [.e]*", "cat {.,}env*", "cat lib/**/.env", "cat ./*", "cat \"\"*", "cat l''ib/*",
		"GLOBIGNORE=a.md; cat *", "GLOBIGNORE=x\ncat */*", "GLOBIGNORE=x cat *", "export GLOBIGNORE=x; cat *", "declare GLOBIGNORE=x; cat *", "read GLOBIGNORE <<<x; cat *", "printf -v GLOBIGNORE x; cat *",
		"for GLOBIGNORE in x; do cat *; done", ": ${GLOBIGNORE:=x}; cat *", "((GLOBIGNORE=1)); cat *", "for i in 1 2; do cat *; GLOBIGNORE=x; done", "f() { cat *; }; f; GLOBIGNORE=x; f", "GLOBIGNORE=x; unset GLOBIGNORE; cat *", "eval 'GLOBIGNORE=x'; cat *", "bash -c 'GLOBIGNORE=x; cat *'", "GLOBIGNORE=x bash -c 'cat *'", "export GLOBIGNORE=x; bash -c 'cat *'",
		"shopt -s dotglob; cat *", "shopt -s nocaseglob; cat .ENV*", "shopt -s nocaseglob; cat .env*", "shopt -s globstar; cat **", "shopt -s globstar; cat **/.env", "shopt -s globstar dotglob\ncat lib/**", "shopt -s nullglob; cat none* x", "shopt -s failglob; cat none*", "shopt -s extglob\ncat @(.env|x)", "shopt -s extglob\ncat ?(.)env", "shopt -s extglob\ncat !(x)", "shopt -s extglob\ncat .!(x)", "shopt -s extglob\ncat *(.)env", "shopt -s extglob\ncat lib/+(.|e|n|v)",
		"bash -O dotglob -c 'cat *'", "bash -O globstar -c 'cat **/.env'", "bash -O extglob -c 'cat @(.env)'", "set -f; cat *", "set -f; cat [q]", "set -o noglob; cat .e*", "IFS=e; p=.env; cat $p", "IFS=x; cat a.md", "IFS=.; cat *",
	} {
		cmd := exec.Command(bash, "--norc", "--noprofile", "-c", line)
		cmd.Dir, cmd.Env = at.Dir, []string{"PATH=" + filepath.Dir(stub) + ":/usr/bin:/bin", "HOME=" + at.Home, "LC_ALL=C.UTF-8"}
		out, err := cmd.Output() // some end with an error on purpose
		if err != nil && !strings.Contains(line, "failglob") {
			t.Errorf("%s: %v", line, err)
		}
		effects, _ := Fill(disk{new([]string)}, at, shellread.Read(line, shellread.At{Dir: at.Dir, Home: at.Home, Workspace: at.Workspace}))
		looked, known := map[string]bool{}, true
		for _, e := range effects {
			if e.Kind == reeve.EffectRead {
				looked[e.Path] = true
			}
			known = known && e.Kind != reeve.EffectUnknown && (e.Kind != reeve.EffectRead || e.Path != "")
		}
		for name := range strings.Lines(string(out)) {
			name = filepath.Join(at.Dir, strings.TrimSuffix(name, "\n"))
			if _, err := os.Lstat(name); err == nil && known && !looked[name] { // a pattern that no file matches is no file
				t.Errorf("%s: bash gave %s, which was not looked at", line, name)
			}
		}
	}
}
