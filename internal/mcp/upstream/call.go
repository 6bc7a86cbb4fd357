package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Request is one call of a server.
type Request struct {
	Method       string
	Params       message.Object // the protocol's own keys of its _meta are dropped and written anew
	Name         string         // see [Outgoing]
	Headers      []Header
	Capabilities []byte // for this request, to a modern server; nil = the connection's
	LogLevel     string // for this request, to a modern server; empty = none

	Timeout time.Duration // silence that is borne; 0 = DefaultTimeout
	Limit   time.Duration // in all, for each round; 0 = DefaultLimit

	// Progress and Log take what the server tells while it works; they may not
	// block. With Progress set the call has a progress token, and the params
	// come without it.
	Progress func(params []byte)
	Log      func(params []byte)

	// Input answers what the server asks back for. It may block until ctx
	// ends; meanwhile the call's time stands still. nil = it may ask nothing.
	Input func(ctx context.Context, asks []Ask) ([]Answer, error)

	endless bool // subscriptions/listen
}

func (r *Request) quiet() time.Duration {
	if r.Timeout > 0 {
		return r.Timeout
	}
	return DefaultTimeout
}

func (r *Request) limit() time.Duration {
	if r.Limit > 0 {
		return r.Limit
	}
	return DefaultLimit
}

// Ask is one thing a server asks back for.
type Ask struct {
	Key    string // the server's name for it, within one round
	Method string // elicitation/create, sampling/createMessage, roots/list
	Params []byte // an object, or nil
}

// Answer is what it gets: a result, or for a legacy server an error.
type Answer struct {
	Key    string
	Result []byte
	Err    *message.Error
}

// mayAskBack are the requests that a modern server may answer by asking (MCP
// 2026-07-28, multi round-trip requests).
var mayAskBack = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// Call makes one request and returns the result as the server wrote it. The
// error is a [*message.Error] where the server answered with one, a [*Gone]
// where the connection ended, the error of ctx where that ended; none of them
// says that the server did nothing.
func (c *Conn) Call(ctx context.Context, r Request) ([]byte, error) {
	result, err := c.rounds(ctx, r)
	return result, c.named(err)
}

func (c *Conn) rounds(ctx context.Context, r Request) ([]byte, error) {
	params := r.Params
	for round := 0; ; round++ {
		result, err := c.once(ctx, &r, params)
		if err != nil || c.Era() != EraModern {
			return result, err
		}
		o, err := message.Members(result)
		if err != nil {
			return nil, fmt.Errorf("read its result: %w", err)
		}
		switch kind := o.Text("resultType"); {
		case kind == "complete" || kind == "" && o.Get("resultType") == nil:
			return result, nil
		case kind != "input_required":
			return nil, errors.New("its result is of a type that is not known")
		case !mayAskBack[r.Method] || r.Input == nil:
			return nil, fmt.Errorf("it asks back where it may not (%s)", r.Method)
		case round >= MaxRounds:
			return nil, fmt.Errorf("it asked back %d times and wants more", MaxRounds)
		}
		if params, err = c.nextRound(ctx, &r, o); err != nil {
			return nil, err
		}
	}
}

// nextRound gets the answers and makes the params that carry them.
func (c *Conn) nextRound(ctx context.Context, r *Request, result message.Object) (message.Object, error) {
	asks, err := asksOf(result.Get("inputRequests"))
	if err != nil {
		return nil, fmt.Errorf("read what it asks back for: %w", err)
	}
	state := result.Get("requestState")
	if len(asks) == 0 && state == nil {
		return nil, errors.New("it asks back for nothing")
	}
	if state != nil && (state[0] != '"' || len(state) > maxState) {
		return nil, errors.New("its requestState is no text, or too long")
	}
	params := r.Params.Without(func(name string) bool { return name == "inputResponses" || name == "requestState" })
	if len(asks) > 0 {
		answers, err := r.Input(ctx, asks)
		if err != nil {
			return nil, err
		}
		var given message.Object
		for _, a := range answers {
			if a.Err != nil {
				return nil, fmt.Errorf("it asked for what it does not get: %s", a.Err.Message)
			}
			given = append(given, message.Own(a.Key, a.Result))
		}
		params = append(params, message.Own("inputResponses", given.Bytes()))
	}
	if state != nil {
		params = append(params, message.Own("requestState", state))
	}
	return params, nil
}

func asksOf(v []byte) ([]Ask, error) {
	if v == nil {
		return nil, nil
	}
	o, err := message.Members(v)
	if err != nil {
		return nil, err
	}
	if len(o) > maxAsks {
		return nil, fmt.Errorf("%d things at once; at most %d", len(o), maxAsks)
	}
	var asks []Ask
	for _, m := range o {
		one, err := message.Members(m.Value)
		if err != nil {
			return nil, err
		}
		a := Ask{Key: m.Name, Method: one.Text("method"), Params: one.Get("params")}
		if a.Method == "" || a.Params != nil && a.Params[0] != '{' {
			return nil, errors.New("one of them is no request")
		}
		asks = append(asks, a)
	}
	return asks, nil
}

// once sends one request and waits for its one end.
func (c *Conn) once(ctx context.Context, r *Request, params message.Object) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, err := c.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := c.send(ctx, k, params); err != nil {
		if c.take(k.id) != nil {
			k.finish(nil, err)
		}
		<-k.done
		return k.result, k.err
	}
	select {
	case <-k.done:
	case <-ctx.Done():
		if c.take(k.id) != nil {
			k.finish(nil, context.Cause(ctx))
			c.t.Cancel(k.id, "cancelled by the caller")
		}
		<-k.done
	}
	return k.result, k.err
}
