package guest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail"
)

// place is a home with a workspace and Reeve's own folders in it.
func place(t *testing.T) (jail.Place, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home/.ssh", "home/work/.git/hooks", "home/notes", "home/.nvm/versions/node/v22/bin", "home/.local/bin", "state", "data/mcp/files"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := jail.Place{Home: filepath.Join(root, "home"), Workspace: filepath.Join(root, "home/work"), State: []string{filepath.Join(root, "state"), filepath.Join(root, "data")},
		Env: []string{"LANG=de_DE.UTF-8", "GITHUB_TOKEN=x", "PATH=/wrong", "ANTHROPIC_API_KEY=k", "HOME=/wrong"}}
	return at, filepath.Join(root, "data/mcp/files")
}

// hides reports whether nothing of a directory is to be seen inside.
func hides(plan jail.Plan, dir string) bool {
	return slices.ContainsFunc(slices.Concat(private, plan.Private), func(p string) bool { return p == dir || strings.HasPrefix(dir, p+"/") })
}

func TestAServerSeesItsFolderAndWhatWasNamed(t *testing.T) {
	at, own := place(t)
	notes := filepath.Join(at.Home, "notes")
	plan, err := Guest{Own: own, Dir: at.Workspace, Read: []string{at.Workspace}, Write: []string{notes}, Env: []string{"A=b", "PATH=/opt/bin:/bin"}}.Plan(at)
	if err != nil {
		t.Fatal(err)
	}
	if !hides(plan, at.Home) || !slices.Equal(plan.Read, []string{at.Workspace}) || !slices.Equal(plan.Write, []string{notes}) || plan.Dir != at.Workspace {
		t.Errorf("private %q, read %q, write %q, dir %q", plan.Private, plan.Read, plan.Write, plan.Dir)
	}
	if plan.Net != jail.NetNone || !plan.NoUnix || len(plan.Expose) != 1 || plan.Expose[0] != (jail.Expose{From: own, To: Home, Write: true}) {
		t.Errorf("net %s, expose %+v", plan.Net, plan.Expose)
	}
	for _, s := range at.State {
		if !slices.Contains(plan.Mask, s) && !hides(plan, s) {
			t.Errorf("%s can be seen; hidden are %q, empty %q", s, plan.Mask, plan.Private)
		}
	}
	if want := []string{"A=b", "HOME=" + Home, "LANG=de_DE.UTF-8", "PATH=/opt/bin:/bin", "REEVE_SANDBOX=1", "TMPDIR=/tmp"}; !slices.Equal(plan.Env, want) {
		t.Errorf("environment %q, want %q", plan.Env, want)
	}
}

func TestAServerIsShownNothingUnlessItIsNamed(t *testing.T) {
	at, own := place(t)
	plan, err := Guest{Own: own}.Plan(at)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Read)+len(plan.Write) != 0 || plan.Dir != Home || !hides(plan, at.Home) {
		t.Errorf("read %q, write %q, dir %q, private %q", plan.Read, plan.Write, plan.Dir, plan.Private)
	}
	for _, dir := range []string{"/home", "/root", "/srv"} {
		if _, err := os.Stat(dir); err == nil && !hides(plan, dir) {
			t.Errorf("%s can be seen; empty are %q", dir, plan.Private)
		}
	}
	if len(plan.Env) != 5 {
		t.Errorf("environment %q", plan.Env)
	}
}

func TestWhatIsWrittenForAServerIsProtectedAsAWorkspace(t *testing.T) {
	at, own := place(t)
	plan, err := Guest{Own: own, Write: []string{at.Workspace}}.Plan(at)
	if err != nil {
		t.Fatal(err)
	}
	if git := filepath.Join(at.Workspace, ".git"); !slices.Contains(plan.Protect, git) || !slices.Contains(plan.Absent, filepath.Join(at.Workspace, ".mcp.json")) {
		t.Errorf("protected %q, watched %q", plan.Protect, plan.Absent)
	}
}

