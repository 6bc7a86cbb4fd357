package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/fleet"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/methods"
	"github.com/reeve-gate/reeve/internal/mcp/results"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/server"
)

// use is one use of one server.
type use struct {
	server string
	name   string         // as the kernel has it
	args   []byte         // what is judged
	params message.Object // what is sent
	label  string         // of HTTP: the tool's or the prompt's name, or the URI
	item   *catalog.Item  // the definition that was judged; nil where none was
	marked bool           // its result is content for a model
}

// Deadlines of a question, by whether the client is kept waiting by progress:
// clients give up on a silent call after a minute.
const silentWait = 50 * time.Second

// callTool answers tools/call.
func (c *Conversation) callTool(r *talk.Request) {
	if c.resume(r) {
		return
	}
	name := r.Params.Text("name")
	args := r.Params.Get("arguments")
	switch {
	case args != nil && args[0] != '{':
		r.Fail(message.CodeInvalidParams, "arguments is no object")
		return
	case r.Params.Get("task") != nil:
		r.Fail(message.CodeInvalidParams, "no call is made as a task here: "+methods.Requests["tasks/get"].How)
		return
	}
	if strings.HasPrefix(name, server.Own+"__") && c.who.Filter.Alone == "" || name == results.ToolRead {
		if name != toolCall {
			c.ownTool(r, name, args)
			return
		}
		o, err := message.Members(args)
		if err != nil || o.Text("name") == "" {
			r.Fail(message.CodeInvalidParams, "name the tool to call")
			return
		}
		name, args = o.Text("name"), o.Get("arguments")
		params := slices.Clone(r.Params).Set(message.OwnText("name", name)).Without(func(n string) bool { return n == "arguments" })
		if args != nil {
			params = append(params, message.Own("arguments", args))
		}
		r.Params = params
	}
	e, err := c.tool(r.Ctx, name)
	if err != nil {
		r.Fail(message.CodeInvalidParams, c.d.Clean.Text(err.Error()))
		return
	}
	u := &use{server: e.Server, name: server.Name(e.Server, e.Item.Name), args: args, params: r.Params, label: e.Item.Name, item: &e.Item, marked: true}
	if e.Item.Name != name {
		u.params = slices.Clone(u.params).Set(message.OwnText("name", e.Item.Name))
	}
	c.run(c.begin(r), u)
}

// Mirrored holds the headers that HTTP repeats a tool's arguments in to the
// arguments (MCP 2026-07-28, custom headers from tool parameters).
func (c *Conversation) Mirrored(ctx context.Context, m message.Message, header func(name string) (string, bool)) error {
	params, err := message.Members(m.Params)
	if err != nil || m.Method != "tools/call" || strings.HasPrefix(params.Text("name"), server.Own+"__") {
		return err
	}
	e, err := c.tool(ctx, params.Text("name"))
	if err != nil {
		return nil // the call itself says so
	}
	def, err := message.Members(e.Item.Raw)
	if err != nil {
		return err
	}
	all, err := catalog.MirrorsOf(def.Get("inputSchema"))
	if err != nil {
		return err
	}
	args := params.Get("arguments")
	if args == nil {
		args = []byte("{}")
	}
	for i := range all {
		if sent, given := header(all[i].Header); !all[i].Matches(args, sent, given) {
			return fmt.Errorf("Mcp-Param-%s is not what the arguments say", all[i].Header)
		}
	}
	return nil
}

// tool finds what the client calls name: among what it is shown, what is
// hidden from it, and what is held back, which the kernel refuses with its
// reason.
func (c *Conversation) tool(ctx context.Context, name string) (catalog.Entry, error) {
	v, err := c.look(ctx, false)
	if err != nil {
		return catalog.Entry{}, err
	}
	if e, ok := v.whole.Find(catalog.Tools, name); ok {
		return e, nil
	}
	if v, err = c.look(ctx, true); err != nil {
		return catalog.Entry{}, err
	}
	if e, ok := v.whole.Find(catalog.Tools, name); ok {
		return e, nil
	}
	if e, ok := c.held(name); ok {
		return e, nil
	}
	on := c.who.Filter.Alone
	if on == "" {
		on, _, _ = strings.Cut(name, "__")
	}
	if err := v.missing[on]; err != nil { // a tool of it may well exist
		return catalog.Entry{}, fmt.Errorf("server %s could not be asked what it offers: %w", on, err)
	}
	return catalog.Entry{}, fmt.Errorf("unknown tool: %s", message.Clip(name, 200))
}

