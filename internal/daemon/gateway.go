package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/boundary"
	"github.com/reeve-gate/reeve/internal/ingress/mcp"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/egress"
	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/edge"
	"github.com/reeve-gate/reeve/internal/mcp/fleet"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/pins"
	"github.com/reeve-gate/reeve/internal/mcp/programs"
	"github.com/reeve-gate/reeve/internal/mcp/results"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/mcp/standing"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
	"github.com/reeve-gate/reeve/internal/mcp/web"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/redact/timely"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/foreign"
	"github.com/reeve-gate/reeve/internal/tool/server"
	"github.com/reeve-gate/reeve/internal/wire"
)

// gateway joins the MCP servers of a person to the door for their clients.
type gateway struct {
	d     *Daemon
	door  *mcp.Door
	book  *servers.Book
	fleet *fleet.Fleet
	kept  *results.Kept
	net   *netguard.Guard
	judge *standing.Judge
	yard  *programs.Yard
	ends  sync.WaitGroup // of sessions whose client has gone
}

// newGateway is made before the kernel, which finds the servers' tools here,
// and gets its door with [gateway.open].
func newGateway(d *Daemon) (*gateway, error) {
	hosts, err := d.conf.Pins()
	if err != nil {
		return nil, err
	}
	g := &gateway{d: d, book: servers.NewBook(d.opt.Paths.Config), kept: results.NewKept(d.store.Dir), net: &netguard.Guard{Pins: hosts}}
	g.fleet = fleet.New(fleet.Options{
		Servers: g.book.Servers, Shelf: catalog.NewShelf(filepath.Join(d.opt.Paths.State, "mcp-offers"), d.cacheKey, d.note), Dial: g.dial,
		Held:   func(s *servers.Server, k catalog.Kind, it catalog.Item) string { return g.judge.Held(s, k, it) },
		Seen:   func(o *catalog.Offer) error { return g.judge.Seen(o, time.Now()) },
		Hint:   func(s *servers.Server) string { return g.yard.Hint(s) },
		Client: message.Object{message.OwnText("name", "reeve"), message.OwnText("version", d.opt.Build)}.Bytes(), Now: time.Now, Log: d.logf,
	})
	p := d.opt.Paths
	g.judge = &standing.Judge{Pins: pins.NewBook(filepath.Join(p.State, "mcp-pins")), Servers: g.book.Servers, Find: g.fleet.Server, Offer: g.fleet.Offer, Native: slices.Concat([]string{server.Start}, foreign.Names("claude"), foreign.Names("codex"))}
	g.judge.Pins.Told = d.note
	place := func() jail.Place {
		return jail.Place{Home: p.Home, State: d.disk.Own(), Quarantine: quarantineDir(p), Env: os.Environ()}
	}
	g.yard = &programs.Yard{Wall: d.wall, Place: place, State: p.State,
		Limits: boundary.Limits(d.conf), Show: cleaned{d.clean}.Show, Mask: func(w io.Writer) io.WriteCloser { return timely.Alone(d.clean.Writer(w)) }, Running: func(p jail.Process) { d.api.Governed.Add(p.PID(), true) }, Way: g.wayOut}
	return g, nil
}

// open makes the door, once there is a kernel.
func (g *gateway) open() {
	d := g.d
	g.door = &mcp.Door{Kernel: d.kernel, Broker: d.broker, Clean: d.clean, Fleet: g.fleet, Tools: d.tools.served, Kept: g.kept,
		NewID: newID, Now: time.Now, Log: d.logf, Version: d.opt.Build, Askable: d.conf.Approval.Unattended == "wait", Elicit: d.conf.Approval.Elicitation == "answer"}
}

// Serve serves one client over the two streams that came with its request,
// until it ends or ctx does.
func (g *gateway) Serve(ctx context.Context, w wire.MCP, streams []*os.File, inSession string) error {
	if w.HTTP {
		return g.serveHTTP(ctx, w, streams, inSession)
	}
	if len(streams) != 2 {
		return fmt.Errorf("%w: a client is served over two streams, %d came", reeve.ErrUsage, len(streams))
	}
	in, err := talk.Pollable(streams[0])
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := talk.Pollable(streams[1])
	if err != nil {
		return err
	}
	defer out.Close()
	who, end, err := g.client(w, inSession)
	if err != nil {
		return err
	}
	defer g.ends.Go(end) // the client need not wait until its servers have ended
	defer context.AfterFunc(ctx, func() { in.SetReadDeadline(time.Now()) })()
	return talk.Stdio(ctx, in, out, func(send func(message.Message)) talk.Conversation { return g.door.Open(who, send) })
}

