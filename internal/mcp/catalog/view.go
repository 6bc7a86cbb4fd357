package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// MaxShown bounds a name that clients see, in bytes. Clients put a name of
// their own in front and refuse whole sessions above 64 characters.
const MaxShown = 50

// Join is the name under which clients see what a server calls name. One that
// would be too long is cut and ends in eight digits of its digest, so that no
// two become one.
func Join(server, name string) string {
	full := server + "__" + name
	if len(full) <= MaxShown {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	return strings.ToValidUTF8(full[:MaxShown-9], "") + "_" + hex.EncodeToString(sum[:4])
}

// Filter says what of the offers a client sees. The zero Filter is everything.
type Filter struct {
	Alone string   // this server alone, under its own names
	Only  []string // patterns of shown names, of which one must match; nil = all
	Hide  []string // patterns of shown names, of which none may match
}

// shows reports whether a name passes. A pattern is a name in which * stands
// for any text.
func (f *Filter) shows(name string) bool {
	match := func(p string) bool { return wild(p, name) }
	if f.Only != nil && !slices.ContainsFunc(f.Only, match) {
		return false
	}
	return !slices.ContainsFunc(f.Hide, match)
}

func wild(pattern, s string) bool {
	head, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	for i := 0; i <= len(s); i++ {
		if wild(rest, s[i:]) {
			return true
		}
	}
	return false
}

// Entry is one thing that a client sees.
type Entry struct {
	Server string
	Shown  string // the name it sees; of a resource, the URI as the server wrote it
	Item   Item
}

// Definition is the definition as the client gets it.
func (e *Entry) Definition(k Kind) []byte {
	if k >= Resources || e.Shown == e.Item.Name {
		return e.Item.Raw
	}
	o, err := message.Members(e.Item.Raw)
	if err != nil {
		return e.Item.Raw
	}
	return o.Set(message.OwnText("name", e.Shown)).Bytes()
}

// View is what one client sees.
type View struct {
	lists  [numKinds][]Entry
	shown  [numKinds]map[string]int
	offers map[string]*Offer
	Notes  []string
}

// NewView makes the view of offers, each of a server of its own. What two
// servers offer under one name is the first one's, by the server's name.
func NewView(offers []*Offer, f Filter) *View {
	v := &View{offers: map[string]*Offer{}}
	offers = slices.Clone(offers)
	slices.SortFunc(offers, func(a, b *Offer) int { return strings.Compare(a.Server, b.Server) })
	for _, k := range Kinds() {
		v.shown[k] = map[string]int{}
	}
	for _, o := range offers {
		if f.Alone != "" && o.Server != f.Alone {
			continue
		}
		v.offers[o.Server] = o
		for _, k := range Kinds() {
			for _, it := range o.Lists[k] {
				v.add(k, &f, Entry{Server: o.Server, Shown: shownName(k, o.Server, it.Name, f.Alone != ""), Item: it})
			}
		}
	}
	for _, k := range Kinds() {
		slices.SortFunc(v.lists[k], func(a, b Entry) int { return strings.Compare(a.Shown, b.Shown) })
		for i := range v.lists[k] {
			v.shown[k][v.lists[k][i].Shown] = i
		}
	}
	return v
}

func shownName(k Kind, server, name string, alone bool) string {
	if k >= Resources || alone {
		return name
	}
	return Join(server, name)
}

func (v *View) add(k Kind, f *Filter, e Entry) {
	if !f.shows(Join(e.Server, e.Item.Name)) {
		return
	}
	if i, twice := v.shown[k][e.Shown]; twice {
		v.Notes = append(v.Notes, fmt.Sprintf("%s: both %s and %s offer it; that of %[2]s counts", quoted(e.Shown), v.lists[k][i].Server, e.Server))
		return
	}
	v.shown[k][e.Shown] = len(v.lists[k])
	v.lists[k] = append(v.lists[k], e)
}

// List is what the client sees of one kind, sorted by name.
func (v *View) List(k Kind) []Entry { return v.lists[k] }

// Find finds what the client calls shown.
func (v *View) Find(k Kind, shown string) (Entry, bool) {
	i, ok := v.shown[k][shown]
	if !ok {
		return Entry{}, false
	}
	return v.lists[k][i], true
}

// Offer is what a server of the view offers, or nil.
func (v *View) Offer(server string) *Offer { return v.offers[server] }

// Any reports whether a server of the view has a capability, and in it a
// switch that is on.
func (v *View) Any(capability, on string) bool {
	for _, o := range v.offers {
		if o.Offers(capability, on) {
			return true
		}
	}
	return false
}

// Resource finds the server that a URI belongs to: the one that lists it, else
// the first one with a pattern that it fits.
func (v *View) Resource(uri string) (Entry, bool) {
	if e, ok := v.Find(Resources, uri); ok {
		return e, true
	}
	for _, e := range v.lists[Templates] {
		if fits(e.Item.Name, uri) {
			return e, true
		}
	}
	return Entry{}, false
}

// fits reports whether a URI could come of a template (RFC 6570): its literal
// parts stand in the URI, in order, the first at the beginning and the last at
// the end. A template without a literal beginning fits nothing.
func fits(template, uri string) bool {
	first, rest, found := strings.Cut(template, "{")
	if !found {
		return template == uri
	}
	uri, ok := strings.CutPrefix(uri, first)
	if first == "" || !ok {
		return false
	}
	for {
		_, after, closed := strings.Cut(rest, "}")
		if !closed {
			return false
		}
		literal, next, more := strings.Cut(after, "{")
		if !more {
			return strings.HasSuffix(uri, literal)
		}
		i := strings.Index(uri, literal)
		if i < 0 {
			return false
		}
		uri, rest = uri[i+len(literal):], next
	}
}
