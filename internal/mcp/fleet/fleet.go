// Package fleet runs the MCP servers of sessions.
//
// A [Fleet] is what one daemon has: which servers are configured, what they
// offered last, how one is started. A [Session] of it runs at most one of each
// server: started at its first use, inside a boundary of its own, stopped when
// nobody has used it for a while, told about when it changes what it offers.
// How a server is started is somebody else's to say and to decide.
//
// What servers offer is kept, so that a client's list needs none of them to
// run. A list is fetched anew whenever a server is started and whenever it says
// that it has changed.
package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// Options are what a fleet stands on; every field is required.
type Options struct {
	Servers func() (*servers.Set, error)
	Shelf   *catalog.Shelf
	Dial    func(at Place, s servers.Server) upstream.Dialer
	Held    func(s *servers.Server, k catalog.Kind, it catalog.Item) string // why a client may not see it; empty = it may
	Seen    func(o *catalog.Offer) error                                    // a server has told what it offers
	Hint    func(s *servers.Server) string                                  // what a person can do where it does not start; nil or empty = nothing
	Client  []byte                                                          // who we are, to servers: an Implementation object
	Now     func() time.Time
	Log     func(format string, args ...any)
}

// Place is where servers are started for.
type Place struct {
	Session   string
	Workspace string
}

// Fleet is the servers of one daemon. It is safe for concurrent use.
type Fleet struct {
	opt Options

	mu       sync.Mutex // guards what follows
	sessions map[string]*Session
}

// New returns a fleet in which nothing runs.
func New(o Options) *Fleet { return &Fleet{opt: o, sessions: map[string]*Session{}} }

// Session is the servers of one session, which begin with the first call.
func (f *Fleet) Session(at Place) *Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[at.Session]
	if s == nil {
		s = &Session{f: f, at: at, ships: map[string]*ship{}, ears: map[int]Events{}, wants: map[int]map[string][]string{}}
		f.sessions[at.Session] = s
	}
	return s
}

// End stops every server of a session; it returns when nothing is left of them.
func (f *Fleet) End(session string) {
	f.mu.Lock()
	s := f.sessions[session]
	delete(f.sessions, session)
	f.mu.Unlock()
	if s != nil {
		s.close()
	}
}

// Close stops every server of every session.
func (f *Fleet) Close() {
	f.mu.Lock()
	var all []string
	for id := range f.sessions {
		all = append(all, id)
	}
	f.mu.Unlock()
	var left sync.WaitGroup
	for _, id := range all {
		left.Go(func() { f.End(id) })
	}
	left.Wait()
}

// Server is a configured server by its name.
func (f *Fleet) Server(name string) (servers.Server, error) {
	set, err := f.opt.Servers()
	if err != nil {
		return servers.Server{}, fmt.Errorf("the servers cannot be read, so that none is used: %w", err)
	}
	s, ok := set.Of(name)
	switch {
	case !ok:
		return s, fmt.Errorf("there is no server %s; reeve mcp ls lists them", name)
	case s.Disabled:
		return s, fmt.Errorf("server %s is switched off; reeve mcp enable %[1]s switches it on", name)
	}
	return s, nil
}

// Offer is what a configured server offered last, or nil.
func (f *Fleet) Offer(s *servers.Server) *catalog.Offer { return f.opt.Shelf.Offer(s.Name, s.Hash()) }

// Events is what a client wants to be told. No function may block.
type Events struct {
	Changed func(k catalog.Kind) // what its servers offer has changed
	Updated func(uri string)     // a resource that it watches
	Log     func(server string, params []byte)
}

// Session is the servers of one session. It is safe for concurrent use.
type Session struct {
	f    *Fleet
	at   Place
	work sync.WaitGroup // that goes on beside calls

	mu     sync.Mutex // guards what follows
	ships  map[string]*ship
	ears   map[int]Events
	ear    int
	wants  map[int]map[string][]string // resources, by listener and server
	level  string                      // of log messages
	closed bool
}

// ship is one server of one session.
type ship struct {
	conf servers.Server
	hash string
	upstream.Server

	mu    sync.Mutex    // guards what follows
	stale [2]bool       // a refresh is wanted, one is under way
	pause time.Duration // after the last refresh
	hold  func()        // lets go of a server that is watched
}

// Listen tells of what happens to the session's servers until stop is called.
// ear is who listens, for [Session.Watch].
func (s *Session) Listen(e Events) (ear int, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ear++
	id := s.ear
	s.ears[id] = e
	return id, func() {
		s.mu.Lock()
		delete(s.ears, id)
		by := s.wants[id]
		s.mu.Unlock()
		if len(by) > 0 {
			s.beside(func() { _ = s.Watch(context.Background(), id, nil) }) // a server that cannot be told tells nobody
		}
	}
}

// tell calls on for every listener.
func (s *Session) tell(on func(Events)) {
	s.mu.Lock()
	all := make([]Events, 0, len(s.ears))
	for _, e := range s.ears {
		all = append(all, e)
	}
	s.mu.Unlock()
	for _, e := range all {
		on(e)
	}
}

func (s *Session) close() {
	s.mu.Lock()
	s.closed = true
	all := make([]*ship, 0, len(s.ships))
	for _, one := range s.ships {
		all = append(all, one)
	}
	s.mu.Unlock()
	var left sync.WaitGroup
	for _, one := range all {
		left.Go(one.Close)
	}
	left.Wait()
	s.work.Wait()
}

