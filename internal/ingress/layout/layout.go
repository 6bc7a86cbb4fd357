// Package layout settles what the boundary of a run is built from, out of what
// a person asked for and what is configured for every run, and lays it over the
// session's workspace.
//
// A [Layout] is a run without its environment. It is kept with a session, so
// that a resumed one gets the same boundary whatever the settings say by then
// (contract Y72); [Ground.Plan] turns it into a plan, new or resumed alike.
package layout

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/viewed"
	"github.com/reeve-gate/reeve/internal/late"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/launch"
	"github.com/reeve-gate/reeve/internal/vault/ref"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Ground is what every run of one installation has in common.
type Ground struct {
	Home       string
	Own        func() []string // Reeve's own, hidden inside
	Cache      string          // below Own: what tools keep between runs
	Quarantine string          // below Own: where what a run planted is moved
	Write      []string        // configured for every run
	Pass       []string
	Limits     jail.Limits
	Profiles   []jail.Profile // the person's own
	Program    string         // this program, shown inside for the hook
}

// Layout is a run without its environment: everything that its boundary is
// built from.
type Layout struct {
	Argv     []string
	Dir      string
	Profile  jail.Profile
	Net      string // as jail.NetMode says it; never empty
	Write    []string
	Read     []string // shown although below a private directory
	Pass     []string // names of variables
	Secrets  []string `json:",omitempty"` // NAME=SERVICE/KEY of the vault, resolved in the moment of the start
	ReadOnly bool
	View     string // shown in the workspace's place; empty = the workspace itself
	Limits   jail.Limits
	Umask    uint32
}

// Layout reads what a person asked for, with the settings of every run.
func (g *Ground) Layout(one session.Session, r wire.Run) (Layout, error) {
	profile, err := jail.ProfileNamed(one.Profile, g.Profiles...)
	if err != nil {
		return Layout{}, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	l := Layout{Argv: r.Argv, Dir: r.Dir, Profile: profile, Write: slices.Concat(absolute(r.Write, r.Dir), g.Write, profile.Write),
		Pass: slices.Concat(r.PassEnv, g.Pass, profile.Pass), Secrets: r.Secrets, ReadOnly: r.ReadOnly, Limits: g.Limits, Umask: r.Umask}
	for _, s := range r.Secrets {
		if _, _, err := Secret(s); err != nil {
			return Layout{}, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
		}
	}
	if r.Memory < 0 || r.Processes < 0 || r.Memory > 0 && r.Memory < minMemory || r.Processes > 0 && r.Processes < minProcesses {
		return Layout{}, fmt.Errorf("%w: no program starts with less than 16MiB of memory or %d processes", reeve.ErrUsage, minProcesses)
	}
	l.Limits.Memory = cmp.Or(r.Memory, profile.Limits.Memory, l.Limits.Memory)
	l.Limits.Processes = cmp.Or(r.Processes, profile.Limits.Processes, l.Limits.Processes)
	l.Limits.Processors = cmp.Or(profile.Limits.Processors, l.Limits.Processors)
	net, err := NetMode(r.Net, profile)
	l.Net = net.String()
	return l, err
}

// Plan lays the boundary over the session's workspace. hook is where the
// session's own socket stands; empty = it has none. args are the arguments that
// rules, questions and records see.
func (g *Ground) Plan(one session.Session, l Layout, env []string, hook string) (plan jail.Plan, args []byte, err error) {
	net, err := NetMode(l.Net, l.Profile)
	if err != nil {
		return jail.Plan{}, nil, err
	}
	opts := jail.Options{Argv: l.Argv, Write: l.Write, Read: l.Read, ReadOnly: l.ReadOnly, Net: &net, Pass: l.Pass, Set: []string{"REEVE_SESSION=" + one.ID},
		Limits: l.Limits, Expose: []jail.Expose{{From: g.Program, To: g.Program}}}
	if net == jail.ProxiedNetwork {
		opts.Set = append(opts.Set, "GIT_SSH_COMMAND="+proxyCommand(g.Program))
		opts.Loopback = loopback(one.Allowed)
	}
	if hook != "" {
		opts.Set = append(opts.Set, "REEVE_HOOK_SOCK="+wire.InsideHook)
		opts.Expose = append(opts.Expose, jail.Expose{From: hook, To: wire.InsideHook})
	}
	plan, err = l.Profile.Plan(jail.Place{Workspace: one.Workspace, Dir: l.Dir, Home: g.Home, State: g.Own(), Cache: g.Cache, Quarantine: g.Quarantine, Env: env}, opts)
	if err != nil {
		return jail.Plan{}, nil, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	if l.View != "" {
		if plan, err = viewed.Through(plan, l.View); err != nil {
			return jail.Plan{}, nil, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
		}
	}
	args, err = json.Marshal(launch.Args{Argv: l.Argv, Profile: plan.Profile, Net: plan.Net.String(), Write: l.Write, Vault: l.named()})
	if err != nil {
		return jail.Plan{}, nil, fmt.Errorf("%w: the command line is not valid text: %v", reeve.ErrUsage, err)
	}
	return plan, args, nil
}

// Secret reads NAME=SERVICE/KEY: a variable that stands for a secret of the vault.
func Secret(s string) (variable string, n ref.Name, err error) {
	variable, name, _ := strings.Cut(s, "=")
	if !word.MatchString(variable) || strings.HasPrefix(variable, "REEVE_") || strings.HasPrefix(variable, "LD_") {
		return "", ref.Name{}, fmt.Errorf("%q: write NAME=SERVICE/KEY, with the name of a variable", variable)
	}
	n, err = ref.ParseName(strings.TrimPrefix(name, ref.Scheme))
	return variable, n, err
}

var word = late.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// named are the secrets of a layout as rules, questions and records see them.
func (l *Layout) named() (all []string) {
	for _, s := range l.Secrets {
		variable, name, _ := strings.Cut(s, "=")
		all = append(all, strings.TrimPrefix(name, ref.Scheme)+" as "+variable)
	}
	return all
}

// Resolved is the environment that the secrets of a layout stand for, as
// NAME=value. It is asked for in the moment of the start and kept nowhere.
func (l *Layout) Resolved(vault ref.Resolver) (env []string, err error) {
	for _, s := range l.Secrets {
		variable, n, err := Secret(s)
		if err != nil {
			return nil, err
		}
		value, err := vault.Resolve(n)
		if err != nil {
			return nil, err
		}
		plain := environ.Plain(string(value))
		env = append(env, variable+"="+string(value))
		ref.Wipe(value)
		if !plain {
			return nil, fmt.Errorf("%s cannot stand in a variable", n)
		}
	}
	return env, nil
}

// Bounds below these stop every program at its start.
const (
	minMemory    = 16 << 20
	minProcesses = 4
)

// absolute reads the paths that a person typed from where they typed them.
func absolute(paths []string, dir string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		if out[i] = p; p != "" && !filepath.IsAbs(p) {
			out[i] = filepath.Join(dir, p)
		}
	}
	return out
}
