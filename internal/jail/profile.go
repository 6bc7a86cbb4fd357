package jail

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/services"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// Profile is a boundary by name, before it is laid over a place.
type Profile struct {
	Name       string
	ReadOnly   bool     // the workspace is read-only
	AgentState bool     // the state folders of the known agent CLIs are writable (Y59)
	WholeGit   bool     // all of .git is read-only, not only what it executes (A17)
	Net        NetMode  // where the person asks for nothing else
	Hosts      []string // reached with ProxiedNetwork beside what rules say
	Caches     bool     // package managers keep what they fetch in the cache
	NoUnix     bool     // no unix sockets (A15)
	KeepEnv    bool     // variables of the agent CLI that is started pass, its keys included
	Write      []string // further directories that may be written, absolute
	Pass       []string // names of further variables that pass
	Limits     Limits   // those above 0 hold in place of the usual ones
}

// Profiles lists every profile, the default of `reeve run` first.
func Profiles() []Profile {
	return []Profile{
		{Name: "agent", AgentState: true, Net: ProxiedNetwork, KeepEnv: true},
		{Name: "build", AgentState: true, Net: ProxiedNetwork, KeepEnv: true, Hosts: services.Registries, Caches: true},
		{Name: "strict", WholeGit: true, NoUnix: true},
		{Name: "read-only", ReadOnly: true, WholeGit: true, NoUnix: true},
	}
}

// ProfileNamed finds a profile among these and a person's own; the empty name is
// the default one.
func ProfileNamed(name string, own ...Profile) (Profile, error) {
	all := append(Profiles(), own...)
	var names []string
	for _, p := range all {
		if p.Name == name || name == "" {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Profile{}, fmt.Errorf("unknown sandbox profile %q: there are %s", name, strings.Join(names, ", "))
}

// Place is where a profile is laid: facts about the session and this machine.
type Place struct {
	Workspace string   // the session's root directory
	Dir       string   // working directory; empty = the workspace
	Home      string   // the person's home directory
	State     []string // Reeve's own configuration, state and data directories; always hidden
	Cache     string   // a directory below State that tools may keep caches in between runs; empty = none
	Env       []string // the environment the person started from, NAME=value

	// Quarantine is where things are moved that a run planted; empty = the
	// directory quarantine in the one of State with "state" in its path, or
	// else in the first.
	Quarantine string
}

// Options are what a person asked for on top of the profile.
type Options struct {
	Argv     []string // the program to run: its name chooses which CLI's variables pass
	Write    []string // further writable directories (--write)
	Read     []string // directories to show although they lie below a private one; elsewhere reading is free
	ReadOnly bool
	Net      *NetMode // nil = the profile's
	Pass     []string // names of variables that pass although the scrub would drop them
	Set      []string // NAME=value that Reeve itself sets inside
	Loopback bool     // with ProxiedNetwork: a port of this machine's loopback is reached, as 127.0.0.1
	Expose   []Expose
	Mask     []string // further paths to hide
	Limits   Limits
}

// Bounds on what a plan may name (Y62, Y71).
const (
	MaxRoots  = 32 // further writable directories; a path has at most tree.MaxPath bytes
	foldBinds = 40 // above this many binds nested pins are left to the check after the run
)

// Plan lays the profile over a place: every root is made absolute and free of
// symbolic links, and everything that would weaken the boundary is refused
// with the path and the reason. All look-ups on the disk happen here; the
// Plan itself is data (Y59 to Y62, Y66 to Y71, A15 to A18).
func (p Profile) Plan(at Place, opts Options) (Plan, error) {
	roots, err := p.roots(at, opts)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{
		Profile:   p.Name,
		Workspace: roots.workspace,
		Dir:       roots.dir,
		Write:     roots.write,
		ReadOnly:  p.ReadOnly || opts.ReadOnly,
		Net:       p.Net,
		NoUnix:    p.NoUnix,
		Limits:    opts.Limits,
		Expose:    slices.Clone(opts.Expose),
		Notes:     roots.notes,
	}
	if opts.Net != nil {
		plan.Net = *opts.Net
	}
	if p.AgentState {
		p.grantAgentState(&plan, at, opts.Argv, roots)
	}
	p.protectRoots(&plan, roots)
	if err := errors.Join(closeAgentState(&plan, at, roots), closeStarts(&plan, at, roots)); err != nil {
		return Plan{}, err
	}
	showThroughPrivate(&plan, roots, opts.Read)
	if err := p.mask(&plan, at, opts, roots); err != nil {
		return Plan{}, err
	}
	if roots.cache != "" {
		plan.Expose = append(plan.Expose, Expose{From: roots.cache, To: insideCache, Write: true})
	}
	plan.Quarantine = at.Quarantine
	if plan.Quarantine == "" && len(roots.state) > 0 {
		i := max(0, slices.IndexFunc(roots.state, func(s string) bool { return slices.Contains(strings.Split(s, "/"), "state") }))
		plan.Quarantine = filepath.Join(roots.state[i], "quarantine")
	}
	plan.Env = p.environment(at, opts, roots, plan.Net)
	fold(&plan)
	return plan, nil
}

// fold keeps the number of binds small: bubblewrap parses the mount table
// once for each, so that its cost grows with the square (research note,
// section 0). Pins of nested directories go first; what they guard is still
// compared by inode after the run.
func fold(plan *Plan) {
	plan.Protect = tree.Outermost(plan.Protect)
	plan.Pin = tree.Tidy(plan.Pin)
	plan.Absent = tree.Tidy(plan.Absent)
	if len(plan.Pin)+len(plan.Protect) <= foldBinds {
		return
	}
	top := filepath.Join(plan.Workspace, ".git")
	plan.Pin = slices.DeleteFunc(plan.Pin, func(dir string) bool {
		return tree.Within(plan.Workspace, dir) && dir != top
	})
	plan.Notes = append(plan.Notes, "many protected names: directories above nested repositories can be moved during the run; moved ones are found after it")
	if len(plan.Pin)+len(plan.Protect) <= 2*foldBinds {
		return
	}
	var whole []string
	for _, r := range plan.Repos {
		if r.Git != top {
			whole = append(whole, r.Git)
		}
	}
	plan.Protect = tree.Outermost(append(plan.Protect, whole...))
	plan.Notes = append(plan.Notes, fmt.Sprintf("%d nested repositories: their .git is read-only as a whole", len(whole)))
}

// OnHost is the plan of a call that a person let out of the boundary: a place
// and a scrubbed environment. Only the host's starter takes it.
func OnHost(at Place, opts Options) (Plan, error) {
	p := Profile{Name: "host", KeepEnv: true}
	r, err := p.roots(at, opts)
	if err != nil {
		return Plan{}, fmt.Errorf("plan a call on the host: %w", err)
	}
	return Plan{Profile: p.Name, Workspace: r.workspace, Dir: r.dir, Limits: opts.Limits, Env: environ.List(p.passed(at, opts, r))}, nil
}