// beside does something beside calls, unless the session has ended.
func (s *Session) beside(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(do)
	}
}

// ship is the session's server of that name, as it is configured now. One that
// runs with other settings is stopped.
func (s *Session) ship(name string) (*ship, error) {
	conf, err := s.f.Server(name)
	if err != nil {
		return nil, err
	}
	hash := conf.Hash()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("the session has ended")
	}
	one := s.ships[name]
	if one != nil && one.hash == hash {
		return one, nil
	}
	if one != nil {
		s.work.Go(one.Close) // its calls end with it; a stop takes seconds
	}
	one = &ship{conf: conf, hash: hash}
	one.Name, one.Idle = name, conf.Guard.Idle
	s.ships[name] = one
	return one, nil
}

// Use gives the connection to a server, which is started where it does not
// run; release must be called once when it is not needed any more.
func (s *Session) Use(ctx context.Context, name string) (u Used, release func(), err error) {
	one, err := s.ship(name)
	if err != nil {
		return Used{}, nil, err
	}
	c, release, err := one.Use(ctx, func(ctx context.Context) (*upstream.Conn, error) { return s.open(ctx, one) })
	if err != nil {
		return Used{}, nil, err
	}
	return Used{Conn: c, Conf: &one.conf, Works: one.Works}, release, nil
}

// Used is a server in use.
type Used struct {
	*upstream.Conn
	Conf  *servers.Server
	Works func() // it did what it should
}

// open starts a server and takes what it offers.
func (s *Session) open(ctx context.Context, one *ship) (*upstream.Conn, error) {
	g := &one.conf.Guard
	c, err := upstream.Open(ctx, upstream.Options{
		Name: one.Name, Dial: s.f.opt.Dial(s.at, one.conf), Known: s.f.opt.Shelf.Era(one.Name, one.hash), Only: g.Protocol,
		Client: s.f.opt.Client, Capabilities: Declared(g), Start: g.Start,
		Events: upstream.Events{
			Changed: func(string) { s.stale(one) },
			Updated: func(uri string) {
				s.tell(func(e Events) {
					if e.Updated != nil {
						e.Updated(uri)
					}
				})
			},
			Log: func(params []byte) {
				s.tell(func(e Events) {
					if e.Log != nil {
						e.Log(one.Name, params)
					}
				})
			},
			Ask: func(_ context.Context, a upstream.Ask) upstream.Answer { return s.outside(one, a) },
		},
	})
	if err != nil {
		if s.f.opt.Hint == nil {
			return nil, err
		}
		if hint := s.f.opt.Hint(&one.conf); hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
		return nil, err
	}
	if err := s.fetch(ctx, one, c); err != nil {
		c.Close()
		return nil, err
	}
	// A modern server is asked to tell of its lists; a legacy one does unasked.
	if err := c.Watch(ctx, s.wanted(one.Name)); err != nil {
		s.f.opt.Log("server %s: its changes are not told: %v", one.Name, err)
	}
	s.setLevel(ctx, one, c)
	return c, nil
}

// outside answers what a server asks that belongs to no call: its roots, and
// nothing else (contract Y119).
func (s *Session) outside(one *ship, a upstream.Ask) upstream.Answer {
	if a.Method == "roots/list" && one.conf.Guard.Roots == servers.Granted {
		return upstream.Answer{Key: a.Key, Result: s.Roots(&one.conf)}
	}
	return upstream.Answer{Key: a.Key, Err: &message.Error{Code: message.CodeMethodNotFound, Message: a.Method + " is taken within a call only, and where it was granted"}}
}

// Declared is what every connection to a server declares, the same whatever
// its clients can do, so that what the server offers stays comparable. What a
// client cannot answer is refused when it is asked for.
func Declared(g *servers.Guard) []byte {
	var o message.Object
	if g.Roots != servers.Nobody {
		o = append(o, message.Own("roots", []byte(`{}`)))
	}
	if g.Sampling == servers.Client {
		o = append(o, message.Own("sampling", []byte(`{}`)))
	}
	if g.Elicitation == servers.Client {
		o = append(o, message.Own("elicitation", []byte(`{"form":{},"url":{}}`)))
	}
	return o.Bytes()
}

// Roots are the directories that a server was granted and a client would name:
// the workspace, where the server is shown it.
func (s *Session) Roots(conf *servers.Server) []byte {
	if !slices.Contains(slices.Concat(conf.Guard.Read, conf.Guard.Write), ".") {
		return []byte(`{"roots":[]}`)
	}
	root := message.Object{message.OwnText("uri", fileURI(s.at.Workspace)), message.OwnText("name", "workspace")}
	return append(append([]byte(`{"roots":[`), root.Bytes()...), `]}`...)
}

// fileURI writes a path as RFC 8089 does.
func fileURI(path string) string {
	const hex = "0123456789ABCDEF"
	out := []byte("file://")
	for i := range len(path) {
		c := path[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '/' || c == '-' || c == '.' || c == '_' || c == '~' {
			out = append(out, c)
			continue
		}
		out = append(out, '%', hex[c>>4], hex[c&15])
	}
	return string(out)
}
