package look

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reeve-gate/reeve"
)

// disk marks what is called secret.
type disk struct{ repos *[]string }

func (d disk) Facts(workspace, path string) reeve.PathFacts {
	f := reeve.PathFacts{Known: true, Target: path}
	if strings.Contains(path, "secret") {
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
		func(*reeve.Command) []reeve.Effect {
			return []reeve.Effect{{Kind: reeve.EffectRun, Command: &reeve.Command{Words: []reeve.Word{{Text: "shopt", Known: true}}}}}
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
