package boundary

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/policy/layers"
	"github.com/reeve-gate/reeve/internal/session"
)

// Profiles are the person's own profiles of the boundary, by name. What one
// cannot have is an error that names it.
func Profiles(c *config.Config, home string) ([]jail.Profile, error) {
	var own []jail.Profile
	for _, name := range slices.Sorted(maps.Keys(c.Sandbox.Profiles)) {
		p, err := profile(name, c.Sandbox.Profiles[name], home)
		if err != nil {
			return nil, fmt.Errorf("sandbox.profiles.%s: %w", name, err)
		}
		own = append(own, p)
	}
	return own, nil
}

func profile(name string, set config.Profile, home string) (jail.Profile, error) {
	if err := durable.Name(name); err != nil {
		return jail.Profile{}, err
	}
	if _, err := jail.ProfileNamed(name); err == nil {
		return jail.Profile{}, fmt.Errorf("a built-in profile has this name; take another")
	}
	if set.Like == "" {
		return jail.Profile{}, fmt.Errorf("say which built-in profile it begins from: like = \"agent\", \"build\", \"strict\" or \"read-only\"")
	}
	p, err := jail.ProfileNamed(set.Like)
	if err != nil {
		return jail.Profile{}, fmt.Errorf("like: %w", err)
	}
	p.Name = name
	p.ReadOnly = p.ReadOnly || set.ReadOnly
	if p.Net, err = layout.NetMode(set.Net, p); err != nil {
		return jail.Profile{}, fmt.Errorf("net is %q: it is none, ask or open", set.Net)
	}
	p.Hosts = slices.Clone(p.Hosts)
	for _, h := range set.Hosts {
		host, err := layout.AllowHost(h)
		if err != nil {
			return jail.Profile{}, fmt.Errorf("hosts: %w", err)
		}
		p.Hosts = append(p.Hosts, host)
	}
	if err := layers.BadHosts([]session.Allowed{{From: "profile " + name, Hosts: p.Hosts}}); err != nil {
		return jail.Profile{}, fmt.Errorf("hosts: %w", err)
	}
	if len(set.Hosts) > 0 && p.Net != jail.ProxiedNetwork {
		return jail.Profile{}, fmt.Errorf("hosts need the network by rule: net = \"ask\"")
	}
	for _, dir := range set.Write {
		if !filepath.IsAbs(dir) {
			return jail.Profile{}, fmt.Errorf("write: %q is not an absolute path", dir)
		}
		if dir = filepath.Clean(dir); dir == "/" || dir == home {
			return jail.Profile{}, fmt.Errorf("write: %s holds all your files; name directories in it", dir)
		}
		p.Write = append(p.Write, dir)
	}
	for _, v := range set.PassEnv {
		if v == "" || strings.ContainsAny(v, "=\x00") {
			return jail.Profile{}, fmt.Errorf("pass_env: %q is not the name of a variable", v)
		}
	}
	p.Pass = set.PassEnv
	if p.Limits.Memory, p.Limits.Processes, p.Limits.Processors, err = config.Limits(set.Memory, set.Processes, set.Processors); err != nil {
		return jail.Profile{}, err
	}
	return p, nil
}
