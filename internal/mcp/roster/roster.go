// Package roster keeps which MCP servers there are and what of them a person
// trusts: it changes mcp.json and the pins together, and tells what is known
// of each server.
//
// [Roster.Do] is a person's change. [Roster.Look] is the report behind reeve
// mcp inspect. Neither starts anything: what a server offers is what it was
// last heard to offer.
package roster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/classify"
	"github.com/reeve-gate/reeve/internal/mcp/finding"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/packages"
	"github.com/reeve-gate/reeve/internal/mcp/pins"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/mcp/standing"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Roster is the servers of one person. Every field is required. It is safe for
// concurrent use.
type Roster struct {
	File  string // mcp.json
	Judge *standing.Judge
	Store string                     // where the packages of servers are kept
	Home  func(server string) string // the folder of a server's own
	Mask  func(string) string
	Now   func() time.Time

	mu sync.Mutex // one change at a time
}

// Do makes a change, or nothing at all, and tells what it did.
func (r *Roster) Do(c wire.Servers) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch c.Do {
	case "add":
		return r.add(c)
	case "remove":
		return r.remove(c)
	case "enable", "disable":
		return r.edit(c, func(src []byte) ([]byte, error) { return servers.Switch(r.File, src, c.Server, c.Do == "enable") })
	case "pin":
		return r.pin(c)
	case "unpin":
		return "", r.unpin(c.Server)
	case "trust":
		return r.trust(c)
	case "say":
		return r.say(c)
	}
	return "", fmt.Errorf("%w: %q is nothing that can be done to a server", reeve.ErrUsage, c.Do)
}

func entry(c wire.Servers) (*servers.Entry, error) {
	var e servers.Entry
	if err := json.Unmarshal(c.Entry, &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: the settings of server %s: %v", reeve.ErrUsage, c.Server, err)
	}
	return &e, nil
}

func (r *Roster) add(c wire.Servers) (string, error) {
	e, err := entry(c)
	if err != nil {
		return "", err
	}
	if _, err := e.Check(c.Server); err != nil {
		return "", fmt.Errorf("%w: server %s: %v", reeve.ErrUsage, c.Server, err)
	}
	told, err := r.edit(c, func(src []byte) ([]byte, error) { return servers.Put(r.File, src, c.Server, e) })
	if err != nil {
		return "", err
	}
	// A server of this name that was there before was another one.
	if p, err := r.Judge.Pins.Pin(c.Server); err != nil || p != nil && !p.When.IsZero() {
		if err := r.Judge.Pins.Forget(c.Server); err != nil {
			return "", err
		}
	}
	aside, err := r.aside(c.Server)
	return strings.TrimSpace(told + "\n" + aside), err
}

// aside puts the folder away that a server of this name kept before: what lies
// there, such as settings of npm, would be obeyed by the one that comes now.
func (r *Roster) aside(server string) (told string, err error) {
	folder := r.Home(server)
	if all, err := os.ReadDir(folder); err != nil || len(all) == 0 {
		return "", nil // nothing lies there
	}
	away := folder + "." + r.Now().UTC().Format("20060102-150405.000")
	if err := os.Rename(folder, away); err != nil {
		return "", fmt.Errorf("put away what another server %s kept: %w", server, err)
	}
	return fmt.Sprintf("what a server of the name %s kept before stands in %s now", server, away), nil
}

func (r *Roster) remove(c wire.Servers) (string, error) {
	told, err := r.edit(c, func(src []byte) ([]byte, error) { return servers.Take(r.File, src, c.Server) })
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(r.store(c.Server)); err != nil {
		return "", fmt.Errorf("remove its package: %w", err)
	}
	return told, r.Judge.Pins.Forget(c.Server)
}

