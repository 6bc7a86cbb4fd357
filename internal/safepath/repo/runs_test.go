package repo

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// put writes files below dir.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const plainConfig = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n"

func TestEverySettingThatStartsAProgramIsNamed(t *testing.T) {
	tests := []struct{ name, config, want string }{
		{"nothing", plainConfig, ""},
		{"fsmonitor", "[core]\nfsmonitor = ./x", "core.fsmonitor"},
		{"fsmonitor of git itself", "[core]\nfsmonitor = true", ""},
		{"on the header's line", "[core] fsmonitor = x", "core.fsmonitor"},
		{"any case", "[CORE]\nFsMonitor=x", "core.fsmonitor"},
		{"hooks", "[core]\nhooksPath = .husky", "core.hookspath"},
		{"no hooks", "[core]\nhooksPath = /dev/null", ""},
		{"quoted and joined", "[co\\\nre]\nfsmonitor=x", "line 1: not a section"},
		{"joined value", "[core]\nfsmonitor = \"./\\\nevil\"", "core.fsmonitor"},
		{"external diff", "[diff]\nexternal=x", "diff.external"},
		{"text conversion", "[diff \"pdf\"]\ntextconv=x", "diff.pdf.textconv"},
		{"driver", "[diff \"pdf\"]\ncommand=x", "diff.pdf.command"},
		{"old dotted form", "[diff.pdf]\ntextconv=x", "diff.pdf.textconv"},
		{"filter", "[filter \"lfs\"]\nclean=git-lfs clean -- %f", "filter.lfs.clean"},
		{"process filter", "[filter \"a.b\"]\nprocess=x", "filter.a.b.process"},
		{"pager", "[core]\npager=less", "core.pager"},
		{"pager of one command", "[pager]\nlog=x", "pager.log"},
		{"pager switched off", "[pager]\nlog=false", ""},
		{"editor", "[core]\neditor=vi", "core.editor"},
		{"ssh", "[core]\nsshCommand=ssh -i k", "core.sshcommand"},
		{"credential helper", "[credential \"https://x\"]\nhelper=!f", "credential.https://x.helper"},
		{"shell alias", "[alias]\nst=!sh -c x", "alias.st"},
		{"plain alias", "[alias]\nst=status -s", ""},
		{"signing program", "[gpg \"ssh\"]\nprogram=x", "gpg.ssh.program"},
		{"merge driver", "[merge \"x\"]\ndriver=x", "merge.x.driver"},
		{"configured hook", "[hook \"x\"]\ncommand=x", "hook.x.command"},
		{"submodule command", "[submodule \"x\"]\nupdate=!x", "submodule.x.update"},
		{"submodule update", "[submodule \"x\"]\nupdate=rebase", ""},
		{"broken", "[core\nfsmonitor=x", "not a section"},
		{"broken value", "[core]\nfsmonitor=\"x", "not a setting"},
		{"include", "[include]\npath=more", "core.pager"},
		{"conditional include", "[includeIf \"gitdir:/none/\"]\npath=more", "core.pager"},
		{"include from home", "[include]\npath=~/extra", "core.editor"},
		{"include that is missing", "[include]\npath=nothing", ""},
		{"include of another user", "[include]\npath=~root/x", "not known"},
		{"endless include", "[include]\npath=config", "included too deep"},
	}
	home := t.TempDir()
	put(t, home, map[string]string{"extra": "[core]\neditor=x"})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, map[string]string{".git/config": tt.config, ".git/more": "[core]\npager=x", "sub/deep/f": ""})
			got := new(Cache).Runs(dir+"/sub/deep", home, time.Now())
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("RepoRuns = %q, want one with %q", got, tt.want)
			}
		})
	}
}

func TestConfigurationIsFoundWhereverGitWouldReadIt(t *testing.T) {
	const evil = "[core]\nfsmonitor=./evil\n"
	tests := []struct {
		name  string
		files map[string]string
		from  string
		want  string
	}{
		{"no repository", map[string]string{"f": ""}, "", ""},
		{"worktree configuration", map[string]string{".git/config": "", ".git/config.worktree": evil}, "", "core.fsmonitor"},
		{"planted commondir", map[string]string{".git/config": "", ".git/commondir": "../other\n", "other/config": evil}, "", "core.fsmonitor"},
		{"linked worktree", map[string]string{"main/.git/worktrees/w/commondir": "../..\n", "main/.git/config": evil, "w/.git": "gitdir: ../main/.git/worktrees/w\n"}, "w", "core.fsmonitor"},
		{"submodule's own", map[string]string{".git/config": "", ".git/modules/a/b/config": evil}, "", "core.fsmonitor"},
		{"bare repository", map[string]string{"b/HEAD": "", "b/objects/x": "", "b/refs/x": "", "b/config": evil}, "b", "core.fsmonitor"},
		{"repository above", map[string]string{".git/config": evil, "a/b/c/f": ""}, "a/b/c", "core.fsmonitor"},
		{"broken pointer", map[string]string{".git": "nonsense"}, "", "cannot be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, tt.files)
			got := new(Cache).Runs(filepath.Join(dir, tt.from), "", time.Now())
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("RepoRuns = %q, want one with %q", got, tt.want)
			}
		})
	}
}

