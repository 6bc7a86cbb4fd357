// Package catalog knows what MCP servers offer, and under which names clients
// see it.
//
// An [Offer] is one server's lists as it gave them: every definition keeps the
// bytes that came, and has a digest of its canonical form (RFC 8785), so that
// a definition which changes is another one. A [Shelf] keeps offers on disk, so
// that a client's list needs no server to be started. A [View] is what one
// client sees: the offers of many servers under names that cannot collide,
// sorted, and only what it is to see.
//
// A server's definitions are text that a model will read. Nothing here judges
// them; what may not be shown is taken away before a View is made.
package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"

	"github.com/reeve-gate/reeve/internal/late"
)

// Kind is one of the four lists of a server.
type Kind uint8

const (
	Tools Kind = iota
	Prompts
	Resources
	Templates
	numKinds
)

// kinds say how a list is asked for, what its result calls it, and which
// member of a definition tells it from others.
var kinds = [numKinds]struct{ capability, method, member, name string }{
	{"tools", "tools/list", "tools", "name"},
	{"prompts", "prompts/list", "prompts", "name"},
	{"resources", "resources/list", "resources", "uri"},
	{"resources", "resources/templates/list", "resourceTemplates", "uriTemplate"},
}

// Kinds lists all of them.
func Kinds() []Kind { return []Kind{Tools, Prompts, Resources, Templates} }

// Method is the request that lists the kind, Member what its result calls it.
func (k Kind) Method() string { return kinds[k].method }
func (k Kind) Member() string { return kinds[k].member }

// KindOf is the kind that a request lists.
func KindOf(method string) (Kind, bool) {
	for _, k := range Kinds() {
		if kinds[k].method == method {
			return k, true
		}
	}
	return 0, false
}

// Item is one definition.
type Item struct {
	Name   string         `json:"name"` // of a resource its URI, of a template its pattern
	Raw    jsontext.Value `json:"raw"`
	Digest string         `json:"digest"`
}

// Offer is what one server offers.
type Offer struct {
	Server       string           `json:"server"`
	Hash         string           `json:"hash"` // of the settings it was started with
	Era          upstream.Era     `json:"era"`
	Version      string           `json:"version"`
	Info         jsontext.Value   `json:"info,omitzero"` // what it says it is
	Capabilities jsontext.Value   `json:"capabilities,omitzero"`
	Instructions string           `json:"instructions,omitzero"`
	Lists        [numKinds][]Item `json:"lists"` // sorted by name
	Notes        []string         `json:"notes,omitzero"`
	Fetched      time.Time        `json:"fetched"`
}

// Bounds of one server's offer.
const (
	maxPages   = 100
	MaxItems   = 2000      // of one kind
	maxOffer   = 8 << 20   // bytes of all definitions
	maxSchema  = 256 << 10 // bytes of one definition
	maxURI     = 4 << 10
	maxNotes   = 50
	listTime   = 30 * time.Second
	maxCursor  = 16 << 10
	maxToolLen = 128 // MCP 2026-07-28, tool names
)

// Find finds a definition by its exact name.
func (o *Offer) Find(k Kind, name string) (Item, bool) {
	i, ok := slices.BinarySearchFunc(o.Lists[k], name, func(it Item, n string) int { return strings.Compare(it.Name, n) })
	if !ok {
		return Item{}, false
	}
	return o.Lists[k][i], true
}

// Same reports whether two offers hold the same definitions.
func (o *Offer) Same(p *Offer, k Kind) bool {
	return slices.EqualFunc(o.Lists[k], p.Lists[k], func(a, b Item) bool { return a.Name == b.Name && a.Digest == b.Digest })
}

// Offers reports whether the server declared a capability.
func (o *Offer) Offers(capability, on string) bool {
	caps, err := message.Members(o.Capabilities)
	if err != nil {
		return false
	}
	info := upstream.Info{Capabilities: caps}
	return info.Offers(capability, on)
}

// Fetch asks a server for all its lists. A definition that cannot be used is
// left out and noted; a list that cannot be read is an error.
func Fetch(ctx context.Context, c *upstream.Conn, server, hash string, now time.Time) (*Offer, error) {
	info := c.Info()
	o := &Offer{Server: server, Hash: hash, Era: c.Era(), Version: c.Version(), Info: info.Server, Instructions: info.Instructions, Fetched: now}
	if info.Capabilities != nil {
		o.Capabilities = info.Capabilities.Bytes()
	}
	size := 0
	for _, k := range Kinds() {
		if !info.Offers(kinds[k].capability, "") {
			continue
		}
		if err := o.list(ctx, c, k, &size); err != nil {
			return nil, fmt.Errorf("list the %s of server %s: %w", kinds[k].member, server, err)
		}
	}
	return o, nil
}