// hear starts a server, for a person who looks at it from a directory, and
// takes what it offers.
func (g *gateway) hear(ctx context.Context, name, dir string) error {
	who, end, err := g.client(wire.MCP{Client: "reeve", Dir: dir}, "")
	if err != nil {
		return err
	}
	defer end()
	u, release, err := g.fleet.Session(fleet.Place{Session: who.Session, Workspace: who.Workspace}).Use(ctx, name)
	if err != nil {
		return err
	}
	u.Works()
	release()
	return nil
}

// serveHTTP serves clients on the listener that came with the request.
func (g *gateway) serveHTTP(ctx context.Context, w wire.MCP, files []*os.File, inSession string) error {
	if len(files) != 1 || inSession != "" {
		return fmt.Errorf("%w: one listener is served, and none from inside a session", reeve.ErrUsage)
	}
	who, end, err := g.client(w, "")
	if err != nil {
		return err
	}
	defer g.ends.Go(end)
	return edge.Serve(ctx, files[0], w.Token, func(send func(message.Message)) edge.Conversation { return g.door.Open(who, send) })
}

// client finds the session of a client: the one that it runs in, or one of its
// own, which ends with it.
func (g *gateway) client(w wire.MCP, inSession string) (who mcp.Client, end func(), err error) {
	who = mcp.Client{Name: w.Client, Filter: catalog.Filter{Alone: w.Server, Only: w.Only, Hide: w.Hide}}
	if w.Server != "" {
		if _, err := g.fleet.Server(w.Server); err != nil {
			return who, nil, fmt.Errorf("%w: %v", reeve.ErrNotFound, err)
		}
	}
	if inSession != "" {
		one, err := g.d.store.Get(inSession)
		if err != nil {
			return who, nil, err
		}
		who.Session, who.Workspace, who.Contained = one.ID, one.Workspace, true
		return who, func() {}, nil
	}
	ws := cmp.Or(w.Workspace, session.Repository(w.Dir))
	if _, err := session.Workspace(ws, g.d.opt.Paths.Home); err != nil {
		if w.Workspace != "" {
			return who, nil, err
		}
		ws = nowhere(g.d.opt.Paths) // a client that was started from the home directory, or from none
	}
	mode, err := reeve.ParseMode(g.d.conf.Gate.Mode)
	if err != nil {
		return who, nil, err
	}
	one, err := g.d.store.Create(session.Session{Client: "mcp", Agent: w.Client, Workspace: ws, Mode: mode, Profile: g.d.conf.Sandbox.Profile}, g.d.opt.Paths.Home)
	if err != nil {
		return who, nil, err
	}
	who.Session, who.Workspace = one.ID, one.Workspace
	return who, func() { g.d.EndSession(one.ID) }, nil
}

// close stops every server, and waits as long as a flush may take: what does not
// end by itself is killed with the daemon.
func (g *gateway) close() {
	done := make(chan struct{})
	go func() {
		g.fleet.Close()
		g.ends.Wait()
		close(done)
	}()
	timer := time.NewTimer(flushLimit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		g.d.logf("stopped waiting for MCP servers to end after %s", flushLimit)
	}
}

// end stops what a session has of servers.
func (g *gateway) end(session string) {
	g.fleet.End(session)
	g.kept.Drop(session)
}

