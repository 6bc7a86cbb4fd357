package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/fleet"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/results"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
	"github.com/reeve-gate/reeve/internal/mcptest"
	"github.com/reeve-gate/reeve/internal/mcptest/memory"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/server"
)

// gate stands for the kernel: it asks, where it is told to, and lets the hand
// move. What the real one does with an invocation is its own tests' to show.
type gate struct {
	tools  *server.Tools
	clean  *redact.Redactor
	broker *approval.Broker

	mu   sync.Mutex
	seen []reeve.Invocation
	asks bool

	reported []string
}

func (g *gate) Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result) {
	g.mu.Lock()
	g.seen = append(g.seen, *inv)
	asks := g.asks
	g.mu.Unlock()
	deny := func(rule, why string) (reeve.Decision, reeve.Result) {
		return reeve.Decision{Verdict: reeve.Deny, Rule: rule}, reeve.Result{Status: reeve.StatusDenied, Error: why}
	}
	t, ok := g.tools.Find(inv.Tool)
	if !ok {
		return deny("known tool", "no tool "+inv.Tool)
	}
	if why := t.(tool.Barred).Barred(); why != "" {
		return deny("held", why)
	}
	if asks {
		a := g.broker.Ask(ctx, approval.Question{ID: newID(), Call: inv.ID, Session: inv.Session, Operation: "use " + inv.Tool, Asked: time.Now(), Expires: time.Now().Add(time.Minute)})
		if !a.Yes() {
			return deny("a person said no", "a person said no")
		}
	}
	key := permit.NewIssuer(time.Now).Mint(inv.Digest(), time.Minute)
	r := t.(tool.Runner).Run(ctx, tool.Call{Permit: key, Digest: inv.Digest(), ID: inv.ID, Args: inv.Args})
	r.Error = g.clean.Text(r.Error)
	if r.Data != nil {
		r.Data = g.clean.JSON(r.Data)
	}
	return reeve.Decision{Verdict: reeve.Allow}, r
}

func (g *gate) Report(_ context.Context, id string, _ reeve.Result) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reported = append(g.reported, id)
	return nil
}

