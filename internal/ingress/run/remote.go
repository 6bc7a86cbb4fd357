package run

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/ingress/window"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/launch"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Remote makes what starts a program behind the same boundary on another
// machine: in dir there, in profile, with opts as for a plan here. env is the
// caller's environment. The error says what is wrong with host.
type Remote func(host, dir string, profile jail.Profile, opts jail.Options, env []string) (jail.Starter, error)

// remote starts r on another machine. Nothing of this machine is its
// workspace: the session stands in an empty directory of Reeve's own, so that
// the person's own policy decides and no project's.
func (d *Door) remote(ctx context.Context, r wire.Run, streams []*os.File, started func(wire.Started, *os.File) error) (wire.Ran, error) {
	profile, opts, err := d.elsewhere(r)
	if err != nil {
		return wire.Ran{}, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	mode := d.Mode
	if r.Mode != "" {
		if mode, err = reeve.ParseMode(r.Mode); err != nil || mode == reeve.ModeDangerous {
			return wire.Ran{}, fmt.Errorf("%w: mode %q: it is plan, auto or default", reeve.ErrUsage, r.Mode)
		}
	}
	start, err := d.Remote(r.Host, r.HostDir, profile, opts, r.Env)
	if err != nil {
		return wire.Ran{}, err
	}
	one, err := d.Sessions.Create(session.Session{Name: r.Name, Client: "run", Workspace: d.Nowhere, Mode: mode, Profile: profile.Name, Host: r.Host}, d.Home)
	if err != nil {
		return wire.Ran{}, err
	}
	defer d.Host.Ended(one.ID)
	args, err := json.Marshal(launch.Args{Argv: r.Argv, Profile: profile.Name, Net: opts.Net.String(), Write: r.Write, Host: r.Host, Dir: r.HostDir})
	if err != nil {
		return wire.Ran{}, fmt.Errorf("%w: the command line is not valid text: %v", reeve.ErrUsage, err)
	}
	job := &launch.Job{Cmd: jail.Cmd{Argv: r.Argv, Umask: r.Umask}, Elsewhere: start}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var screen *window.Window
	if r.TTY {
		if screen, err = window.Open(r.Rows, r.Cols); err != nil {
			return wire.Ran{}, err
		}
		defer screen.Close()
		job.Cmd.TTY = screen.Pair.TTY
	} else {
		job.Cmd.Stdin, job.Cmd.Stdout, job.Cmd.Stderr = streams[0], streams[1], streams[2]
	}
	job.Started = func(p jail.Process) error {
		d.Host.Running(one.ID, p, jail.Plan{})
		if screen == nil {
			return started(wire.Started{Session: one.ID, PID: p.PID()}, nil)
		}
		err := started(wire.Started{Session: one.ID, PID: p.PID()}, screen.Far)
		screen.Serve(cancel)
		return err
	}
	inv := d.invocation(one, one.Workspace, args)
	defer d.Launch.Give(inv.ID, job)()
	begin := d.Now()
	dec, res := d.Kernel.Do(ctx, inv)
	if screen != nil {
		screen.End(ctx, job.Exit.Code)
	}
	switch {
	case dec.Verdict != reeve.Allow:
		return wire.Ran{}, fmt.Errorf("%w: %s (%s, %s)", reeve.ErrDenied, res.Error, dec.Rule, dec.Source)
	case res.Status == reeve.StatusDenied, job.Exit.Code == 0 && res.Status != reeve.StatusSuccess:
		return wire.Ran{}, fmt.Errorf("%w: %s", reeve.ErrBoundary, res.Error)
	}
	end := wire.Ran{Session: one.ID, Code: job.Exit.Code}
	if !r.NoReceipt {
		end.Receipt = remoteReceipt(d.Now().Sub(begin), r, profile, *opts.Net, job.Exit)
	}
	return end, nil
}

// elsewhere reads what of a run means something on another machine.
func (d *Door) elsewhere(r wire.Run) (jail.Profile, jail.Options, error) {
	name := r.Profile
	if name == "" {
		name = d.Profile
	}
	profile, err := jail.ProfileNamed(name, d.Profiles...)
	if err != nil {
		return profile, jail.Options{}, err
	}
	net, err := layout.NetMode(r.Net, profile)
	switch {
	case err != nil:
		return profile, jail.Options{}, err
	case len(profile.Write) > 0:
		return profile, jail.Options{}, fmt.Errorf("the profile %s lets directories of this machine be written; take another for %s, and --write for directories there", profile.Name, r.Host)
	case net == jail.ProxiedNetwork:
		return profile, jail.Options{}, fmt.Errorf("the network by rule does not reach another machine: say --net none or --net open")
	case len(r.AllowHosts) > 0:
		return profile, jail.Options{}, fmt.Errorf("--allow-host needs the network by rule, which does not reach another machine")
	case r.Workspace != "":
		return profile, jail.Options{}, fmt.Errorf("--workspace is a directory of this machine; name the one on %s with --dir", r.Host)
	case r.HostDir == "":
		return profile, jail.Options{}, fmt.Errorf("name the directory on %s to work in: --dir DIR", r.Host)
	case len(r.Secrets) > 0:
		return profile, jail.Options{}, fmt.Errorf("secrets of the vault do not leave this machine: leave --env NAME=SERVICE/KEY out")
	case d.Remote == nil:
		return profile, jail.Options{}, fmt.Errorf("other machines are not set up here")
	}
	opts := jail.Options{Argv: r.Argv, Write: r.Write, ReadOnly: r.ReadOnly, Net: &net, Pass: append(r.PassEnv[:len(r.PassEnv):len(r.PassEnv)], d.Pass...), Limits: d.Limits}
	opts.Limits.Memory, opts.Limits.Processes = 0, 0 // no control group there
	return profile, opts, nil
}

// remoteReceipt says what happened, in lines for a person.
func remoteReceipt(took time.Duration, r wire.Run, profile jail.Profile, net jail.NetMode, exit jail.Exit) []string {
	lines := []string{
		fmt.Sprintf("%s on %s in profile %s, exit %d", took.Round(10*time.Millisecond), r.Host, profile.Name, exit.Code),
		"no calls were decided by the gate: the session's socket does not reach there",
	}
	if net == jail.UnrestrictedNetwork {
		lines = append(lines, "network: open, as that machine's own; nothing in it was decided or recorded")
	}
	var bounds []string
	for _, u := range exit.Unheld {
		if strings.Contains(u, " ") {
			lines = append(lines, "attention: "+u)
		} else {
			bounds = append(bounds, u)
		}
	}
	if len(bounds) > 0 {
		lines = append(lines, "limits not held there: "+strings.Join(bounds, ", "))
	}
	return lines
}
