package mcp

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// input answers what a server asks back for within a call: each by what the
// server was granted and what the client can (contract Y119).
func (w *work) input(ctx context.Context, conf *servers.Server, asks []upstream.Ask) ([]upstream.Answer, error) {
	r, err := w.wanted(ctx)
	if err != nil {
		return nil, err
	}
	answers := make([]upstream.Answer, 0, len(asks))
	var pass []upstream.Ask
	for _, a := range asks {
		who, why := w.answerer(r, conf, a)
		switch {
		case why != "":
			answers = append(answers, upstream.Answer{Key: a.Key, Err: &message.Error{Code: message.CodeMethodNotFound, Message: why}})
		case who == servers.Granted:
			answers = append(answers, upstream.Answer{Key: a.Key, Result: w.c.fleet.Roots(conf)})
		default:
			pass = append(pass, upstream.Ask{Key: a.Key, Method: a.Method, Params: w.c.d.introduced(conf.Name, a)})
		}
	}
	if len(pass) == 0 {
		return answers, nil
	}
	var got []upstream.Answer
	if r.Modern {
		got, err = w.ask(ctx, pass)
	} else {
		got, err = w.c.askLegacy(ctx, r, pass)
	}
	return append(answers, got...), err
}

// answerer says who answers, or why nobody does.
func (w *work) answerer(r *talk.Request, conf *servers.Server, a upstream.Ask) (servers.Answerer, string) {
	g := &conf.Guard
	var who servers.Answerer
	capability, part := "", ""
	switch a.Method {
	case "roots/list":
		who, capability = g.Roots, "roots"
	case "sampling/createMessage":
		who, capability = g.Sampling, "sampling"
	case "elicitation/create":
		who, capability, part = g.Elicitation, "elicitation", "form"
		if o, err := message.Members(a.Params); err == nil && o.Text("mode") == "url" {
			part = "url"
			if u, err := url.Parse(o.Text("url")); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
				return 0, "an address that a person is to open is one of http or https"
			}
		}
	default:
		return 0, a.Method + " is not offered"
	}
	switch {
	case who == servers.Nobody:
		return 0, a.Method + " was not granted to this server; x-guard.asks in mcp.json grants it"
	case who == servers.Granted:
		return who, ""
	case !r.Can(capability, part):
		return 0, "the client does not offer " + capability
	}
	return who, ""
}

// introduced is what a server asks, masked, with the server's name before the
// text that a person sees, so that no server speaks as another or as Reeve.
func (d *Door) introduced(name string, a upstream.Ask) []byte {
	if a.Params == nil {
		return nil
	}
	o, err := message.Members(a.Params)
	if err != nil {
		return a.Params
	}
	if o, err = o.Rewrite(); err != nil {
		return []byte("{}")
	}
	if a.Method == "elicitation/create" {
		o = o.Set(message.OwnText("message", "The MCP server "+name+" asks: "+o.Text("message")))
	}
	return d.clean(o.Bytes())
}

// askLegacy asks a client of the legacy era, one question at a time.
func (c *Conversation) askLegacy(ctx context.Context, r *talk.Request, asks []upstream.Ask) ([]upstream.Answer, error) {
	var answers []upstream.Answer
	for _, a := range asks {
		m, err := c.Ask(ctx, r, a.Method, a.Params)
		if err != nil {
			return nil, err
		}
		answers = append(answers, upstream.Answer{Key: a.Key, Result: m.Result, Err: m.Error})
	}
	return answers, nil
}

// Times of asking a person.
const (
	beatEvery = 10 * time.Second
	tooFast   = 700 * time.Millisecond // no person reads and answers in that time
)

// watchQuestions shows the questions about calls of this conversation to its
// client: those that wait are told that they do, and a client that can ask its
// person is given the question beside Reeve's own faces.
func (c *Conversation) watchQuestions() {
	for c.Life().Err() == nil {
		events, pending, stop := c.d.Broker.Watch(false)
		for _, q := range pending {
			c.questioned(approval.Event{Question: q, State: approval.Pending})
		}
		c.each(events)
		stop()
	}
}

