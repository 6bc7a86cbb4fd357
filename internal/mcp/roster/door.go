package roster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	settings "github.com/reeve-gate/reeve/internal/tool/roster"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Kernel is the part of the kernel that a change needs.
type Kernel interface {
	Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result)
}

// Door takes a person's requests. Every field is required.
type Door struct {
	Roster  *Roster
	Kernel  Kernel
	Tool    *settings.Tool
	Session func() (string, error) // of the person's own changes
	Hear    func(ctx context.Context, server, dir string) error
	NewID   func() string
}

// Servers carries a person's change out, as an act of its own behind the
// kernel: it decides what every agent may do.
func (d *Door) Servers(ctx context.Context, w wire.Servers) (wire.Told, error) {
	args, err := summary(w)
	if err != nil {
		return wire.Told{}, err
	}
	id, err := d.Session()
	if err != nil {
		return wire.Told{}, err
	}
	inv := &reeve.Invocation{ID: d.NewID(), Session: id, Actor: reeve.ActorUser, Channel: reeve.ChannelCLI, Origin: reeve.OriginHost, Tool: settings.Name, Args: args}
	var failed error
	forget := d.Tool.Give(inv.ID, func() (string, error) {
		told, err := d.Roster.Do(w)
		failed = err
		return told, err
	})
	defer forget()
	decision, r := d.Kernel.Do(ctx, inv)
	switch {
	case failed != nil:
		return wire.Told{}, failed
	case decision.Verdict != reeve.Allow:
		return wire.Told{}, fmt.Errorf("%w: %s", reeve.ErrDenied, decision.Reason)
	case r.Status != reeve.StatusSuccess:
		return wire.Told{}, errors.New(r.Error)
	}
	return wire.Told{Line: r.Output}, nil
}

// summary is what rules and records see of a change: no value of a variable or
// a header.
func summary(w wire.Servers) ([]byte, error) {
	a := settings.Args{Do: w.Do, Server: w.Server, Only: w.Only, Tool: w.Tool, Class: w.Class, Seen: w.Seen}
	if w.Entry != nil {
		var e servers.Entry
		if err := json.Unmarshal(w.Entry, &e, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("%w: the settings of server %s: %v", reeve.ErrUsage, w.Server, err)
		}
		if e.Command != "" {
			a.Argv = append([]string{e.Command}, e.Args...)
		}
		a.URL, a.Env = e.URL, slices.Sorted(maps.Keys(e.Env))
	}
	return json.Marshal(a)
}

// Inspect tells what is known of one server, or of all. With Ask the server is
// started first, and asked what it offers.
func (d *Door) Inspect(ctx context.Context, w wire.Inspect) (wire.Roster, error) {
	if w.Server == "" {
		all, notes, err := d.Roster.All()
		return wire.Roster{Servers: all, Notes: notes}, err
	}
	unasked := ""
	if w.Ask {
		if _, err := d.Roster.Look(w.Server); err != nil {
			return wire.Roster{}, err
		}
		if err := d.Hear(ctx, w.Server, w.Dir); err != nil {
			said, named := err.Error(), "server "+w.Server+": " // each layer below may have named it
			for strings.HasPrefix(said, named) {
				said = said[len(named):]
			}
			unasked = d.Roster.Mask(said) // it may hold what the server printed last
		}
	}
	one, err := d.Roster.Look(w.Server)
	return wire.Roster{Servers: []wire.Inspected{one}, Unasked: unasked}, err
}
