// Package layers joins the layers of the policy that hold in a workspace and in
// a session: the administrator's, the person's, the project's, and the hosts
// that a session itself was given.
package layers

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/policy/load"
	"github.com/reeve-gate/reeve/internal/policy/rule"
	"github.com/reeve-gate/reeve/internal/session"
)

// Layers reads the policy of a workspace and joins it once per change.
type Layers struct {
	loader  *load.Loader
	trusted func(ws string, digest [sha256.Size]byte) bool

	mu     sync.Mutex // guards joined
	joined map[string]joined
}

type joined struct {
	from []*policy.Layer
	own  []*policy.Layer // of one session alone
	set  *policy.Set
}

// New reads the person's policy from a configuration directory; trusted says
// whether a project's is obeyed beyond what it tightens.
func New(config string, trusted func(ws string, digest [sha256.Size]byte) bool) *Layers {
	return &Layers{loader: load.New(load.Source{Managed: "/etc/reeve/policy.toml", User: config + "/policy.toml"}), trusted: trusted, joined: map[string]joined{}}
}

// maxJoined bounds how many workspaces' policies are remembered.
const maxJoined = 64

// Of joins the policy that holds in a workspace; for a session with layers of
// its own, those too.
func (l *Layers) Of(ws, id string, allowed []session.Allowed) (*policy.Set, error) {
	now := l.loader.Layers(ws, func(digest [sha256.Size]byte) bool { return l.trusted(ws, digest) })
	key := ws
	if len(allowed) > 0 {
		key += "\x00" + id
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	j, ok := l.joined[key]
	if ok && slices.Equal(j.from, now) {
		return j.set, nil
	}
	if len(l.joined) >= maxJoined {
		clear(l.joined)
	}
	if j.own == nil && len(allowed) > 0 {
		var err error
		if j.own, err = own(allowed); err != nil {
			return nil, err
		}
	}
	j.from, j.set = slices.Clone(now), policy.Join(slices.Concat(now, j.own)...)
	l.joined[key] = j
	return j.set, nil
}

// Faults says what keeps the files that hold in every workspace from being read.
func (l *Layers) Faults() []string {
	var all []string
	for _, one := range l.loader.Layers("", nil) {
		if one.Fault != nil {
			all = append(all, fmt.Sprintf("a policy cannot be read, so that nothing it allows counts: %v", one.Fault))
		}
	}
	return all
}

// BadHosts says what is wrong with the hosts of a session that is about to
// begin.
func BadHosts(groups []session.Allowed) error {
	_, err := own(groups)
	return err
}

// own are the layers of the policy that hold in one session alone.
func own(groups []session.Allowed) ([]*policy.Layer, error) {
	var all []*policy.Layer
	var errs []error
	for _, g := range groups {
		l, err := rule.AllowHosts(rule.LayerSession, g.From, g.Why, g.Hosts)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", g.From, err))
			continue
		}
		all = append(all, l)
	}
	return all, errors.Join(errs...)
}
