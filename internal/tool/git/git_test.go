package git

import (
	"context"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/host"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/testuser"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/tooltest"
)

// plain runs on the host.
type plain struct{}

func (plain) Output(ctx context.Context, c tool.Call, dir string, argv, env []string, wall time.Duration) (jail.Captured, error) {
	passing := environ.Passing(os.Environ())
	environ.Set(passing, env)
	plan := jail.Plan{Workspace: c.Place.Workspace, Dir: dir, Env: environ.List(passing)}
	return jail.Output(ctx, host.Wall{}, c.Permit, c.Digest, plan, argv, jail.Limits{Wall: wall})
}

// sample is a repository with one commit.
type sample struct {
	t   *testing.T
	dir string // top of the working tree
	at  tool.Place
}

func newRepo(t *testing.T) *sample {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &sample{t, dir, tool.Place{Workspace: dir, Home: t.TempDir(), Dir: dir}}
	r.git("init", "-q", "-b", "main")
	r.write("a.txt", "one\n")
	r.write("sub/b.txt", "bee\n")
	r.write(".env", "KEY=hunter2\n")
	r.write("odd name.txt", "x\n")
	r.write("umläut\t.txt", "x\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "first", "-m", "diff --git a/.env b/.env\nis no header here")
	return r
}

func (r *sample) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// git runs plain git, as a person would.
func (r *sample) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.at.Home, "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *sample) do(name string, args map[string]any) reeve.Result {
	r.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		r.t.Fatal(err)
	}
	digest := sha256.Sum256(raw)
	p := permit.NewIssuer(time.Now).Mint(digest, time.Minute)
	for _, t := range Tools(plain{}) {
		if t.Spec().Name == name {
			return t.(tool.Runner).Run(r.t.Context(), tool.Call{Permit: p, Digest: digest, Args: raw, Place: r.at})
		}
	}
	r.t.Fatalf("no tool %s", name)
	return reeve.Result{}
}

func TestGitToolsPassTheSuite(t *testing.T) {
	r := newRepo(t)
	files := map[string]string{"a.txt": "two\n"}
	filepath.WalkDir(r.dir+"/.git", func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(r.dir, path)
		if d.IsDir() {
			files[rel+"/"] = ""
		} else if text, err := os.ReadFile(path); err == nil {
			files[rel] = string(text)
		}
		return nil
	})
	for name, args := range map[string]string{"git_status": `{}`, "git_diff": `{}`, "git_log": `{"max":1}`, "git_show": `{"rev":"HEAD"}`} {
		t.Run(name, func(t *testing.T) {
			for _, tl := range Tools(plain{}) {
				if tl.Spec().Name == name {
					tooltest.Run(t, tooltest.Case{Tool: tl.(tool.Runner), Args: args, Files: files})
				}
			}
		})
	}
}

func TestReadingARepository(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := newRepo(t)
		first := r.git("rev-parse", "HEAD")
		r.write("a.txt", "two\n")
		r.write("new.txt", "new\n")
		r.git("add", "a.txt")
		r.write("sub/b.txt", "bee!\n")
		r.write("odd name.txt", "y\n")
		r.write("umläut\t.txt", "y\n")
		r.git("remote", "add", "origin", "https://me:hunter2@example.com/r.git?private_token=hunter2")
		tests := []struct {
			tool string
			args map[string]any
			want []string
			not  []string
		}{
			{"git_status", nil, []string{"## main\n", "M  a.txt\n", " M sub/b.txt\n", "?? new.txt\n", "remote origin https://example.com/r.git\n"}, []string{"hunter2"}},
			{"git_diff", nil, []string{"-bee\n+bee!\n", "odd name.txt", `uml\303\244ut\t.txt`}, []string{"-one"}},
			{"git_diff", map[string]any{"staged": true}, []string{"-one\n+two\n"}, []string{"bee"}},
			{"git_diff", map[string]any{"rev": "HEAD", "path": "sub"}, []string{"-bee\n+bee!\n"}, []string{"one"}},
			{"git_diff", map[string]any{"path": r.dir + "/new.txt"}, []string{"no change\n"}, nil},
			{"git_log", nil, []string{first[:7] + " 2026-01-02T03:04:05", " A: first\n"}, nil},
			{"git_log", map[string]any{"path": "nothing"}, []string{"no commit\n"}, nil},
			{"git_log", map[string]any{"rev": "HEAD..main"}, []string{"no commit\n"}, nil},
			{"git_show", map[string]any{"rev": "main"}, []string{"commit " + first, "    diff --git a/.env b/.env\n", "+bee\n"}, []string{"hunter2"}},
			{"git_show", map[string]any{"rev": first[:10], "path": "sub/b.txt"}, []string{"bee\n"}, []string{"commit"}},
			{"git_show", map[string]any{"rev": "HEAD", "path": "sub"}, []string{"b.txt\n"}, []string{"a.txt"}},
		}
		for _, tt := range tests {
			got := r.do(tt.tool, tt.args)
			if got.Status != reeve.StatusSuccess {
				t.Errorf("%s %v: %+v", tt.tool, tt.args, got)
			}
			for _, want := range tt.want {
				if !strings.Contains(got.Output, want) {
					t.Errorf("%s %v lacks %q:\n%s", tt.tool, tt.args, want, got.Output)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(got.Output, not) {
					t.Errorf("%s %v shows %q:\n%s", tt.tool, tt.args, not, got.Output)
				}
			}
		}
	})
}