// each takes events until the conversation ends or it has fallen behind.
func (c *Conversation) each(events <-chan approval.Event) {
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			c.questioned(e)
		case <-c.Life().Done():
			return
		}
	}
}

func (c *Conversation) questioned(e approval.Event) {
	c.mu.Lock()
	w := c.works[e.Question.Call]
	c.mu.Unlock()
	if w == nil {
		return
	}
	w.mu.Lock()
	already := w.beating
	w.beating = e.State == approval.Pending
	begins := w.beating && !already
	w.mu.Unlock()
	if begins {
		go w.wait(e.Question)
	}
}

// wait tells the client every few seconds that a person is asked, until the
// question has expired or the call is over, and asks the client's own person
// once.
func (w *work) wait(q approval.Question) {
	ctx, cancel := context.WithDeadline(w.ctx, q.Expires)
	defer cancel()
	text := "waiting for a person to decide: " + q.Operation + " (reeve approvals)"
	w.beat(text)
	if w.c.d.Elicit && !w.c.who.Contained {
		go w.elicit(ctx, q)
	}
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		settled := !w.beating
		w.mu.Unlock()
		if settled {
			return
		}
		w.beat(text)
	}
}

// elicit puts the question to the client's own person. A cancellation, and an
// answer that came faster than a person answers, decide nothing: a client
// without a person gives those.
func (w *work) elicit(ctx context.Context, q approval.Question) {
	r := w.waiting()
	if r == nil || !r.Can("elicitation", "form") {
		return
	}
	ask := upstream.Ask{Key: "reeve_decision", Method: "elicitation/create", Params: question(q)}
	asked := w.c.d.Now()
	var said []byte
	if r.Modern {
		answers, err := w.ask(ctx, []upstream.Ask{ask})
		if err != nil || len(answers) == 0 {
			return
		}
		said = answers[0].Result
	} else {
		m, err := w.c.Ask(ctx, r, ask.Method, ask.Params)
		if err != nil || m.Error != nil {
			return
		}
		said = m.Result
	}
	if w.c.d.Now().Sub(asked) < tooFast {
		return
	}
	if a, ok := decision(said); ok {
		// Where somebody else was faster, theirs is the answer.
		_ = w.c.d.Broker.Settle(q.ID, a)
	}
}

// question is an approval as a form: what would be done comes first, and no is
// what is chosen already.
func question(q approval.Question) []byte {
	const most = 2000
	text := fmt.Sprintf("Reeve asks before it lets this call through.\n\n%s\nWhy: %s\nRisk: %s\nArguments: %s", q.Operation, q.Reason, q.Risk, q.Preview)
	if len(text) > most {
		text = fmt.Sprintf("%s… (%d bytes; reeve approvals shows all of it)", message.Clip(text, most), len(text))
	}
	return message.Object{message.OwnText("mode", "form"), message.OwnText("message", text),
		message.Own("requestedSchema", []byte(`{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["deny","allow once"],"default":"deny"}},"required":["decision"]}`))}.Bytes()
}

// decision reads what a client's person said; false: nothing.
func decision(said []byte) (approval.Answer, bool) {
	o, err := message.Members(said)
	if err != nil {
		return approval.Answer{}, false
	}
	content, _ := message.Members(o.Get("content"))
	no := approval.Answer{State: approval.Denied, Scope: approval.Once, By: "elicitation"}
	switch o.Text("action") {
	case "accept":
		if content.Text("decision") == "allow once" {
			return approval.Answer{State: approval.Allowed, Scope: approval.Once, By: "elicitation"}, true
		}
		return no, content.Text("decision") == "deny"
	case "decline":
		return no, true
	}
	return approval.Answer{}, false
}