// held finds a definition that no client is shown.
func (c *Conversation) held(name string) (catalog.Entry, bool) {
	alone := c.who.Filter.Alone
	on := alone
	if on == "" {
		on, _, _ = strings.Cut(name, "__")
	}
	conf, err := c.d.Fleet.Server(on)
	if err != nil {
		return catalog.Entry{}, false
	}
	o := c.d.Fleet.Offer(&conf)
	if o == nil {
		return catalog.Entry{}, false
	}
	return catalog.NewView([]*catalog.Offer{o}, catalog.Filter{Alone: alone}).Find(catalog.Tools, name)
}

// getPrompt answers prompts/get.
func (c *Conversation) getPrompt(r *talk.Request) {
	if c.resume(r) {
		return
	}
	v, err := c.look(r.Ctx, false)
	if err != nil {
		r.Fail(message.CodeInternal, c.d.Clean.Text(err.Error()))
		return
	}
	name := r.Params.Text("name")
	e, ok := v.whole.Find(catalog.Prompts, name)
	if !ok {
		r.Fail(message.CodeInvalidParams, "unknown prompt: "+message.Clip(name, 200))
		return
	}
	c.other(r, e, message.OwnText("name", e.Item.Name))
}

// readResource answers resources/read.
func (c *Conversation) readResource(r *talk.Request) {
	if c.resume(r) {
		return
	}
	e, ok := c.resource(r)
	if ok {
		c.other(r, e, message.Member{})
	}
}

// resource finds the server of a URI, or answers that there is none.
func (c *Conversation) resource(r *talk.Request) (catalog.Entry, bool) {
	uri := r.Params.Text("uri")
	v, err := c.look(r.Ctx, false)
	if err != nil {
		r.Fail(message.CodeInternal, c.d.Clean.Text(err.Error()))
		return catalog.Entry{}, false
	}
	e, ok := v.whole.Resource(uri)
	switch {
	case ok:
		e.Item.Name = uri
		return e, true
	case c.who.Filter.Alone != "" && uri != "" && c.heldBack(uri):
		r.Fail(message.CodeInvalidParams, "this resource is held back; reeve mcp inspect "+c.who.Filter.Alone+" says why")
		return catalog.Entry{}, false
	case c.who.Filter.Alone != "" && uri != "": // it knows best what it has
		return catalog.Entry{Server: c.who.Filter.Alone, Shown: uri, Item: catalog.Item{Name: uri}}, true
	}
	code := message.CodeResourceNotFound
	if r.Modern {
		code = message.CodeInvalidParams
	}
	r.Answer(message.Message{Kind: message.Response, Error: &message.Error{Code: code, Message: "no server offers this resource",
		Data: message.Object{message.OwnText("uri", uri)}.Bytes()}})
	return catalog.Entry{}, false
}

// heldBack reports whether the one server that the client sees offers a resource
// in a definition that no client is shown, and in none that is.
func (c *Conversation) heldBack(uri string) bool {
	conf, err := c.d.Fleet.Server(c.who.Filter.Alone)
	if err != nil {
		return true
	}
	o := c.d.Fleet.Offer(&conf)
	if o == nil {
		return false
	}
	_, there := catalog.NewView([]*catalog.Offer{o}, catalog.Filter{Alone: conf.Name}).Resource(uri)
	return there
}

// complete answers completion/complete.
func (c *Conversation) complete(r *talk.Request) {
	ref, err := message.Members(r.Params.Get("ref"))
	v, verr := c.look(r.Ctx, false)
	if err != nil || verr != nil {
		r.Fail(message.CodeInvalidParams, "completion/complete needs a ref")
		return
	}
	var e catalog.Entry
	ok := false
	switch ref.Text("type") {
	case "ref/prompt":
		if e, ok = v.whole.Find(catalog.Prompts, ref.Text("name")); ok {
			ref = ref.Set(message.OwnText("name", e.Item.Name))
		}
	case "ref/resource":
		if e, ok = v.whole.Find(catalog.Templates, ref.Text("uri")); !ok {
			e, ok = v.whole.Resource(ref.Text("uri"))
		}
	}
	if !ok {
		r.Fail(message.CodeInvalidParams, "no server offers what the ref names")
		return
	}
	c.other(r, e, message.Own("ref", ref.Bytes()))
}

