package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// work is one use of a server, which may outlive the request that it began
// with: where it asks a client of the modern era for input, that request is
// answered with the question, and another one brings the answer and waits on.
type work struct {
	c      *Conversation
	id     string // of the invocation
	ctx    context.Context
	cancel context.CancelCauseFunc
	method string
	same   []byte         // what a request that goes on with it must repeat
	level  string         // of log messages that the client wants with it
	actor  reeve.Actor    // who asks
	params message.Object // of the request it began with

	mu      sync.Mutex    // guards what follows
	r       *talk.Request // who waits for it; nil while it is parked
	state   string        // the word under which it is parked
	inputs  map[string]chan []byte
	timer   *time.Timer      // of a parked one
	back    chan struct{}    // closed when somebody waits again for a parked one
	over    *message.Message // its answer, which nobody waits for yet
	steps   int64            // progress that was told
	beating bool
}

// parkTime is how long a call waits for a client that was asked for input.
const parkTime = 10 * time.Minute

var errParked = errors.New("the client did not come back with what it was asked for")

// begin makes a piece of work of a request.
func (c *Conversation) begin(r *talk.Request) *work {
	w := &work{c: c, id: c.d.NewID(), method: r.Method, r: r, params: r.Params, same: repeated(r.Params), level: r.Meta.Text(message.MetaLogLevel), actor: c.actorOf(r)}
	w.ctx, w.cancel = context.WithCancelCause(c.Life())
	w.follow(r)
	c.mu.Lock()
	c.works[w.id] = w
	c.mu.Unlock()
	return w
}

// follow ends the work with a request, as long as that waits for it.
func (w *work) follow(r *talk.Request) {
	context.AfterFunc(r.Ctx, func() {
		w.mu.Lock()
		mine := w.r == r
		w.mu.Unlock()
		if mine {
			w.cancel(context.Cause(r.Ctx))
		}
	})
}

// repeated is what a request must say again to go on with a call, whatever the
// order of its members. What is sent to the server is what was judged.
func repeated(p message.Object) []byte {
	return message.Canonical(p.Without(func(name string) bool { return name == "_meta" || name == "inputResponses" || name == "requestState" }).Bytes())
}

// end gives the work's one answer to who waits for it, now or later.
func (w *work) end(m message.Message) {
	w.c.mu.Lock()
	delete(w.c.works, w.id)
	w.c.mu.Unlock()
	w.mu.Lock()
	r := w.r
	if r == nil && w.ctx.Err() == nil {
		w.over = &m // the client is still asking its person, and comes back
		w.mu.Unlock()
		return
	}
	w.r = nil
	w.mu.Unlock()
	w.unpark()
	w.cancel(nil)
	if r != nil {
		r.Answer(m)
	}
}

func (w *work) result(result []byte) {
	w.end(message.Message{Kind: message.Response, Result: result})
}

func (w *work) fail(e *message.Error) { w.end(message.Message{Kind: message.Response, Error: e}) }

// park answers the request that waits with what is asked, and keeps the work
// under a word that nobody can guess. It reports whether somebody waited.
func (w *work) park(asks []upstream.Ask) bool {
	var word [18]byte
	rand.Read(word[:])
	state := base64.RawURLEncoding.EncodeToString(word[:])
	w.c.mu.Lock()
	if len(w.c.parked) >= maxParked || w.c.quiet {
		w.c.mu.Unlock()
		return false
	}
	w.mu.Lock()
	r := w.r
	if r == nil {
		w.mu.Unlock()
		w.c.mu.Unlock()
		return false
	}
	w.r, w.state, w.back = nil, state, make(chan struct{})
	w.timer = time.AfterFunc(parkTime, func() { w.cancel(errParked); w.unpark() })
	w.c.parked[state] = w
	w.mu.Unlock()
	w.c.mu.Unlock()
	var in message.Object
	for _, a := range asks {
		one := message.Object{message.OwnText("method", a.Method)}
		if a.Params != nil {
			one = append(one, message.Own("params", a.Params))
		}
		in = append(in, message.Own(a.Key, one.Bytes()))
	}
	r.Result(w.c.Form(message.Object{message.OwnText("resultType", "input_required"),
		message.Own("inputRequests", in.Bytes()), message.OwnText("requestState", state)}).Bytes())
	return true
}

