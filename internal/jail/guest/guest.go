// Package guest lays the boundary of a program that works beside an agent and
// is trusted less than the agent: an MCP server (contract G21, G22, A33;
// amendment 31).
//
// A guest sees the system read-only, a folder of its own as its home, and the
// places that a person named. Home directories, the workspace and everything
// else that holds people's files are empty for it; unix sockets lead nowhere, or only to its own processes where that is granted;
// its environment is what is named here and nothing of the person's. The
// result is a [jail.Plan] like any other, which a wall holds or refuses.
package guest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// Guest is what a person granted one program.
type Guest struct {
	Own   string   // its folder, below one of [jail.Place.State]; inside it stands at Home
	Pack  string   // the tree of its package, below one of [jail.Place.State], which is shown to it in its own place, read-only; empty = none
	Dir   string   // working directory: empty = its folder, else one of Read or Write, or below
	Read  []string // directories and files that are shown to it
	Write []string // directories that it may change, protected as a workspace is
	Net   jail.NetMode
	Unix  bool     // it may have unix sockets among its own processes; those of the machine that it could see are covered
	Env   []string // NAME=value; PATH, HOME, LANG and TMPDIR have a value in any case
	jail.Limits
}

// Home is where a guest's own folder stands inside its boundary.
const Home = "/run/reeve/home"

// peopleDirs hold people's files on this kind of system. What is mounted on
// them is hidden too.
var peopleDirs = []string{"/home", "/root", "/mnt", "/media", "/srv", "/Users", "/var/tmp", "/var/mail", "/var/spool"}

// private directories are empty inside any boundary.
var private = []string{"/tmp", "/run", "/dev", "/proc"}

// Plan lays the boundary over a place. It begins as that of a strict run that
// only reads the workspace, and takes away what a run may see.
func (g Guest) Plan(at jail.Place) (jail.Plan, error) {
	fail := func(err error) (jail.Plan, error) {
		return jail.Plan{}, fmt.Errorf("plan the boundary of a server: %w", err)
	}
	own, err := below(at, "its own folder", g.Own)
	if err != nil {
		return fail(err)
	}
	shown, err := g.shown(at)
	if err != nil {
		return fail(err)
	}
	expose := []jail.Expose{{From: own, To: Home, Write: true}}
	if g.Pack != "" {
		pack, err := below(at, "its package", g.Pack)
		if err != nil {
			return fail(err)
		}
		expose = append(expose, jail.Expose{From: pack, To: pack})
	}
	strict := jail.Profile{Name: "server", ReadOnly: true, WholeGit: true, NoUnix: !g.Unix}
	plan, err := strict.Plan(jail.Place{Workspace: at.Workspace, Home: at.Home, State: at.State, Quarantine: at.Quarantine},
		jail.Options{Write: g.Write, Net: &g.Net, Limits: g.Limits, Expose: expose})
	if err != nil {
		return jail.Plan{}, err
	}
	workspace := plan.Workspace
	plan.Workspace, plan.ReadOnly = own, false
	within := func(dirs []string, path string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return tree.Within(d, path) })
	}
	for _, list := range []*[]string{&plan.Protect, &plan.Pin, &plan.Absent, &plan.Trees} {
		*list = slices.DeleteFunc(*list, func(path string) bool { return !within(plan.Write, path) })
	}
	plan.Links = slices.DeleteFunc(plan.Links, func(l jail.Link) bool { return !within(plan.Write, l.Path) })
	plan.Repos = slices.DeleteFunc(plan.Repos, func(r jail.Repo) bool { return !within(plan.Write, r.Git) })
	plan.Read = tree.Tidy(append(slices.DeleteFunc(plan.Read, func(p string) bool { return tree.Within(p, at.Home) }), shown...))
	if plan.Dir, err = g.dir(plan); err != nil {
		return fail(err)
	}
	open := slices.Concat(plan.Read, plan.Write)
	plan.Private = g.empty(at.Home, workspace, open)
	// What lies in an empty place is not there to be hidden, reeve's own state
	// neither: of it nothing is seen but the guest's folder.
	empty := slices.Concat(private, plan.Private)
	plan.Mask = slices.DeleteFunc(plan.Mask, func(m string) bool { return within(empty, m) && !within(open, m) })
	plan.Env = g.environment(at, plan.Env)
	return plan, nil
}

