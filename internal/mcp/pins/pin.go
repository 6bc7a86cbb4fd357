package pins

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/classify"
	"github.com/reeve-gate/reeve/internal/mcp/finding"
	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Version is that of the form on disk.
const Version = 1

// Pin is what is known of one server.
type Pin struct {
	Version  int                      `json:"version"`
	Server   string                   `json:"server"`
	Settings string                   `json:"settings,omitzero"` // hash of the settings it was started with
	Trusted  bool                     `json:"trusted,omitzero"`
	When     time.Time                `json:"when,omitzero"` // of the trust, or of the first sight; zero = never seen
	Package  Package                  `json:"package,omitzero"`
	Items    []Item                   `json:"items,omitzero"`
	Words    map[string]classify.Word `json:"words,omitzero"` // by the tool's name
}

// Item is one definition as it was.
type Item struct {
	Kind     Kind           `json:"kind"`
	Name     string         `json:"name,omitzero"`
	Digest   string         `json:"digest"`
	Raw      jsontext.Value `json:"raw"`
	Accepted bool           `json:"accepted,omitzero"` // a person accepted this very definition, and what was found in it
}

// Package is the released package that a server is, as it was locked.
type Package struct {
	Registry  string `json:"registry,omitzero"` // npm, pypi, oci
	Name      string `json:"name,omitzero"`
	Version   string `json:"version,omitzero"`
	Integrity string `json:"integrity,omitzero"` // as the registry says it: sha512-..., sha256:...
	Tree      string `json:"tree,omitzero"`      // digest of the lock file, with everything below it
	Program   string `json:"program,omitzero"`   // the one of its programs that the server is
}

// Kind is what a definition is of.
type Kind string

const (
	Tool         Kind = "tool"
	Prompt       Kind = "prompt"
	Resource     Kind = "resource"
	Template     Kind = "template"
	Instructions Kind = "instructions"
)

var kinds = map[catalog.Kind]Kind{catalog.Tools: Tool, catalog.Prompts: Prompt, catalog.Resources: Resource, catalog.Templates: Template}

// Digest is the identity of a definition: of its canonical form (RFC 8785), so
// that the order of its members and the spelling of its texts make none other.
func Digest(raw []byte) string {
	v := jsontext.Value(slices.Clone(raw))
	if err := v.Canonicalize(); err != nil {
		v = raw // half a pair of surrogates has no canonical form
	}
	sum := sha256.Sum256(v)
	return hex.EncodeToString(sum[:])
}

// items are all definitions of an offer, sorted.
func items(o *catalog.Offer) []Item {
	var all []Item
	for k, list := range o.Lists {
		for _, it := range list {
			all = append(all, Item{Kind: kinds[catalog.Kind(k)], Name: it.Name, Digest: Digest(it.Raw), Raw: it.Raw})
		}
	}
	if o.Instructions != "" {
		raw := message.Quote(o.Instructions)
		all = append(all, Item{Kind: Instructions, Digest: Digest(raw), Raw: raw})
	}
	slices.SortFunc(all, compare)
	return all
}

func compare(a, b Item) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) }

// pinned are the kinds that are not to change.
func (k Kind) pinned() bool { return k != Resource }

// find is the pinned definition of that kind and name, or nil.
func (p *Pin) find(k Kind, name string) *Item {
	if p == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(p.Items, Item{Kind: k, Name: name}, compare)
	if !ok {
		return nil
	}
	return &p.Items[i]
}

// Word is what the person said of a tool, or nil. For other settings than
// those it was said of, only what forbids holds: it is bound to no definition.
func (p *Pin) Word(tool, settings string) *classify.Word {
	if p == nil {
		return nil
	}
	w, ok := p.Words[tool]
	if !ok {
		return nil
	}
	if p.Settings != settings {
		w.Digest = ""
	}
	return &w
}

// First is the pin of a server that is seen for the first time: nothing of it
// is trusted. What a person said before it was seen is kept.
func First(before *Pin, settings string, o *catalog.Offer, pkg Package, now time.Time) *Pin {
	p := &Pin{Version: Version, Server: o.Server, Settings: settings, When: now, Package: pkg}
	for _, it := range items(o) {
		if it.Kind.pinned() {
			p.Items = append(p.Items, it)
		}
	}
	if before != nil {
		p.Words = maps.Clone(before.Words)
	}
	return p
}

// Trust is the pin after the person has accepted what the server offers: all
// of it, or the tools and prompts that only names, which then leaves the rest
// as it was. What the person said of tools before they were seen counts from
// now on for their definitions.
func (p *Pin) Trust(settings string, o *catalog.Offer, pkg Package, only []string, now time.Time) *Pin {
	out := First(p, settings, o, pkg, now)
	known := p != nil && !p.When.IsZero() && p.Settings == settings
	out.Trusted = only == nil || known && p.Trusted
	if only != nil && known {
		out.When, out.Items = p.When, slices.Clone(p.Items)
	}
	for _, it := range items(o) {
		if !it.Kind.pinned() || only != nil && !slices.Contains(only, it.Name) {
			continue
		}
		it.Accepted = true
		if i, ok := slices.BinarySearchFunc(out.Items, it, compare); ok {
			out.Items[i] = it
		} else {
			out.Items = slices.Insert(out.Items, i, it)
		}
		if w, said := out.Words[it.Name]; said && it.Kind == Tool && w.Digest == "" {
			w.Digest = it.Digest
			out.Words[it.Name] = w
		}
	}
	return out
}