// unpark forgets where the work is parked.
func (w *work) unpark() {
	w.mu.Lock()
	state := w.state
	w.state = ""
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	if state != "" {
		w.c.mu.Lock()
		delete(w.c.parked, state)
		w.c.mu.Unlock()
	}
}

// resume lets a request wait for the work that it names, where it says the
// same as the request that began it. false: it names none.
func (c *Conversation) resume(r *talk.Request) bool {
	v := r.Params.Get("requestState")
	if v == nil {
		return false
	}
	state, _ := message.Text(v)
	c.mu.Lock()
	w := c.parked[state]
	c.mu.Unlock()
	if w == nil || !r.Modern {
		r.Fail(message.CodeInvalidParams, "the requestState is none of a call that waits here; begin the call again")
		return true
	}
	if w.method != r.Method || !bytes.Equal(w.same, repeated(r.Params)) {
		r.Fail(message.CodeInvalidParams, "the call that waits under this requestState is another one")
		return true
	}
	w.unpark()
	w.mu.Lock()
	if w.r != nil { // two at once with one word: the first has it
		w.mu.Unlock()
		r.Fail(message.CodeInvalidParams, "the requestState was used already")
		return true
	}
	over := w.over
	inputs := w.inputs
	w.inputs = nil
	if over == nil {
		w.r = r
		close(w.back)
	}
	w.mu.Unlock()
	if over != nil {
		w.cancel(nil)
		r.Answer(*over)
		return true
	}
	w.follow(r)
	given, _ := message.Members(r.Params.Get("inputResponses"))
	for key, ch := range inputs {
		ch <- given.Get(key) // each has room for one
	}
	return true
}

// ask puts questions to a client of the modern era and waits for its answers.
func (w *work) ask(ctx context.Context, asks []upstream.Ask) ([]upstream.Answer, error) {
	inputs := map[string]chan []byte{}
	for _, a := range asks {
		inputs[a.Key] = make(chan []byte, 1)
	}
	w.mu.Lock()
	w.inputs = inputs
	w.mu.Unlock()
	if !w.park(asks) {
		return nil, fmt.Errorf("nobody waits for the call any more, or %d calls wait for input already", maxParked)
	}
	var answers []upstream.Answer
	for _, a := range asks {
		select {
		case got := <-inputs[a.Key]:
			if got != nil { // what is missing is asked for again by who needs it
				answers = append(answers, upstream.Answer{Key: a.Key, Result: got})
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return answers, nil
}

// wanted is the request that waits for the work; where it is parked, the one
// that comes back for it.
func (w *work) wanted(ctx context.Context) (*talk.Request, error) {
	w.mu.Lock()
	r, back := w.r, w.back
	w.mu.Unlock()
	if r != nil {
		return r, nil
	}
	if back == nil {
		return nil, errors.New("nobody waits for the call any more")
	}
	select {
	case <-back:
		return w.wanted(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// waiting is the request that waits for the work, or nil.
func (w *work) waiting() *talk.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.r
}

// progress tells the client who waits how far it is, under its own token.
func (w *work) progress(params []byte) {
	r := w.waiting()
	if r == nil {
		return
	}
	token := r.Meta.Get(message.MetaProgress)
	if token == nil {
		return
	}
	o, err := message.Members(params)
	if err != nil {
		return
	}
	if o, err = message.Members(w.c.d.clean(o.Bytes())); err != nil {
		return
	}
	o = append(message.Object{message.Own("progressToken", token)}, o...)
	r.Out(message.Message{Kind: message.Notification, Method: "notifications/progress", Params: o.Bytes()})
}

// log tells the client what the server logs while it works.
func (w *work) log(server string, params []byte) {
	if r := w.waiting(); r != nil {
		r.Log(w.level, w.c.logOf(server, params))
	}
}

// beat tells who waits that a person is being asked.
func (w *work) beat(text string) {
	w.mu.Lock()
	w.steps++
	n := w.steps
	w.mu.Unlock()
	w.progress(message.Object{message.Own("progress", strconv.AppendInt(nil, n, 10)), message.OwnText("message", text)}.Bytes())
}

// clean masks the texts in what a server says beside its results, and makes seen
// what a terminal would obey: people read these. A member's name does not make
// its value a secret there: a form asks for a password, and does not hold one.
func (d *Door) clean(params []byte) []byte { return message.Strings(params, d.Clean.Show) }