// below is a directory of the guest's, which lies among reeve's own.
func below(at jail.Place, what, dir string) (string, error) {
	own, err := tree.CanonicalDir(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	for _, d := range at.State {
		if real, err := tree.Canonical(d); err == nil && real != own && tree.Within(real, own) {
			return own, nil
		}
	}
	return "", fmt.Errorf("%s %s does not lie below one of reeve's own directories", what, own)
}

// shown are the places that it may read.
func (g Guest) shown(at jail.Place) ([]string, error) {
	var out []string
	for _, path := range g.Read {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, fmt.Errorf("show it %s: %w", path, err)
		}
		for _, d := range at.State {
			if state, err := tree.Canonical(d); err == nil && (tree.Within(state, real) || tree.Within(real, state)) {
				return nil, fmt.Errorf("show it %s: %s, where reeve keeps its own state, overlaps it", path, state)
			}
		}
		out = append(out, real)
	}
	return out, nil
}

func (g Guest) dir(plan jail.Plan) (string, error) {
	if g.Dir == "" {
		return Home, nil
	}
	dir, err := tree.CanonicalDir(g.Dir)
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	if !slices.ContainsFunc(slices.Concat(plan.Read, plan.Write), func(d string) bool { return tree.Within(d, dir) }) {
		return "", fmt.Errorf("working directory %s is none of the directories that the server is shown", dir)
	}
	return dir, nil
}

// empty is what holds people's files and is not shown as a whole.
func (g Guest) empty(home, workspace string, open []string) []string {
	all := []string{workspace}
	for _, dir := range append([]string{home}, peopleDirs...) {
		if real, err := tree.CanonicalDir(dir); err == nil && (real == dir || dir == home) {
			all = append(all, real)
		}
	}
	hidden := func(list []string, dir string) bool {
		return slices.ContainsFunc(list, func(d string) bool { return tree.Within(d, dir) })
	}
	return tree.Outermost(slices.DeleteFunc(all, func(dir string) bool { return hidden(private, dir) || hidden(open, dir) }))
}

// environment begins empty. Of what a run would get, the way to the one proxy
// is kept.
func (g Guest) environment(at jail.Place, run []string) []string {
	env := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
	for _, kv := range at.Env {
		if name, value, _ := strings.Cut(kv, "="); name == "LANG" && environ.Plain(value) && value != "" {
			env[name] = value
		}
	}
	environ.Set(env, g.Env)
	maps.Copy(env, map[string]string{"HOME": Home, "TMPDIR": "/tmp", "REEVE_SANDBOX": "1"})
	if g.Net == jail.ProxiedNetwork {
		environ.Copy(env, run, []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
			"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "grpc_proxy", "NODE_USE_ENV_PROXY", "JAVA_TOOL_OPTIONS"})
	}
	return environ.List(env)
}

// Program finds the program that a server is started by, in the PATH of its
// environment, and what must be shown of it where it lies among people's
// files: the file, the packages it is one of, or the release that its own
// directory bin belongs to.
func Program(name string, env []string) (path string, show []string, err error) {
	if name == "" || strings.Contains(name, "\x00") {
		return "", nil, errors.New("no program is named")
	}
	if !strings.Contains(name, "/") {
		dirs := "/usr/local/bin:/usr/bin:/bin"
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, "PATH="); ok {
				dirs = v
			}
		}
		found := ""
		for _, dir := range filepath.SplitList(dirs) {
			full := filepath.Join(dir, name)
			if info, err := os.Stat(full); filepath.IsAbs(full) && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
				found = full
				break
			}
		}
		if found == "" {
			return "", nil, fmt.Errorf("there is no program %s in %s: name it by its path", name, dirs)
		}
		name = found
	}
	if !filepath.IsAbs(name) {
		return "", nil, fmt.Errorf("the program %s is named by a relative path", name)
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", nil, fmt.Errorf("find the program: %w", err)
	}
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix", "/snap"} {
		if tree.Within(dir, real) && tree.Within(dir, name) {
			return name, nil, nil
		}
	}
	show = []string{real}
	if i := strings.Index(real, "/node_modules/"); i > 0 {
		show = []string{real[:i] + "/node_modules"}
	} else if bin := filepath.Dir(real); filepath.Base(bin) == "bin" {
		if release := filepath.Dir(bin); !strings.HasSuffix(release, "/.local") && strings.Count(release, "/") > 2 {
			show = []string{release}
		}
	}
	return real, show, nil
}
