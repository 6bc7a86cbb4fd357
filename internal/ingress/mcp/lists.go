package mcp

import (
	"context"
	"encoding/base64"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/results"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
	"github.com/reeve-gate/reeve/internal/tool/server"
)

// snapshot is what the client sees, as it was a moment ago.
type snapshot struct {
	at      time.Time
	view    *catalog.View    // what it is shown
	whole   *catalog.View    // and everything that there is, under the same names
	missing map[string]error // the servers that could not be asked, by name
}

// look gives the client's view. fresh wants it made anew.
func (c *Conversation) look(ctx context.Context, fresh bool) (*snapshot, error) {
	c.mu.Lock()
	v := c.view
	c.mu.Unlock()
	if v != nil && !fresh && c.d.Now().Sub(v.at) < viewAge {
		return v, nil
	}
	offers, missing, err := c.fleet.Offers(ctx, c.who.Filter.Alone)
	if err != nil {
		return nil, err
	}
	for name, err := range missing {
		c.d.Log("server %s is not in the list: %s", name, c.d.Clean.Text(err.Error()))
	}
	v = &snapshot{at: c.d.Now(), missing: missing, view: catalog.NewView(offers, c.who.Filter), whole: catalog.NewView(offers, catalog.Filter{Alone: c.who.Filter.Alone})}
	c.mu.Lock()
	c.view = v
	c.mu.Unlock()
	return v, nil
}

// pageBytes bounds one page of a list.
const pageBytes = 1 << 20

// list answers the four lists. A cursor is the name that the page before ended
// with, so that it holds while the list changes.
func (c *Conversation) list(r *talk.Request) {
	kind, _ := catalog.KindOf(r.Method)
	after, ok := cursorOf(r.Params)
	if !ok {
		r.Fail(message.CodeInvalidParams, "the cursor is none of this list's")
		return
	}
	v, err := c.look(r.Ctx, after == "")
	if err != nil {
		r.Fail(message.CodeInternal, c.d.Clean.Text(err.Error()))
		return
	}
	all := v.view.List(kind)
	from := sort.Search(len(all), func(i int) bool { return all[i].Shown > after })
	out, next := []byte{'['}, ""
	if kind == catalog.Tools && after == "" {
		out = append(out, c.ownTools(v)...)
	}
	for i := from; i < len(all); i++ {
		def := all[i].Definition(kind)
		if len(out) > 1 && len(out)+len(def) > pageBytes {
			next = all[i-1].Shown
			break
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, def...)
	}
	o := message.Object{message.Own(kind.Member(), append(out, ']'))}
	if next != "" {
		o = append(o, message.OwnText("nextCursor", base64.RawURLEncoding.EncodeToString([]byte("v1:"+next))))
	}
	if r.Modern {
		o = append(o, message.Own("ttlMs", []byte("0")), message.OwnText("cacheScope", "private"))
	}
	r.Own(o)
}

func cursorOf(params message.Object) (after string, ok bool) {
	v := params.Get("cursor")
	if v == nil || string(v) == "null" {
		return "", true
	}
	s, _ := message.Text(v)
	b, err := base64.RawURLEncoding.DecodeString(s)
	after, found := strings.CutPrefix(string(b), "v1:")
	return after, err == nil && found && after != ""
}

// The gateway's own tools, under the name of a server that nobody can have.
const (
	toolSearch = server.Own + "__search_tools"
	toolCall   = server.Own + "__call_tool"
)

const (
	readDefinition = `{"name":"` + results.ToolRead + `","title":"Read on","description":"Reads on in a result of which only the beginning was given, by the id that stood at its end.","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"offset":{"type":"integer","minimum":0}},"required":["id"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`

	searchDefinition = `{"name":"` + toolSearch + `","title":"Find tools","description":"Finds tools that are not in the list, by words of their name or description. %d more are there. What it finds is called with ` + toolCall + `.","inputSchema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`

	callDefinition = `{"name":"` + toolCall + `","title":"Call a tool","description":"Calls a tool that ` + toolSearch + ` found, by its name and with its arguments.","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name"],"additionalProperties":false}}`
)

// ownTools are the definitions of the gateway's own tools that make sense now.
// A client that sees one server alone sees that server and nothing else, until
// a result of it was too long to be given at once.
func (c *Conversation) ownTools(v *snapshot) []byte {
	c.mu.Lock()
	kept := c.kept
	c.mu.Unlock()
	switch {
	case c.who.Filter.Alone != "" && kept:
		return []byte(readDefinition)
	case c.who.Filter.Alone != "":
		return nil
	}
	out := []byte(readDefinition)
	if hidden := len(v.whole.List(catalog.Tools)) - len(v.view.List(catalog.Tools)); hidden > 0 {
		out = append(out, ',')
		out = fmt.Appendf(out, searchDefinition, hidden)
		out = append(append(out, ','), callDefinition...)
	}
	return out
}

// Bounds of a search.
const (
	maxFound = 20
	maxWords = 16
)

// search finds hidden tools: those in which most of the words stand, the names
// before the descriptions.
func (v *snapshot) search(query string) []byte {
	words := strings.Fields(strings.ToLower(query))
	words = words[:min(len(words), maxWords)]
	type hit struct {
		def   []byte
		score int
	}
	var hits []hit
	for _, e := range v.whole.List(catalog.Tools) {
		if _, shown := v.view.Find(catalog.Tools, e.Shown); shown {
			continue
		}
		name, text := strings.ToLower(e.Shown), strings.ToLower(string(e.Item.Raw))
		score := 0
		for _, w := range words {
			switch {
			case strings.Contains(name, w):
				score += 3
			case strings.Contains(text, w):
				score++
			}
		}
		if score > 0 {
			hits = append(hits, hit{e.Definition(catalog.Tools), score})
		}
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].score > hits[j].score })
	out := []byte{'['}
	for i, h := range hits[:min(len(hits), maxFound)] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, h.def...)
	}
	return append(out, ']')
}