// dial starts a server, or opens the connection to its address, as an act of
// its own behind the kernel. Its outcome is recorded when the connection ends.
func (g *gateway) dial(at fleet.Place, s servers.Server) upstream.Dialer {
	return func(ctx context.Context, sink upstream.Sink) (upstream.Transport, error) {
		args, err := json.Marshal(startArgs(&s))
		if err != nil {
			return nil, err
		}
		inv := &reeve.Invocation{ID: newID(), Session: at.Session, Actor: "mcp:gateway", Channel: reeve.ChannelMCP, Origin: reeve.OriginAgent, Tool: server.Start, Args: args}
		var t upstream.Transport
		forget := g.d.tools.served.Give(inv.ID, func(ctx context.Context, call tool.Call) reeve.Result {
			var err error
			if t, err = g.start(ctx, at, s, call, sink); err != nil {
				return tool.Failed("%v", err)
			}
			return reeve.Result{Status: reeve.StatusSuccess, Open: true}
		})
		defer forget()
		if _, r := g.d.kernel.Do(ctx, inv); r.Status != reeve.StatusSuccess {
			return nil, errors.New(r.Error)
		}
		on := &recorded{Transport: t, done: make(chan struct{})}
		go func() {
			<-t.Done()
			r := reeve.Result{Status: reeve.StatusSuccess, Output: g.d.clean.Text(t.Err().Error())}
			// Where the session has ended before, its outcome stands as unknown.
			_ = g.d.kernel.Report(context.Background(), inv.ID, r)
			close(on.done)
		}()
		return on, nil
	}
}

// recorded is a connection that has ended when its end is on record.
type recorded struct {
	upstream.Transport
	done chan struct{}
}

func (r *recorded) Done() <-chan struct{} { return r.done }

func (r *recorded) Stop() {
	r.Transport.Stop()
	<-r.done
}

// starting is what rules and records see of a start.
type starting struct {
	Server string   `json:"server"`
	Hash   string   `json:"hash"`
	Argv   []string `json:"argv,omitzero"`
	URL    string   `json:"url,omitzero"`
	Net    string   `json:"net,omitzero"`

	Vault []string `json:"vault,omitzero"` // secrets, by name
}

func startArgs(s *servers.Server) starting {
	a := starting{Server: s.Name, Hash: s.Hash(), URL: s.URL, Vault: s.Secrets()}
	if s.Command != "" {
		a.Argv, a.Net = append([]string{s.Command}, s.Args...), s.Guard.Net.String()
	}
	return a
}

// start is the hand of it.
func (g *gateway) start(ctx context.Context, at fleet.Place, s servers.Server, call tool.Call, sink upstream.Sink) (upstream.Transport, error) {
	full, values, err := s.Resolved(g.d.opt.Getenv, g.d.vault)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if g.d.mask(v) > 0 {
			g.d.logf("server %s: a value of its settings is not masked: it is too short, or too common a text", s.Name)
		}
	}
	if full.URL != "" {
		if err := call.Permit.Spend(call.Digest); err != nil {
			return nil, err
		}
		u, err := web.Address(full.URL)
		if err != nil {
			return nil, err
		}
		return web.Dialer(web.Options{URL: u, Headers: full.Headers, Guard: g.net, Max: full.Guard.Output})(ctx, sink)
	}
	if !call.Contained {
		return nil, fmt.Errorf("%w: the boundary is missing here, and no server runs without one; see reeve doctor", reeve.ErrBoundary)
	}
	return g.yard.Start(ctx, &full, at.Workspace, call.Permit, call.Digest, sink)
}

// wayOut is the network by rule of one server: a session of its own, in which
// the hosts that its settings name are allowed.
func (g *gateway) wayOut(s *servers.Server) (listen func(*os.File) error, end func(), err error) {
	d := g.d
	one, err := d.store.Create(session.Session{Client: "mcp-server", Agent: s.Name, Workspace: g.yard.Folder(s.Name), Mode: reeve.ModeDefault, Profile: d.conf.Sandbox.Profile,
		Allowed: []session.Allowed{{From: "mcp.json", Why: "named in the settings of server " + s.Name, Hosts: s.Guard.Hosts}}}, d.opt.Paths.Home)
	if err != nil {
		return nil, func() {}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	gate := d.outbound.Session(one.ID, reeve.Actor("agent:"+s.Name), nil)
	return func(ln *os.File) error {
			l, err := egress.Listener(ln)
			if err != nil {
				return err
			}
			go (&egress.Server{Gate: gate, Limits: egress.Usual()}).Serve(ctx, l)
			return nil
		}, func() {
			cancel()
			gate.Close()
			d.EndSession(one.ID)
		}, nil
}
