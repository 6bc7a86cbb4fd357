package upstream

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Times of a server's life, where nothing else is set.
const (
	DefaultIdle = 10 * time.Minute
	backoffMin  = time.Second
	backoffMax  = time.Minute
	young       = 30 * time.Second // a connection that ends before this age counts as a failure
)

// Server keeps at most one connection to one server. The zero Server is one
// that was never used; it is safe for concurrent use.
type Server struct {
	Name string
	Idle time.Duration // without a user before it is closed; 0 = DefaultIdle, negative = never

	mu       sync.Mutex // guards what follows
	conn     *Conn
	since    time.Time // when conn was opened
	opening  *opening
	users    int
	timer    *time.Timer
	failures int       // in a row
	notYet   time.Time // the next attempt is not before
	last     error     // why the last one failed
	closed   bool
	ends     sync.WaitGroup // connections that are being closed
}

// opening is one attempt that any number of users wait for.
type opening struct {
	done chan struct{}
	conn *Conn
	err  error
}

// Use gives the connection, opening it by open where there is none. release
// must be called once when it is not needed any more. The attempt itself is
// not bound to ctx, which may be one of many that wait for it; open bounds it.
//
// A server that failed or ended soon after its start is not started again at
// once: until its time has come, Use fails and says so.
func (s *Server) Use(ctx context.Context, open func(context.Context) (*Conn, error)) (c *Conn, release func(), err error) {
	for {
		s.mu.Lock()
		s.lookLocked()
		switch {
		case s.closed:
			s.mu.Unlock()
			return nil, nil, fmt.Errorf("server %s: its session has ended", s.Name)
		case s.conn != nil:
			c := s.conn
			s.users++
			if s.timer != nil {
				s.timer.Stop()
			}
			s.mu.Unlock()
			return c, sync.OnceFunc(s.release), nil
		case s.opening == nil:
			if wait := time.Until(s.notYet); wait > 0 {
				err := fmt.Errorf("server %s failed %d times in a row and is tried again in %s: %w", s.Name, s.failures, wait.Round(100*time.Millisecond), s.last)
				s.mu.Unlock()
				return nil, nil, err
			}
			s.opening = &opening{done: make(chan struct{})}
			go s.open(context.WithoutCancel(ctx), s.opening, open)
		}
		o := s.opening
		s.mu.Unlock()
		select {
		case <-o.done:
			if o.err != nil {
				return nil, nil, o.err
			}
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func (s *Server) open(ctx context.Context, o *opening, open func(context.Context) (*Conn, error)) {
	c, err := open(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening = nil
	o.conn, o.err = c, err
	defer close(o.done)
	switch {
	case err != nil:
		s.failedLocked(err)
	case s.closed:
		s.endLocked(c)
		o.err = fmt.Errorf("server %s: its session has ended", s.Name)
	default:
		s.conn, s.since = c, time.Now()
		s.idleLocked()
	}
}

// lookLocked lets go of a connection that has ended by itself.
func (s *Server) lookLocked() {
	if s.conn == nil {
		return
	}
	why := s.conn.Ended()
	if why == nil {
		return
	}
	c := s.conn
	s.conn = nil
	s.endLocked(c)
	if time.Since(s.since) < young {
		s.failedLocked(why)
		return
	}
	s.failures, s.notYet = 0, time.Time{}
}

func (s *Server) failedLocked(why error) {
	s.failures++
	s.last = why
	// The first failure is borne at once: programs fail for reasons that pass.
	if s.failures > 1 {
		s.notYet = time.Now().Add(min(backoffMin<<min(s.failures-2, 16), backoffMax))
	}
}

// Works is told when a server did what it should: its failures are forgotten.
func (s *Server) Works() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures, s.notYet = 0, time.Time{}
}

func (s *Server) endLocked(c *Conn) { s.ends.Go(c.Close) }

func (s *Server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.idleLocked()
}

// idleLocked starts the clock of a connection that nobody uses.
func (s *Server) idleLocked() {
	idle := s.Idle
	if idle == 0 {
		idle = DefaultIdle
	}
	if s.users > 0 || s.conn == nil || idle < 0 {
		return
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(idle, s.rest)
		return
	}
	s.timer.Reset(idle)
}

// Rest closes the connection where nobody uses it now.
func (s *Server) Rest() { s.rest() }

// rest closes a connection that nobody has used for its time.
func (s *Server) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 && s.conn != nil {
		c := s.conn
		s.conn = nil
		s.endLocked(c)
	}
}

// Running is the connection that is open now, or nil.
func (s *Server) Running() *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookLocked()
	return s.conn
}

// Stop closes the connection that is open now, if any, and returns when
// nothing is left of it. The server can be used again.
func (s *Server) Stop() {
	s.mu.Lock()
	if c := s.conn; c != nil {
		s.conn = nil
		s.endLocked(c)
	}
	s.mu.Unlock()
	s.ends.Wait()
}

// Close ends the server for good.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.Stop()
}