// list reads all pages of one kind.
func (o *Offer) list(ctx context.Context, c *upstream.Conn, k Kind, size *int) error {
	var params message.Object
	seen := map[string]bool{}
	for page := 0; ; page++ {
		if page == maxPages {
			return fmt.Errorf("more than %d pages", maxPages)
		}
		result, err := c.Call(ctx, upstream.Request{Method: kinds[k].method, Params: params, Timeout: listTime})
		var rejected *message.Error
		if errors.As(err, &rejected) && rejected.Code == message.CodeMethodNotFound {
			break // declared, and not there: resources often have no templates
		}
		if err != nil {
			return err
		}
		res, err := message.Members(result)
		if err != nil {
			return err
		}
		all, err := message.Elements(res.Get(kinds[k].member))
		if err != nil {
			return fmt.Errorf("its result: %w", err)
		}
		for _, raw := range all {
			if *size += len(raw); *size > maxOffer || len(o.Lists[k]) >= MaxItems {
				return fmt.Errorf("more than %d definitions or %d bytes", MaxItems, maxOffer)
			}
			o.add(k, raw, seen)
		}
		cursor := res.Get("nextCursor")
		if cursor == nil || string(cursor) == "null" {
			break
		}
		if cursor[0] != '"' || len(cursor) > maxCursor {
			return errors.New("its cursor is no text, or too long")
		}
		params = message.Object{message.Own("cursor", cursor)}
	}
	slices.SortFunc(o.Lists[k], func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// add takes one definition, or notes why not.
func (o *Offer) add(k Kind, raw []byte, seen map[string]bool) {
	def, err := message.Members(raw)
	if err != nil {
		o.note("a definition that is no object")
		return
	}
	name := def.Text(kinds[k].name)
	switch {
	case !goodName(k, name):
		o.note(fmt.Sprintf("%s: its name is none that can be used", quoted(name)))
		return
	case seen[strings.ToLower(name)]:
		// Rules and grants do not tell names apart by their case.
		o.note(fmt.Sprintf("%s: the name stands twice; the first one counts", quoted(name)))
		return
	case len(raw) > maxSchema:
		o.note(fmt.Sprintf("%s: its definition has %d bytes; at most %d are taken", quoted(name), len(raw), maxSchema))
		return
	case k == Tools && (def.Get("inputSchema") == nil || def.Get("inputSchema")[0] != '{'):
		o.note(fmt.Sprintf("%s: it has no schema of its arguments", quoted(name)))
		return
	}
	if k == Tools {
		if _, err := MirrorsOf(def.Get("inputSchema")); err != nil {
			o.note(fmt.Sprintf("%s: %v", quoted(name), err))
			return
		}
	}
	if def, err = def.Rewrite(); err != nil {
		o.note(fmt.Sprintf("%s: its _meta cannot be read", quoted(name)))
		return
	}
	seen[strings.ToLower(name)] = true
	b := def.Bytes()
	o.Lists[k] = append(o.Lists[k], Item{Name: name, Raw: b, Digest: digest(b)})
}

func (o *Offer) note(s string) {
	if len(o.Notes) < maxNotes {
		o.Notes = append(o.Notes, s)
	}
}

var toolName = late.New(`^[A-Za-z0-9_.-]+$`)

func goodName(k Kind, name string) bool {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\ufffd' }) {
		return false
	}
	switch k {
	case Tools:
		return len(name) <= maxToolLen && toolName.MatchString(name)
	case Prompts:
		return len(name) <= maxToolLen
	}
	return len(name) <= maxURI
}

// quoted shows a name that nobody has checked.
func quoted(name string) string {
	if len(name) > 80 {
		name = strings.ToValidUTF8(name[:80], "") + "…"
	}
	return fmt.Sprintf("%+q", name)
}

// digest is the identity of a definition: of its canonical form, so that the
// order of its members and the spelling of its strings make no difference.
func digest(raw []byte) string {
	v := jsontext.Value(slices.Clone(raw))
	if err := v.Canonicalize(); err != nil {
		v = raw // half a pair of surrogates has no canonical form
	}
	sum := sha256.Sum256(v)
	return hex.EncodeToString(sum[:])
}
