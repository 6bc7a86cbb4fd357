package jail

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail/services"
)

// house is a throw-away home, workspace and state.
type house struct{ base, home, ws, state string }

func newHouse(t testing.TB) house {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := house{base, filepath.Join(base, "home"), filepath.Join(base, "home/work/ws"), filepath.Join(base, "home/.local/state/reeve")}
	for _, dir := range []string{h.ws, h.state} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h house) put(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(h.base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (h house) place() Place {
	return Place{Workspace: h.ws, Home: h.home, State: []string{h.state}, Env: []string{"PATH=/usr/bin:/bin"}}
}

func (h house) plan(t testing.TB, profile string, opts Options) Plan {
	t.Helper()
	p, err := ProfileNamed(profile)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(h.place(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// under lists what of paths lies below dir, relative to it.
func under(dir string, paths []string) []string {
	var out []string
	for _, p := range paths {
		if rel, ok := strings.CutPrefix(p, dir+"/"); ok {
			out = append(out, rel)
		}
	}
	slices.Sort(out)
	return out
}

func TestRootsThatWouldGiveTheMachineAwayAreRefused(t *testing.T) {
	h := newHouse(t)
	h.put(t, "home/.ssh/id", "home/file", "home/.config/git/hooks/x", "moved/systemd/user/x", "home/.config/systemd/x", "home/dotfiles/nvim/init.lua")
	for link, to := range map[string]string{"atgit": filepath.Join(h.home, ".config/git"), "home/.config/nvim": "../dotfiles/nvim"} {
		if err := os.Symlink(to, filepath.Join(h.base, link)); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	if err := os.Symlink("/", filepath.Join(h.base, "root")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.home, filepath.Join(h.base, "athome")); err != nil {
		t.Fatal(err)
	}
	many := make([]string, MaxRoots+1)
	for i := range many {
		many[i] = outside
	}
	for name, change := range map[string]func(*Place, *Options){
		"workspace /":                 func(p *Place, _ *Options) { p.Workspace = "/" },
		"workspace home":              func(p *Place, _ *Options) { p.Workspace = h.home },
		"workspace above home":        func(p *Place, _ *Options) { p.Workspace = h.base },
		"workspace link to /":         func(p *Place, _ *Options) { p.Workspace = filepath.Join(h.base, "root") },
		"workspace link to home":      func(p *Place, _ *Options) { p.Workspace = filepath.Join(h.base, "athome") },
		"workspace missing":           func(p *Place, _ *Options) { p.Workspace = filepath.Join(h.base, "none") },
		"workspace a file":            func(p *Place, _ *Options) { p.Workspace = filepath.Join(h.home, "file") },
		"workspace relative":          func(p *Place, _ *Options) { p.Workspace = "ws" },
		"workspace empty":             func(p *Place, _ *Options) { p.Workspace = "" },
		"workspace with newline":      func(p *Place, _ *Options) { p.Workspace = h.ws + "\n" },
		"workspace with zero":         func(p *Place, _ *Options) { p.Workspace = h.ws + "\x00" },
		"workspace too long":          func(p *Place, _ *Options) { p.Workspace = "/" + strings.Repeat("a", 4096) },
		"workspace is Reeve's state":  func(p *Place, _ *Options) { p.Workspace = h.state },
		"workspace in Reeve's state":  func(p *Place, _ *Options) { p.State = []string{filepath.Dir(h.ws)} },
		"workspace holds the state":   func(p *Place, _ *Options) { p.State = []string{filepath.Join(h.ws, "reeve")} },
		"workspace holds credentials": func(p *Place, _ *Options) { p.Workspace = filepath.Join(h.home, ".ssh") },
		"working directory elsewhere": func(p *Place, _ *Options) { p.Dir = outside },
		"working directory missing":   func(p *Place, _ *Options) { p.Dir = filepath.Join(h.ws, "none") },
		"home missing":                func(p *Place, _ *Options) { p.Home = filepath.Join(h.base, "none") },
		"write /":                     func(_ *Place, o *Options) { o.Write = []string{"/"} },
		"write home":                  func(_ *Place, o *Options) { o.Write = []string{h.home} },
		"write home by a link":        func(_ *Place, o *Options) { o.Write = []string{filepath.Join(h.base, "athome")} },
		"write home by dots":          func(_ *Place, o *Options) { o.Write = []string{h.ws + "/../.."} },
		"write above the state":       func(_ *Place, o *Options) { o.Write = []string{filepath.Dir(filepath.Dir(h.state))} },
		"write .local":                func(_ *Place, o *Options) { o.Write = []string{filepath.Join(h.home, ".local")} },
		"write what git starts from":  func(_ *Place, o *Options) { o.Write = []string{filepath.Join(h.home, ".config/git")} },
		"write below it":              func(_ *Place, o *Options) { o.Write = []string{filepath.Join(h.home, ".config/git/hooks")} },
		"write it by a link":          func(_ *Place, o *Options) { o.Write = []string{filepath.Join(h.base, "atgit")} },
		"write it where it is moved": func(p *Place, o *Options) {
			p.Env, o.Write = append(p.Env, "XDG_CONFIG_HOME="+h.base+"/moved"), []string{filepath.Join(h.base, "moved/systemd/user")}
		},
		"write what a link makes it":   func(_ *Place, o *Options) { o.Write = []string{filepath.Join(h.home, "dotfiles/nvim")} },
		"workspace that starts units":  func(p *Place, _ *Options) { p.Workspace = filepath.Join(h.home, ".config/systemd") },
		"write credentials":            func(_ *Place, o *Options) { o.Write = []string{filepath.Join(h.home, ".ssh")} },
		"write /etc":                   func(_ *Place, o *Options) { o.Write = []string{"/etc"} },
		"write /tmp":                   func(_ *Place, o *Options) { o.Write = []string{"/tmp"} },
		"write a relative one":         func(_ *Place, o *Options) { o.Write = []string{"."} },
		"write a missing one":          func(_ *Place, o *Options) { o.Write = []string{filepath.Join(h.base, "none")} },
		"write too many":               func(_ *Place, o *Options) { o.Write = many },
		"write with escape":            func(_ *Place, o *Options) { o.Write = []string{outside + "\x1b"} },
		"cache outside Reeve's folder": func(p *Place, _ *Options) { p.Cache = outside },
		"hide a relative path":         func(_ *Place, o *Options) { o.Mask = []string{"x"} },
	} {
		for _, p := range Profiles()[:2] {
			at, opts := h.place(), Options{}
			change(&at, &opts)
			if plan, err := p.Plan(at, opts); err == nil {
				t.Errorf("%s in %s: made a plan with workspace %s and writes %v", name, p.Name, plan.Workspace, plan.Write)
			}
		}
	}
}

func TestEveryRootOfAPlanIsCanonical(t *testing.T) {
	h := newHouse(t)
	out := t.TempDir()
	if err := os.Symlink(h.ws, filepath.Join(h.base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(h.ws, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := h.place()
	at.Workspace, at.Dir = filepath.Join(h.base, "link/./sub/.."), filepath.Join(h.base, "link/sub")
	plan, err := Profiles()[0].Plan(at, Options{Write: []string{out + "/../" + filepath.Base(out), out}})
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(out)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Workspace != h.ws || plan.Dir != filepath.Join(h.ws, "sub") || !slices.Equal(plan.Write, []string{real}) {
		t.Errorf("workspace %s, dir %s, writes %v", plan.Workspace, plan.Dir, plan.Write)
	}
}

func TestTheProfilesSayWhatTheyAllow(t *testing.T) {
	h := newHouse(t)
	h.put(t, "home/work/ws/.git/config", "home/work/ws/.git/hooks/x", "home/.claude/projects/x", "home/.codex/auth.json")
	agent, strict, ro := h.plan(t, "", Options{}), h.plan(t, "strict", Options{}), h.plan(t, "read-only", Options{})
	if agent.Profile != "agent" || agent.Net != ProxiedNetwork || agent.NoUnix || agent.ReadOnly || len(under(h.home, agent.Write)) != 2 {
		t.Errorf("agent: %+v", agent)
	}
	if strict.Net != NetNone || !strict.NoUnix || strict.ReadOnly || len(strict.Write) != 0 || !slices.Contains(strict.Protect, filepath.Join(h.ws, ".git")) ||
		!slices.Contains(strict.Mask, filepath.Join(h.home, ".codex/auth.json")) {
		t.Errorf("strict: %+v", strict)
	}
	if ro.Net != NetNone || !ro.NoUnix || !ro.ReadOnly || len(ro.Write) != 0 {
		t.Errorf("read-only: %+v", ro)
	}
	build := h.plan(t, "build", Options{})
	if build.Net != ProxiedNetwork || len(under(h.home, build.Write)) != 2 {
		t.Errorf("build: %+v", build)
	}
	none := NetNone
	if p := h.plan(t, "agent", Options{Net: &none, ReadOnly: true}); p.Net != NetNone || !p.ReadOnly {
		t.Errorf("asked for no network and no writing: %+v", p)
	}
	if _, err := ProfileNamed("loose"); err == nil {
		t.Error("an unknown profile was found")
	}
	if (Profile{}).Net != NetNone || (Plan{}).Net != NetNone {
		t.Error("the zero value has a network")
	}
}

func TestWhatStartsProgramsIsProtectedPresentOrNot(t *testing.T) {
	h := newHouse(t)
	h.put(t, "home/work/ws/.git/config", "home/work/ws/.git/hooks/pre-commit", "home/work/ws/.git/HEAD", "home/work/ws/.vscode/tasks.json",
		"home/work/ws/deep/er/.git/config", "home/work/ws/deep/er/.envrc", "home/work/ws/.git/modules/a/b/HEAD", "home/work/ws/.git/modules/a/b/config",
		"home/work/ws/.git/worktrees/w/commondir", "home/work/ws/node_modules/pkg/.git/config", "home/work/ws/.githooks/x",
		"home/work/ws/.husky/pre-commit", "home/work/ws/bare/HEAD", "home/work/ws/bare/config", "home/work/ws/bare/objects/x", "home/work/ws/bare/refs/x",
		"home/lib/.git/config", "home/lib/.git/HEAD", "home/lib/.idea/x", "home/.claude/.git/config")
	if err := os.WriteFile(filepath.Join(h.ws, ".git/config"), []byte("[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../shared.inc\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(h.home, "lib")
	plan := h.plan(t, "agent", Options{Write: []string{lib}})
	for _, want := range []string{filepath.Join(lib, ".git/config"), filepath.Join(lib, ".idea"), filepath.Join(h.home, ".claude/.git/config")} {
		if !slices.Contains(plan.Protect, want) {
			t.Errorf("%s is not protected: %v", want, plan.Protect)
		}
	}
	protect, pin, absent := under(h.ws, plan.Protect), under(h.ws, plan.Pin), under(h.ws, plan.Absent)
	for _, want := range []string{".git/config", ".git/hooks", ".vscode", "deep/er/.git/config", "deep/er/.envrc", ".git/modules/a/b/config", ".git/worktrees/w/commondir", ".githooks", ".husky", "bare/config"} {
		if !slices.Contains(protect, want) {
			t.Errorf("%s is not protected: %v", want, protect)
		}
	}
	for _, want := range []string{".git", "deep", "deep/er", "deep/er/.git", ".git/modules", ".git/modules/a", ".git/modules/a/b", ".git/worktrees/w"} {
		if !slices.Contains(pin, want) {
			t.Errorf("%s is not pinned: %v", want, pin)
		}
	}
	for _, want := range []string{".mcp.json", ".reeve", ".claude", ".git/commondir", ".git/config.worktree", ".git/info/attributes", "deep/er/.vscode", "deep/er/.git/hooks", ".git/modules/a/b/hooks", ".git/worktrees/w/config.worktree", "shared.inc"} {
		if !slices.Contains(absent, want) {
			t.Errorf("%s is not watched for: %v", want, absent)
		}
	}
	if slices.ContainsFunc(protect, func(p string) bool { return strings.HasPrefix(p, "node_modules") }) {
		t.Errorf("installed packages were entered: %v", protect)
	}
	if len(plan.Repos) != 5 {
		t.Errorf("repositories: %+v", plan.Repos)
	}
}

// TestWhatGitIsToldToStartIsProtectedInEveryProfile: hooks and included files
// outside of .git, named by the repository's, the person's or an included
// configuration, in the repository itself, in a linked worktree, in a submodule
// and in a part of a repository.
func TestWhatGitIsToldToStartIsProtectedInEveryProfile(t *testing.T) {
	h := newHouse(t)
	text := func(path, s string) {
		t.Helper()
		h.put(t, path)
		if err := os.WriteFile(filepath.Join(h.base, path), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.put(t, "home/work/ws/.git/HEAD", "home/work/ws/tools/hooks/pre-commit", "home/work/ws/real/hooks/x", "home/work/ws/.git/modules/sub/HEAD", "home/work/ws/part/x")
	text("home/work/ws/.git/config", "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../inc/git\n")
	text("home/work/ws/inc/git", "[core]\n\tattributesFile = inc/attributes\n[includeIf \"gitdir:~/x\"]\n\tpath = more\n")
	text("home/work/ws/.git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n\thooksPath = scripts\n")
	text("home/work/ws/sub/.git", "gitdir: ../.git/modules/sub\n")
	text("home/.gitconfig", "[include]\n\tpath = dotfiles/git\n")
	text("home/dotfiles/git", "[core]\n\thooksPath = .hooks\n[core]\n\thooksPath = ~/"+strings.TrimPrefix(h.ws, h.home+"/")+"/lead/hooks\n")
	if err := os.Symlink("real", filepath.Join(h.ws, "lead")); err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{"agent", "build", "strict"} {
		plan := h.plan(t, profile, Options{})
		protect, absent := under(h.ws, plan.Protect), under(h.ws, plan.Absent)
		for _, want := range []string{"tools/hooks", "inc/git", "real/hooks"} {
			if !slices.Contains(protect, want) {
				t.Errorf("%s: %s is not protected: %v", profile, want, protect)
			}
		}
		for _, want := range []string{"inc/attributes", "inc/more", ".hooks", "sub/scripts", "sub/.hooks"} {
			if !slices.Contains(absent, want) {
				t.Errorf("%s: %s is not watched for: %v", profile, want, absent)
			}
		}
		if !slices.Contains(plan.Links, Link{Path: filepath.Join(h.ws, "lead"), Target: "real"}) {
			t.Errorf("%s: the link on the way to the hooks is not watched: %v", profile, plan.Links)
		}
		if slices.Contains(append(protect, absent...), "part/tools/hooks") {
			t.Errorf("%s: hooks are looked for where git does not: %v", profile, protect)
		}
	}
	// A linked worktree beside it.
	text("home/work/wt/.git", "gitdir: "+filepath.Join(h.ws, ".git/worktrees/wt")+"\n")
	text("home/work/ws/.git/worktrees/wt/commondir", "../..\n")
	text("home/work/ws/.git/worktrees/wt/gitdir", filepath.Join(filepath.Dir(h.ws), "wt/.git")+"\n")
	text("home/work/ws/.git/worktrees/wt/config.worktree", "[core]\n\thooksPath = own\n")
	wt := h.place()
	wt.Workspace = filepath.Join(filepath.Dir(h.ws), "wt")
	// Workspaces that are a part of the repository.
	tools := h.place()
	tools.Workspace = filepath.Join(h.ws, "tools")
	for at, want := range map[*Place][]string{&wt: {"tools/hooks", "own", ".hooks"}, &tools: {"hooks"}} {
		for _, name := range []string{"agent", "strict"} {
			p, err := ProfileNamed(name)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := p.Plan(*at, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := under(at.Workspace, append(plan.Protect, plan.Absent...))
			for _, path := range want {
				if !slices.Contains(got, path) {
					t.Errorf("%s in %s: %s is not protected: %v", name, at.Workspace, path, got)
				}
			}
		}
	}
}

func TestManyRepositoriesAreFoldedSoThatTheBindsStayFew(t *testing.T) {
	h := newHouse(t)
	for i := range 60 {
		h.put(t, "home/work/ws/r/"+string(rune('A'+i/10))+string(rune('0'+i%10))+"/.git/config", "home/work/ws/r/"+string(rune('A'+i/10))+string(rune('0'+i%10))+"/.git/hooks/x")
	}
	plan := h.plan(t, "agent", Options{})
	if n := len(plan.Pin) + len(plan.Protect); n > 80 {
		t.Errorf("%d binds", n)
	}
	for _, r := range plan.Repos {
		if !slices.Contains(plan.Protect, r.Git) {
			t.Errorf("%s is open", r.Git)
		}
	}
	if len(plan.Notes) == 0 {
		t.Error("nobody is told")
	}
}

func TestAgentFoldersKeepTheirSettingsAndOnlyRealOnesAreGranted(t *testing.T) {
	h := newHouse(t)
	h.put(t, "home/.claude/settings.json", "home/.claude/hooks/gate", "home/.claude/projects/p", "home/.claude.json", "elsewhere/config.toml")
	if err := os.Symlink(filepath.Join(h.base, "elsewhere"), filepath.Join(h.home, ".codex")); err != nil {
		t.Fatal(err)
	}
	plan := h.plan(t, "agent", Options{})
	if got := under(h.home, plan.Write); !slices.Equal(got, []string{".claude"}) {
		t.Errorf("granted %v", got)
	}
	if got := under(h.home, plan.Protect); !slices.Equal(got, []string{".claude/hooks", ".claude/settings.json"}) {
		t.Errorf("protected %v", got)
	}
	if got := under(h.home, plan.Private); !slices.Equal(got, []string{".claude.json"}) {
		t.Errorf("private %v", got)
	}
	for _, want := range []string{"settings*.json", "mcp*.json", "plugins", "commands", "agents", "config.toml", "shell-snapshots"} {
		if !slices.Contains(plan.Absent, filepath.Join(h.home, ".claude", want)) {
			t.Errorf("%s is not watched for", want)
		}
	}
	if !slices.ContainsFunc(plan.Notes, func(n string) bool { return strings.Contains(n, ".codex") }) {
		t.Errorf("nobody is told of the linked folder: %v", plan.Notes)
	}
}

func TestWhatStartsProgramsOutsideIsKeptBelowARoot(t *testing.T) {
	for _, profile := range []string{"agent", "strict"} {
		h := newHouse(t)
		h.put(t, "home/.cargo/config.toml", "home/.cargo/registry/x", "home/dotfiles/rc/bash", "home/dotfiles/nvim/init.lua")
		if err := os.Mkdir(filepath.Join(h.home, ".config"), 0o755); err != nil {
			t.Fatal(err)
		}
		for link, to := range map[string]string{".bashrc": "dotfiles/rc/bash", ".config/nvim": filepath.Join(h.home, "dotfiles/nvim"), ".zshrc": "dotfiles/rc/zsh"} {
			if err := os.Symlink(to, filepath.Join(h.home, link)); err != nil {
				t.Fatal(err)
			}
		}
		h.ws = filepath.Join(h.home, "dotfiles")
		plan := h.plan(t, profile, Options{Write: []string{filepath.Join(h.home, ".cargo")}})
		for _, want := range []string{".cargo/config.toml", "dotfiles/nvim", "dotfiles/rc/bash"} {
			if !slices.Contains(plan.Protect, filepath.Join(h.home, want)) {
				t.Errorf("%s: %s is open: %v", profile, want, under(h.home, plan.Protect))
			}
		}
		for _, want := range []string{".cargo/bin", "dotfiles/rc/zsh"} {
			if !slices.Contains(plan.Absent, filepath.Join(h.home, want)) {
				t.Errorf("%s: %s is not watched for: %v", profile, want, under(h.home, plan.Absent))
			}
		}
		if !slices.Contains(plan.Pin, filepath.Join(h.home, "dotfiles/rc")) {
			t.Errorf("%s: the directory of a start file can be moved away: %v", profile, plan.Pin)
		}
	}
}

func TestARefusedRootIsToldInWords(t *testing.T) {
	h := newHouse(t)
	h.put(t, "home/.config/git/config", "home/file")
	for path, want := range map[string]string{
		filepath.Join(h.home, "none"):        "write: there is no directory " + filepath.Join(h.home, "none") + "; make it first, or name one that is there",
		filepath.Join(h.home, "file"):        "write: " + filepath.Join(h.home, "file") + " is not a directory; name the one that it is in",
		filepath.Join(h.home, ".config/git"): "write: " + filepath.Join(h.home, ".config/git") + ": git starts programs from what stands in " + filepath.Join(h.home, ".config/git") + ", outside of the boundary too: choose another directory, or change it there yourself",
		"/usr/local/bin":                     "write: /usr/local/bin: the PATH starts programs from what stands in /usr/local/bin, outside of the boundary too: choose another directory, or change it there yourself",
		"/etc/ssl":                           "write: /etc/ssl: the machine starts programs from what stands in /etc, outside of the boundary too: choose another directory, or change it there yourself",
	} {
		if _, err := Profiles()[0].Plan(h.place(), Options{Write: []string{path}}); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", path, err, want)
		}
	}
}

func TestAnAgentFolderThatIsTheWorkspaceKeepsItsSettings(t *testing.T) {
	for _, profile := range []string{"agent", "strict"} {
		h := newHouse(t)
		h.put(t, "home/.claude/settings.json", "home/.claude/hooks/gate", "home/.claude/notes/x")
		claude := filepath.Join(h.home, ".claude")
		h.ws = claude
		plan := h.plan(t, profile, Options{})
		for _, want := range []string{"settings.json", "hooks"} {
			if !slices.Contains(plan.Protect, filepath.Join(claude, want)) {
				t.Errorf("%s: %s is open: %v", profile, want, plan.Protect)
			}
		}
		if !slices.Contains(plan.Absent, filepath.Join(claude, "plugins")) {
			t.Errorf("%s: plugins are not watched for", profile)
		}
		h.ws = filepath.Join(claude, "hooks")
		p, _ := ProfileNamed(profile)
		if _, err := p.Plan(h.place(), Options{}); err == nil || !strings.Contains(err.Error(), "starts programs") {
			t.Errorf("%s: hooks as the workspace: %v", profile, err)
		}
		h.ws = filepath.Join(claude, "notes")
		h.plan(t, profile, Options{})
	}
}

func TestCodexSharesNothingThatAnotherSessionWouldRun(t *testing.T) {
	h := newHouse(t)
	h.put(t, "home/.codex/config.toml", "home/.codex/hooks.json", "home/.codex/work.config.toml", "home/.codex/packages/x", "home/.codex/sessions/s.jsonl", "home/.codex/shell_snapshots/other.sh")
	plan := h.plan(t, "agent", Options{Argv: []string{"/usr/bin/codex", "exec"}})
	if got, want := under(h.home, plan.Private), []string{".codex/.tmp", ".codex/app-server-control", ".codex/app-server-daemon", ".codex/shell_snapshots", ".codex/tmp"}; !slices.Equal(got, want) {
		t.Errorf("private %v, want %v", got, want)
	}
	if got, want := under(h.home, plan.Protect), []string{".codex/config.toml", ".codex/hooks.json", ".codex/packages", ".codex/work.config.toml"}; !slices.Equal(got, want) {
		t.Errorf("protected %v, want %v", got, want)
	}
	for _, want := range []string{"environments.toml", "automations", "rules", "skills", "plugins", "*.config.toml"} {
		if !slices.Contains(plan.Absent, filepath.Join(h.home, ".codex", want)) {
			t.Errorf("%s is not watched for", want)
		}
	}
}

func TestCodexIsToldThatItsOwnSandboxDoesNotStartInside(t *testing.T) {
	told := func(settings string, argv ...string) bool {
		h := newHouse(t)
		h.put(t, "home/.codex/sessions/s.jsonl")
		if err := os.WriteFile(filepath.Join(h.home, ".codex", "config.toml"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(h.plan(t, "agent", Options{Argv: argv}).Notes, func(n string) bool { return strings.Contains(n, "danger-full-access") })
	}
	if !told("", "codex", "-s", "workspace-write") || !told("sandbox_mode = \"read-only\"\n", "npx", "@openai/codex") {
		t.Error("nobody is told")
	}
	if told("", "codex", "-s", "danger-full-access") || told("sandbox_mode = \"danger-full-access\"\n", "codex") || told("", "claude") {
		t.Error("a person who knows it, or who starts another program, is told")
	}
}

func TestTheStartedCLIHasItsFolderAtItsFirstStart(t *testing.T) {
	h := newHouse(t)
	if plan := h.plan(t, "agent", Options{Argv: []string{"make"}}); len(plan.Write) != 0 {
		t.Errorf("make was given %v", plan.Write)
	}
	if plan := h.plan(t, "strict", Options{Argv: []string{"claude"}}); len(plan.Write) != 0 {
		t.Errorf("strict gives %v", plan.Write)
	}
	plan := h.plan(t, "agent", Options{Argv: []string{"/usr/bin/claude"}})
	if !slices.Equal(plan.Write, []string{filepath.Join(h.home, ".claude")}) {
		t.Errorf("writes %v", plan.Write)
	}
	if info, err := os.Stat(filepath.Join(h.home, ".claude")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
}

func TestCredentialsSocketsAndReevesStateAreMaskedLast(t *testing.T) {
	h := newHouse(t)
	h.put(t, "home/.ssh/id", "home/.aws/credentials", "home/.netrc", "home/.config/gh/hosts.yml", "home/.mozilla/x", "home/real-npmrc", "home/extra/secret")
	if err := os.Symlink("real-npmrc", filepath.Join(h.home, ".npmrc")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(h.home, ".netrc"), filepath.Join(h.ws, "alias")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(h.home, ".ssh/id"), filepath.Join(h.ws, "alias2")); err != nil {
		t.Fatal(err)
	}
	h.put(t, "home/kept/kube", "home/kept/gh/hosts.yml")
	for _, profile := range []string{"agent", "strict"} {
		p, err := ProfileNamed(profile)
		if err != nil {
			t.Fatal(err)
		}
		at := h.place()
		at.Env = append(at.Env, "KUBECONFIG=relative:"+filepath.Join(h.home, "kept/kube"), "XDG_CONFIG_HOME="+filepath.Join(h.home, "kept"), "GNUPGHOME="+h.home, "NETRC=/")
		moved, err := p.Plan(at, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"kept/kube", "kept/gh"} {
			if !slices.Contains(under(h.home, moved.Mask), want) {
				t.Errorf("%s: %s is not hidden: %v", profile, want, moved.Mask)
			}
		}
		if slices.Contains(moved.Mask, h.home) || slices.Contains(moved.Mask, "/") {
			t.Errorf("%s: a variable hides everything: %v", profile, moved.Mask)
		}
		plan := h.plan(t, profile, Options{Mask: []string{filepath.Join(h.home, "extra")}})
		got := under(h.home, plan.Mask)
		for _, want := range []string{".ssh", ".aws", ".netrc", ".config/gh", ".mozilla", "real-npmrc", "work/ws/alias", "work/ws/alias2", "extra"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %s is not hidden: %v", profile, want, got)
			}
		}
		if last := plan.Mask[len(plan.Mask)-1]; last != h.state {
			t.Errorf("%s: the last mask is %s, want Reeve's state", profile, last)
		}
	}
}

// TestReevesOwnSocketsAreHiddenWithItsState: the socket of a session that ends
// while another is started would fail that one.
func TestReevesOwnSocketsAreHiddenWithItsState(t *testing.T) {
	h := newHouse(t)
	h.put(t, "home/other/x")
	own, other := filepath.Join(h.state, "s"), filepath.Join(h.home, "other", "s")
	for _, path := range []string{own, other} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	mask := h.plan(t, "agent", Options{}).Mask
	if slices.Contains(mask, own) || !slices.Contains(mask, h.state) || !slices.Contains(mask, other) {
		t.Errorf("hidden are %v, want %s and %s, and %s with the first", mask, h.state, other, own)
	}
}

func TestTheEnvironmentPointsAtTheOneWayOut(t *testing.T) {
	h := newHouse(t)
	at := h.place()
	at.Env = append(at.Env, "HTTPS_PROXY=http://elsewhere:1", "no_proxy=*", "NO_PROXY=.example", "JAVA_TOOL_OPTIONS=-Devil", "GOMODCACHE=/x")
	env := func(profile string, opts Options) map[string]string {
		p, err := ProfileNamed(profile)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.Plan(at, opts)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, kv := range plan.Env {
			name, value, _ := strings.Cut(kv, "=")
			out[name] = value
		}
		return out
	}
	ruled := env("agent", Options{})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		if ruled[name] != "http://127.0.0.1:3128" {
			t.Errorf("%s=%s", name, ruled[name])
		}
	}
	if ruled["NO_PROXY"] != "localhost,127.0.0.1,::1" || ruled["no_proxy"] != ruled["NO_PROXY"] || ruled["NODE_USE_ENV_PROXY"] != "1" {
		t.Errorf("%v", ruled)
	}
	if java := ruled["JAVA_TOOL_OPTIONS"]; !strings.Contains(java, "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128") || strings.Contains(java, "evil") {
		t.Errorf("JAVA_TOOL_OPTIONS=%s", java)
	}
	if near := env("agent", Options{Loopback: true}); near["NO_PROXY"] != "localhost,::1" || strings.Contains(near["JAVA_TOOL_OPTIONS"], "127.*") {
		t.Errorf("with a port of this machine: %v", near)
	}
	none := NetNone
	for name, value := range env("agent", Options{Net: &none}) {
		if strings.Contains(value, "3128") {
			t.Errorf("without a network %s=%s", name, value)
		}
	}
	build := env("build", Options{})
	if build["HTTPS_PROXY"] != ruled["HTTPS_PROXY"] || build["GOMODCACHE"] != "/tmp/.cache/go-mod" || build["CARGO_HOME"] == "" || ruled["GOMODCACHE"] != "/x" {
		t.Errorf("build: %v", build)
	}
}

func TestTheHostsOfAnAgentAreItsServices(t *testing.T) {
	agent, strict := Profiles()[0], Profile{Name: "strict"}
	for _, c := range []struct {
		p       Profile
		argv    []string
		env     []string
		program string
		hosts   string // one of them
		given   []string
	}{
		{agent, []string{"/usr/local/bin/claude", "-p"}, nil, "claude", "api.anthropic.com", nil},
		{agent, []string{"npx", "@openai/codex"}, nil, "codex", "chatgpt.com", nil},
		{agent, []string{"gemini"}, nil, "gemini", "generativelanguage.googleapis.com", nil},
		{agent, []string{"aider"}, []string{"OPENAI_API_BASE=http://127.0.0.1:8000/v1", "ANTHROPIC_BASE_URL=https://gate.example"}, "aider", "openrouter.ai", []string{"127.0.0.1:8000", "gate.example:443"}},
		{agent, []string{"claude"}, []string{"ANTHROPIC_BASE_URL=http://[::1]:8000", "OPENAI_BASE_URL=https://other.example"}, "claude", "claude.ai", []string{"[::1]:8000"}},
		{agent, []string{"claude"}, []string{"ANTHROPIC_BASE_URL=::not an address"}, "claude", "claude.ai", nil},
		{agent, []string{"make"}, []string{"OPENAI_BASE_URL=https://other.example"}, "", "", nil},
		{strict, []string{"claude"}, nil, "", "", nil},
	} {
		program, hosts, given := c.p.AgentHosts(c.argv, c.env)
		if program != c.program || c.hosts != "" && !slices.Contains(hosts, c.hosts) || c.hosts == "" && len(hosts) > 0 || !slices.Equal(given, c.given) {
			t.Errorf("%v %v: %s, %v, %v", c.argv, c.env, program, hosts, given)
		}
	}
	for _, watcher := range []string{"statsig", "sentry", "datadog", "telemetry", "analytics"} {
		for _, hosts := range services.OfAgents {
			if slices.ContainsFunc(hosts, func(h string) bool { return strings.Contains(h, watcher) }) {
				t.Errorf("%v reports on its use", hosts)
			}
		}
	}
}

func TestTheEnvironmentIsAnAllowListThenAScrub(t *testing.T) {
	h := newHouse(t)
	at := h.place()
	at.Env = []string{"PATH=/bin", "LANG=C", "LC_TIME=C", "FOO=bar", "GITHUB_TOKEN=x", "LD_PRELOAD=x", "NODE_OPTIONS=x", "BASH_ENV=x", "GIT_DIR=x", "SSH_AUTH_SOCK=/x", "TMPDIR=/elsewhere",
		"EDITOR=sk-abcdef", "HTTPS_PROXY=http://u:p@h", "http_proxy=http://h:1", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "OPENAI_API_KEY=o", "SHELL=() { :;}", "HOME=/wrong"}
	env := func(profile string, opts Options) []string {
		p, err := ProfileNamed(profile)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.Plan(at, opts)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Env
	}
	open := UnrestrictedNetwork
	make := env("agent", Options{Argv: []string{"make"}, Net: &open})
	for _, want := range []string{"PATH=/bin", "LANG=C", "LC_TIME=C", "http_proxy=http://h:1", "TMPDIR=/tmp", "HOME=" + h.home} {
		if !slices.Contains(make, want) {
			t.Errorf("%s did not pass: %v", want, make)
		}
	}
	for _, kv := range make {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"FOO", "GITHUB_TOKEN", "LD_PRELOAD", "NODE_OPTIONS", "BASH_ENV", "GIT_DIR", "SSH_AUTH_SOCK", "EDITOR", "HTTPS_PROXY", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "SHELL"}, name) {
			t.Errorf("%s passed", kv)
		}
	}
	for _, argv := range [][]string{{"/usr/local/bin/claude", "-p"}, {"npx", "-y", "@anthropic-ai/claude-code@2"}} {
		claude := env("agent", Options{Argv: argv})
		if !slices.Contains(claude, "ANTHROPIC_API_KEY=k") || !slices.Contains(claude, "ANTHROPIC_BASE_URL=http://127.0.0.1:1") || slices.Contains(claude, "OPENAI_API_KEY=o") {
			t.Errorf("%v: %v", argv, claude)
		}
	}
	if e := env("strict", Options{Argv: []string{"claude"}}); slices.Contains(e, "ANTHROPIC_API_KEY=k") {
		t.Error("strict passes a key")
	}
	named := env("strict", Options{Pass: []string{"GITHUB_TOKEN"}, Set: []string{"REEVE_SESSION=1"}})
	if !slices.Contains(named, "GITHUB_TOKEN=x") || !slices.Contains(named, "REEVE_SESSION=1") {
		t.Errorf("named by a person: %v", named)
	}
}

func TestALinkedWorktreeIsBelievedOnlyIfItsRepositoryPointsBack(t *testing.T) {
	h := newHouse(t)
	h.put(t, "main/.git/config", "main/.git/HEAD")
	common := filepath.Join(h.base, "main/.git")
	entry := filepath.Join(common, "worktrees/ws")
	for name, text := range map[string]string{
		filepath.Join(h.ws, ".git"): "gitdir: " + entry + "\n", filepath.Join(entry, "commondir"): "../..\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if plan := h.plan(t, "agent", Options{}); len(plan.Write) != 0 || len(plan.Notes) == 0 {
		t.Errorf("granted %v to a pointer that nobody registered", plan.Write)
	}
	if err := os.WriteFile(filepath.Join(entry, "gitdir"), []byte(filepath.Join(h.ws, ".git")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plan := h.plan(t, "agent", Options{})
	if !slices.Equal(plan.Write, []string{common}) || !slices.Contains(plan.Protect, filepath.Join(common, "config")) || !slices.Contains(plan.Protect, filepath.Join(h.ws, ".git")) {
		t.Errorf("writes %v, protects %v", plan.Write, plan.Protect)
	}
	if plan := h.plan(t, "strict", Options{}); len(plan.Write) != 0 {
		t.Errorf("strict grants %v", plan.Write)
	}
	if err := os.WriteFile(filepath.Join(entry, "commondir"), []byte("../../../evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if plan := h.plan(t, "agent", Options{}); len(plan.Write) != 0 {
		t.Errorf("granted %v", plan.Write)
	}
}

// TestPatternCharactersInADirectorysNameAreCharacters: what is hidden and
// closed below it is.
func TestPatternCharactersInADirectorysNameAreCharacters(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a[b]c*d?e")
	h := house{base, filepath.Join(base, "home"), filepath.Join(base, "home/work/[slug]"), filepath.Join(base, "home/.local/state/reeve")}
	for _, dir := range []string{h.ws, h.state} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.put(t, "home/.ssh/id", "home/.cargo/credentials.toml", "home/.claude/settings.json", "home/.claude/settings.local.json", "home/work/[slug]/.git/hooks/x", "home/work/[slug]/in/[id]/.git/hooks/y")
	plan := h.plan(t, "agent", Options{Argv: []string{"claude"}})
	for _, want := range []string{".ssh", ".cargo/credentials.toml"} {
		if !slices.Contains(plan.Mask, filepath.Join(h.home, want)) {
			t.Errorf("%s is not hidden: %v", want, plan.Mask)
		}
	}
	for _, want := range []string{".claude/settings.json", ".claude/settings.local.json", "work/[slug]/.git/hooks", "work/[slug]/in/[id]/.git/hooks"} {
		if !slices.Contains(plan.Protect, filepath.Join(h.home, want)) {
			t.Errorf("%s is not protected: %v", want, plan.Protect)
		}
	}
}