func TestAServerIsRefusedWhatWouldBeNoBoundary(t *testing.T) {
	at, own := place(t)
	for name, c := range map[string]struct {
		g    Guest
		want string
	}{
		"write home":       {Guest{Own: own, Write: []string{at.Home}}, "holds the home directory"},
		"write root":       {Guest{Own: own, Write: []string{"/"}}, "overlaps"},
		"read state":       {Guest{Own: own, Read: []string{at.State[0]}}, "reeve keeps its own state"},
		"folder elsewhere": {Guest{Own: at.Workspace}, "does not lie below"},
		"unshown dir":      {Guest{Own: own, Dir: at.Workspace}, "none of the directories that the server is shown"},
		"not there":        {Guest{Own: own, Read: []string{filepath.Join(at.Home, "none")}}, "no such file"},
	} {
		if plan, err := c.g.Plan(at); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", name, plan, err, c.want)
		}
	}
}

func TestTheProgramOfAServerIsFoundInItsOwnPath(t *testing.T) {
	at, _ := place(t)
	node := filepath.Join(at.Home, ".nvm/versions/node/v22/bin/node")
	local := filepath.Join(at.Home, ".local/bin/tool")
	module := filepath.Join(at.Home, ".npm-global/lib/node_modules/pkg/dist/index.js")
	linked := filepath.Join(at.Home, ".npm-global/bin/pkg")
	for _, f := range []string{node, local, module} {
		if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(linked), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(module, linked); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, show string }{
		{"sh", "PATH=/usr/bin:/bin", ""},
		{"node", "PATH=" + filepath.Dir(node), filepath.Join(at.Home, ".nvm/versions/node/v22")},
		{local, "", local},
		{linked, "", filepath.Join(at.Home, ".npm-global/lib/node_modules")},
	} {
		path, show, err := Program(c.name, []string{c.path})
		if err != nil || strings.Join(show, " ") != c.show || !filepath.IsAbs(path) {
			t.Errorf("%s: %s, shown %q, %v; want %q shown", c.name, path, show, err, c.show)
		}
	}
	for _, bad := range []string{"", "no-such-program", "./x", "a\x00b"} {
		if path, _, err := Program(bad, nil); err == nil {
			t.Errorf("%q is %s", bad, path)
		}
	}
}

// TestAServersPackageIsShownReadOnly: the tree that was locked, and nothing else
// of Reeve's own, in the place where it is.
func TestAServersPackageIsShownReadOnly(t *testing.T) {
	at, own := place(t)
	pack := filepath.Join(filepath.Dir(own), "packages")
	if err := os.Mkdir(pack, 0o700); err != nil {
		t.Fatal(err)
	}
	plan, err := Guest{Own: own, Pack: pack}.Plan(at)
	if err != nil || len(plan.Expose) != 2 || plan.Expose[1] != (jail.Expose{From: pack, To: pack}) {
		t.Errorf("expose %+v, %v", plan.Expose, err)
	}
	for _, wrong := range []string{at.Home, at.State[0], filepath.Join(own, "none")} {
		if plan, err := (Guest{Own: own, Pack: wrong}).Plan(at); err == nil {
			t.Errorf("a package in %s: %+v", wrong, plan.Expose)
		}
	}
}

// TestSocketsOfItsOwnAreNoSocketsOfTheMachine: where a server may have unix
// sockets, one that listens where it can look is covered.
func TestSocketsOfItsOwnAreNoSocketsOfTheMachine(t *testing.T) {
	dir, err := os.MkdirTemp("/opt", "reeve-test-")
	if err != nil {
		t.Skipf("a socket in a place that every server sees takes root: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, "s"), 0o666)); err != nil {
		t.Fatal(err)
	}
	at, own := place(t)
	plan, err := Guest{Own: own, Unix: true}.Plan(at)
	if err != nil {
		t.Fatal(err)
	}
	if !plan.NoUnix && !slices.Contains(plan.Mask, filepath.Join(dir, "s")) {
		t.Errorf("%s/s is not covered: %q", dir, plan.Mask)
	}
	if without, err := (Guest{Own: own}).Plan(at); err != nil || !without.NoUnix {
		t.Errorf("without the grant there are sockets (%v)", err)
	}
}
