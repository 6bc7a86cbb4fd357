package run

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/launch"
	"github.com/reeve-gate/reeve/internal/wire"
)

// layout is a run without its environment: everything that its boundary is
// built from. It is kept with a session, so that a resumed one gets the same
// boundary whatever the settings say by then (contract Y72).
type layout struct {
	Argv     []string
	Dir      string
	Profile  jail.Profile
	Net      string // as jail.NetMode says it; never empty
	Write    []string
	Pass     []string // names of variables
	ReadOnly bool
	Limits   jail.Limits
	Umask    uint32
}

// layout reads what a person asked for, with the settings of every run.
func (d *Door) layout(one session.Session, r wire.Run) (layout, error) {
	profile, err := jail.ProfileNamed(one.Profile)
	if err != nil {
		return layout{}, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	l := layout{Argv: r.Argv, Dir: r.Dir, Profile: profile, Write: slices.Concat(absolute(r.Write, r.Dir), d.Write),
		Pass: slices.Concat(r.PassEnv, d.Pass), ReadOnly: r.ReadOnly, Limits: d.Limits, Umask: r.Umask}
	if r.Memory < 0 || r.Processes < 0 || r.Memory > 0 && r.Memory < minMemory || r.Processes > 0 && r.Processes < minProcesses {
		return layout{}, fmt.Errorf("%w: no program starts with less than 16MiB of memory or %d processes", reeve.ErrUsage, minProcesses)
	}
	if r.Memory > 0 {
		l.Limits.Memory = r.Memory
	}
	if r.Processes > 0 {
		l.Limits.Processes = r.Processes
	}
	net, err := netMode(r.Net, profile)
	l.Net = net.String()
	return l, err
}

// plan lays the boundary over the session's workspace. hook is where the
// session's own socket stands; empty = it has none.
func (d *Door) plan(one session.Session, l layout, env []string, hook string) (jail.Plan, []byte, error) {
	net, err := netMode(l.Net, l.Profile)
	if err != nil {
		return jail.Plan{}, nil, err
	}
	opts := jail.Options{Argv: l.Argv, Write: l.Write, ReadOnly: l.ReadOnly, Net: &net, Pass: l.Pass, Set: []string{"REEVE_SESSION=" + one.ID},
		Limits: l.Limits, Expose: []jail.Expose{{From: d.Program, To: d.Program}}}
	if net == jail.ProxiedNetwork {
		opts.Set = append(opts.Set, "GIT_SSH_COMMAND="+proxyCommand(d.Program))
		opts.Loopback = loopback(one.Allowed)
	}
	if hook != "" {
		opts.Set = append(opts.Set, "REEVE_HOOK_SOCK="+wire.InsideHook)
		opts.Expose = append(opts.Expose, jail.Expose{From: hook, To: wire.InsideHook})
	}
	plan, err := l.Profile.Plan(jail.Place{Workspace: one.Workspace, Dir: l.Dir, Home: d.Home, State: d.Own, Cache: d.Cache, Quarantine: d.Quarantine, Env: env}, opts)
	if err != nil {
		return jail.Plan{}, nil, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	args, err := json.Marshal(launch.Args{Argv: l.Argv, Profile: plan.Profile, Net: plan.Net.String(), Write: l.Write})
	if err != nil {
		return jail.Plan{}, nil, fmt.Errorf("%w: the command line is not valid text: %v", reeve.ErrUsage, err)
	}
	return plan, args, nil
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