func TestAHookThatReadOnlyCommandsRunCounts(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{".git/config": "", ".git/hooks/post-index-change": "#!/bin/sh\n", ".git/hooks/pre-commit": "#!/bin/sh\n"})
	os.Chmod(dir+"/.git/hooks/pre-commit", 0o755)
	d := new(Cache)
	if got := d.Runs(dir, "", time.Now()); got != "" {
		t.Errorf("a hook without the execute bit: %q", got)
	}
	os.Chmod(dir+"/.git/hooks/post-index-change", 0o755)
	if got := d.Runs(dir, "", time.Now()); !strings.Contains(got, "post-index-change") {
		t.Errorf("RepoRuns = %q", got)
	}
}

func TestAChangeOfTheConfigurationIsSeenAtOnce(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{".git/config": "[core]\nfsmonitor=no\n"})
	d := new(Cache)
	for i := range 100 {
		want := i%2 == 1
		put(t, dir, map[string]string{".git/config": fmt.Sprintf("[core]\nfsmonitor=%s\n", map[bool]string{true: "./", false: "no"}[want])})
		if got := d.Runs(dir, "", time.Now()); (got != "") != want {
			t.Fatalf("after change %d: %q", i, got)
		}
	}
}

func TestAnAnswerIsRememberedUntilAFileChanges(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{".git/config": plainConfig})
	later := time.Now().Add(time.Hour)
	d := new(Cache)
	d.Runs(dir, "", later)
	if len(d.known) != 1 {
		t.Errorf("%d answers are remembered, want 1", len(d.known))
	}
	put(t, dir, map[string]string{".git/config.worktree": "[core]\npager=x"})
	if got := d.Runs(dir, "", later); !strings.Contains(got, "core.pager") {
		t.Errorf("a new file: %q", got)
	}
}

// gitList is what git itself reads from a configuration text.
func gitList(t testing.TB, text string) (list string, ok bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--no-includes", "--file", file, "--null", "--list")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	return string(out), err == nil
}

// ourList is the same from our reader, in git's form.
func ourList(text string) (string, bool) {
	found, err := parseGitConfig(text)
	var b strings.Builder
	for _, s := range found {
		b.WriteString(s.name())
		if !s.bare {
			b.WriteString("\n" + s.value)
		}
		b.WriteByte(0)
	}
	return b.String(), err == nil
}

// FuzzGitConfig holds our reader to git's: whatever git reads, we read the
// same; what git refuses, we may only refuse too.
func FuzzGitConfig(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("git is not installed")
	}
	for _, seed := range []string{
		plainConfig, "[a]b", "[a]\nb=c ; d\n", "[a \"b\\\"c\"]\nd=\"e # f\" g\\t\\\\\n", "\ufeff[a]\nb", "[a.B \"c\"]\nd=e", "[a]\nb = c\\\n  d\n",
		"[a]b=c\r\n[d]e=f\r\n", "[a]\nb = \"\"\n", "[a]\nb =\n", "#x\n[a]\n;y\nc", "[a]\nb=x  \"  y \"  z  #", "[a] [b]\nc", "[.a]\nb", "[a]\nb\t=\tc\vd\f", "[-]\nb", "[]\nb",
		"[a]\nb=c\x00d", "[a]\nb = c\rd\n", "[a \"\"]\nb=c", "[a]\nb=\\\n", "[a]\nb=\"x\\\ny\"", "[a]\nb=c\\\r\nd",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		ours, weRead := ourList(text)
		theirs, gitReads := gitList(t, text)
		switch {
		case gitReads && !weRead && !strings.ContainsRune(text, 0):
			t.Fatalf("git reads %q as %q, we refuse it", text, theirs)
		case gitReads && weRead && ours != theirs && !strings.ContainsRune(text, 0):
			t.Fatalf("git reads %q as %q, we as %q", text, theirs, ours)
		case !gitReads && weRead:
			t.Fatalf("git refuses %q, we read it as %q", text, ours)
		}
	})
}

