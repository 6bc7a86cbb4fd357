// Package standing knows how everything that the configured MCP servers offer
// stands now: what is held back until a person has looked at it, and of which
// class a tool is. It joins what was pinned (package pins), what is offered
// (package catalog) and the classes of tools (package classify).
//
// A server that is seen for the first time is pinned as it is then: nothing of
// it is trusted, and what it changes later is held.
package standing

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/classify"
	"github.com/reeve-gate/reeve/internal/mcp/finding"
	"github.com/reeve-gate/reeve/internal/mcp/packages"
	"github.com/reeve-gate/reeve/internal/mcp/pins"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/tool/server"
)

// Judge is what a judgement stands on; every exported field is required. It is
// safe for concurrent use.
type Judge struct {
	Pins    *pins.Book
	Servers func() (*servers.Set, error)
	Find    func(name string) (servers.Server, error) // one that may be used
	Offer   func(s *servers.Server) *catalog.Offer
	Native  []string // the names of Reeve's own tools and of clients'

	mu   sync.Mutex // guards what follows
	last map[string]judged
}

// judged is the review of one offer against one pin.
type judged struct {
	offer  *catalog.Offer
	pin    *pins.Pin
	others *servers.Set
	review pins.Review
}

// Seen takes note of what a server offers now, and pins one that was never
// seen.
func (j *Judge) Seen(o *catalog.Offer, now time.Time) error {
	j.mu.Lock()
	clear(j.last) // what one server offers is what others may not pass for
	j.mu.Unlock()
	p, err := j.Pins.Pin(o.Server)
	if err != nil || p != nil && !p.When.IsZero() {
		return err
	}
	return j.Pins.Change(o.Server, func(p *pins.Pin) (*pins.Pin, error) {
		if p != nil && !p.When.IsZero() {
			return p, nil
		}
		var pkg pins.Package // locked before it was seen, with the same settings
		if p != nil && p.Settings == o.Hash {
			pkg = p.Package
		}
		return pins.First(p, o.Hash, o, pkg, now), nil
	})
}

// Review judges what a server offers, once for each offer and pin, and gives
// the pin that it was compared with. Neither is to be changed.
func (j *Judge) Review(s *servers.Server, o *catalog.Offer) (*pins.Review, *pins.Pin) {
	p, err := j.Pins.Pin(s.Name)
	if err != nil {
		r := pins.Unreadable(o, err)
		return &r, nil
	}
	set, err := j.Servers()
	if err != nil {
		r := pins.Unreadable(o, err)
		return &r, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if last, ok := j.last[s.Name]; ok && last.offer == o && last.pin == p && last.others == set {
		return &last.review, p
	}
	r := pins.Judge(p, o.Hash, o, j.others(set, o))
	if j.last == nil {
		j.last = map[string]judged{}
	}
	j.last[s.Name] = judged{o, p, set, r}
	return &r, p
}

// others are the names that a server's tools may not pass for. What two servers
// call the same is not one of them: clients see each under its server's name,
// and collisions are expected (MCP 2026-07-28, tool names).
func (j *Judge) others(set *servers.Set, of *catalog.Offer) finding.Others {
	own := map[string]bool{}
	for _, it := range of.Lists[catalog.Tools] {
		own[strings.ToLower(it.Name)] = true
	}
	o := finding.Others{Tools: map[string][]string{}, Native: j.Native}
	for i := range set.All {
		s := &set.All[i]
		if s.Name == of.Server || s.Disabled {
			continue
		}
		o.Servers = append(o.Servers, s.Name)
		offer := j.Offer(s)
		if offer == nil {
			continue
		}
		for _, it := range offer.Lists[catalog.Tools] {
			if !own[strings.ToLower(it.Name)] {
				o.Tools[s.Name] = append(o.Tools[s.Name], it.Name)
			}
		}
	}
	return o
}

var kinds = map[catalog.Kind]pins.Kind{catalog.Tools: pins.Tool, catalog.Prompts: pins.Prompt, catalog.Resources: pins.Resource, catalog.Templates: pins.Template}

// Held is why a definition may be neither shown nor used, "" where it may.
func (j *Judge) Held(s *servers.Server, k catalog.Kind, it catalog.Item) string {
	o := j.Offer(s)
	if o == nil {
		return "what the server offers is not known"
	}
	r, _ := j.Review(s, o)
	one := r.Find(kinds[k], it.Name)
	if one == nil {
		return "the server does not offer it any more"
	}
	return one.Held
}

// Tool is what is known of one tool of a server, and its class.
func (j *Judge) Tool(s *servers.Server, name string) (classify.Tool, classify.Verdict) {
	o := j.Offer(s)
	if o == nil {
		t := classify.Tool{Server: s.Name, Name: name, Held: "what the server offers is not known"}
		return t, classify.Of(t)
	}
	r, p := j.Review(s, o)
	t := r.Tool(p, s.Name, name, o.Hash, Identity(s, p))
	return t, classify.Of(t)
}

// Identity is the program that a server is, where its package was locked with
// its integrity and its settings start that very package: a name alone proves
// nothing (amendment 18).
func Identity(s *servers.Server, p *pins.Pin) classify.Identity {
	l := packages.Of(s.Command, s.Args)
	if k := Lock(p); s.Command != "" && k != nil && p.Settings == s.Hash() && l.Verified(*k) {
		return classify.IdentityOf(l.ID())
	}
	return classify.Nobody
}

// Lock is the package that was locked for a server, or nil.
func Lock(p *pins.Pin) *packages.Lock {
	if p == nil || p.Package.Integrity == "" {
		return nil
	}
	return &packages.Lock{Name: p.Package.Name, Version: p.Package.Version, Integrity: p.Package.Integrity}
}

// Facts are what is known of one tool, by its server's name and its own.
func (j *Judge) Facts(name, one string) (server.Facts, bool) {
	if name == server.Own {
		return server.Facts{Tier: reeve.TierRead, Unconditional: true}, one == "read_result" || one == "search_tools"
	}
	conf, err := j.Find(name)
	if err != nil {
		return server.Facts{}, false
	}
	guard := &conf.Guard
	f := server.Facts{
		Private: len(guard.Read)+len(guard.Write)+len(conf.Headers)+len(conf.Env) > 0,
		Sends:   conf.URL != "" || guard.Net != servers.NetNone,
	}
	if strings.Contains(one, "/") { // a method of the protocol, which reads
		f.Tier = reeve.TierRead
		return f, true
	}
	o := j.Offer(&conf)
	if o == nil {
		return server.Facts{}, false
	}
	it, ok := find(o, one)
	if !ok {
		return server.Facts{}, false
	}
	t, v := j.Tool(&conf, it.Name)
	f.Tier, f.Unknown, f.Why = v.Class.Tier(), v.Class == classify.Unknown, v.Why
	if t.Held != "" {
		f.Held = fmt.Sprintf("%s of server %s is held back: %s; reeve mcp inspect %[2]s shows it, and reeve mcp trust %[2]s accepts it", it.Name, name, t.Held)
	}
	f.Places = func(args []byte) ([]reeve.Effect, error) { return classify.Places(t, args) }
	return f, true
}

// find finds a tool by its name, without regard to case.
func find(o *catalog.Offer, name string) (catalog.Item, bool) {
	if it, ok := o.Find(catalog.Tools, name); ok {
		return it, true
	}
	for _, it := range o.Lists[catalog.Tools] {
		if strings.EqualFold(it.Name, name) {
			return it, true
		}
	}
	return catalog.Item{}, false
}
