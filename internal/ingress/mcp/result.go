package mcp

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/results"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/server"
)

// keep keeps what is too long to be given at once.
func (c *Conversation) keep(text string) string {
	id := c.d.Kept.Put(c.who.Session, text, c.d.Now())
	c.mu.Lock()
	first := id != "" && !c.kept
	c.kept = c.kept || first
	c.mu.Unlock()
	if first && c.who.Filter.Alone != "" { // what reads on is in its list from now on
		c.Changed("tools")
	}
	return id
}

// deliver gives the client a server's result: masked by the kernel, bounded,
// marked, in the form of the client's era.
func (c *Conversation) deliver(w *work, u *use, result []byte) {
	o, err := message.Members(result)
	if err != nil {
		w.fail(&message.Error{Code: message.CodeInternal, Message: "the result cannot be read: " + err.Error()})
		return
	}
	if u.marked {
		o = results.Mark(o, "the MCP server "+u.server, c.keep)
	}
	if n := len(o.Bytes()); n > results.MaxWhole || u.marked && len(o.Get("structuredContent")) > results.MaxText {
		id := c.keep(string(result))
		o = message.Object{message.Own("content", message.Texts(fmt.Sprintf("The result has %d bytes, too many to be given at once. %s", n, results.ReadOn(id, 0)))), message.Own("isError", []byte("true"))}
		if !u.marked {
			w.fail(&message.Error{Code: message.CodeInternal, Message: fmt.Sprintf("the answer has %d bytes; at most %d are passed on", n, results.MaxWhole)})
			return
		}
	}
	r := w.waiting()
	modern := r != nil && r.Modern
	switch {
	case !modern:
		o = o.Without(func(n string) bool { return n == "resultType" })
		if o, err = o.Rewrite(); err == nil {
			w.result(o.Bytes())
			return
		}
	case w.method == "resources/read" && o.Get("ttlMs") == nil:
		o = append(o, message.Own("ttlMs", []byte("0")), message.OwnText("cacheScope", "private"))
	}
	w.result(c.Form(o).Bytes())
}

// shared is what a modern server is told that the client can do: what the
// server was granted and the client has.
func shared(conf *servers.Server, r *talk.Request) []byte {
	g := &conf.Guard
	var o message.Object
	if g.Roots == servers.Granted {
		o = append(o, message.Own("roots", []byte("{}")))
	} else if v := r.Caps.Get("roots"); v != nil && g.Roots == servers.Client {
		o = append(o, message.Own("roots", v))
	}
	if v := r.Caps.Get("sampling"); v != nil && g.Sampling == servers.Client {
		o = append(o, message.Own("sampling", v))
	}
	if v := r.Caps.Get("elicitation"); v != nil && g.Elicitation == servers.Client {
		o = append(o, message.Own("elicitation", v))
	}
	return o.Bytes()
}

// ownTool answers a call of one of the gateway's own tools, which go through
// the kernel like any other.
func (c *Conversation) ownTool(r *talk.Request, name string, args []byte) {
	a, err := message.Members(args)
	if err != nil {
		r.Fail(message.CodeInvalidParams, name+" needs its arguments")
		return
	}
	act := map[string]func(message.Object) (string, error){results.ToolRead: c.readResult, toolSearch: c.searchTools}[name]
	if act == nil {
		r.Fail(message.CodeInvalidParams, "unknown tool: "+message.Clip(name, 200))
		return
	}
	w := c.begin(r)
	u := &use{server: server.Own, name: server.Name(server.Own, strings.TrimPrefix(name, server.Own+"__")), args: args, marked: true}
	var text string
	forget := c.d.Tools.Give(w.id, func(_ context.Context, call tool.Call) reeve.Result {
		if err := call.Permit.Spend(call.Digest); err != nil {
			return tool.Denied(err.Error())
		}
		if text, err = act(a); err != nil {
			return tool.Failed("%v", err)
		}
		return reeve.Result{Status: reeve.StatusSuccess}
	})
	defer forget()
	d, res := c.d.Kernel.Do(w.ctx, c.invocation(w, u))
	if res.Status != reeve.StatusSuccess {
		w.result(c.form(w, refusal(d, res)))
		return
	}
	o := message.Object{message.Own("content", message.Texts(c.d.Clean.Text(text)))}
	w.result(c.form(w, results.Mark(o, "where it was read", c.keep)))
}

func (c *Conversation) readResult(a message.Object) (string, error) {
	offset, err := strconv.Atoi(string(a.Get("offset")))
	if err != nil && a.Get("offset") != nil || offset < 0 {
		return "", fmt.Errorf("offset is no whole number")
	}
	id := a.Text("id")
	part, total, err := c.d.Kept.Get(c.who.Session, id, offset, results.MaxText-1000, c.d.Now())
	if err != nil {
		return "", err
	}
	if end := offset + len(part); end < total {
		return fmt.Sprintf("%s\n[bytes %d to %d of %d; %s]", part, offset, end, total, results.ReadOn(id, end)), nil
	}
	return part, nil
}

func (c *Conversation) searchTools(a message.Object) (string, error) {
	v, err := c.look(c.Life(), false)
	if err != nil {
		return "", err
	}
	return string(v.search(a.Text("query"))), nil
}
