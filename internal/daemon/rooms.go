package daemon

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/ingress/args"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/kernel"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/telemetry"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/connect"
	"github.com/reeve-gate/reeve/internal/tool/files"
	"github.com/reeve-gate/reeve/internal/tool/foreign"
	"github.com/reeve-gate/reeve/internal/tool/git"
	"github.com/reeve-gate/reeve/internal/tool/launch"
	"github.com/reeve-gate/reeve/internal/tool/record"
	"github.com/reeve-gate/reeve/internal/tool/roster"
	"github.com/reeve-gate/reeve/internal/tool/secret"
	"github.com/reeve-gate/reeve/internal/tool/server"
	"github.com/reeve-gate/reeve/internal/tool/shell"
	"github.com/reeve-gate/reeve/internal/tool/takeover"
)

// toolbox is every tool there is: our own, those of the clients we know, and
// for a client's tool that we do not know one of unknown effect.
type toolbox struct {
	*tool.Registry
	launch  *launch.Tool
	connect *connect.Tool
	take    *takeover.Tool
	served  *server.Tools
	roster  *roster.Tool
	secret  *secret.Tool
	record  *record.Tool
	check   *args.Checker
}

func newToolbox(wall jail.Wall, p config.Paths, disk *safepath.Disk, c *config.Config, own []jail.Profile, known server.Known) (*toolbox, error) {
	pins, err := c.Pins()
	if err != nil {
		return nil, err
	}
	b := &toolbox{launch: launch.New(wall), connect: connect.New(&netguard.Guard{Pins: pins}), take: takeover.New(), served: server.New(known), roster: roster.New(), secret: secret.New(), record: record.New()}
	run := hands{wall, p, disk, c, own}
	all := []tool.Tool{b.launch, b.connect, b.take, b.roster, b.secret, b.record, shell.New(run)}
	all = append(all, files.Tools(disk)...)
	all = append(all, git.Tools(run)...)
	all = append(all, foreign.Tools("claude")...)
	all = append(all, foreign.Tools("codex")...)
	b.Registry = tool.NewRegistry(all...)
	if b.check, err = args.NewChecker(b.Registry); err != nil {
		return nil, fmt.Errorf("read the tools' schemas: %w", err)
	}
	return b, nil
}

// Find finds a tool of the list, or describes a client's tool that is not on
// it.
func (b *toolbox) Find(name string) (tool.Tool, bool) {
	if t, ok := b.Registry.Find(name); ok {
		return t, true
	}
	if t, ok := b.served.Find(name); ok {
		return t, true
	}
	return foreign.Find(name)
}

// Check tests arguments against the tool's schema.
func (b *toolbox) Check(t tool.Tool, raw []byte) error { return b.check.Check(t, raw) }

// cleaner knows the secrets that a person named in the settings.
func cleaner(c *config.Config, getenv func(string) string, log io.Writer) (*redact.Redactor, error) {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	r := redact.NewKeyed(key)
	for _, name := range c.Redact.Secrets {
		v := getenv(name)
		if v == "" {
			fmt.Fprintf(log, "redact.secrets: variable %s is not set, so that nothing is masked for it; end the daemon and start it where it is set\n", name)
			continue
		}
		if err := r.AddSecret(v); err != nil {
			return nil, fmt.Errorf("redact.secrets: variable %s: %w", name, err)
		}
	}
	return r, nil
}

// cleaned is the kernel's view of the redactor.
type cleaned struct{ *redact.Redactor }

func (c cleaned) Show(s string) string { return redact.Visible(c.Text(s)) }

// counted keeps the tally of each session beside the record.
type counted struct {
	log   *audit.Log
	store *session.Store
	tele  *telemetry.Room
}

func (c counted) Append(ctx context.Context, r reeve.Record) error {
	if err := c.log.Append(ctx, r); err != nil {
		return err
	}
	c.tele.Count(&r)
	if r.Tool == launch.Name {
		return nil // the run itself is not one of the calls made in it
	}
	if r.Phase == reeve.PhaseIntent || r.Decision != reeve.Allow {
		refusal := ""
		if r.Decision != reeve.Allow && r.Tool != connect.Name { // the network says itself what it refused
			refusal = r.Tool + ": " + r.Summary
		}
		c.store.Count(r.Session, r.Decision, r.Approval != "", refusal)
	}
	return nil
}

// sessions is the kernel's view of the session store.
type sessions struct{ d *Daemon }

var _ kernel.Sessions = sessions{}

func (s sessions) Find(id string) (kernel.Session, error) {
	one, err := s.d.store.Get(id)
	if err != nil {
		return kernel.Session{}, err
	}
	set, err := s.d.layers.Of(one.Workspace, one.ID, one.Allowed)
	if err != nil {
		return kernel.Session{}, fmt.Errorf("the hosts of session %s: %w", id, err)
	}
	k := kernel.Session{ID: one.ID, Workspace: one.Workspace, Home: s.d.opt.Paths.Home, Profile: one.Profile, Mode: one.Mode,
		Sandbox: s.d.boundary.State(), Parent: one.Parent, Policy: set, OnlyWhy: one.OnlyWhy}
	if one.Host != "" {
		k.Sandbox = reeve.SandboxReady // that of the other machine, without which nothing starts there
	}
	if one.Only != nil {
		k.Only = make(map[string]bool, len(one.Only))
		for _, name := range one.Only {
			k.Only[strings.ToLower(name)] = true
		}
	}
	return k, nil
}

func (s sessions) Catalog(id, tool string) reeve.Catalog { return s.d.store.Catalog(id, tool) }
func (s sessions) Taint(id string) flow.Taint            { return s.d.store.Taint(id) }
func (s sessions) AddTaint(id string, t flow.Taint)      { s.d.store.AddTaint(id, t) }
func (s sessions) Spend(id string) error                 { return s.d.store.Spend(id) }
