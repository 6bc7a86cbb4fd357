package talk

import (
	"maps"
	"slices"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/methods"
)

// subscription is what a client of the modern era listens to.
type subscription struct {
	r     *Request
	lists map[string]bool // tools, prompts, resources
	uris  map[string]bool
	tell  chan message.Message // in order, until the request is over
}

// Bounds of what a client may watch, and how much it may leave unread.
const (
	maxURIs   = 256
	maxUnread = 256
)

// Lists are what a client can be told the changes of.
var Lists = [...]string{"tools", "prompts", "resources"}

// listen answers subscriptions/listen: it is open until the client ends it.
func (t *Talk) listen(r *Request) {
	want, err := message.Members(r.Params.Get("notifications"))
	if err != nil {
		r.Fail(message.CodeInvalidParams, "subscriptions/listen needs the notifications it is about")
		return
	}
	s := &subscription{r: r, lists: map[string]bool{}, uris: map[string]bool{}, tell: make(chan message.Message, maxUnread)}
	var taken message.Object
	for _, l := range Lists {
		if string(want.Get(l+"ListChanged")) == "true" {
			taken = append(taken, message.Own(l+"ListChanged", []byte("true")))
			s.lists[l] = true
		}
	}
	if v := want.Get("resourceSubscriptions"); v != nil {
		all, err := message.Elements(v)
		if err != nil || len(all) > maxURIs {
			r.Fail(message.CodeInvalidParams, "resourceSubscriptions is no list, or too long")
			return
		}
		for _, one := range all {
			if uri, ok := message.Text(one); ok {
				s.uris[uri] = true
			}
		}
		taken = append(taken, message.Own("resourceSubscriptions", v))
	}
	key := r.key
	t.mu.Lock()
	if t.subs[key] = s; t.quiet { // it had said all it had to say before this was begun
		r.cancel(errCancelled)
	}
	t.mu.Unlock()
	t.note(s, "notifications/subscriptions/acknowledged", message.Object{message.Own("notifications", taken.Bytes())})
	if len(s.uris) > 0 {
		go t.watch()
	}
	go t.telling(s, key)
}

// telling sends what a subscription is told, until the client ends it.
func (t *Talk) telling(s *subscription, key string) {
	defer func() {
		t.mu.Lock()
		if t.subs[key] == s { // the id may be in use again by now
			delete(t.subs, key)
		}
		t.mu.Unlock()
		if len(s.uris) > 0 {
			t.watch()
		}
	}()
	for {
		select {
		case m := <-s.tell:
			s.r.Out(m)
		case <-s.r.Ctx.Done():
			s.r.Own(nil)
			return
		}
	}
}

// note queues one notification of a subscription. Who reads nothing loses the
// newest.
func (t *Talk) note(s *subscription, method string, o message.Object) {
	o, err := o.Rewrite(message.Own(message.MetaSubscription, []byte(s.r.ID)))
	if err != nil {
		return
	}
	select {
	case s.tell <- message.Message{Kind: message.Notification, Method: method, Params: o.Bytes()}:
	default:
	}
}

// Changed tells the client that a list is another one.
func (t *Talk) Changed(list string) {
	t.mu.Lock()
	legacy := t.legacy != nil
	var subs []*subscription
	for _, s := range t.subs {
		if s.lists[list] {
			subs = append(subs, s)
		}
	}
	t.mu.Unlock()
	method := "notifications/" + list + "/list_changed"
	if legacy {
		t.send(message.Message{Kind: message.Notification, Method: method})
	}
	for _, s := range subs {
		t.note(s, method, nil)
	}
}

// Updated tells the client of a resource that it watches.
func (t *Talk) Updated(uri string) {
	t.mu.Lock()
	legacy := t.uris[uri]
	var subs []*subscription
	for _, s := range t.subs {
		if s.uris[uri] {
			subs = append(subs, s)
		}
	}
	t.mu.Unlock()
	o := message.Object{message.OwnText("uri", uri)}
	if legacy {
		t.send(message.Message{Kind: message.Notification, Method: "notifications/resources/updated", Params: o.Bytes()})
	}
	for _, s := range subs {
		t.note(s, "notifications/resources/updated", o)
	}
}

// watchOne answers resources/subscribe and resources/unsubscribe.
func (t *Talk) watchOne(r *Request) {
	uri, on := r.Params.Text("uri"), r.Method == "resources/subscribe"
	t.mu.Lock()
	if on && len(t.uris) >= maxURIs || uri == "" {
		t.mu.Unlock()
		r.Fail(message.CodeInvalidParams, "no uri, or too many are watched")
		return
	}
	if t.uris[uri] = true; !on {
		delete(t.uris, uri)
	}
	t.mu.Unlock()
	if err := t.watch(); err != nil {
		r.Fail(message.CodeInvalidParams, err.Error())
		return
	}
	r.Result([]byte("{}"))
}

// watch tells what the client watches now.
func (t *Talk) watch() error {
	t.mu.Lock()
	uris := maps.Clone(t.uris)
	for _, s := range t.subs {
		maps.Copy(uris, s.uris)
	}
	t.mu.Unlock()
	return t.opt.Watch(slices.Sorted(maps.Keys(uris)))
}

// Logged tells a legacy client a log message that belongs to no request, where
// it wants such ones.
func (t *Talk) Logged(params []byte) { t.log(nil, "", params) }

// Log tells a client a log message that belongs to its request. level is the
// one that a modern request named.
func (r *Request) Log(level string, params []byte) { r.t.log(r, level, params) }

func (t *Talk) log(r *Request, level string, params []byte) {
	o, err := message.Members(params)
	if err != nil {
		return
	}
	t.mu.Lock()
	legacy, from := t.legacy != nil, 0
	if legacy {
		from = t.legacy.level
	}
	t.mu.Unlock()
	out := t.send
	switch {
	case r != nil && r.Modern:
		if from = methods.Level(level); from < 0 {
			return // it wants none
		}
		out = r.Out
	case r != nil:
		out = r.Out
	case !legacy:
		return
	}
	if methods.Level(o.Text("level")) >= from {
		out(message.Message{Kind: message.Notification, Method: "notifications/message", Params: params})
	}
}

// Level is which log messages a legacy client wants, "" for all.
func (t *Talk) Level() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.legacy == nil {
		return ""
	}
	return methods.Levels[t.legacy.level]
}
