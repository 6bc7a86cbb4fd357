package tool

import "sync"

// Jobs are what doors leave beside their invocations for a tool whose act is
// no argument: an open stream, a function of the door, bytes of a protocol. The
// zero Jobs are empty and ready. They are safe for concurrent use.
type Jobs[J any] struct {
	mu   sync.Mutex
	left map[string]J
}

// Give leaves the job of one invocation; the returned function takes it back.
func (s *Jobs[J]) Give(id string, job J) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left = map[string]J{}
	}
	s.left[id] = job
	return func() { s.Take(id) }
}

// Take hands the job of one invocation to the tool that carries it out, once;
// it is the zero J where there is none.
func (s *Jobs[J]) Take(id string) J {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.left[id]
	delete(s.left, id)
	return job
}