func BenchmarkRepoRuns(b *testing.B) {
	dir := b.TempDir()
	put(b, dir, map[string]string{".git/config": plainConfig, "a/b/c": ""})
	later := time.Now().Add(time.Hour)
	d := new(Cache)
	b.ReportAllocs()
	for b.Loop() {
		d.Runs(dir+"/a/b", "", later)
	}
}

func TestARepositoryIsDescribedWithoutItsSecrets(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		".git/config": "[filter \"a\"]\nclean=x\nsmudge=y\n[filter \"b.c\"]\nprocess=z\n[remote \"o\"]\nurl=https://user:hunter2@example.com/r.git?token=hunter2#hunter2\n" +
			"[remote \"s\"]\nurl=git@example.com:r.git\n[remote \"odd\"]\nurl=https://hunter2@ex ample/%zz\n[remote \"l\"]\nurl=/srv/r.git\n",
		"sub/f": "",
	})
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Find(dir+"/sub", "")
	want := Info{
		GitDir: real + "/.git", Top: real, Drivers: []string{"a", "b.c"},
		Remotes: []Remote{{"o", "https://example.com/r.git"}, {"s", "git@example.com:r.git"}, {"odd", "https://..."}, {"l", "/srv/r.git"}},
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Find = %+v, %v\nwant %+v", got, err, want)
	}
	if _, err := Find(t.TempDir(), ""); err == nil {
		t.Error("a repository was found where none is")
	}
}

// git runs git in dir as a person would.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// nestedRepo is a repository that holds others as they are.
func nestedRepo(t testing.TB, format string) string {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "--object-format="+format)
	for _, name := range []string{"a/first", "lib", "z z/last"} {
		put(t, dir, map[string]string{name + "/f": name})
		git(t, dir+"/"+name, "init", "-q", "--object-format="+format)
		git(t, dir+"/"+name, "add", "f")
		git(t, dir+"/"+name, "commit", "-qm", "x")
	}
	put(t, dir, map[string]string{"a/b/c.txt": "", "a/b/d.txt": "", "lib.txt": "", "x": ""})
	git(t, dir, "add", "-A")
	return dir
}

func TestTheRepositoriesOfAnIndexAreThoseThatGitLists(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		dir := nestedRepo(t, format)
		hash := map[string]int{"sha1": 20, "sha256": 32}[format]
		for _, version := range []string{"2", "3", "4"} {
			git(t, dir, "update-index", "--index-version", version)
			if version == "3" {
				git(t, dir, "add", "-N", "a/b") // nothing new, but
				git(t, dir, "update-index", "--skip-worktree", "x")
			}
			index, err := os.ReadFile(dir + "/.git/index")
			if err != nil {
				t.Fatal(err)
			}
			got, err := gitlinks(index, hash)
			if want := "a/first lib z z/last"; err != nil || strings.Join(got, " ") != want {
				t.Errorf("%s, version %s: %q, %v", format, version, got, err)
			}
		}
	}
}

func TestASettingOfANestedRepositoryCounts(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		dir := nestedRepo(t, format)
		c := new(Cache)
		later := time.Now().Add(time.Hour)
		if got := c.Runs(dir, "", later); got != "" {
			t.Errorf("%s: nothing is set: %q", format, got)
		}
		git(t, dir+"/z z/last", "config", "core.fsmonitor", "./evil")
		if got := c.Runs(dir, "", later); !strings.Contains(got, "core.fsmonitor") || !strings.Contains(got, "z z/last") {
			t.Errorf("%s: %q", format, got)
		}
		if err := os.WriteFile(dir+"/.git/index", []byte("DIRC broken"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := c.Runs(dir, "", later); !strings.Contains(got, "cannot be read") {
			t.Errorf("%s, broken index: %q", format, got)
		}
	}
}

// FuzzGitlinks holds that an index of n entries has at most n repositories,
// that no name holds a NUL, and that reading ends.
func FuzzGitlinks(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("git is not installed")
	}
	dir := nestedRepo(f, "sha1")
	for _, version := range []string{"2", "4"} {
		git(f, dir, "update-index", "--index-version", version)
		index, err := os.ReadFile(dir + "/.git/index")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(index)
	}
	f.Fuzz(func(t *testing.T, index []byte) {
		links, err := gitlinks(index, 20)
		if err != nil {
			return
		}
		if n := binary.BigEndian.Uint32(index[8:]); uint32(len(links)) > n {
			t.Fatalf("%d repositories of %d entries", len(links), n)
		}
		for _, name := range links {
			if strings.ContainsRune(name, 0) {
				t.Fatalf("name %q", name)
			}
		}
	})
}