// edit changes the file as it is now. A link to it stays a link.
func (r *Roster) edit(c wire.Servers, change func([]byte) ([]byte, error)) (string, error) {
	changed, err := config.Edit(r.File, change)
	switch {
	case errors.Is(err, servers.ErrNone):
		return "", fmt.Errorf("%w: %v; reeve mcp ls lists them", reeve.ErrNotFound, err)
	case errors.Is(err, servers.ErrThere):
		return "", fmt.Errorf("%w: %v; take it out first, or choose another name", reeve.ErrUsage, err)
	case err != nil:
		return "", err
	case !changed:
		return c.Server + " is as it was", nil
	}
	return "", nil
}

// server is one server and its settings' hash.
func (r *Roster) server(name string) (servers.Server, error) {
	set, err := servers.NewBook(filepath.Dir(r.File)).Servers()
	if err != nil {
		return servers.Server{}, err
	}
	s, ok := set.Of(name)
	if !ok {
		return s, fmt.Errorf("%w: there is no server %s; reeve mcp ls lists them", reeve.ErrNotFound, name)
	}
	return s, nil
}

// trust accepts what the person was shown, and nothing else.
func (r *Roster) trust(c wire.Servers) (string, error) {
	s, err := r.server(c.Server)
	if err != nil {
		return "", err
	}
	o := r.Judge.Offer(&s)
	if o == nil {
		return "", fmt.Errorf("%w: nobody has heard yet what server %s offers", reeve.ErrNotFound, c.Server)
	}
	if seen := Seen(&s, o); seen != c.Seen {
		return "", fmt.Errorf("server %s offers something else by now than what was shown; look again: reeve mcp inspect %s", c.Server, c.Server)
	}
	for _, name := range c.Only {
		if !offers(o, name) {
			return "", fmt.Errorf("%w: server %s offers no %s", reeve.ErrNotFound, c.Server, name)
		}
	}
	return "", r.Judge.Pins.Change(c.Server, func(p *pins.Pin) (*pins.Pin, error) {
		var pkg pins.Package
		if p != nil {
			pkg = p.Package
		}
		var only []string // nil is everything
		if len(c.Only) > 0 {
			only = c.Only
		}
		return p.Trust(s.Hash(), o, pkg, only, r.Now()), nil
	})
}

func offers(o *catalog.Offer, name string) bool {
	for _, list := range o.Lists {
		if slices.ContainsFunc(list, func(it catalog.Item) bool { return it.Name == name }) {
			return true
		}
	}
	return false
}

// say keeps what the person says of one tool.
func (r *Roster) say(c wire.Servers) (string, error) {
	class := classify.Unknown
	if c.Class != "" {
		var err error
		if class, err = classify.Parse(c.Class); err != nil {
			return "", err
		}
	}
	s, err := r.server(c.Server)
	if err != nil {
		return "", err
	}
	told := ""
	err = r.Judge.Pins.Change(c.Server, func(p *pins.Pin) (*pins.Pin, error) {
		if o := r.Judge.Offer(&s); o != nil {
			if _, there := o.Find(catalog.Tools, c.Tool); !there && class != classify.Unknown {
				return nil, fmt.Errorf("%w: server %s offers no tool %s", reeve.ErrNotFound, c.Server, c.Tool)
			}
		}
		out := p.Say(c.Server, c.Tool, class)
		if w := out.Words[c.Tool]; class != classify.Unknown && w.Digest == "" {
			told = "it counts once the server was trusted: reeve mcp trust " + c.Server
		}
		return out, nil
	})
	return told, err
}

