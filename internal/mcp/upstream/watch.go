package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// watcher is what a connection wants to be told of.
type watcher struct {
	mu   sync.Mutex // one change at a time; guards what follows
	uris []string   // resources that are subscribed to
	stop context.CancelFunc
}

// MaxSubscriptions bounds the resources that one connection watches.
const MaxSubscriptions = 256

// Offers reports whether the server has a capability, and within it a switch
// that is on; an empty switch asks for the capability alone.
func (i *Info) Offers(capability, on string) bool {
	v := i.Capabilities.Get(capability)
	if v == nil || v[0] != '{' {
		return false
	}
	if on == "" {
		return true
	}
	o, err := message.Members(v)
	return err == nil && string(o.Get(on)) == "true"
}

// Watch sets which resources the server tells the changes of, in place of
// those before. A modern server is asked to tell of its lists too; a legacy one
// does so unasked. Where the server offers neither, nothing is sent.
func (c *Conn) Watch(ctx context.Context, uris []string) error {
	if len(uris) > MaxSubscriptions {
		return fmt.Errorf("server %s: %d resources to watch; at most %d", c.opt.Name, len(uris), MaxSubscriptions)
	}
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	if !c.info.Offers("resources", "subscribe") {
		uris = nil
	}
	if c.Era() == EraLegacy {
		return c.subscribe(ctx, uris)
	}
	params := c.filter(uris)
	before := c.watch.stop
	c.watch.uris, c.watch.stop = slices.Clone(uris), nil
	var err error
	if params != nil {
		life, stop := context.WithCancel(c.life)
		c.watch.stop = stop
		began := make(chan error, 1)
		go c.listening(life, params, began)
		select {
		case err = <-began:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if before != nil {
		before()
	}
	return c.named(err)
}

// subscribe is called under watch.mu.
func (c *Conn) subscribe(ctx context.Context, uris []string) error {
	var errs []error
	ask := func(method, uri string) bool {
		_, err := c.Call(ctx, Request{Method: method, Params: message.Object{message.OwnText("uri", uri)}, Name: uri})
		if err != nil {
			errs = append(errs, err)
		}
		return err == nil
	}
	var now []string
	for _, uri := range c.watch.uris {
		if slices.Contains(uris, uri) || !ask("resources/unsubscribe", uri) {
			now = append(now, uri)
		}
	}
	for _, uri := range uris {
		if !slices.Contains(now, uri) && ask("resources/subscribe", uri) {
			now = append(now, uri)
		}
	}
	c.watch.uris = now
	return errors.Join(errs...)
}

// filter is what a modern server is asked to tell, or nil.
func (c *Conn) filter(uris []string) message.Object {
	var want message.Object
	for _, list := range [...]string{"tools", "prompts", "resources"} {
		if c.info.Offers(list, "listChanged") {
			want = append(want, message.Own(list+"ListChanged", []byte("true")))
		}
	}
	if len(uris) > 0 {
		list := []byte{'['}
		for i, uri := range uris {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, message.Quote(uri)...)
		}
		want = append(want, message.Own("resourceSubscriptions", append(list, ']')))
	}
	if want == nil {
		return nil
	}
	return message.Object{message.Own("notifications", want.Bytes())}
}

// Times between attempts to listen again, after a server ended a subscription.
const (
	againFirst = time.Second
	againMost  = time.Minute
)

// listening keeps one subscription alive until life ends. began gets how the
// first attempt went.
func (c *Conn) listening(life context.Context, params message.Object, began chan<- error) {
	wait := againFirst
	for first := true; ; first = false {
		start := time.Now()
		k, err := c.listen(life, params)
		if first {
			began <- err
		} else if err == nil {
			for _, list := range [...]string{"tools", "prompts", "resources"} {
				c.changed(list) // what happened meanwhile was not told
			}
		}
		var rejected *message.Error
		if errors.As(err, &rejected) {
			return // it offers none
		}
		if err == nil {
			<-k.done
		}
		if life.Err() != nil || c.Ended() != nil {
			return
		}
		if time.Since(start) > againMost {
			wait = againFirst
		}
		select {
		case <-time.After(wait):
		case <-life.Done():
			return
		}
		wait = min(2*wait, againMost)
	}
}

// listen opens a subscription and waits until the server has taken it.
func (c *Conn) listen(life context.Context, params message.Object) (*call, error) {
	k, err := c.begin(life, &Request{Method: "subscriptions/listen", endless: true})
	if err != nil {
		return nil, err
	}
	if err := c.send(life, k, slices.Clone(params)); err != nil {
		if c.take(k.id) != nil {
			k.finish(nil, err)
		}
		return nil, err
	}
	go func() {
		select {
		case <-k.done:
		case <-life.Done():
			if c.take(k.id) != nil {
				k.finish(nil, life.Err())
				c.t.Cancel(k.id, "no longer wanted")
			}
		}
	}()
	timer := time.NewTimer(DefaultTimeout)
	defer timer.Stop()
	select {
	case <-k.acked:
		return k, nil
	case <-k.done:
		if k.err == nil {
			return nil, errWithdrawn
		}
		return nil, k.err
	case <-timer.C:
		if c.take(k.id) != nil {
			k.finish(nil, ErrLate)
			c.t.Cancel(k.id, "time-out")
		}
		return nil, ErrLate
	}
}

// acknowledged: the server has taken a subscription.
func (c *Conn) acknowledged(m message.Message) {
	meta, err := message.Meta(m.Params)
	if err != nil {
		c.Odd(Barred)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.calls[message.ID(meta.Get(message.MetaSubscription)).Key()]
	if k == nil || k.acked == nil {
		c.odd[Unasked]++
		return
	}
	select {
	case <-k.acked:
	default:
		close(k.acked)
	}
}