// Say is the pin with the person's word for a tool, of the definition that is
// pinned; without one the word waits for it. The class Unknown takes the word
// back.
func (p *Pin) Say(server, tool string, c classify.Class) *Pin {
	out := Pin{Version: Version, Server: server}
	if p != nil {
		out = *p
	}
	out.Words = maps.Clone(out.Words)
	if c == classify.Unknown {
		delete(out.Words, tool)
		return &out
	}
	if out.Words == nil {
		out.Words = map[string]classify.Word{}
	}
	w := classify.Word{Class: c}
	if it := out.find(Tool, tool); it != nil {
		w.Digest = it.Digest
	}
	out.Words[tool] = w
	return &out
}

// State is how a definition stands to the pinned one.
type State uint8

const (
	Same State = iota
	New
	Changed
)

var stateNames = [...]string{"same", "new", "changed"}

func (s State) String() string { return stateNames[min(int(s), len(stateNames)-1)] }

// Judged is one definition as it is offered now.
type Judged struct {
	Item
	State    State
	Was      *Item  // as it was pinned; nil where it is new
	Trusted  bool   // the person trusts the server, and accepted this definition
	Held     string // why it may be neither shown nor used; "" = it may
	Findings []finding.Finding
}

// Review is what becomes of an offer.
type Review struct {
	First   bool // the server was not seen before
	Trusted bool // the person trusts the server with these settings
	Moved   bool // the settings are others than those that were pinned
	Items   []Judged
	Gone    []Item // pinned and not offered now
	Package Package
}

// Judge compares what a server offers now with its pin, nil where there is
// none. settings is the hash of the settings that it was started with.
func Judge(p *Pin, settings string, o *catalog.Offer, others finding.Others) Review {
	r := Review{First: p == nil || p.When.IsZero()}
	if !r.First {
		r.Moved, r.Package = p.Settings != settings, p.Package
		r.Trusted = p.Trusted && !r.Moved
	}
	others.Own = nil
	for _, it := range o.Lists[catalog.Tools] {
		others.Own = append(others.Own, it.Name)
	}
	offered := map[string]bool{}
	for _, it := range items(o) {
		offered[string(it.Kind)+" "+it.Name] = true
		r.Items = append(r.Items, r.one(p, it, others))
	}
	if r.First {
		return r
	}
	for _, it := range p.Items {
		if !offered[string(it.Kind)+" "+it.Name] {
			r.Gone = append(r.Gone, it)
		}
	}
	return r
}

func (r *Review) one(p *Pin, it Item, others finding.Others) Judged {
	j := Judged{Item: it, Findings: finding.Definition(it.Raw)}
	if it.Kind == Tool {
		j.Findings = append(j.Findings, finding.Names(it.Name, it.Raw, others)...)
	}
	found := ""
	if len(j.Findings) > 0 {
		found = j.Findings[0].String()
	}
	if r.First || !it.Kind.pinned() {
		if j.Held = found; r.First {
			j.State = New
		}
		return j
	}
	switch j.Was = p.find(it.Kind, it.Name); {
	case j.Was == nil:
		j.State, j.Held = New, "it was not there when the server was looked at"
	case j.Was.Digest != it.Digest:
		j.State, j.Held = Changed, "its definition is another than when the server was looked at"
	default:
		if j.Accepted = j.Was.Accepted; !j.Accepted {
			j.Held = found
		}
		j.Trusted = r.Trusted && j.Accepted
	}
	if j.State != Same && found != "" {
		j.Held += ", and " + found
	}
	return j
}

// Unreadable holds everything back, since nobody knows what was trusted.
func Unreadable(o *catalog.Offer, err error) Review {
	var r Review
	for _, it := range items(o) {
		r.Items = append(r.Items, Judged{Item: it, Held: "what was trusted of this server cannot be read: " + err.Error()})
	}
	return r
}

// Find is a definition of the review, or nil.
func (r *Review) Find(k Kind, name string) *Judged {
	i, ok := slices.BinarySearchFunc(r.Items, Item{Kind: k, Name: name}, func(j Judged, it Item) int { return compare(j.Item, it) })
	if !ok {
		return nil
	}
	return &r.Items[i]
}

// Held are the definitions that are held back.
func (r *Review) Held() []Judged {
	return slices.DeleteFunc(slices.Clone(r.Items), func(j Judged) bool { return j.Held == "" })
}

// Clean is the offer without what is held back, as it may be shown.
func (r *Review) Clean(o *catalog.Offer) *catalog.Offer {
	out := *o
	for k := range out.Lists {
		out.Lists[k] = slices.DeleteFunc(slices.Clone(o.Lists[k]), func(it catalog.Item) bool {
			j := r.Find(kinds[catalog.Kind(k)], it.Name)
			return j == nil || j.Held != ""
		})
	}
	if j := r.Find(Instructions, ""); j == nil || j.Held != "" {
		out.Instructions = ""
	}
	return &out
}

// Tool is what classify is to know of a tool of the review.
func (r *Review) Tool(p *Pin, server, name, settings string, known classify.Identity) classify.Tool {
	t := classify.Tool{Server: server, Name: name, Known: known, Word: p.Word(name, settings)}
	j := r.Find(Tool, name)
	if j == nil {
		t.Held = "the server does not offer it"
		return t
	}
	t.Digest, t.Hints, t.Trusted, t.Held = j.Digest, classify.HintsOf(j.Raw), j.Trusted, j.Held
	return t
}
