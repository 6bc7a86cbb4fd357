package upstream

import (
	"context"
	"errors"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

var _ Sink = (*Conn)(nil)

// Odd implements [Sink].
func (c *Conn) Odd(o Oddity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.odd[o]++
	if o != Long {
		return
	}
	// Which call a line belonged to that is above the bound cannot be told.
	// The one that has waited longest is the likeliest.
	var first *call
	for _, k := range c.calls {
		if !k.r.endless && k.paused == 0 && (first == nil || k.seq < first.seq) {
			first = k
		}
	}
	if first != nil {
		delete(c.calls, string(first.id))
		first.finish(nil, ErrLong)
	}
}

// Fail implements [Sink].
func (c *Conn) Fail(id message.ID, err error) {
	if k := c.take(id); k != nil {
		k.finish(nil, err)
	}
}

// Receive implements [Sink].
func (c *Conn) Receive(m message.Message, about message.ID) {
	switch m.Kind {
	case message.Response:
		c.answered(m)
	case message.Request:
		c.asked(m, about)
	case message.Notification:
		c.told(m, about)
	}
}

func (c *Conn) answered(m message.Message) {
	k := c.take(m.ID)
	if k == nil {
		c.Odd(Unasked)
		return
	}
	if m.Error != nil {
		k.finish(nil, m.Error)
		return
	}
	k.finish(m.Result, nil)
}

// asked answers a request of a legacy server. A modern one has no right to
// any, and gets no answer (MCP 2026-07-28, stdio: no responses by the client).
func (c *Conn) asked(m message.Message, about message.ID) {
	if c.Era() != EraLegacy {
		c.Odd(Barred)
		return
	}
	if m.Method == "ping" {
		c.replySoon(message.Message{Kind: message.Response, ID: m.ID, Result: []byte("{}")})
		return
	}
	c.mu.Lock()
	k := c.owner(about)
	_, twice := c.asking[m.ID.Key()]
	if c.ended != nil || twice || len(c.asking) >= maxAsking {
		c.odd[Barred]++
		c.mu.Unlock()
		c.replySoon(refusal(m.ID, message.CodeInternal, "too many requests at once, or one id twice"))
		return
	}
	from := context.Background()
	if k != nil && k.r.Input != nil {
		from = k.ctx
		k.pause()
	} else {
		k = nil
	}
	ctx, cancel := context.WithCancel(from)
	c.asking[m.ID.Key()] = cancel
	c.mu.Unlock()
	go c.answerServer(ctx, cancel, k, m)
}

func (c *Conn) answerServer(ctx context.Context, cancel context.CancelFunc, k *call, m message.Message) {
	defer cancel()
	a := c.input(ctx, k, Ask{Key: "1", Method: m.Method, Params: m.Params})
	c.mu.Lock()
	delete(c.asking, m.ID.Key())
	if k != nil && c.calls[string(k.id)] == k {
		k.resume()
	}
	withdrawn := ctx.Err() != nil
	c.mu.Unlock()
	switch {
	case withdrawn: // the server takes no answer any more, or the call is over
	case a.Err != nil:
		if a.Err.Code == message.CodeMethodNotFound {
			c.Odd(Barred)
		}
		c.reply(message.Message{Kind: message.Response, ID: m.ID, Error: a.Err})
	default:
		c.reply(message.Message{Kind: message.Response, ID: m.ID, Result: a.Result})
	}
}

// input finds who answers.
func (c *Conn) input(ctx context.Context, k *call, ask Ask) Answer {
	if k == nil {
		if c.opt.Events.Ask == nil {
			return Answer{Err: &message.Error{Code: message.CodeMethodNotFound, Message: ask.Method + " is not offered"}}
		}
		return c.opt.Events.Ask(ctx, ask)
	}
	answers, err := k.r.Input(ctx, []Ask{ask})
	if err != nil {
		var e *message.Error
		if errors.As(err, &e) {
			return Answer{Err: e}
		}
		return Answer{Err: &message.Error{Code: message.CodeInternal, Message: err.Error()}}
	}
	if len(answers) != 1 {
		return Answer{Err: &message.Error{Code: message.CodeInternal, Message: "nobody answered"}}
	}
	return answers[0]
}

func refusal(id message.ID, code int, why string) message.Message {
	return message.Message{Kind: message.Response, ID: id, Error: &message.Error{Code: code, Message: why}}
}

// maxReplies bounds the answers of ours that wait for a server to read them.
const maxReplies = 64

// replySoon sends a response without holding up the reader.
func (c *Conn) replySoon(m message.Message) {
	if c.replies.Add(1) > maxReplies {
		c.replies.Add(-1)
		c.Odd(Barred)
		return
	}
	go func() {
		defer c.replies.Add(-1)
		c.reply(m)
	}()
}

// reply sends a response. What cannot be sent is lost with the connection.
func (c *Conn) reply(m message.Message) {
	ctx, cancel := context.WithTimeout(context.Background(), DefaultTimeout)
	defer cancel()
	_ = c.t.Send(ctx, Outgoing{Message: m})
}

// told takes a notification.
func (c *Conn) told(m message.Message, about message.ID) {
	switch m.Method {
	case "notifications/progress":
		c.progress(m)
	case "notifications/message":
		c.log(m, about)
	case "notifications/tools/list_changed":
		c.changed("tools")
	case "notifications/prompts/list_changed":
		c.changed("prompts")
	case "notifications/resources/list_changed":
		c.changed("resources")
	case "notifications/resources/updated":
		if o, err := message.Members(m.Params); err == nil && c.opt.Events.Updated != nil {
			c.opt.Events.Updated(o.Text("uri"))
		}
	case "notifications/subscriptions/acknowledged":
		c.acknowledged(m)
	case "notifications/cancelled":
		c.withdrawn(m)
	default:
		c.Odd(Barred)
	}
}

func (c *Conn) changed(list string) {
	if c.opt.Events.Changed != nil {
		c.opt.Events.Changed(list)
	}
}

// progress passes on what belongs to a call in flight. The token is our id; it
// stays behind.
func (c *Conn) progress(m message.Message) {
	o, err := message.Members(m.Params)
	if err != nil {
		c.Odd(Barred)
		return
	}
	c.mu.Lock()
	k := c.calls[message.ID(o.Get("progressToken")).Key()]
	if k == nil || k.r.Progress == nil {
		c.odd[Unasked]++
		c.mu.Unlock()
		return
	}
	k.lively()
	c.mu.Unlock()
	if o, err = o.Without(func(name string) bool { return name == "progressToken" }).Rewrite(); err == nil {
		k.r.Progress(o.Bytes())
	}
}

func (c *Conn) log(m message.Message, about message.ID) {
	params, err := message.Rewrite(m.Params)
	if err != nil {
		c.Odd(Barred)
		return
	}
	c.mu.Lock()
	k := c.owner(about)
	c.mu.Unlock()
	switch {
	case k != nil && k.r.Log != nil:
		k.r.Log(params)
	case k != nil && c.Era() == EraModern: // not asked for
	case c.opt.Events.Log != nil:
		c.opt.Events.Log(params)
	}
}

// withdrawn: a legacy server takes back a request of its own, a modern one
// ends a subscription.
func (c *Conn) withdrawn(m message.Message) {
	o, err := message.Members(m.Params)
	if err != nil {
		c.Odd(Barred)
		return
	}
	id := message.ID(o.Get("requestId"))
	if c.Era() == EraModern {
		c.mu.Lock()
		k := c.calls[id.Key()]
		ours := k != nil && k.r.endless
		if ours {
			delete(c.calls, id.Key())
		} else {
			c.odd[Barred]++
		}
		c.mu.Unlock()
		if ours {
			k.finish(nil, errWithdrawn)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.asking[id.Key()]; cancel != nil {
		cancel()
	}
}

var errWithdrawn = errors.New("the server ended the subscription")