// TestOnlyAllowedChangesAreShown is contract A23.
func TestOnlyAllowedChangesAreShown(t *testing.T) {
	r := newRepo(t)
	r.write(".env", "KEY=hunter3\n")
	r.write("k/server.pem", "hunter3\n")
	r.write("x.patch", "diff --git a/.env b/.env\n+fine\n")
	r.git("add", "-A")
	r.write("a.txt", "two\n")
	got := r.do("git_diff", map[string]any{"rev": "HEAD"})
	if strings.Contains(got.Output, "hunter") || !strings.Contains(got.Output, "+two") || !strings.Contains(got.Output, "+diff --git a/.env b/.env\n++fine") ||
		!strings.Contains(got.Output, "(changes of 2 more left out: credentials)") {
		t.Errorf("diff:\n%s", got.Output)
	}
	if got = r.do("git_show", map[string]any{"rev": "HEAD"}); strings.Contains(got.Output, "hunter") {
		t.Errorf("show:\n%s", got.Output)
	}
	r.git("commit", "-qm", "second")
	if got = r.do("git_show", map[string]any{"rev": "HEAD", "path": "x.patch"}); got.Output != "diff --git a/.env b/.env\n+fine\n" {
		t.Errorf("a file that is a diff: %q", got.Output)
	}
	blob := r.git("rev-parse", "HEAD:.env")
	tree := r.git("rev-parse", "HEAD^{tree}")
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{"git_show", map[string]any{"rev": "HEAD", "path": ".env"}}, {"git_show", map[string]any{"rev": "HEAD:.env"}}, {"git_show", map[string]any{"rev": blob}},
		{"git_show", map[string]any{"rev": tree}}, {"git_diff", map[string]any{"path": ".env"}}, {"git_diff", map[string]any{"rev": blob}},
		{"git_diff", map[string]any{"rev": blob + ".." + tree}}, {"git_diff", map[string]any{"path": "../x"}}, {"git_log", map[string]any{"path": "/etc"}},
		{"git_show", map[string]any{"rev": "HEAD", "path": "k/server.pem"}},
	} {
		if got := r.do(c.tool, c.args); got.Status == reeve.StatusSuccess || strings.Contains(got.Output+got.Error, "hunter") {
			t.Errorf("%s %v: %+v", c.tool, c.args, got)
		}
	}
}

func TestARevisionIsNeverAFlag(t *testing.T) {
	r := newRepo(t)
	r.write("a.txt", "two\n")
	planted := r.dir + "/planted"
	for _, rev := range []string{
		"--output=" + planted, "-O" + planted, "--ext-diff", "--no-index", "-p", "--", "HEAD..--output=" + planted, "--output=" + planted + "..HEAD", "HEAD --output=x", "HEAD\n--output=x",
		"^HEAD", ":/first", ":0:a.txt", "HEAD:a.txt", "/etc/hosts", "../../etc/hosts", "@{-1}:x", "HEAD...main...x", "a..b..c", "HEAD\x00", strings.Repeat("a", 300),
	} {
		for _, tl := range []string{"git_diff", "git_log", "git_show"} {
			if got := r.do(tl, map[string]any{"rev": rev}); got.Status == reeve.StatusSuccess {
				t.Errorf("%s %q: %+v", tl, rev, got)
			}
		}
		if _, err := os.Stat(planted); err == nil {
			t.Fatalf("%q wrote a file", rev)
		}
	}
	r.git("branch", "feature/x-1")
	r.git("tag", "-a", "v1.0", "-m", "x")
	for _, rev := range []string{"HEAD", "main", "feature/x-1", "v1.0", "HEAD~0", "HEAD^0", "@", "main@{0}", "main..feature/x-1", "..main", "main...HEAD"} {
		if got := r.do("git_log", map[string]any{"rev": rev}); got.Status != reeve.StatusSuccess {
			t.Errorf("git_log %q: %+v", rev, got)
		}
	}
}