func (g *gate) last() reeve.Invocation {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen[len(g.seen)-1]
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// rig is a door in front of servers of this process.
type rig struct {
	*Door
	gate   *gate
	starts map[string]*memory.Starts
	set    *servers.Set
	held   map[string]string // by server and name, why it is held back
	mu     sync.Mutex
}

// newRig has one server for each mode, named by the mode's first word.
func newRig(t *testing.T, modes ...string) *rig {
	t.Helper()
	g := &rig{starts: map[string]*memory.Starts{}, set: &servers.Set{}, held: map[string]string{}}
	for _, mode := range modes {
		name, _, _ := strings.Cut(mode, ",")
		g.starts[name] = &memory.Starts{Serve: mcptest.Serve, Modes: []string{mode}}
		g.set.All = append(g.set.All, servers.Server{Name: name, Command: "x",
			Guard: servers.Guard{Roots: servers.Granted, Elicitation: servers.Client, Sampling: servers.Client, Read: []string{"."}, Call: 5 * time.Second}})
	}
	dir := t.TempDir()
	clean, broker := redact.New(), approval.New(time.Now)
	f := fleet.New(fleet.Options{Servers: func() (*servers.Set, error) { return g.set, nil }, Shelf: catalog.NewShelf(dir+"/offers", func() ([]byte, error) { return make([]byte, 32), nil }, func(note string) { t.Error(note) }),
		Dial: func(_ fleet.Place, s servers.Server) upstream.Dialer { return g.starts[s.Name].Dial },
		Held: func(s *servers.Server, _ catalog.Kind, it catalog.Item) string { return g.why(s.Name, it.Name) },
		Seen: func(*catalog.Offer) error { return nil }, Now: time.Now, Log: t.Logf})
	t.Cleanup(f.Close)
	tools := server.New(func(name, one string) (server.Facts, bool) {
		return server.Facts{Tier: reeve.TierRead, Unconditional: name == server.Own, Held: g.why(name, one)}, true
	})
	g.gate = &gate{tools: tools, clean: clean, broker: broker}
	g.Door = &Door{Kernel: g.gate, Broker: broker, Clean: clean, Fleet: f, Tools: tools, Kept: results.NewKept(func(s string) string { return dir + "/" + s }),
		NewID: newID, Now: time.Now, Log: t.Logf, Version: "test", Askable: true, Elicit: true}
	return g
}

func (g *rig) why(server, name string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held[server+" "+name]
}

// peer is a client of the door.
type peer struct {
	t      *testing.T
	modern bool
	caps   string
	in     io.WriteCloser
	ended  chan error

	mu    sync.Mutex
	next  int
	got   map[string]chan message.Message
	notes []message.Message
	news  chan message.Message
	reply func(m message.Message) message.Message // answers what the gateway asks
}

// connect begins a conversation as a client of one era.
func (g *rig) connect(t *testing.T, era string, f catalog.Filter, caps string) *peer {
	t.Helper()
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	p := &peer{t: t, modern: era == message.Modern, caps: caps, in: in, ended: make(chan error, 1), got: map[string]chan message.Message{}, news: make(chan message.Message, 1000)}
	who := Client{Session: newID(), Workspace: "/w", Filter: f}
	go func() {
		err := talk.Stdio(context.Background(), theirIn, theirOut, func(send func(message.Message)) talk.Conversation { return g.Open(who, send) })
		theirOut.Close()
		p.ended <- err
	}()
	go p.read(out)
	t.Cleanup(func() {
		in.Close()
		select {
		case <-p.ended:
		case <-time.After(20 * time.Second):
			t.Error("the conversation does not end")
		}
		g.Fleet.End(who.Session)
	})
	if !p.modern {
		m := p.call("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"peer","version":"1"}}`, era, caps))
		if m.Error != nil {
			t.Fatalf("initialize: %v", m.Error)
		}
		p.raw(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return p
}

func (p *peer) read(out io.Reader) {
	lines := message.NewLines(out, 64<<20)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		m, err := message.Decode(line)
		if err != nil {
			p.t.Errorf("the gateway wrote %q: %v", line, err)
			return
		}
		p.mu.Lock()
		switch {
		case m.Kind == message.Response:
			if ch := p.got[m.ID.Key()]; ch != nil {
				ch <- m
			} else if m.ID != "" {
				p.t.Errorf("an answer to no question: %s", line)
			} else {
				p.news <- m
			}
		case m.Kind == message.Notification:
			p.notes = append(p.notes, m)
			p.news <- m
		case p.reply != nil:
			reply := p.reply
			go func() {
				if a := reply(m); a.Kind != 0 {
					a.ID = m.ID
					p.raw(string(a.Append(nil)))
				}
			}()
		default:
			p.t.Errorf("the gateway asks, unasked: %s", line)
		}
		p.mu.Unlock()
	}
}

func (p *peer) raw(line string) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Logf("write: %v", err)
	}
}

// send makes a request; params is an object's text.
func (p *peer) send(method, params string) (id message.ID, answer <-chan message.Message) {
	p.mu.Lock()
	p.next++
	id = message.Number(int64(p.next))
	ch := make(chan message.Message, 4)
	p.got[id.Key()] = ch
	p.mu.Unlock()
	if p.modern {
		o, err := message.Members([]byte(params))
		if err != nil {
			p.t.Fatalf("params %s: %v", params, err)
		}
		meta, _ := o.Meta()
		meta = append(meta, message.OwnText(message.MetaVersion, message.Modern), message.Own(message.MetaCapabilities, []byte(p.caps)))
		params = string(o.Set(message.Own("_meta", meta.Bytes())).Bytes())
	}
	p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id, ch
}

func (p *peer) call(method, params string) message.Message {
	p.t.Helper()
	_, ch := p.send(method, params)
	return p.await(ch)
}

func (p *peer) await(ch <-chan message.Message) message.Message {
	p.t.Helper()
	select {
	case m := <-ch:
		return m
	case <-time.After(30 * time.Second):
		p.t.Fatal("no answer")
		return message.Message{}
	}
}

// note waits for a notification.
func (p *peer) note(method string) message.Message {
	p.t.Helper()
	for deadline := time.After(20 * time.Second); ; {
		select {
		case m := <-p.news:
			if m.Method == method {
				return m
			}
		case <-deadline:
			p.t.Fatalf("no %s", method)
		}
	}
}

// use calls a tool and gives its texts without the marks.
func (p *peer) use(name, args string) string {
	p.t.Helper()
	return said(p.t, p.call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)))
}

func said(t *testing.T, m message.Message) string {
	t.Helper()
	if m.Error != nil {
		return fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	o, err := message.Members(m.Result)
	if err != nil {
		t.Fatalf("result %s: %v", m.Result, err)
	}
	blocks, _ := message.Elements(o.Get("content"))
	var all []string
	for _, b := range blocks {
		one, _ := message.Members(b)
		if text := one.Text("text"); !strings.HasPrefix(text, "[untrusted ") && !strings.HasPrefix(text, "[end of untrusted ") {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// object reads a result.
func object(t *testing.T, m message.Message) message.Object {
	t.Helper()
	if m.Error != nil {
		t.Fatalf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	o, err := message.Members(bytes.Clone(m.Result))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestMain(m *testing.M) {
	mcptest.Main()
	os.Exit(m.Run())
}
