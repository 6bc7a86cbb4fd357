// Package spare gives sessions that are not kept their sockets. One is always
// made ready, since a name in a directory of a disk can take a millisecond, and a
// program would wait for it. No socket serves two sessions.
package spare

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reeve-gate/reeve/internal/localsock"
)

// Sockets are those of one state directory. It is safe for concurrent use.
type Sockets struct {
	path func(name string) (string, error)
	made atomic.Uint64

	mu    sync.Mutex // guards what follows
	spare *localsock.Listener
	ended bool
	work  sync.WaitGroup
}

// New keeps its sockets in the directory hooks below state, and removes
// those that an earlier daemon left there.
func New(state string, getenv func(string) string) *Sockets {
	h := &Sockets{path: func(name string) (string, error) {
		return localsock.Path(filepath.Join(state, "hooks"), name, getenv)
	}}
	if p, err := h.path("x"); err == nil {
		left, _ := os.ReadDir(filepath.Dir(p))
		for _, e := range left {
			if strings.HasSuffix(e.Name(), ".sock") {
				os.Remove(filepath.Join(filepath.Dir(p), e.Name()))
			}
		}
	}
	return h
}

// Open returns a socket that nobody has used, and makes the next one ready.
func (h *Sockets) Open() (*localsock.Listener, error) {
	h.mu.Lock()
	l := h.spare
	h.spare = nil
	if !h.ended {
		h.work.Go(h.prepare)
	}
	h.mu.Unlock()
	if l != nil {
		if _, err := os.Lstat(l.Path()); err == nil {
			return l, nil
		}
		l.Close() // something tidied it away
	}
	return h.listen()
}

func (h *Sockets) listen() (*localsock.Listener, error) {
	p, err := h.path(strconv.FormatUint(h.made.Add(1), 36) + ".sock") // short: a socket's path has a bound
	if err != nil {
		return nil, err
	}
	return localsock.Listen(p)
}

// prepare makes a spare socket, unless there is one. Where it cannot be made,
// the next to ask for one is told why.
func (h *Sockets) prepare() {
	l, err := h.listen()
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.spare != nil || h.ended {
		h.work.Go(func() { l.Close() })
		return
	}
	h.spare = l
}

// Drop closes a socket, and removes its name without making the caller wait.
func (h *Sockets) Drop(l *localsock.Listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		l.Close()
		return
	}
	h.work.Go(func() { l.Close() })
}

// End closes the spare socket and waits until every name is gone.
func (h *Sockets) End() {
	h.mu.Lock()
	h.ended = true
	if h.spare != nil {
		h.spare.Close()
		h.spare = nil
	}
	h.mu.Unlock()
	h.work.Wait()
}