// other uses a server by a method that is none of its tools.
func (c *Conversation) other(r *talk.Request, e catalog.Entry, as message.Member) {
	params := r.Params
	if as.Name != "" {
		params = slices.Clone(params).Set(as)
	}
	judged := params.Without(func(name string) bool { return name == "_meta" })
	c.run(c.begin(r), &use{server: e.Server, name: server.Name(e.Server, r.Method), args: judged.Bytes(), params: params, label: e.Item.Name})
}

// run puts one use before the kernel and answers with what comes of it.
func (c *Conversation) run(w *work, u *use) {
	var fault *message.Error // what the server itself answered
	forget := c.d.Tools.Give(w.id, func(ctx context.Context, call tool.Call) reeve.Result {
		var r reeve.Result
		r, fault = c.send1(ctx, w, u, call)
		return r
	})
	defer forget()
	d, r := c.d.Kernel.Do(w.ctx, c.invocation(w, u))
	c.finish(w, u, d, r, fault)
	if !r.Open {
		return
	}
	// The client need not wait until the outcome is on the disk, as its intent
	// was before anything was sent. What is lost by a crash stands as unknown.
	r.Open, r.Data = false, nil
	if err := c.d.Kernel.Report(reeve.Unhurried(context.WithoutCancel(w.ctx)), w.id, r); err != nil && !errors.Is(err, reeve.ErrNotFound) {
		c.d.Log("the outcome of a call of %s could not be recorded: %v", u.name, err)
	}
}

// invocation is what the kernel judges.
func (c *Conversation) invocation(w *work, u *use) *reeve.Invocation {
	args := u.args
	if args == nil {
		args = []byte("{}")
	}
	inv := &reeve.Invocation{ID: w.id, Session: c.who.Session, Actor: w.actor, Channel: reeve.ChannelMCP, Origin: reeve.OriginAgent,
		Tool: u.name, Args: args, Contained: c.who.Contained, Askable: c.d.Askable, Again: true}
	r := w.waiting()
	if r == nil || r.Meta.Get(message.MetaProgress) == nil {
		inv.Deadline = c.d.Now().Add(silentWait)
	}
	return inv
}

// send1 is the hand of one call: it starts the server where need be, holds what
// it offers now to what was judged, and sends what was judged.
func (c *Conversation) send1(ctx context.Context, w *work, u *use, call tool.Call) (reeve.Result, *message.Error) {
	s, release, err := c.fleet.Use(ctx, u.server)
	if err != nil {
		return tool.Failed("%v", err), nil
	}
	defer release()
	if u.item != nil {
		o := c.d.Fleet.Offer(s.Conf)
		if o == nil {
			return tool.Denied("what server " + u.server + " offers is not known"), nil
		}
		if now, ok := o.Find(catalog.Tools, u.item.Name); !ok || now.Digest != u.item.Digest {
			return tool.Denied(fmt.Sprintf("the definition of %s has changed since it was listed, so that the call was not made; list the tools again, or see reeve mcp inspect %s", u.item.Name, u.server)), nil
		}
	}
	if err := call.Permit.Spend(call.Digest); err != nil {
		return tool.Denied(err.Error()), nil
	}
	result, err := s.Call(ctx, c.upstream(w, u, s, call.Args))
	var answered *message.Error
	switch {
	case errors.As(err, &answered):
		s.Works()
		return tool.Failed("server %s answered with an error: %s", u.server, answered.Error()), answered
	case err != nil:
		return tool.Failed("%v", err), nil
	}
	s.Works()
	return reeve.Result{Status: statusOf(result), Output: results.Gist(result), Data: result, Open: true}, nil
}

