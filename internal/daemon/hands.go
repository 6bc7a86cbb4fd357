package daemon

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/reeve-gate/reeve/internal/boundary"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/host"
	"github.com/reeve-gate/reeve/internal/jail/plant"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/tool"
)

// hands runs the programs of our own tools: inside the session's boundary,
// without a network, or on the host where a person or a rule let the call out.
type hands struct {
	wall  jail.Wall
	paths config.Paths
	disk  *safepath.Disk
	conf  *config.Config

	profiles []jail.Profile // the person's own
}

// Output runs argv to its end and keeps the tail of its streams.
func (h hands) Output(ctx context.Context, c tool.Call, dir string, argv, env []string, wall time.Duration) (jail.Captured, error) {
	limits := boundary.Limits(h.conf)
	limits.Wall = wall
	if !c.Contained {
		plan := jail.Plan{Profile: "host", Workspace: c.Place.Workspace, Dir: dir, Env: append(h.hostEnv(), env...)}
		return jail.Output(ctx, host.Wall{}, c.Permit, c.Digest, plan, argv, limits)
	}
	profile, err := jail.ProfileNamed(c.Profile, h.profiles...)
	if err != nil {
		return jail.Captured{}, err
	}
	none := jail.NetNone
	plan, err := profile.Plan(
		jail.Place{Workspace: c.Place.Workspace, Dir: dir, Home: h.paths.Home, State: h.disk.Own(), Cache: cacheDir(h.paths), Quarantine: quarantineDir(h.paths), Env: os.Environ()},
		jail.Options{Argv: argv, Write: slices.Concat(h.conf.Sandbox.Write, profile.Write), Net: &none, Set: env})
	if err != nil {
		return jail.Captured{}, err
	}
	before := plant.Snapshot(plan, time.Now())
	forget, err := before.Note(runsDir(h.paths))
	if err != nil {
		return jail.Captured{}, err
	}
	out, err := jail.Output(ctx, h.wall, c.Permit, c.Digest, plan, argv, limits)
	for _, line := range before.Quarantine().Lines(plan.Workspace) {
		out.Stderr.Text += "reeve: " + line + "\n"
	}
	forget()
	return out, err
}

// hostEnv is what a program on the host gets: where things are, the language,
// and nothing that loads code or carries a secret.
func (h hands) hostEnv() []string {
	env := []string{"HOME=" + h.paths.Home}
	for _, kv := range os.Environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ":
			env = append(env, kv)
		}
	}
	return env
}
