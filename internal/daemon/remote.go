package daemon

import (
	"fmt"
	"path/filepath"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/durable"
	rundoor "github.com/reeve-gate/reeve/internal/ingress/run"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/ssh"
)

// remote reaches other machines with the system's ssh and the settings' options.
func remote(c *config.Config) rundoor.Remote {
	return func(host, dir string, profile jail.Profile, opts jail.Options, env []string) (jail.Starter, error) {
		if err := ssh.CheckHost(host); err != nil {
			return nil, err
		}
		if err := ssh.CheckOptions(c.Remote.SSHOptions); err != nil {
			return nil, fmt.Errorf("%w: remote.ssh_options: %v", reeve.ErrUsage, err)
		}
		return &ssh.Starter{Host: host, Dir: dir, Options: c.Remote.SSHOptions, Profile: profile, Opts: opts, Env: env}, nil
	}
}

// nowhere is the empty directory where sessions on other machines stand here.
func nowhere(p config.Paths) string { return filepath.Join(p.State, "elsewhere") }

func makeNowhere(p config.Paths) error {
	if err := durable.MkdirAll(nowhere(p)); err != nil {
		return fmt.Errorf("make the directory of sessions on other machines: %w", err)
	}
	return nil
}