// Seen is the digest of everything that a person is shown of a server: its
// settings and each definition.
func Seen(s *servers.Server, o *catalog.Offer) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", s.Hash())
	for _, j := range pins.Judge(nil, "", o, finding.Others{}).Items {
		fmt.Fprintf(h, "%s %q %s\n", j.Kind, j.Name, j.Digest)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// All is every server in short, by name, and what in the file is not used.
func (r *Roster) All() (all []wire.Inspected, notes []string, err error) {
	set, err := servers.NewBook(filepath.Dir(r.File)).Servers()
	if err != nil {
		return nil, nil, err
	}
	for _, s := range set.All {
		one, err := r.look(s)
		if err != nil {
			return nil, nil, err
		}
		for i := range one.Items { // a list is short
			one.Items[i].Words, one.Items[i].Diff = nil, nil
		}
		all = append(all, one)
	}
	return all, set.Notes, nil
}

// Look is what is known of one server.
func (r *Roster) Look(name string) (wire.Inspected, error) {
	s, err := r.server(name)
	if err != nil {
		return wire.Inspected{}, err
	}
	return r.look(s)
}

func (r *Roster) look(s servers.Server) (wire.Inspected, error) {
	g := &s.Guard
	out := wire.Inspected{Server: s.Name, Disabled: s.Disabled, URL: r.Mask(s.URL), Dir: s.Dir, Read: g.Read, Write: g.Write, Hosts: g.Hosts,
		Env: slices.Sorted(maps.Keys(s.Env)), Headers: slices.Sorted(maps.Keys(s.Headers)), First: true}
	for _, name := range s.FromEnvironment() {
		out.Notes = append(out.Notes, fmt.Sprintf("%s comes from the environment, which other programs are given too: reeve vault import-env %s keeps it, and reeve://env/%s in mcp.json stands for it", name, name, name))
	}
	p, err := r.Judge.Pins.Pin(s.Name)
	if err != nil {
		out.Notes = append(out.Notes, err.Error())
	}
	if s.Command != "" {
		out.Net, out.Sockets = g.Net.String(), g.Sockets
		for _, a := range append([]string{s.Command}, s.Args...) {
			out.Argv = append(out.Argv, r.Mask(a))
		}
		l := packages.Of(s.Command, s.Args).Given(s.Env)
		out.Package = l.Tell(standing.Lock(p))
	}
	o := r.Judge.Offer(&s)
	if o == nil {
		return out, nil
	}
	out.Offered, out.Seen, out.Says = o.Fetched, Seen(&s, o), says(o)
	out.Notes = append(out.Notes, o.Notes...)
	review, p := r.Judge.Review(&s, o)
	out.First, out.Trusted, out.Moved = review.First, review.Trusted, review.Moved
	if p != nil {
		out.When = p.When
	}
	size := 0
	for _, j := range review.Items {
		one := r.offered(p, review, &s, j)
		for _, line := range slices.Concat(one.Words, one.Diff) {
			size += len(line)
		}
		if size > maxShown {
			one.Words, one.Diff = []string{fmt.Sprintf("what it says is not shown, since all definitions together are too long: %d bytes", len(j.Raw))}, nil
		}
		out.Items = append(out.Items, one)
	}
	for _, it := range review.Gone {
		out.Gone = append(out.Gone, string(it.Kind)+" "+it.Name)
	}
	return out, nil
}

// maxShown bounds the words of all definitions of a server, in bytes.
const maxShown = 2 << 20

func (r *Roster) offered(p *pins.Pin, review *pins.Review, s *servers.Server, j pins.Judged) wire.Offered {
	one := wire.Offered{Kind: string(j.Kind), Name: j.Name, State: j.State.String(), Trusted: j.Trusted, Held: j.Held}
	for _, f := range j.Findings {
		one.Findings = append(one.Findings, f.String())
	}
	if one.Words = pins.Words(j.Raw); j.State == pins.Changed {
		one.Words, one.Diff = nil, pins.Tell(j.Was.Raw, j.Raw)
	}
	if j.Kind == pins.Tool {
		t := review.Tool(p, s.Name, j.Name, s.Hash(), standing.Identity(s, p))
		t.Held = ""
		v := classify.Of(t)
		one.Class, one.Why = v.Class.String(), v.Why
	}
	return one
}

// says is what a server calls itself, which proves nothing.
func says(o *catalog.Offer) string {
	info, err := message.Members(o.Info)
	if err != nil {
		return ""
	}
	s := info.Text("name")
	if v := info.Text("version"); v != "" {
		s += " " + v
	}
	return s
}