// TestAProgramOfTheRepositoryNeverRuns tries every setting by which a
// repository starts a program when it is read. Each is first shown to bite
// with plain git.
func TestAProgramOfTheRepositoryNeverRuns(t *testing.T) {
	for _, trap := range []struct {
		name  string
		set   func(r *sample, evil string)
		plain [][]string // how a person meets it
	}{
		{"core.fsmonitor", func(r *sample, evil string) { r.git("config", "core.fsmonitor", evil) }, [][]string{{"status"}}},
		{"diff.external", func(r *sample, evil string) { r.git("config", "diff.external", evil) }, [][]string{{"diff"}}},
		{"textconv", func(r *sample, evil string) {
			r.git("config", "diff.x.textconv", evil)
			r.write(".gitattributes", "*.txt diff=x\n")
		}, [][]string{{"diff"}}},
		{"diff command", func(r *sample, evil string) {
			r.git("config", "diff.x.command", evil)
			r.write(".gitattributes", "*.txt diff=x\n")
		}, [][]string{{"diff"}}},
		{"clean filter", func(r *sample, evil string) {
			r.git("config", "filter.a=b.clean", evil)
			r.write(".git/info/attributes", "*.txt filter=a=b\n")
		}, [][]string{{"status"}}},
		{"process filter", func(r *sample, evil string) {
			r.git("config", "filter.p.process", evil)
			r.git("config", "filter.p.clean", "cat")
			r.write(".gitattributes", "*.txt filter=p\n")
		}, [][]string{{"diff", "--stat"}}},
		{"included filter", func(r *sample, evil string) {
			r.write(".git/more", "[filter \"inc\"]\n\tclean = "+evil+"\n\trequired\n")
			r.git("config", "include.path", "more")
			r.write(".gitattributes", "*.txt filter=inc\n")
		}, [][]string{{"status"}}},
		{"hook", func(r *sample, evil string) {
			r.write(".git/hooks/post-index-change", "#!/bin/sh\nexec "+evil+"\n")
			os.Chtimes(r.dir+"/odd name.txt", time.Unix(1, 0), time.Unix(1, 0))
		}, [][]string{{"status"}}},
		{"signature program", func(r *sample, evil string) {
			r.git("config", "gpg.program", evil)
			r.git("config", "log.showSignature", "true")
			sign(r)
		}, [][]string{{"log"}, {"show"}}},
		{"submodule", func(r *sample, evil string) {
			r.write("mod/f", "x")
			for _, args := range [][]string{{"init", "-q"}, {"add", "f"}, {"commit", "-qm", "m"}, {"config", "core.fsmonitor", evil}} {
				r.git(append([]string{"-C", "mod"}, args...)...)
			}
			r.git("-c", "core.fsmonitor=false", "add", "mod")
			os.Remove(r.dir + "/.evil-ran")
		}, [][]string{{"status"}}},
	} {
		t.Run(trap.name, func(t *testing.T) {
			r := newRepo(t)
			ran := r.dir + "/.evil-ran"
			evil := r.dir + "/.git/evil.sh"
			r.write(".git/evil.sh", "#!/bin/sh\n: > "+ran+"\ncat >/dev/null 2>&1 </dev/null\nexit 0\n")
			r.write("a.txt", "two\n")
			trap.set(r, evil)
			os.Remove(ran)
			touch(t, r.dir)
			for _, args := range trap.plain {
				cmd := exec.Command("git", append([]string{"--no-pager"}, args...)...)
				cmd.Dir = r.dir
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.at.Home}
				cmd.CombinedOutput() // the trap may well make git fail
			}
			if _, err := os.Stat(ran); err != nil {
				t.Fatalf("the trap does not bite plain git, so that it proves nothing")
			}
			os.Remove(ran)
			touch(t, r.dir)
			for name, args := range map[string]map[string]any{
				"git_status": nil, "git_diff": {"rev": "HEAD"}, "git_log": nil, "git_show": {"rev": "HEAD"},
			} {
				if got := r.do(name, args); got.Status != reeve.StatusSuccess {
					t.Errorf("%s: %+v", name, got)
				}
				r.do("git_diff", nil)
				if _, err := os.Stat(ran); err == nil {
					t.Errorf("%s ran the repository's program", name)
					os.Remove(ran)
				}
			}
		})
	}
}