// upstream is the request as it goes to the server.
func (c *Conversation) upstream(w *work, u *use, s fleet.Used, judged []byte) upstream.Request {
	params := u.params
	if u.item != nil && u.args != nil && string(judged) != string(u.args) { // a person's hook has rewritten them
		params = slices.Clone(params).Set(message.Own("arguments", judged))
	}
	r := w.waiting()
	req := upstream.Request{Method: w.method, Params: params.Without(func(n string) bool { return n == "inputResponses" || n == "requestState" }), Name: u.label,
		Timeout: s.Conf.Guard.Call, Limit: s.Conf.Guard.Total, Log: func(p []byte) { w.log(s.Conf.Name, p) },
		Input: func(ctx context.Context, asks []upstream.Ask) ([]upstream.Answer, error) {
			return w.input(ctx, s.Conf, asks)
		}}
	if r != nil {
		req.Capabilities = shared(s.Conf, r)
		if r.Meta.Get(message.MetaProgress) != nil {
			req.Progress = w.progress
		}
	}
	if req.LogLevel = w.level; req.LogLevel == "" && (r == nil || !r.Modern) {
		req.LogLevel = c.Level()
	}
	if u.item != nil && s.Conf.URL != "" {
		req.Headers = mirrored(u.item.Raw, judged)
	}
	return req
}

// mirrored are the parameters that HTTP repeats in headers.
func mirrored(definition, args []byte) []upstream.Header {
	def, err := message.Members(definition)
	if err != nil {
		return nil
	}
	all, err := catalog.MirrorsOf(def.Get("inputSchema"))
	if err != nil {
		return nil
	}
	var out []upstream.Header
	for i := range all {
		if v, ok := all[i].Value(args); ok {
			out = append(out, upstream.Header{Name: all[i].Header, Value: v})
		}
	}
	return out
}

// finish answers with what came of it.
func (c *Conversation) finish(w *work, u *use, d reeve.Decision, r reeve.Result, fault *message.Error) {
	switch {
	case fault != nil && r.Status == reeve.StatusError:
		w.fail(c.passed(u, fault))
	case r.Data != nil:
		c.deliver(w, u, r.Data)
	case u.marked:
		w.result(c.form(w, refusal(d, r)))
	default:
		w.fail(&message.Error{Code: message.CodeInternal, Message: r.Error})
	}
}

// maxFault bounds the text of a server's error, and its data, in bytes.
const maxFault = 10_000

// passed is a server's own error as the client gets it: masked, bounded, and its
// text marked like a result where a model reads it.
func (c *Conversation) passed(u *use, fault *message.Error) *message.Error {
	e := &message.Error{Code: fault.Code, Message: c.d.Clean.Text(fault.Message)}
	if n := len(e.Message); n > maxFault {
		e.Message = fmt.Sprintf("%s… (%d bytes)", message.Clip(e.Message, maxFault), n)
	}
	if u.marked {
		e.Message = results.Around(e.Message, "the MCP server "+u.server)
	}
	if len(fault.Data) <= maxFault && fault.Data != nil {
		e.Data = c.d.Clean.JSON(fault.Data)
	}
	return e
}

// refusal is a result that tells a model why nothing came of its call, and
// what it can do.
func refusal(d reeve.Decision, r reeve.Result) message.Object {
	text := r.Error
	if d.Verdict != reeve.Allow || r.Status == reeve.StatusDenied {
		text = "Reeve did not let this call through: " + text + ". " + advice(d)
	}
	return message.Object{message.Own("content", message.Texts(text)), message.Own("isError", []byte("true"))}
}

func advice(d reeve.Decision) string {
	switch d.Rule {
	case "nobody answered":
		return "Tell the person; once they have answered (reeve approvals), make the same call again."
	case "a person said no":
		return "Do not try it again; find another way or ask the person what they want."
	}
	return "Trying it again changes nothing; find another way, or tell the person."
}

// form gives a result of our own the form of its era.
func (c *Conversation) form(w *work, o message.Object) []byte {
	if r := w.waiting(); r != nil && r.Modern {
		return c.Form(o).Bytes()
	}
	return o.Bytes()
}

// statusOf is how a tool says that it went.
func statusOf(result []byte) reeve.Status {
	o, err := message.Members(result)
	if err == nil && string(o.Get("isError")) == "true" {
		return reeve.StatusError
	}
	return reeve.StatusSuccess
}
