package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// LegacyVersions are the versions with a handshake that are spoken, newest
// first.
var LegacyVersions = []string{message.Legacy, "2025-06-18", "2025-03-26", "2024-11-05"}

// Open connects to a server and finds out what it speaks (MCP 2026-07-28,
// stdio, backward compatibility): server/discover first; where that is
// answered by anything but a modern server, or not in time, or the server ends
// on it, initialize with 2025-11-25 follows, on a fresh connection where the
// first one is silent or gone. What is Known is tried first, and forgotten
// where it does not hold.
func Open(ctx context.Context, o Options) (*Conn, error) {
	if o.Probe <= 0 {
		o.Probe = DefaultProbe
	}
	if o.Start <= 0 {
		o.Start = DefaultStart
	}
	if o.Capabilities == nil {
		o.Capabilities = []byte("{}")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Start, ErrLate)
	defer cancel()
	var none *unreached
	switch {
	case o.Only == EraLegacy:
		return o.legacy(ctx)
	case o.Only == EraModern:
		return o.modern(ctx, o.Start)
	case o.Known == EraLegacy:
		if c, err := o.legacy(ctx); err == nil || ctx.Err() != nil || errors.As(err, &none) {
			return c, err
		}
	case o.Known == EraModern:
		if c, err := o.modern(ctx, o.Start); err == nil || ctx.Err() != nil || errors.As(err, &none) {
			return c, err
		}
	}
	return o.probe(ctx)
}

func (o Options) connect(ctx context.Context) (*Conn, error) {
	c := newConn(o)
	if err := c.dial(ctx); err != nil {
		return nil, c.named(err)
	}
	return c, nil
}

func (o Options) legacy(ctx context.Context) (*Conn, error) {
	c, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.opened(c.initialize(ctx))
}

func (o Options) modern(ctx context.Context, wait time.Duration) (*Conn, error) {
	c, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.opened(c.discover(ctx, wait))
}

// opened gives the connection, or closes it where the handshake failed.
func (c *Conn) opened(err error) (*Conn, error) {
	if err != nil {
		c.Close()
		return nil, c.named(err)
	}
	c.t.Speak(c.version)
	return c, nil
}

func (o Options) probe(ctx context.Context) (*Conn, error) {
	c, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	err = c.discover(ctx, o.Probe)
	var (
		rejected *message.Error
		foreign  *Foreign
		gone     *Gone
		only     *versions
	)
	switch {
	case err == nil:
		return c.opened(nil)
	case ctx.Err() != nil:
		return c.opened(err)
	case errors.As(err, &only) && !only.legacy():
		return c.opened(err)
	case errors.As(err, &only), errors.As(err, &rejected), errors.As(err, &foreign):
		// It answered, so that it can be spoken to. One that ends on what it
		// was asked is started again.
		if err = c.initialize(ctx); !errors.As(err, &gone) {
			return c.opened(err)
		}
	case errors.Is(err, ErrLate), errors.As(err, &gone):
	default:
		return c.opened(err)
	}
	c.Close()
	return o.legacy(ctx)
}

// versions is a modern server that does not speak what was asked for.
type versions struct{ all []string }

func (v *versions) Error() string {
	return fmt.Sprintf("it speaks %q, and none of these is spoken here", v.all)
}

func (v *versions) legacy() bool {
	return slices.ContainsFunc(v.all, func(s string) bool { return slices.Contains(LegacyVersions, s) })
}

// discover asks a server as one of the modern era.
func (c *Conn) discover(ctx context.Context, wait time.Duration) error {
	c.era.Store(uint32(EraModern))
	result, err := c.once(ctx, &Request{Method: "server/discover", Timeout: wait, Limit: wait}, nil)
	if err != nil {
		return versionError(err)
	}
	o, err := message.Members(result)
	if err != nil {
		return &Foreign{"its answer to server/discover cannot be read"}
	}
	all, err := texts(o.Get("supportedVersions"))
	switch {
	case err != nil:
		return &Foreign{"its answer to server/discover names no versions"}
	case !slices.Contains(all, message.Modern):
		return &versions{all}
	}
	c.version = message.Modern
	meta, err := o.Meta()
	if err != nil {
		return err
	}
	return c.learn(o, meta.Get(message.MetaServer))
}

// versionError turns the modern error about versions into one of ours.
func versionError(err error) error {
	var e *message.Error
	if !errors.As(err, &e) || e.Code != message.CodeUnsupportedVersion {
		return err
	}
	o, merr := message.Members(e.Data)
	if merr != nil {
		return err
	}
	if all, terr := texts(o.Get("supported")); terr == nil {
		return &versions{all}
	}
	return err
}

// initialize is the handshake of the legacy era.
func (c *Conn) initialize(ctx context.Context) error {
	c.era.Store(uint32(EraLegacy))
	params := message.Object{message.OwnText("protocolVersion", message.Legacy), message.Own("capabilities", c.opt.Capabilities)}
	if c.opt.Client != nil {
		params = append(params, message.Own("clientInfo", c.opt.Client))
	}
	result, err := c.once(ctx, &Request{Method: "initialize", Timeout: c.opt.Start}, params)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	o, err := message.Members(result)
	if err != nil {
		return fmt.Errorf("initialize: read its answer: %w", err)
	}
	if c.version = o.Text("protocolVersion"); !slices.Contains(LegacyVersions, c.version) {
		return fmt.Errorf("initialize: it speaks version %q, and none but %q is spoken here", c.version, LegacyVersions)
	}
	if err := c.learn(o, o.Get("serverInfo")); err != nil {
		return err
	}
	c.t.Speak(c.version)
	return c.notify(ctx, "notifications/initialized", nil)
}

// learn keeps what a server says of itself.
func (c *Conn) learn(o message.Object, server []byte) error {
	c.info = Info{Server: server, Instructions: o.Text("instructions")}
	caps := o.Get("capabilities")
	if caps == nil {
		return nil
	}
	var err error
	if c.info.Capabilities, err = message.Members(caps); err != nil {
		return fmt.Errorf("read its capabilities: %w", err)
	}
	return nil
}

// texts reads a list of strings.
func texts(v []byte) ([]string, error) {
	if v == nil {
		return nil, errors.New("none")
	}
	all, err := message.Elements(v)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, one := range all {
		s, ok := message.Text(one)
		if !ok {
			return nil, errors.New("not a text")
		}
		out = append(out, s)
	}
	return out, nil
}