// touch makes every file look changed to git, so that it reads it again.
func touch(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(dir + "/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// sign makes a commit that carries a signature, which nobody could verify.
func sign(r *sample) {
	r.t.Helper()
	text := "tree " + r.git("rev-parse", "HEAD^{tree}") + "\nauthor A <a@example.com> 1700000000 +0000\ncommitter A <a@example.com> 1700000000 +0000\n" +
		"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
	file := r.dir + "/.git/commit.txt"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.git("update-ref", "refs/heads/main", r.git("hash-object", "-t", "commit", "-w", file))
}

func TestAWorkspaceBelowTheTopShowsOnlyItself(t *testing.T) {
	r := newRepo(t)
	r.write("a.txt", "two\n")
	r.write("sub/b.txt", "bee!\n")
	r.at.Workspace, r.at.Dir = r.dir+"/sub", r.dir+"/sub"
	for name, args := range map[string]map[string]any{"git_status": nil, "git_diff": {"rev": "HEAD"}, "git_show": {"rev": "HEAD"}} {
		got := r.do(name, args)
		if got.Status != reeve.StatusSuccess || strings.Contains(got.Output, "a.txt") || !strings.Contains(got.Output, "b.txt") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := r.do("git_show", map[string]any{"rev": "HEAD", "path": "b.txt"}); got.Output != "bee\n" {
		t.Errorf("git_show with a path: %+v", got)
	}
}

func TestAPlantedWorkTreeDoesNotLeadOutside(t *testing.T) {
	r := newRepo(t)
	outside := t.TempDir()
	if err := os.WriteFile(outside+"/a.txt", []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.git("config", "core.worktree", outside)
	if got := r.do("git_diff", nil); got.Status != reeve.StatusSuccess || strings.Contains(got.Output, "outside") {
		t.Errorf("%+v", got)
	}
}

func TestNoRepositoryIsAnError(t *testing.T) {
	r := newRepo(t)
	r.at.Workspace = t.TempDir()
	r.at.Dir = r.at.Workspace
	if got := r.do("git_status", nil); got.Status != reeve.StatusError || !strings.Contains(got.Error, "no git repository") {
		t.Errorf("%+v", got)
	}
}

func TestALongDiffLosesItsBeginningAndNoSecret(t *testing.T) {
	r := newRepo(t)
	r.write(".env", strings.Repeat("KEY=hunter2\n", 8_000))
	r.write("z.txt", "end\n")
	r.git("add", "-A")
	got := r.do("git_diff", map[string]any{"staged": true})
	if !got.Truncated || strings.Contains(got.Output, "hunter2") || !strings.Contains(got.Output, "+end") {
		t.Errorf("%d bytes: %.300s", len(got.Output), got.Output)
	}
}

// FuzzSections holds two properties: nothing of a diff is lost or invented by
// taking it apart, and a part that could be of a credential has no other name.
func FuzzSections(f *testing.F) {
	for _, seed := range []string{
		"diff --git a/x b/x\n+y\n", "head\ndiff --git a/.env b/.env\n", `diff --git "a/\303\244" "b/\303\244"` + "\n", "diff --cc x\n", "diff --git a/a b/a b/a b/a\n", "diff --git \n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, out string) {
		head, files := sections(out)
		all := head
		for _, s := range files {
			all += s.text
			if name := "a/" + s.path; s.path != "" && !strings.Contains(s.text, "b/") {
				t.Fatalf("%q is called %q", s.text, name)
			}
		}
		if all != out {
			t.Fatalf("%q became %q", out, all)
		}
		for line := range strings.Lines(allowed(out, false, "")) {
			if strings.TrimSuffix(line, "\n") == "diff --git a/.env b/.env" {
				t.Fatalf("%q shows a credential", out)
			}
		}
	})
}
