//go:build linux

package jailtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/probe"
)

// Classes are the ten classes of amendment 45, the prefixes of the names of
// [Attempts].
func Classes() []string {
	return []string{"write out", "metadata", "credential", "network", "listener", "unix socket", "process", "privilege", "environment", "link"}
}

// Attempts are every way out that is tried.
func Attempts() []probe.Act {
	return slices.Concat(writes(), metadata(), credentials(), network(), listeners(), unixSockets(), processes(), privileges(), environment(), links())
}

// layout is what the attempts need beyond the probe's own site.
var layout = []string{
	"ws/sub/.git/hooks/pre-push", "ws/sub/.git/config", "ws/sub/.git/HEAD", "ws/sub/.git/objects/", "ws/.git/hooks/post-commit", "ws/other/",
	"ws/.vscode/tasks.json", "ws/.mcp.json", "ws/.envrc", "home/.claude/hooks/gate.sh", "home/.claude/commands/x.md", "home/.codex/config.toml",
	"home/.aws/credentials", "home/.npmrc", "home/.docker/config.json", "home/.kube/config", "home/.gnupg/private-keys-v1.d/k.key", "home/.git-credentials",
	"home/.config/gh/hosts.yml", "home/.cargo/credentials.toml", "home/.config/gcloud/application_default_credentials.json",
}

// secrets are in the environment that the suite starts from.
var secrets = []string{
	"AWS_SECRET_ACCESS_KEY=abc", "GITHUB_TOKEN=abc", "OPENAI_API_KEY=abc", "ANTHROPIC_API_KEY=abc", "SSH_AUTH_SOCK=/nonexistent/agent", "GIT_SSH_COMMAND=evil",
	"GIT_ASKPASS=evil", "LD_PRELOAD_CHECK=x", "BASH_ENV=/nonexistent/env", "NODE_OPTIONS=--no-warnings", "PYTHONSTARTUP=/nonexistent/start.py",
	"DATABASE_URL=postgres://u:p@h/db", "EDITOR=ghp_0123456789abcdef", "HTTPS_PROXY=http://user:pass@proxy:1", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent/bus", "VAULT_TOKEN=abc",
}

// Escape tries every attempt that the wall promises to refuse, in both
// profiles or in the one of them that it can hold.
func Escape(t *testing.T, wall probe.Prober) {
	t.Helper()
	var profiles []jail.Profile
	for _, p := range jail.Profiles() {
		if !p.ReadOnly && p.Hosts == nil && probe.Holds(wall, p.Name) { // build is the boundary of agent, with hosts
			profiles = append(profiles, p)
		}
	}
	checks, err := probe.Try(t.Context(), wall, probe.Trial{Acts: Attempts(), Profiles: profiles, Bound: 30 * time.Second, Layout: layout, Env: secrets})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range checks {
		_, name, _ := strings.Cut(c.Name, ": ")
		class, _, _ := strings.Cut(name, ": ")
		count[class]++
		switch {
		case !c.Held:
			t.Errorf("%s: %s", c.Name, c.Detail)
		case strings.HasPrefix(c.Detail, "this kernel does not offer"):
			t.Logf("%s: %s", c.Name, c.Detail)
		}
	}
	least := 8
	if _, ok := wall.(probe.Partial); ok {
		least = 6
	}
	for _, class := range Classes() {
		if count[class] < least {
			t.Errorf("class %q has %d attempts, want at least %d", class, count[class], least)
		}
	}
}
