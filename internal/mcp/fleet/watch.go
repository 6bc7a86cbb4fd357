package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// Watch sets which resources a listener wants to be told of, by server, in
// place of those before. A server that is watched is started and stays.
func (s *Session) Watch(ctx context.Context, ear int, by map[string][]string) error {
	s.mu.Lock()
	before := s.wants[ear]
	s.wants[ear] = by
	if len(by) == 0 {
		delete(s.wants, ear)
	}
	s.mu.Unlock()
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range by {
		names[name] = true
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(names)) {
		errs = append(errs, s.rewatch(ctx, name))
	}
	return errors.Join(errs...)
}

// rewatch tells one server what is watched of it now.
func (s *Session) rewatch(ctx context.Context, name string) error {
	uris := s.wanted(name)
	one, err := s.ship(name)
	if err != nil {
		return err
	}
	if len(uris) == 0 && one.Running() == nil {
		return nil
	}
	u, release, err := s.Use(ctx, name)
	if err != nil {
		return err
	}
	one.mu.Lock()
	held := one.hold
	one.hold = nil
	if len(uris) > 0 {
		one.hold, release = release, func() {}
	}
	one.mu.Unlock()
	if held != nil {
		held()
	}
	defer release()
	return u.Watch(ctx, uris)
}

// wanted is what is watched of one server, by anybody.
func (s *Session) wanted(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]bool{}
	for _, by := range s.wants {
		for _, uri := range by[name] {
			all[uri] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Level asks the running servers of the legacy era for log messages from a
// level on; one that is started later is asked for the same.
func (s *Session) Level(level string) {
	s.mu.Lock()
	s.level = level
	all := make([]*ship, 0, len(s.ships))
	for _, one := range s.ships {
		all = append(all, one)
	}
	s.mu.Unlock()
	for _, one := range all {
		if c := one.Running(); c != nil {
			s.setLevel(context.Background(), one, c)
		}
	}
}

// setLevel is for servers of the legacy era; one of the modern era is told with
// every request.
func (s *Session) setLevel(ctx context.Context, one *ship, c *upstream.Conn) {
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	info := c.Info()
	if level == "" || c.Era() != upstream.EraLegacy || !info.Offers("logging", "") {
		return
	}
	if _, err := c.Call(ctx, upstream.Request{Method: "logging/setLevel", Params: message.Object{message.OwnText("level", level)}}); err != nil {
		s.f.opt.Log("server %s: the level of its log: %v", one.Name, err)
	}
}
