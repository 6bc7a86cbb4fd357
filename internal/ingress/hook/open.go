package hook

import (
	"crypto/sha256"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxOpen bounds the calls whose outcome is awaited; the oldest gives way and
// stays without outcome.
const maxOpen = 4096

// key names a call as the client does. Sub-agents may use an id again.
type key struct{ client, session, agent, useID string }

func keyOf(r Request, e *event) key { return key{r.Client, e.session, e.agent, e.useID} }

// call is what the door remembers of a call between its two events.
type call struct {
	id    string   // of the invocation
	input [32]byte // digest of the arguments that were judged
	asked [32]byte // digest of the call as a client's own question names it
}

// open holds the calls whose outcome is awaited. The zero value is empty and
// ready.
type open struct {
	mu    sync.Mutex // guards the fields below
	calls map[key]call
	order []key // oldest first; may name calls that are gone
}

func (o *open) put(k key, c call) {
	if k.useID == "" {
		return // nothing could ever name it
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls == nil {
		o.calls = map[key]call{}
	}
	o.calls[k] = c
	o.order = append(o.order, k)
	for len(o.calls) > maxOpen {
		delete(o.calls, o.order[0])
		o.order = o.order[1:]
	}
	if len(o.order) > 2*maxOpen {
		o.compact()
	}
}

// compact drops the names of calls that are gone.
func (o *open) compact() {
	var left []key
	seen := map[key]bool{}
	for _, k := range o.order {
		if _, there := o.calls[k]; there && !seen[k] {
			seen[k] = true
			left = append(left, k)
		}
	}
	o.order = left
}

// take removes and returns the call.
func (o *open) take(k key) (call, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, found := o.calls[k]
	delete(o.calls, k)
	return c, found
}

// holds reports whether a call of the same session and agent that is still
// awaited is the one asked about. A question does not name the use id.
func (o *open) holds(k key, asked [32]byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for other, c := range o.calls {
		if other.useID = k.useID; other == k && c.asked == asked {
			return true
		}
	}
	return false
}

// forget drops every call of the client's session.
func (o *open) forget(client, session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k := range o.calls {
		if k.client == client && k.session == session {
			delete(o.calls, k)
		}
	}
}

// asked is the digest of a call by its tool and its command, or where it has
// none by all its arguments. A client's question about a command carries the
// person's reading of it beside the command, and a patch without its last line
// end.
func asked(e *event) [32]byte {
	d := digest(e.input)
	what := "arguments " + string(d[:])
	if command, ok := unquote(membersOf(e.input)["command"]); ok {
		what = "command " + strings.TrimSpace(command)
	}
	return sha256.Sum256([]byte(e.tool + "\x00" + what))
}

// digest of arguments that does not change with the order of names, white
// space or the spelling of strings and numbers.
func digest(args []byte) [32]byte {
	v := append(jsontext.Value(nil), args...)
	if err := v.Canonicalize(); err != nil {
		v = append(jsontext.Value("not canonical: "), args...)
	}
	return sha256.Sum256(v)
}
